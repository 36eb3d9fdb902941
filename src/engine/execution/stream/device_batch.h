/*
 * device_batch.h - one batch of a stream in a GPU's memory, which other processes open.
 *
 * A batch is made in the host's memory (stream_columns.h) and copied by the thread that has completed it, while other
 * threads read on. Making memory that processes share takes the driver longer than the copy, so it is used again
 * (batch_pool.h), and stays mapped here.
 *
 * One thread at a time.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/device/device.h"
#include "engine/execution/admission.h"
#include "engine/execution/stream/batch_memory.h"

namespace turbine {

class DeviceBatch {
 public:
  /* `device` is number `number` of the engine's, and outlives this. */
  DeviceBatch(uint32_t ncolumns, Device& device, uint32_t number, Admission& admission)
      : device_(device), number_(number), admission_(admission), columns_(ncolumns) {}

  /* Columns of these shapes, of so many rows, from a batch that is complete. Throws DeviceError. */
  void fill(std::span<const TbExportColumn> shapes, uint64_t rows, BatchMemory& from);

  uint32_t device() const { return number_; }
  const ExportRegions& regions(uint32_t column) const { return columns_[column].regions; }
  ExportedMemory& memory(uint32_t column) const { return *columns_[column].memory; }

  // As BatchMemory's:
  void charge(uint64_t bytes);
  uint64_t charged() const { return charged_; }
  uint64_t bytes_used() const;
  void hand_over();
  void use_again() {}

 private:
  void copy_columns(std::span<const TbExportColumn> shapes, uint64_t rows, BatchMemory& from);

  Device& device_;
  const uint32_t number_;
  Admission& admission_;
  std::vector<DeviceColumn> columns_;
  std::vector<Admission::Grant> grants_;
  uint64_t charged_ = 0;
};

}  // namespace turbine
