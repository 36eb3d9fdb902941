/*
 * arrow_file.cc - see arrow_file.h.
 *
 * Owns the memory pool of all files. Called when a file is opened, and for each batch that is read of it.
 */
#include "engine/source/files/arrow/arrow_file.h"

#include <unistd.h>

#include <algorithm>
#include <new>

#include <arrow/array.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "engine/limits/process_limits.h"
#include "engine/source/files/arrow/open_table_file.h"
#include "file_values/geo_columns.h"
#include "turbine/wire.h"

namespace turbine {

void OpenedFile::check_unchanged() const {
  if (file_version(file->file_descriptor()) != version) throw FileError("it was changed while it was read");
}

std::vector<BoundColumn> bind_columns(const arrow::Schema& schema, std::vector<WantedColumn> wanted) {
  std::vector<BoundColumn> columns;
  std::vector<GeoColumn> geo;  // by field
  for (WantedColumn& column : wanted) {
    BoundColumn bound;
    if (!column.is_constant) {
      const std::vector<int> fields = schema.GetAllFieldIndices(column.name);
      if (fields.empty()) throw FileError("column \"" + column.name + "\": the file has none");
      if (fields.size() > 1) throw FileError("column \"" + column.name + "\": the file has several");
      bound.field = fields[0];
      if (column.is_coordinate || column.type == TB_TYPE_GEOMETRY) {
        if (geo.empty()) geo = geo_columns(schema);
        GeoColumn of = geo[static_cast<size_t>(bound.field)];
        // As the other reader takes binary values of which the file says nothing.
        if (of.form == GeoForm::kNone) of.form = GeoForm::kWkb;
        column.geo = std::make_shared<const GeoColumn>(std::move(of));
      }
      (void)column_values(*schema.field(bound.field)->type(), column);  // it can be read
    }
    bound.wanted = std::move(column);
    columns.push_back(std::move(bound));
  }
  return columns;
}

std::vector<int> bound_fields(const std::vector<BoundColumn>& columns) {
  std::vector<int> fields;
  for (const BoundColumn& column : columns)
    if (column.field != BoundColumn::kConstant) fields.push_back(column.field);
  std::sort(fields.begin(), fields.end());
  fields.erase(std::unique(fields.begin(), fields.end()), fields.end());
  return fields;
}

size_t first_column_of(const std::vector<BoundColumn>& columns, int field) {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [field](const BoundColumn& column) { return column.field == field; });
  return static_cast<size_t>(found - columns.begin());
}

BoundRows::BoundRows(const std::vector<BoundColumn>& columns, const std::vector<int>& fields,
                     const arrow::Schema& schema)
    : columns_(columns) {
  for (size_t i = 0; i < columns.size(); i++) {
    if (columns[i].field == BoundColumn::kConstant) continue;
    const auto place = static_cast<int>(std::find(fields.begin(), fields.end(), columns[i].field) - fields.begin());
    if (place == static_cast<int>(fields.size())) continue;
    places_.push_back({i, place, column_values(*schema.field(place)->type(), columns[i].wanted)});
  }
}

void BoundRows::append(const arrow::RecordBatch& batch, int64_t from, uint32_t count,
                       std::vector<ColumnRows>& rows) const {
  for (const Place& place : places_) place.values->append(*batch.column(place.field), from, count, rows[place.column]);
}

void append_constants(const std::vector<BoundColumn>& columns, uint32_t count, std::vector<ColumnRows>& rows) {
  for (size_t i = 0; i < columns.size(); i++)
    if (columns[i].field == BoundColumn::kConstant) append_constant(columns[i].wanted, count, rows[i]);
}

namespace {

class ConstantReader final : public BatchReader {
 public:
  explicit ConstantReader(const std::vector<BoundColumn>& columns) : columns_(columns) {}
  void read(uint32_t nrows, std::vector<ColumnRows>& rows) override {
    for (ColumnRows& column : rows) column.clear();
    append_constants(columns_, nrows, rows);
  }
  bool may_have_nulls(size_t column) const override { return columns_[column].wanted.is_null; }
  void add_bytes(std::vector<uint64_t>&) const override {}

 private:
  const std::vector<BoundColumn>& columns_;
};

}  // namespace

std::unique_ptr<BatchReader> read_constants(const std::vector<BoundColumn>& columns) {
  return std::make_unique<ConstantReader>(columns);
}

StoredColumn::Zone constant_zone(const WantedColumn& constant) {
  int64_t value;
  switch (constant.type) {
    case TB_TYPE_INT2: value = static_cast<int16_t>(constant.value[0]); break;
    case TB_TYPE_INT4:
    case TB_TYPE_DATE: value = static_cast<int32_t>(constant.value[0]); break;
    case TB_TYPE_INT8:
    case TB_TYPE_TIMESTAMP:
    case TB_TYPE_TIMESTAMPTZ:
    case TB_TYPE_NUM64: value = static_cast<int64_t>(constant.value[0]); break;
    default: return {};
  }
  // A NULL passes no comparison.
  if (constant.is_null) return {true, 1, 0};
  return {true, value, value};
}

void BoundRows::check(const arrow::RecordBatch& batch) const {
  for (const Place& place : places_) {
    if (place.field >= batch.num_columns()) throw FileError("a batch without some columns");
    const arrow::Array& array = *batch.column(place.field);
    const arrow::Status status = array.Validate();
    if (!status.ok()) throw FileError("column \"" + columns_[place.column].wanted.name + "\": " + status.message());
    if (array.length() != batch.num_rows()) throw FileError("columns of a batch differ in length");
  }
}

arrow::MemoryPool* file_memory() {
  static arrow::CappedMemoryPool pool(arrow::system_memory_pool(),
                                      static_cast<int64_t>(std::max<uint64_t>(memory_limit() / 4, 1 << 30)));
  return &pool;
}

void check_status(const arrow::Status& status) {
  if (status.ok()) return;
  if (status.IsOutOfMemory()) throw std::bad_alloc();
  throw FileError(status.message());
}

std::unique_ptr<TableFile> open_table_file(int fd, uint32_t format, std::vector<WantedColumn> wanted,
                                           const FileReading& reading) {
  OpenedFile opened;
  opened.version = file_version(fd);
  const int own = dup(fd);
  if (own < 0) throw FileError("no descriptor is left");
  opened.file = std::make_shared<StoredFile>(own, reading, file_memory());
  if (format == TB_COLUMN_FILE_PARQUET) return open_parquet_file(std::move(opened), std::move(wanted));
  return open_ipc_file(std::move(opened), std::move(wanted), format == TB_COLUMN_FILE_ARROW_STREAM);
}

}  // namespace turbine
