/*
 * cuda_device.h - a GPU as a Device. Made by find_gpus.cc; see device.h for who
 * may call what from which thread.
 */
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "engine/device/cuda/cuda_context.h"
#include "engine/device/cuda/gpu_cache.h"
#include "engine/device/cuda/embedded_kernels.h"
#include "engine/device/device.h"

namespace turbine::cuda {

class CudaDevice : public Device {
 public:
  /* `number`: from 1 on, of the GPUs that there are. `cache_size`: bytes for copies of stored columns. */
  CudaDevice(std::shared_ptr<CudaContext> context, uint32_t number, uint64_t cache_size);
  ~CudaDevice() override;

  TbDeviceInfo info() const override;
  TbTarget target() const override { return TB_TARGET_PTX; }
  std::string cpu() const override;
  std::string features() const override;
  SegmentShape segment_shape(const Program& program, uint64_t nblocks) const override;
  ChunkShape chunk_shape(uint64_t nblocks, bool copied) const override;
  std::unique_ptr<ExportedMemory> export_memory(uint64_t bytes) override;
  ExportPlace export_place() const override;
  bool has_memory(uint64_t bytes) const override;
  void raise_budget() override { context_->raise_budget(); }
  void forget_dropped() override;
  std::shared_ptr<LoadedCode> load(std::span<const uint8_t> artifact, const Program& program) override;
  std::string machine_code(std::span<const uint8_t> artifact) override;
  void register_slot_memory(void* base, uint64_t size) override;
  void unregister_slot_memory(void* base) override;
  QueryNeeds needs(const Program& program, double estimated_rows, uint32_t slot_pages, uint32_t nslots) const override;
  uint64_t table_bytes(const Program& program, const JoinTables& tables) const override;
  std::unique_ptr<DeviceQuery> start(std::shared_ptr<const Program> program, std::shared_ptr<const std::string> params,
                                     std::shared_ptr<LoadedCode> code, JoinTables tables, double estimated_rows,
                                     uint64_t budget, QueryProfile* profile) override;

 private:
  std::shared_ptr<CudaContext> context_;
  std::shared_ptr<GpuCache> cache_;
  std::shared_ptr<EmbeddedKernels> kernels_;
  std::mutex pinned_mutex_;            // protects what follows
  std::map<void*, uint64_t> pinned_;  // those that this device has pinned
};

/* The compute capability that generated code is for: the GPU's own, or the
 * newest that the compiler knows, whose PTX newer GPUs run. */
int target_capability(int major, int minor);

/* Oldest GPU and driver: independent thread scheduling (sm_70), PTX 8.0. */
inline constexpr int kOldestCapability = 70;
inline constexpr int kOldestDriver = 12000;

}  // namespace turbine::cuda
