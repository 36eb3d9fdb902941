/*
 * parquet_file.cc - Parquet files. A batch is a row group.
 *
 * Owns the file's metadata, which is shared by all who have it open. Each batch has a reader of libparquet of its own,
 * which decodes some thousand rows at a time, so that no row group has to be in memory. Texts come as indexes
 * of their dictionary pages where they have some.
 */
#include <algorithm>
#include <cstring>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include "engine/source/files/arrow/arrow_file.h"
#include "engine/source/files/arrow/integer_form.h"

namespace turbine {
namespace {

/* What libparquet throws is a FileError. */
template <class F>
auto translated(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const parquet::ParquetStatusException& e) {
    check_status(e.status());
    throw FileError(e.what());
  } catch (const parquet::ParquetException& e) {
    throw FileError(e.what());
  }
}

/* A decimal's bytes, the highest first; false: it takes more than 64 bits. */
bool big_endian(const std::string& bytes, int64_t* value) {
  if (bytes.empty()) return false;
  const uint8_t sign = static_cast<uint8_t>(bytes[0]) & 0x80 ? 0xff : 0;
  uint64_t result = sign ? UINT64_MAX : 0;
  for (size_t i = 0; i < bytes.size(); i++) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    if (i + 8 < bytes.size() && byte != sign) return false;
    result = result << 8 | byte;
  }
  *value = static_cast<int64_t>(result);
  return (*value < 0) == (sign != 0);
}

/* Least and greatest of a column chunk, as the integers that the file's type is. */
bool integer_bounds(const parquet::Statistics& statistics, const arrow::DataType& type, int64_t* least,
                    int64_t* greatest) {
  if (!statistics.HasMinMax() || type.id() == arrow::Type::UINT64) return false;
  switch (statistics.physical_type()) {
    case parquet::Type::INT32: {
      const auto& typed = static_cast<const parquet::Int32Statistics&>(statistics);
      const bool is_unsigned = type.id() == arrow::Type::UINT32;
      *least = is_unsigned ? int64_t{static_cast<uint32_t>(typed.min())} : int64_t{typed.min()};
      *greatest = is_unsigned ? int64_t{static_cast<uint32_t>(typed.max())} : int64_t{typed.max()};
      return true;
    }
    case parquet::Type::INT64: {
      const auto& typed = static_cast<const parquet::Int64Statistics&>(statistics);
      *least = typed.min();
      *greatest = typed.max();
      return true;
    }
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
      return arrow::is_decimal(type.id()) && big_endian(statistics.EncodeMin(), least) &&
             big_endian(statistics.EncodeMax(), greatest);
    default: return false;
  }
}

class ParquetFile final : public TableFile {
 public:
  ParquetFile(OpenedFile opened, std::vector<WantedColumn> wanted) : opened_(std::move(opened)) {
    metadata_ = std::static_pointer_cast<parquet::FileMetaData>(
        std::const_pointer_cast<void>(metadata_cache().find(opened_.version)));
    auto reader = open();
    if (!metadata_) {
      metadata_ = reader->parquet_reader()->metadata();
      metadata_cache().add(opened_.version, metadata_);
    }
    check_status(reader->GetSchema(&schema_));
    leaves_ = leaf_columns(*reader);
    columns_ = bind_columns(*schema_, std::move(wanted));
    fields_ = bound_fields(columns_);
    for (const int field : fields_)
      if (leaves_[static_cast<size_t>(field)] < 0)
        throw FileError("column \"" + schema_->field(field)->name() + "\": it is nested");
  }

  uint32_t batches() const override { return static_cast<uint32_t>(metadata_->num_row_groups()); }
  uint64_t rows(uint32_t batch) const override {
    return translated([&] {
      return static_cast<uint64_t>(std::max<int64_t>(metadata_->RowGroup(static_cast<int>(batch))->num_rows(), 0));
    });
  }
  uint64_t bytes(uint32_t batch) const override {
    return translated([&] {
      const auto group = metadata_->RowGroup(static_cast<int>(batch));
      uint64_t bytes = 0;
      for (const int field : fields_)
        bytes += static_cast<uint64_t>(
            std::max<int64_t>(group->ColumnChunk(leaves_[static_cast<size_t>(field)])->total_compressed_size(), 0));
      return bytes;
    });
  }
  const FileVersion& version() const override { return opened_.version; }
  void check_unchanged() const override { opened_.check_unchanged(); }
  std::vector<StoredColumn::Zone> zones(uint32_t batch) const override;
  std::unique_ptr<BatchReader> read(uint32_t batch) const override;

