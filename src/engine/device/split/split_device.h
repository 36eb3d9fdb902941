/*
 * split_device.h - several GPUs as one device, for a query that runs on all of them.
 *
 * It has what the query needs before and beside its work: code that is loaded on each GPU, the shape of tasks, memory
 * needs. split_query.h is the query itself. The GPUs are of one kind, so one artifact of the compiler serves all. Only
 * programs that can_split() allows run here; others are for one GPU.
 *
 * A Device like others, known by device.h alone: admission, slot memory and the code cache see no difference. Its
 * figures are those of one of its GPUs. Thread-safe, as they are.
 */
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/device/device.h"
#include "engine/threads/worker_pool.h"

namespace turbine {

/* Can tasks of the program run on several GPUs? A BUILD makes one block of memory, and row ids leave with their chunk.
 */
bool can_split(const Program& program);

/* Code of one program, loaded on each of several devices, in their order. */
class SplitCode final : public LoadedCode {
 public:
  explicit SplitCode(std::vector<std::shared_ptr<LoadedCode>> codes) : codes_(std::move(codes)) {}
  const std::shared_ptr<LoadedCode>& of(size_t device) const { return codes_[device]; }
  size_t size() const { return codes_.size(); }

 private:
  const std::vector<std::shared_ptr<LoadedCode>> codes_;
};

class SplitDevice final : public Device {
 public:
  /* `devices`: at least one, of one kind; they and `workers`, which merge results, outlive this. */
  SplitDevice(std::vector<Device*> devices, WorkerPool& workers);

  size_t size() const { return devices_.size(); }

  TbDeviceInfo info() const override;
  TbTarget target() const override { return first().target(); }
  std::string cpu() const override { return first().cpu(); }
  std::string features() const override { return first().features(); }
  SegmentShape segment_shape(const Program& program, uint64_t nblocks) const override;
  ChunkShape chunk_shape(uint64_t nblocks, bool copied) const override;
  bool has_memory(uint64_t bytes) const override;
  void raise_budget() override;
  std::shared_ptr<LoadedCode> load(std::span<const uint8_t> artifact, const Program& program) override;
  std::string machine_code(std::span<const uint8_t> artifact) override { return first().machine_code(artifact); }
  /* Memory that one GPU's context has pinned is pinned for all. */
  void register_slot_memory(void* base, uint64_t size) override { first().register_slot_memory(base, size); }
  void unregister_slot_memory(void* base) override { first().unregister_slot_memory(base); }
  /* Of each GPU. */
  QueryNeeds needs(const Program& program, double estimated_rows, uint32_t slot_pages, uint32_t nslots) const override;
  uint64_t table_bytes(const Program& program, const JoinTables& tables) const override;
  /* `budget`: of each GPU. */
  std::unique_ptr<DeviceQuery> start(std::shared_ptr<const Program> program, std::shared_ptr<const std::string> params,
                                     std::shared_ptr<LoadedCode> code, JoinTables tables, double estimated_rows,
                                     uint64_t budget, QueryProfile* profile) override;

 private:
  Device& first() const { return *devices_[0]; }

  const std::vector<Device*> devices_;
  WorkerPool& workers_;
};

/* The sets of GPUs that queries have run on so far. Thread-safe. */
class SplitDevices {
 public:
  /* Both outlive this. */
  SplitDevices(std::span<const std::unique_ptr<Device>> devices, WorkerPool& workers)
      : devices_(devices), workers_(workers) {}

  /* Of these, by index, ascending; it stays. */
  Device& of(const std::vector<uint32_t>& indexes);

 private:
  const std::span<const std::unique_ptr<Device>> devices_;
  WorkerPool& workers_;
  std::mutex mutex_;  // protects what follows
  std::map<std::vector<uint32_t>, std::unique_ptr<SplitDevice>> sets_;
};

}  // namespace turbine
