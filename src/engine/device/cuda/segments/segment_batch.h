/*
 * segment_batch.h - the stored columns of one task on their way to a lane's column arrays.
 *
 * What the tier has no copy of goes to the device in one copy with the descriptions of all,
 * into space of the tier's or, where there is none, the batch's own; then one kernel writes the
 * rows of all segments.
 *
 * Steps, on the query's worker: prepare(), upload(), decode() and, once all of it is complete, keep();
 * release() in any case.
 */
#pragma once

#include <memory>
#include <vector>

#include "engine/device/cuda/kernels/decode_segments.h"
#include "engine/device/cuda/segments/segment_kernels.h"
#include "engine/device/cuda/segments/segment_tier.h"

namespace turbine::cuda {

/* What a GPU's queries share to read segments. */
struct SegmentMemory {
  SegmentMemory(const std::shared_ptr<CudaContext>& context, uint32_t device, uint64_t capacity)
      : tier(context, device, capacity), kernels(context) {}
  SegmentTier tier;
  SegmentKernels kernels;
};

class SegmentBatch {
 public:
  /* `query`: begin_query() of the tier. `account`: the query's. */
  SegmentBatch(CudaContext& context, const Driver& driver, SegmentMemory& memory, uint64_t query,
               MemoryAccount& account)
      : context_(context), driver_(driver), memory_(memory), query_(query), account_(account), pins_(memory.tier) {}

  /* Of the first `ncolumns` columns. Throws DeviceError; then nothing is pinned. */
  void prepare(const SegmentMorsel& morsel, size_t ncolumns);
  uint32_t nrows() const { return nrows_; }

  /* Bytes that views of the column count from; `stream` is waited for where texts are new. */
  DevicePtr text_bytes(size_t column) const { return dictionaries_[column].bytes; }
  void copy_dictionaries(Stream stream);

  /* Copies what is missing; returns bytes. `columns`: where rows are written. */
  uint64_t upload(const std::vector<DecodedColumn>& columns, Stream stream);
  /* Jobs of a block each, and the kernel's argument. */
  uint64_t jobs() const { return uint64_t{runs_.size()} * ncolumns_; }
  DevicePtr arguments() const { return descriptions_.device(); }
  Function kernel() { return memory_.kernels.decode(driver_); }

  /* All is complete: the copies stay. */
  void keep();
  void release();

 private:
  struct Places {
    uint64_t places, runs, columns, size;  // offsets
  };
  Places places() const;
  void describe(const std::vector<DecodedColumn>& columns);
  DevicePtr destination() const { return extent_.address ? extent_.address : own_.device(); }

  CudaContext& context_;
  const Driver& driver_;
  SegmentMemory& memory_;
  const uint64_t query_;
  MemoryAccount& account_;
  SegmentTier::Pins pins_;

  size_t ncolumns_ = 0;
  uint32_t nrows_ = 0;
  std::vector<const StoredColumn*> columns_;  // of column c of segment s: s * ncolumns + c
  std::vector<DevicePtr> addresses_;
  std::vector<RowRun> runs_;
  std::vector<size_t> missing_;  // of columns_
  std::vector<SegmentTier::Dictionary> dictionaries_;  // by column; none where it is no text
  uint64_t missing_size_ = 0;
  SegmentTier::Extent extent_;
  Block descriptions_;       // device
  Block own_;                // device: columns that the tier has no room for
  Block staged_;             // pinned: descriptions, then columns
};

}  // namespace turbine::cuda
