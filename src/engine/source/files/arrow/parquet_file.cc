/*
 * parquet_file.cc - Parquet files. A batch is a row group.
 *
 * Owns the file's metadata, which is shared by all who have it open. Each batch has a reader of its own
 * (parquet/row_group_reader.h), which decodes some thousand rows at a time, so that no row group has to be in memory.
 */
#include <algorithm>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include "engine/source/files/arrow/arrow_file.h"
#include "engine/source/files/arrow/parquet/bloom_filter.h"
#include "engine/source/files/arrow/parquet/integer_bounds.h"
#include "engine/source/files/arrow/parquet/page_index.h"
#include "engine/source/files/arrow/parquet/parquet_errors.h"
#include "engine/source/files/arrow/parquet/row_group_reader.h"
#include "file_values/parquet_columns.h"

namespace turbine {
namespace {

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
    known_.all_leaves = all_leaf_columns(*reader);
    known_.columns = bind_columns(*known_.schema, std::move(wanted));
    known_.fields = bound_fields(known_.columns);
    for (const BoundColumn& column : known_.columns)
      if (column.field != BoundColumn::kConstant && !column.wanted.geo &&
          known_.leaves[static_cast<size_t>(column.field)] < 0)
        throw FileError("column \"" + column.wanted.name + "\": it is nested");
  }

  uint32_t batches() const override { return static_cast<uint32_t>(known_.metadata->num_row_groups()); }
  uint64_t rows(uint32_t batch) const override {
    return translated([&] {
      return static_cast<uint64_t>(
          std::max<int64_t>(known_.metadata->RowGroup(static_cast<int>(batch))->num_rows(), 0));
    });
  }
  const FileVersion& version() const override { return opened_.version; }
  void check_unchanged() const override { opened_.check_unchanged(); }
  std::vector<StoredColumn::Zone> zones(uint32_t batch) const override;
  std::vector<PageZones> page_zones(uint32_t batch, const std::vector<uint8_t>& columns) const override;
  bool lacks(uint32_t batch, const ColumnEquality& equality) const override;
  std::unique_ptr<BatchReader> read_rows(uint32_t batch, const RowRanges& rows) const override;

 private:
  /* False: the column's values are no integers. */
  bool bounds_form(size_t column, BoundsForm* form) const;
  /* Of a column that is in the file. */
  std::unique_ptr<parquet::ColumnChunkMetaData> chunk(uint32_t batch, size_t column) const;
  /* By top-level field: its column; -1: it has several. */
  static std::vector<int> leaf_columns(const parquet::arrow::FileReader& reader) {
    std::vector<int> leaves;
    for (const parquet::arrow::SchemaField& field : reader.manifest().schema_fields)
      leaves.push_back(field.is_leaf() ? field.column_index : -1);
    return leaves;
  }

  static void add_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
    if (field.is_leaf()) leaves.push_back(field.column_index);
    for (const parquet::arrow::SchemaField& child : field.children) add_leaves(child, leaves);
  }
  static std::vector<std::vector<int>> all_leaf_columns(const parquet::arrow::FileReader& reader) {
    std::vector<std::vector<int>> all;
    for (const parquet::arrow::SchemaField& field : reader.manifest().schema_fields)
      add_leaves(field, all.emplace_back());
    return all;
  }

  std::unique_ptr<parquet::arrow::FileReader> open() const {
    return translated([&] {
      parquet::ReaderProperties properties(file_memory());
      parquet::ArrowReaderProperties arrow_properties(/*use_threads=*/false);
      arrow_properties.set_batch_size(kMostSegmentRows);
      arrow_properties.set_pre_buffer(false);
      arrow_properties.set_coerce_int96_timestamp_unit(arrow::TimeUnit::MICRO);
      auto file = parquet::ParquetFileReader::Open(opened_.file, properties, known_.metadata);
      if (!known_.metadata) choose_columns(*file->metadata(), enum_as_text);
      auto reader = parquet::arrow::FileReader::Make(file_memory(), std::move(file), arrow_properties);
      check_status(reader.status());
      return std::move(*reader);
    });
  }

  const OpenedFile opened_;
  ParquetColumns known_;
};

