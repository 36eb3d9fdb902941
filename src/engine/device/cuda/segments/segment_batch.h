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
  void prepare(const std::shared_ptr<const SegmentMorsel>& morsel, size_t ncolumns);
  uint32_t nrows() const { return nrows_; }

  /* To be called before text_bytes() and upload(); `stream` is waited for where texts are new. */
  void copy_dictionaries(Stream stream);
  /* What views of the column count from. */
  DevicePtr text_bytes(size_t column) const { return dictionaries_[column].bytes; }

  /* Copies what is missing; returns bytes. `columns`: where rows are written. */
  uint64_t upload(const std::vector<DecodedColumn>& columns, Stream stream);
  /* Jobs of a block each, and the kernel's argument. */
  uint64_t jobs() const { return uint64_t{nruns_} * ncolumns_; }
  DevicePtr arguments() const { return arguments_.device(); }
  Function kernel() { return memory_.kernels.decode(driver_); }

  /* All is complete: the copies stay. */
  void keep();
  void release();

 private:
  void lay_out(const SegmentMorsel& morsel);
  void find_memory();
  uint64_t places_size() const;
  uint64_t description_size() const;
  uint64_t arguments_size() const;
  void describe(uint8_t* places) const;
  void write_arguments(const std::vector<DecodedColumn>& columns);
  DevicePtr destination() const { return extent_.address ? extent_.address : own_.device(); }

  CudaContext& context_;
  const Driver& driver_;
  SegmentMemory& memory_;
  const uint64_t query_;
  MemoryAccount& account_;
  SegmentTier::Pins pins_;

  std::shared_ptr<const SegmentMorsel> morsel_;
  std::shared_ptr<const SegmentTier::Description> known_;  // of the morsel; null: it is described anew
  size_t ncolumns_ = 0;
  uint32_t nrows_ = 0, nruns_ = 0;
  std::vector<const StoredColumn*> columns_;  // of column c of segment s: s * ncolumns + c
  std::vector<DevicePtr> addresses_;
  std::vector<RowRun> runs_;
  std::vector<size_t> missing_;  // of columns_
  std::vector<SegmentTier::Dictionary> dictionaries_;  // by column; none where it is no text
  uint64_t missing_size_ = 0;
  SegmentTier::Extent extent_;
  Block arguments_;          // device: the kernel's, and where rows are written
  Block description_;        // device: places, then runs
  Block own_;                // device: columns that the tier has no room for
  Block staged_;             // pinned: arguments, description, columns
};

}  // namespace turbine::cuda
