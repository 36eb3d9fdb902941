/*
 * device_rows.h - the rows of a BUILD, or of a PROJECT whose windows the device computes, kept in device
 * memory until the input has ended.
 *
 * Rows come from the lanes in ranges, in whatever order these are ready; each range is a part, in a
 * block as large as its rows. Used by one thread at a time: the query's worker until it is idle,
 * then the query's thread.
 */
#pragma once

#include <span>
#include <vector>

#include "engine/device/cuda/cuda_context.h"
#include "engine/program/kept_row_layout.h"
#include "turbine/kernel.h"

namespace turbine::cuda {

class DeviceRows {
 public:
  /* All must outlive it; memory is charged to the account. */
  DeviceRows(CudaContext& context, const Driver& driver, KeptRowLayout shape, MemoryAccount& account)
      : context_(context), driver_(driver), shape_(std::move(shape)), account_(account) {}

  struct Part {
    Block memory;
    std::vector<TbColumnData> columns;
    const uint64_t* hashes;  // null: there are no keys
    DevicePtr text;
    uint64_t nrows, text_size;
  };

  /* Starts copying the rows of a store, whose columns are given, to a part of their own, on `stream`. All of its
   * addresses are the device's. Throws DeviceError. */
  void append(const TbRowStore& store, std::span<const TbColumnData> columns, Stream stream);

  /* Makes one part of all, on `stream`; waits for it. Of rows without texts and keys. Throws DeviceError, and then
   * nothing has changed. */
  void merge(Stream stream);
  void clear() {
    parts_.clear();
    rows_ = text_size_ = 0;
  }

  const KeptRowLayout& shape() const { return shape_; }
  const std::vector<Part>& parts() const { return parts_; }
  uint64_t rows() const { return rows_; }
  uint64_t text_size() const { return text_size_; }

 private:
  CudaContext& context_;
  const Driver& driver_;
  const KeptRowLayout shape_;
  MemoryAccount& account_;
  std::vector<Part> parts_;
  uint64_t rows_ = 0, text_size_ = 0;
};

}  // namespace turbine::cuda
