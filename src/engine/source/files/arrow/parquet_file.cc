/*
 * parquet_file.cc - Parquet files. A batch is a row group.
 *
 * Owns the file's metadata, which is shared by all who have it open. Each batch has a reader of its own
 * (parquet/row_group_reader.h), which decodes some thousand rows at a time, so that no row group has to be in memory.
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
#include "engine/source/files/arrow/parquet/parquet_errors.h"
#include "engine/source/files/arrow/parquet/row_group_reader.h"

namespace turbine {
namespace {

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
    known_.metadata = std::static_pointer_cast<parquet::FileMetaData>(
        std::const_pointer_cast<void>(metadata_cache().find(opened_.version)));
    auto reader = open();
    if (!known_.metadata) {
      known_.metadata = reader->parquet_reader()->metadata();
      metadata_cache().add(opened_.version, known_.metadata);
    }
    check_status(reader->GetSchema(&known_.schema));
    known_.leaves = leaf_columns(*reader);
    known_.columns = bind_columns(*known_.schema, std::move(wanted));
    known_.fields = bound_fields(known_.columns);
    for (const int field : known_.fields)
      if (known_.leaves[static_cast<size_t>(field)] < 0)
        throw FileError("column \"" + known_.schema->field(field)->name() + "\": it is nested");
  }

  uint32_t batches() const override { return static_cast<uint32_t>(known_.metadata->num_row_groups()); }
  uint64_t rows(uint32_t batch) const override {
    return translated([&] {
      return static_cast<uint64_t>(
          std::max<int64_t>(known_.metadata->RowGroup(static_cast<int>(batch))->num_rows(), 0));
    });
  }
  uint64_t bytes(uint32_t batch) const override {
    return translated([&] {
      const auto group = known_.metadata->RowGroup(static_cast<int>(batch));
      uint64_t bytes = 0;
      for (const int field : known_.fields)
        bytes += static_cast<uint64_t>(std::max<int64_t>(
            group->ColumnChunk(known_.leaves[static_cast<size_t>(field)])->total_compressed_size(), 0));
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
      auto file = parquet::ParquetFileReader::Open(opened_.file, properties, known_.metadata);
      auto reader = parquet::arrow::FileReader::Make(file_memory(), std::move(file), arrow_properties);
      check_status(reader.status());
      return std::move(*reader);
    });
  }

  const OpenedFile opened_;
  ParquetColumns known_;
};

std::vector<StoredColumn::Zone> ParquetFile::zones(uint32_t batch) const {
  return translated([&] {
    std::vector<StoredColumn::Zone> zones(known_.columns.size());
    const auto group = known_.metadata->RowGroup(static_cast<int>(batch));
    for (size_t i = 0; i < known_.columns.size(); i++) {
      const BoundColumn& column = known_.columns[i];
      if (column.field == BoundColumn::kConstant) zones[i] = constant_zone(column.wanted);
      if (column.field == BoundColumn::kConstant || column.wanted.display_scale) continue;
      const arrow::DataType& type = *known_.schema->field(column.field)->type();
      IntegerForm form;
      if (!integer_form(type, column.wanted, &form)) continue;
      const auto chunk = group->ColumnChunk(known_.leaves[static_cast<size_t>(column.field)]);
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
  if (known_.fields.empty()) return read_constants(known_.columns);
  return read_row_group(opened_, known_, batch, [this] { return open(); });
}

}  // namespace

std::unique_ptr<TableFile> open_parquet_file(OpenedFile opened, std::vector<WantedColumn> wanted) {
  return translated([&] { return std::make_unique<ParquetFile>(std::move(opened), std::move(wanted)); });
}

}  // namespace turbine
