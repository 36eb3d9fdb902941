/*
 * host_device.h - the processor's threads as a device. Always device 0.
 */
#pragma once

#include "engine/device/device.h"
#include "engine/device/host/host_query.h"

namespace turbine {

struct HostDeviceOptions {
  unsigned threads = 0;        // 0: one a processor
  uint64_t memory_budget = 0;  // 0: a quarter of the memory
};

class HostDevice final : public Device {
 public:
  explicit HostDevice(const HostDeviceOptions& options);

  TbDeviceInfo info() const override { return info_; }
  TbTarget target() const override { return TB_TARGET_HOST; }
  std::string cpu() const override { return ""; }  // the compiler's: it runs on this machine
  bool runs_quick_code() const override { return true; }
  SegmentShape segment_shape(const Program& program, uint64_t nblocks) const override;
  std::string features() const override { return ""; }
  ChunkShape chunk_shape(uint64_t nblocks, bool copied) const override;
  std::shared_ptr<LoadedCode> load(std::span<const uint8_t> artifact, const Program& program) override;
  std::string machine_code(std::span<const uint8_t> artifact) override;
  void register_slot_memory(void*, uint64_t) override {}
  void unregister_slot_memory(void*) override {}
  QueryNeeds needs(const Program& program, double estimated_rows, uint32_t slot_pages, uint32_t nslots) const override;
  uint64_t table_bytes(const Program& program, const JoinTables& tables) const override {
    return MatchedRows::bytes_for(program, tables);
  }
  std::unique_ptr<DeviceQuery> start(std::shared_ptr<const Program> program, std::shared_ptr<const std::string> params,
                                     std::shared_ptr<LoadedCode> code, JoinTables tables, double estimated_rows,
                                     uint64_t budget, QueryProfile* profile) override;

  /* Also for work on results of other devices. */
  WorkerPool& pool() { return pool_; }
  IdleMappings& idle_memory() { return idle_memory_; }

 private:
  TbDeviceInfo info_{};
  IdleMappings idle_memory_;  // before what uses it
  std::vector<WorkerMemory> workers_;
  DecodeQueue decode_queue_;
  WorkerPool pool_;  // last: its threads use what is above
};

/* What decides whether machine code made here runs elsewhere: the processor's
 * model and instruction sets, as text. */
std::string host_cpu_fingerprint();

}  // namespace turbine