 private:
  /* By top-level field: its column; -1: it has several. */
  static std::vector<int> leaf_columns(const parquet::arrow::FileReader& reader) {
    std::vector<int> leaves;
    for (const parquet::arrow::SchemaField& field : reader.manifest().schema_fields)
      leaves.push_back(field.is_leaf() ? field.column_index : -1);
    return leaves;
  }

  std::unique_ptr<parquet::arrow::FileReader> open() const {
    return translated([&] {
      parquet::ReaderProperties properties(file_memory());
      parquet::ArrowReaderProperties arrow_properties(/*use_threads=*/false);
      arrow_properties.set_batch_size(kMostSegmentRows);
      arrow_properties.set_pre_buffer(false);
      arrow_properties.set_coerce_int96_timestamp_unit(arrow::TimeUnit::MICRO);
      for (const BoundColumn& column : columns_)
        if (column.field != BoundColumn::kConstant && tb_type_is_text(column.wanted.type))
          arrow_properties.set_read_dictionary(leaves_[static_cast<size_t>(column.field)], true);
      auto file = parquet::ParquetFileReader::Open(opened_.file, properties, metadata_);
      auto reader = parquet::arrow::FileReader::Make(file_memory(), std::move(file), arrow_properties);
      check_status(reader.status());
      return std::move(*reader);
    });
  }

  const OpenedFile opened_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<int> leaves_;
  std::vector<BoundColumn> columns_;
  std::vector<int> fields_;
};

/* Rows of a batch come in pieces of libparquet's choice. */
class ParquetBatchReader final : public BatchReader {
 public:
  ParquetBatchReader(std::unique_ptr<parquet::arrow::FileReader> reader, uint32_t batch, const std::vector<int>& leaves,
                     const std::vector<BoundColumn>& columns, const std::vector<int>& fields)
      : file_(std::move(reader)), batches_(open(*file_, batch, leaves)), bound_(columns, fields, *batches_->schema()) {}
  void read(uint32_t nrows, std::vector<ColumnRows>& columns) override {
    for (ColumnRows& column : columns) column.clear();
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

std::vector<StoredColumn::Zone> ParquetFile::zones(uint32_t batch) const {
  return translated([&] {
    std::vector<StoredColumn::Zone> zones(columns_.size());
    const auto group = metadata_->RowGroup(static_cast<int>(batch));
    for (size_t i = 0; i < columns_.size(); i++) {
      const BoundColumn& column = columns_[i];
      if (column.field == BoundColumn::kConstant) zones[i] = constant_zone(column.wanted);
      if (column.field == BoundColumn::kConstant || column.wanted.display_scale) continue;
      const arrow::DataType& type = *schema_->field(column.field)->type();
      IntegerForm form;
      if (!integer_form(type, column.wanted, &form)) continue;
      const auto chunk = group->ColumnChunk(leaves_[static_cast<size_t>(column.field)]);
      const auto statistics = chunk->is_stats_set() ? chunk->statistics() : nullptr;
      StoredColumn::Zone& zone = zones[i];
      int64_t min = 0, max = 0;
      zone.known = statistics && integer_bounds(*statistics, type, &min, &max) && form.convert(min, &zone.least) &&
                   form.convert(max, &zone.greatest);
    }
    return zones;
  });
}

std::unique_ptr<BatchReader> ParquetFile::read(uint32_t batch) const {
  if (fields_.empty()) return read_constants(columns_);
  std::vector<int> leaves;
  for (const int field : fields_) leaves.push_back(leaves_[static_cast<size_t>(field)]);
  return std::make_unique<ParquetBatchReader>(open(), batch, leaves, columns_, fields_);
}

}  // namespace

std::unique_ptr<TableFile> open_parquet_file(OpenedFile opened, std::vector<WantedColumn> wanted) {
  return translated([&] { return std::make_unique<ParquetFile>(std::move(opened), std::move(wanted)); });
}

}  // namespace turbine
