/*
 * segment_batch.h - the stored columns of one task, as a pipeline's kernels read them.
 *
 * Nothing is decoded. Kernels are told where each column of each segment is, how its elements become values
 * (memory/column_place.h), and which runs of rows are taken: this is the task's description. Columns that the
 * tier has no copy of are copied first. The copy goes into space of the tier, or into the batch's own if the
 * tier has no room or no other query will ask for the column.
 *
 * Steps, on the query's worker: prepare(), upload() and, once all of it is complete, keep(); release() in any
 * case.
 */
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engine/device/cuda/segments/column_upload.h"
#include "engine/device/cuda/gpu_cache.h"
#include "engine/device/staged_columns.h"

namespace turbine::cuda {

class SegmentBatch {
 public:
  /* `query`: begin_query() of the tier. What the tier has no room for is no part of a query's account: nobody
   * knew of it when the query was admitted. */
  SegmentBatch(CudaContext& context, const Driver& driver, GpuCache& cache, uint64_t query)
      : context_(context), driver_(driver), cache_(cache), tier_(cache.tier), query_(query), pins_(cache.tier) {}

  /* Of the first `ncolumns` columns. `staged`: copies of all of them, or null. Throws DeviceError; then nothing is
   * pinned. */
  void prepare(const std::shared_ptr<const SegmentMorsel>& morsel, std::shared_ptr<const StagedColumns> staged,
               size_t ncolumns);
  uint32_t nrows() const { return known_ ? known_->nrows : nrows_; }
  /* Of the columns. */
  uint64_t bytes() const { return known_ ? known_->bytes : bytes_; }

  /* Copies what is missing; returns bytes. `stream` is waited for where texts are new to the device. */
  uint64_t upload(Stream stream);

  /* After upload(): for TbPipelineArgs. */
  DevicePtr places() const { return known_ ? known_->places : description_.device(); }
  DevicePtr runs() const { return known_ ? known_->runs : description_.device() + places_size(); }
  /* After upload(): the first dictionary that segments have for this column, and where its copy is. */
  std::pair<std::shared_ptr<TextDictionary>, DeviceDictionary> dictionary_of(size_t column) const;
  uint32_t nruns() const { return known_ ? known_->nruns : static_cast<uint32_t>(runs_.size()); }

  /* All is complete: the copies stay. */
  void keep();
  void release();

 private:
  /* Missing columns [first, end) of missing_, side by side. */
  struct Piece {
    size_t first, end;
    uint64_t size;
    SegmentTier::Extent extent;  // none: at `own_at` of own_
    uint64_t own_at;
    bool pinned;  // all of its columns are
  };

  void lay_out();
  void find_memory();
  void cut_pieces();
  bool find_dictionaries(Stream stream);
  void copy_dictionaries(Stream stream);
  void add_uploads(const Piece& piece, std::vector<ColumnUpload::Piece>* uploads);
  uint64_t upload_pieces(Stream stream);
  void describe(uint8_t* description, DevicePtr filler) const;
  uint64_t places_size() const { return columns_.size() * sizeof(TbColumnPlace); }
  uint64_t description_size() const { return places_size() + runs_.size() * sizeof(TbRowRun); }
  DevicePtr address_of(const Piece& piece) const {
    return piece.extent.address ? piece.extent.address : own_.device() + piece.own_at;
  }

  CudaContext& context_;
  const Driver& driver_;
  GpuCache& cache_;
  SegmentTier& tier_;
  const uint64_t query_;
  SegmentTier::Pins pins_;

  std::shared_ptr<const SegmentMorsel> morsel_;
  std::shared_ptr<const StagedColumns> staged_columns_;  // until they have crossed; null: none, or of no use
  std::shared_ptr<const SegmentTier::Description> known_;  // of the morsel; null: it is described anew
  size_t ncolumns_ = 0;
  uint32_t nrows_ = 0;
  uint64_t bytes_ = 0;
  std::vector<const StoredColumn*> columns_;  // of column c of segment s: s * ncolumns + c
  std::vector<DevicePtr> addresses_;
  std::vector<TbRowRun> runs_;
  std::vector<size_t> missing_;  // of columns_
  std::vector<Piece> pieces_;
  std::map<std::shared_ptr<TextDictionary>, DeviceDictionary> dictionaries_;  // of the columns
  Block description_;  // device: places, then runs
  Block own_;          // device: columns that the tier has no room for
  Block staged_;       // pinned: the description
  std::optional<ColumnUpload> columns_upload_;  // once something was missing
};

}  // namespace turbine::cuda
