/*
 * row_group_reader.cc - see row_group_reader.h.
 *
 * Owns the readers of each column of one row group. Called for each batch of a query. Both ways of reading give the
 * same rows and the same errors' kinds; which one a column takes is decided by its type and by what the metadata says
 * of its pages.
 */
#include "engine/source/files/arrow/parquet/row_group_reader.h"

#include <algorithm>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <parquet/arrow/reader.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include "engine/source/files/arrow/parquet/chunk_pages.h"
#include "engine/source/files/arrow/parquet/chunk_values.h"
#include "engine/source/files/arrow/parquet/parquet_errors.h"

namespace turbine {
namespace {

/* One column chunk, and the wanted columns that are made of it. */
struct ChunkReader {
  struct Made {
    size_t column;  // of the wanted ones
    std::unique_ptr<ChunkValues> values;
  };
  std::string name;
  std::vector<Made> made;
  std::unique_ptr<ChunkPages> pages;
  bool nulls = true;  // there may be some
  bool begun = false;

  /* Passes rows by. Then appends some to its columns. */
  void read(uint64_t skipped, uint32_t nrows, std::vector<ColumnRows>& columns) {
    if (!begun) {
      const DictionaryEntries& dictionary = pages->read_dictionary();
      for (const Made& one : made) one.values->take_dictionary(dictionary);
      begun = true;
    }
    pages->skip(skipped);
    while (nrows > 0) {
      const ValueRun run = pages->next(nrows);
      for (const Made& one : made) one.values->append(run, columns[one.column]);
      nrows -= run.rows;
    }
  }
};

/* Columns that libparquet reads, in pieces of its choice. */
class ArrowBatches {
 public:
  ArrowBatches(std::unique_ptr<parquet::arrow::FileReader> file, uint32_t batch, const std::vector<int>& leaves,
               const std::vector<BoundColumn>& columns, const std::vector<int>& fields)
      : file_(std::move(file)), batches_(open(*file_, batch, leaves)), bound_(columns, fields, *batches_->schema()) {}

  /* Passes rows by. Then appends some to their columns. */
  void read(uint64_t skipped, uint32_t nrows, std::vector<ColumnRows>& columns) {
    while (skipped > 0) {
      if (!batch_ || row_ == batch_->num_rows()) next_batch();
      const auto count = std::min(skipped, static_cast<uint64_t>(batch_->num_rows() - row_));
      row_ += static_cast<int64_t>(count);
      skipped -= count;
    }
    while (nrows > 0) {
      if (!batch_ || row_ == batch_->num_rows()) next_batch();
      const auto count = static_cast<uint32_t>(std::min<int64_t>(nrows, batch_->num_rows() - row_));
      bound_.append(*batch_, row_, count, columns);
      row_ += count;
      nrows -= count;
    }
  }

 private:
  static std::unique_ptr<arrow::RecordBatchReader> open(parquet::arrow::FileReader& file, uint32_t batch,
                                                        const std::vector<int>& leaves) {
    return translated([&] {
      auto batches = file.GetRecordBatchReader({static_cast<int>(batch)}, leaves);
      check_status(batches.status());
      return std::move(*batches);
    });
  }
  void next_batch() {
    translated([&] { check_status(batches_->ReadNext(&batch_)); });
    if (!batch_) throw FileError("a row group with fewer rows than it says");
    bound_.check(*batch_);
    row_ = 0;
  }

  const std::unique_ptr<parquet::arrow::FileReader> file_;
  const std::unique_ptr<arrow::RecordBatchReader> batches_;
  const BoundRows bound_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t row_ = 0;
};

/* Parquet has no integers of fewer than 32 bits. */
bool is_narrower_than_stored(const arrow::DataType& type) {
  return arrow::is_integer(type.id()) && static_cast<const arrow::FixedWidthType&>(type).bit_width() < 32;
}

class RowGroupBatchReader final : public BatchReader {
 public:
  RowGroupBatchReader(const OpenedFile& opened, const ParquetColumns& file, uint32_t batch, const RowRanges& rows,
                      const std::function<std::unique_ptr<parquet::arrow::FileReader>()>& open_arrow)
      : wanted_(file.columns), bytes_(file.columns.size()), rows_(rows) {
    translated([&] { open(opened, file, static_cast<int>(batch), rows); });
    if (other_fields_.empty()) return;
    std::vector<int> leaves;
    for (const int field : other_fields_)
      for (const int leaf : file.all_leaves[static_cast<size_t>(field)]) leaves.push_back(leaf);
    others_ = std::make_unique<ArrowBatches>(open_arrow(), batch, leaves, wanted_, other_fields_);
  }