bool ParquetFile::bounds_form(size_t column, BoundsForm* form) const {
  const BoundColumn& bound = known_.columns[column];
  if (bound.field == BoundColumn::kConstant || bound.wanted.display_scale || bound.wanted.geo) return false;
  form->type = known_.schema->field(bound.field)->type().get();
  form->column = known_.metadata->schema()->Column(known_.leaves[static_cast<size_t>(bound.field)]);
  return integer_form(*form->type, bound.wanted, &form->form);
}

std::unique_ptr<parquet::ColumnChunkMetaData> ParquetFile::chunk(uint32_t batch, size_t column) const {
  const auto field = static_cast<size_t>(known_.columns[column].field);
  return known_.metadata->RowGroup(static_cast<int>(batch))->ColumnChunk(known_.leaves[field]);
}

std::vector<StoredColumn::Zone> ParquetFile::zones(uint32_t batch) const {
  return translated([&] {
    std::vector<StoredColumn::Zone> zones(known_.columns.size());
    for (size_t i = 0; i < known_.columns.size(); i++) {
      const BoundColumn& column = known_.columns[i];
      if (column.field == BoundColumn::kConstant) zones[i] = constant_zone(column.wanted);
      BoundsForm form;
      if (!bounds_form(i, &form)) continue;
      const auto of_column = chunk(batch, i);
      const auto statistics = of_column->is_stats_set() ? of_column->statistics() : nullptr;
      if (statistics && statistics->HasMinMax())
        zones[i] = integer_zone(form, statistics->EncodeMin(), statistics->EncodeMax());
    }
    return zones;
  });
}

std::vector<PageZones> ParquetFile::page_zones(uint32_t batch, const std::vector<uint8_t>& columns) const {
  std::vector<PageZones> all;
  const uint64_t nrows = rows(batch);
  for (size_t i = 0; i < known_.columns.size(); i++) {
    BoundsForm form;
    if (!columns[i] || !bounds_form(i, &form) || form.column->max_repetition_level() != 0) continue;
    translated(known_.columns[i].wanted.name, [&] {
      const auto of_column = chunk(batch, i);
      if (!of_column->is_stats_set() || of_column->crypto_metadata()) return;
      PageZones pages{i, {}, {}};
      for (const PagePlace& place : page_places(opened_, *of_column, nrows))
        pages.first_rows.push_back(place.first_row);
      if (pages.first_rows.empty()) return;
      pages.zones = turbine::page_zones(opened_, *of_column, form, pages.first_rows.size());
      if (!pages.zones.empty()) all.push_back(std::move(pages));
    });
  }
  return all;
}

bool ParquetFile::lacks(uint32_t batch, const ColumnEquality& equality) const {
  const BoundColumn& bound = known_.columns[equality.column];
  if (bound.field == BoundColumn::kConstant || bound.wanted.display_scale || bound.wanted.geo) return false;
  return translated(bound.wanted.name, [&] {
    const auto of_column = chunk(batch, equality.column);
    BoundsForm form;
    const bool is_integer = bounds_form(equality.column, &form);
    if (!is_integer && bound.wanted.type != TB_TYPE_TEXT) return false;
    const int leaf = known_.leaves[static_cast<size_t>(bound.field)];
    return bloom_filter_excludes(opened_, *of_column, *known_.metadata->schema()->Column(leaf),
                                 is_integer ? &form : nullptr, equality);
  });
}

std::unique_ptr<BatchReader> ParquetFile::read_rows(uint32_t batch, const RowRanges& rows) const {
  if (known_.fields.empty()) return read_constants(known_.columns);
  return read_row_group(opened_, known_, batch, rows, [this] { return open(); });
}

}  // namespace

std::unique_ptr<TableFile> open_parquet_file(OpenedFile opened, std::vector<WantedColumn> wanted) {
  return translated([&] { return std::make_unique<ParquetFile>(std::move(opened), std::move(wanted)); });
}

}  // namespace turbine
