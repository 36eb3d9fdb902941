/*
 * cuda_exported_memory.h - memory of a GPU that other processes may map, by a POSIX descriptor (exported_memory.h).
 *
 * Made by cuMemCreate, not by the pool: the pool's blocks are used again, and a legacy IPC handle names a whole
 * allocation and cannot be taken back. It is mapped here only until it is sealed.
 */
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "engine/device/cuda/cuda_context.h"
#include "engine/device/cuda/driver/stream.h"
#include "engine/device/exported_memory.h"

namespace turbine::cuda {

class CudaExportedMemory final : public ExportedMemory {
 public:
  /* At least `bytes`, rounded up to the driver's pages of 2 MB. The context is current. Throws DeviceError:
   * DEVICE_MEMORY if there is none. */
  CudaExportedMemory(std::shared_ptr<CudaContext> context, const Driver& driver, uint64_t bytes);
  ~CudaExportedMemory() override;

  uint64_t size() const override { return size_; }
  int descriptor() const override { return descriptor_; }
  /* Until it is sealed. */
  DevicePtr address() const { return address_; }
  void write(uint64_t offset, const uint8_t* from, uint64_t bytes) override;
  void write_lasting(uint64_t offset, const uint8_t* from, uint64_t bytes) override;
  void flush() override;
  void seal() override;

 private:
  void create(const MemoryProperties& properties);
  void map(const MemoryProperties& properties);
  void release() noexcept;
  void unmap() noexcept;
  void begin_write(uint64_t offset, uint64_t bytes);

  /* Pinned memory through which ordinary memory crosses, one half while the other is filled. */
  struct Staging {
    explicit Staging(CudaContext& context, const Driver& driver);
    Block memory;
    std::array<UniqueEvent, 2> crossed;
    std::array<bool, 2> under_way{};
    size_t next = 0;
  };

  const std::shared_ptr<CudaContext> context_;
  const Driver driver_;
  uint64_t size_ = 0;
  MemoryHandle handle_ = 0;
  bool created_ = false, mapped_ = false;
  DevicePtr address_ = 0;  // 0: none is reserved
  int descriptor_ = -1;
  std::optional<UniqueStream> stream_;  // between the first write and flush()
  std::optional<Staging> staging_;
};

}  // namespace turbine::cuda
