/*
 * batch_memory.h - the host's memory of a stream's batches, which other processes open (turbine/export.h) or which is
 * on its way to a GPU.
 *
 * The first write to a page of a memfd costs ten times what later writes cost: the kernel finds a page and clears it.
 * So the memory is used again (batch_pool.h).
 *
 * Importers get descriptors that cannot write. A file keeps its size: nobody dies of SIGBUS.
 */
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/code/unique_fd.h"
#include "engine/device/device.h"
#include "engine/execution/admission.h"

namespace turbine {

/* The memfds of one batch. write() by any thread; all else by one at a time. */
class BatchMemory {
 public:
  /* `reader`: the device that will copy what is mapped, which outlives this; or null. Throws DeviceError. */
  BatchMemory(uint32_t ncolumns, Admission& admission, Device* reader = nullptr);
  ~BatchMemory();
  BatchMemory(const BatchMemory&) = delete;

  /* Regions of a column, TB_EXPORT_VALUES_AT and so on. */
  enum Region : uint32_t { kValues, kValidity, kBytes, kBits };

  /* Throws DeviceError where memory ends. */
  void write(uint32_t column, Region region, uint64_t offset, const void* from, uint64_t bytes);

  /* The same place, if it is mapped: what is written there is written. Null: it is not. */
  uint8_t* mapped(uint32_t column, Region region, uint64_t offset, uint64_t bytes) const;

  /* Counts so many bytes more against the host's memory, before they are written for the first time. Throws
   * DeviceError. */
  void charge(uint64_t bytes);
  uint64_t charged() const { return charged_; }
  /* Memory that it takes: all that was ever written. */
  uint64_t bytes_used() const;
  /* Somebody else counts them from now on. */
  void hand_over();

  /* Pages that were written before are written by mappings from now on. */
  void use_again();

  /* What was written of a region, until the next use_again(): mapped if it was not. Throws DeviceError. */
  const uint8_t* content(uint32_t column, Region region, uint64_t bytes);

  /* A descriptor for importers, as long as this lives; a column's file is tb_export_file_of(). */
  UniqueFd& file(uint32_t column);

 private:
  struct File {
    UniqueFd own, shared;  // read and write; read only
  };
  struct Extent {
    std::atomic<uint64_t> used{0};  // bytes that were ever written, from the region's start on
    uint8_t* mapped = nullptr;
    uint64_t mapped_bytes = 0;
  };

  void map_used(size_t number);
  void unmap(Extent& extent);

  Admission& admission_;
  Device* const reader_;
  std::vector<File> files_;
  std::vector<Extent> extents_;  // four a column
  std::vector<Admission::Grant> grants_;
  uint64_t charged_ = 0;
};

}  // namespace turbine