  void read(uint32_t nrows, std::vector<ColumnRows>& columns) override {
    for (ColumnRows& column : columns) column.clear();
    append_constants(wanted_, nrows, columns);
    const uint64_t skipped = rows_.take(nrows);
    rows_left_ -= nrows;
    for (ChunkReader& chunk : chunks_)
      translated(chunk.name, [&] {
        chunk.read(skipped, nrows, columns);
        if (rows_left_ == 0) chunk.pages->check_end();
      });
    if (others_) others_->read(skipped, nrows, columns);
  }
  bool may_have_nulls(size_t column) const override {
    if (wanted_[column].field == BoundColumn::kConstant) return wanted_[column].wanted.is_null;
    for (const ChunkReader& chunk : chunks_)
      for (const ChunkReader::Made& made : chunk.made)
        if (made.column == column) return chunk.nulls;
    return true;
  }
  LeftOut left_out() const override {
    LeftOut all;
    for (const ChunkReader& chunk : chunks_) {
      const LeftOut& some = chunk.pages->left_out();
      all = {all.pages + some.pages, all.of_pages + some.of_pages, all.bytes + some.bytes};
    }
    return all;
  }
  void add_bytes(std::vector<uint64_t>& by_column) const override {
    for (size_t i = 0; i < bytes_.size(); i++) by_column[i] += bytes_[i];
    for (const ChunkReader& chunk : chunks_) {
      uint64_t& bytes = by_column[chunk.made.front().column];
      bytes -= std::min(bytes, chunk.pages->left_out().bytes);
    }
  }

 private:
  void open(const OpenedFile& opened, const ParquetColumns& file, int batch, const RowRanges& rows) {
    parquet::ReaderProperties properties(file_memory());
    file_ = parquet::ParquetFileReader::Open(opened.file, properties, file.metadata);
    row_group_ = file_->RowGroup(batch);
    rows_left_ = static_cast<uint64_t>(std::max<int64_t>(row_group_->metadata()->num_rows(), 0));
    for (const int field : file.fields) {
      const int leaf = file.leaves[static_cast<size_t>(field)];
      for (const int part : file.all_leaves[static_cast<size_t>(field)])
        bytes_[first_column_of(wanted_, field)] += static_cast<uint64_t>(
            std::max<int64_t>(row_group_->metadata()->ColumnChunk(part)->total_compressed_size(), 0));
      if (leaf < 0) {
        other_fields_.push_back(field);
        continue;
      }
      ChunkReader chunk = chunk_of(file, field);
      if (chunk.made.empty()) {
        other_fields_.push_back(field);
        continue;
      }
      translated(chunk.name, [&] {
        chunk.nulls = may_have_nulls_in(leaf);
        chunk.pages = std::make_unique<ChunkPages>(
            std::make_unique<PageSource>(opened, *file.metadata, *row_group_, leaf, rows),
            *file.metadata->schema()->Column(leaf));
      });
      chunks_.push_back(std::move(chunk));
    }
  }

  bool may_have_nulls_in(int leaf) const {
    if (row_group_->metadata()->schema()->Column(leaf)->max_definition_level() == 0) return false;
    const auto statistics = row_group_->metadata()->ColumnChunk(leaf)->statistics();
    return !statistics || !statistics->HasNullCount() || statistics->null_count() != 0;
  }

  /* Without columns if libparquet has to read it. */
  ChunkReader chunk_of(const ParquetColumns& file, int field) const {
    const int leaf = file.leaves[static_cast<size_t>(field)];
    const parquet::ColumnDescriptor& column = *file.metadata->schema()->Column(leaf);
    ChunkReader chunk;
    chunk.name = file.schema->field(field)->name();
    if (!ChunkPages::can_read(column, *row_group_->metadata()->ColumnChunk(leaf))) {
      // libparquet cuts bits off that such integers should not have.
      if (is_narrower_than_stored(*file.schema->field(field)->type()))
        throw FileError("column \"" + chunk.name + "\": integers of fewer bits in an encoding that is not read");
      return chunk;
    }
    for (size_t i = 0; i < wanted_.size(); i++) {
      if (wanted_[i].field != field) continue;
      auto values = chunk_values(column, *file.schema->field(field)->type(), wanted_[i].wanted);
      if (!values) {
        chunk.made.clear();
        return chunk;
      }
      chunk.made.push_back({i, std::move(values)});
    }
    return chunk;
  }

  const std::vector<BoundColumn>& wanted_;
  std::unique_ptr<parquet::ParquetFileReader> file_;
  std::shared_ptr<parquet::RowGroupReader> row_group_;
  RowCursor rows_;
  uint64_t rows_left_ = 0;  // of the row group, if all of them are wanted
  std::vector<uint64_t> bytes_;  // by wanted column; of pages that are left out, too
  std::vector<ChunkReader> chunks_;
  std::vector<int> other_fields_;
  std::unique_ptr<ArrowBatches> others_;
};

}  // namespace

std::unique_ptr<BatchReader> read_row_group(
    const OpenedFile& opened, const ParquetColumns& columns, uint32_t batch, const RowRanges& rows,
    const std::function<std::unique_ptr<parquet::arrow::FileReader>()>& open_arrow) {
  return std::make_unique<RowGroupBatchReader>(opened, columns, batch, rows, open_arrow);
}

}  // namespace turbine
