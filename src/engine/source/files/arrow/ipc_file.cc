/*
 * ipc_file.cc - Arrow IPC files and streams. A batch is a record batch.
 *
 * Columns of numbers and the like that are not compressed are read from where they lie (ipc/primitive_column.h);
 * libarrow reads the others, a batch at a time. Owns readers of libarrow, as many as threads read at once: each knows
 * the file's dictionaries. The minimum and maximum of each batch are in the fields' metadata
 * (file_values/batch_bounds.h).
 */
#include <algorithm>
#include <bit>
#include <charconv>
#include <mutex>
#include <numeric>
#include <optional>
#include <string_view>

#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "engine/source/files/arrow/arrow_file.h"
#include "engine/source/files/arrow/geometry_values.h"
#include "engine/source/files/arrow/ipc/batch_layout.h"
#include "engine/source/files/arrow/ipc/message_stream.h"
#include "engine/source/files/arrow/ipc/primitive_column.h"
#include "engine/source/files/arrow/value_forms.h"
#include "file_values/batch_bounds.h"

namespace turbine {
namespace {

/* The integers of a list of bounds, by batch; none where something else is listed. */
std::vector<std::optional<int64_t>> listed_integers(const std::string& list) {
  std::vector<std::optional<int64_t>> values;
  for (const std::string_view text : listed_bounds(list)) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    values.emplace_back();
    if (error == std::errc() && end == text.data() + text.size()) values.back() = value;
  }
  return values;
}

class IpcFile final : public TableFile {
 public:
  IpcFile(OpenedFile opened, std::vector<WantedColumn> wanted, bool is_stream)
      : opened_(std::move(opened)), is_stream_(is_stream) {
    find_metadata();
    options_.memory_pool = file_memory();
    options_.use_threads = false;
    schema_ = is_stream_ ? open_stream({metadata_->before.front()})->schema() : schema_of_file();
    columns_ = bind_columns(*schema_, std::move(wanted));
    places_ = field_places(*schema_);
    find_primitive();
    for (const BoundColumn& column : columns_) listed_.push_back(listed_bounds(column));
    options_.included_fields = library_fields_;
  }

  uint32_t batches() const override { return static_cast<uint32_t>(metadata_->batches.size()); }
  uint64_t rows(uint32_t batch) const override { return metadata_->batches[batch].rows; }
  const FileVersion& version() const override { return opened_.version; }
  void check_unchanged() const override { opened_.check_unchanged(); }
  bool reads_rows_apart() const override { return library_fields_.empty(); }
  std::vector<StoredColumn::Zone> zones(uint32_t batch) const override;
  std::unique_ptr<BatchReader> read_rows(uint32_t batch, const RowRanges& rows) const override;

 private:
  using Reader = std::shared_ptr<arrow::ipc::RecordBatchFileReader>;

  void find_metadata() {
    metadata_ = std::static_pointer_cast<const IpcBatches>(metadata_cache().find(opened_.version));
    // Of a file that somebody took for the other kind nothing of it is of use.
    if (metadata_ && metadata_->before.empty() != is_stream_) return;
    metadata_ = std::make_shared<const IpcBatches>(is_stream_ ? read_ipc_stream(*opened_.file)
                                                              : read_ipc_batches(*opened_.file));
    metadata_cache().add(opened_.version, metadata_);
  }

  std::shared_ptr<arrow::Schema> schema_of_file() const {
    auto reader = arrow::ipc::RecordBatchFileReader::Open(opened_.file, options_);
    check_status(reader.status());
    if (static_cast<size_t>((*reader)->num_record_batches()) != metadata_->batches.size())
      throw FileError("Arrow file: the number of its batches");
    return (*reader)->schema();
  }
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> open_stream(std::vector<IpcMessage> messages) const {
    auto stream = std::make_shared<MessageStream>(*opened_.file, std::move(messages));
    auto reader = arrow::ipc::RecordBatchStreamReader::Open(std::move(stream), options_);
    check_status(reader.status());
    return *reader;
  }

  /* What the field's metadata lists, by batch. */
  struct ListedBounds {
    std::vector<std::optional<int64_t>> least, greatest;
    IntegerForm form;
  };
  ListedBounds listed_bounds(const BoundColumn& column) const;

  /* Which columns need no libarrow. */
  void find_primitive() {
    const bool as_written = metadata_->little_endian && std::endian::native == std::endian::little &&
                            std::none_of(metadata_->batches.begin(), metadata_->batches.end(),
                                         [](const IpcBatch& batch) { return batch.compressed; });
    for (const int field : bound_fields(columns_))
      if (as_written && places_[static_cast<size_t>(field)].known() && is_primitive(field))
        primitive_fields_.push_back(field);
      else
        library_fields_.push_back(field);
  }

  /* Whether each column of the field is numbers that lie one behind the other. */
  bool is_primitive(int field) const {
    const arrow::DataType& type = *schema_->field(field)->type();
    return has_primitive_layout(type) || std::all_of(columns_.begin(), columns_.end(), [&](const BoundColumn& column) {
             return column.field != field || is_stored_coordinate(column.wanted, type);
           });
  }

  std::shared_ptr<arrow::RecordBatch> read_by_library(uint32_t batch) const;
  std::shared_ptr<arrow::RecordBatch> read_of_file(uint32_t batch) const;
  std::shared_ptr<arrow::RecordBatch> read_of_stream(uint32_t batch) const;
  uint64_t library_bytes(int field, uint32_t batch, const BatchLayout& layout) const;

  Reader take_reader() const {
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        Reader reader = std::move(idle_.back());
        idle_.pop_back();
        return reader;
      }
    }
    auto reader = arrow::ipc::RecordBatchFileReader::Open(opened_.file, options_);
    check_status(reader.status());
    return *reader;
  }
  void give_back(Reader reader) const {
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(reader));
  }

  const OpenedFile opened_;
  const bool is_stream_;
  std::shared_ptr<const IpcBatches> metadata_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<BoundColumn> columns_;
  std::vector<ListedBounds> listed_;  // by column; empty: its field lists nothing that can be used
  std::vector<FieldPlace> places_;    // by field
  std::vector<int> primitive_fields_, library_fields_;  // of the columns, ascending
  arrow::ipc::IpcReadOptions options_ = arrow::ipc::IpcReadOptions::Defaults();
  mutable std::mutex mutex_;
  mutable std::vector<Reader> idle_;
};

/* Columns that libarrow has read. */
struct LibraryColumns {
  std::shared_ptr<arrow::RecordBatch> batch;
  BoundRows bound;
};

class IpcBatchReader final : public BatchReader {
 public:
  struct Primitive {
    size_t column;  // of the bound ones
    PrimitiveColumn values;
  };
  IpcBatchReader(const OpenedFile& opened, const std::vector<BoundColumn>& columns, std::vector<Primitive> primitive,
                 std::optional<LibraryColumns> library, std::vector<uint64_t> bytes, const RowRanges& rows)
      : opened_(opened),
        columns_(columns),
        primitive_(std::move(primitive)),
        library_(std::move(library)),
        bytes_(std::move(bytes)),
        rows_(rows) {
    if (library_) library_->bound.check(*library_->batch);
  }
  void read(uint32_t nrows, std::vector<ColumnRows>& columns) override {
    for (ColumnRows& column : columns) column.clear();
    append_constants(columns_, nrows, columns);
    rows_.take(nrows);
    const uint64_t from = rows_.row() - nrows;
    for (const Primitive& primitive : primitive_)
      primitive.values.append(*opened_.file, from, nrows, room_, columns[primitive.column]);
    if (library_) library_->bound.append(*library_->batch, static_cast<int64_t>(from), nrows, columns);
  }
  bool may_have_nulls(size_t column) const override {
    if (columns_[column].field == BoundColumn::kConstant) return columns_[column].wanted.is_null;
    const auto own = std::find_if(primitive_.begin(), primitive_.end(),
                                  [&](const Primitive& primitive) { return primitive.column == column; });
    return own == primitive_.end() || own->values.may_have_nulls();
  }
  void add_bytes(std::vector<uint64_t>& by_column) const override {
    for (size_t i = 0; i < bytes_.size(); i++) by_column[i] += bytes_[i];
  }

 private:
  const OpenedFile& opened_;
  const std::vector<BoundColumn>& columns_;
  const std::vector<Primitive> primitive_;
  const std::optional<LibraryColumns> library_;
  const std::vector<uint64_t> bytes_;  // by column
  RowCursor rows_;
  std::vector<uint8_t> room_;
};

IpcFile::ListedBounds IpcFile::listed_bounds(const BoundColumn& column) const {
  ListedBounds bounds;
  if (column.field == BoundColumn::kConstant || column.wanted.display_scale) return bounds;
  const arrow::Field& field = *schema_->field(column.field);
  if (!field.metadata() || !integer_form(*field.type(), column.wanted, &bounds.form)) return bounds;
  const auto least = field.metadata()->Get(kMinValues), greatest = field.metadata()->Get(kMaxValues);
  if (!least.ok() || !greatest.ok()) return bounds;
  bounds.least = listed_integers(*least);
  bounds.greatest = listed_integers(*greatest);
  return bounds;
}

std::vector<StoredColumn::Zone> IpcFile::zones(uint32_t batch) const {
  std::vector<StoredColumn::Zone> zones(columns_.size());
  for (size_t i = 0; i < columns_.size(); i++) {
    if (columns_[i].field == BoundColumn::kConstant) {
      zones[i] = constant_zone(columns_[i].wanted);
      continue;
    }
    const ListedBounds& listed = listed_[i];
    if (batch >= listed.least.size() || batch >= listed.greatest.size()) continue;
    const auto least = listed.least[batch], greatest = listed.greatest[batch];
    zones[i].known = least && greatest && listed.form.convert(*least, &zones[i].least) &&
                     listed.form.convert(*greatest, &zones[i].greatest);
  }
  return zones;
}

std::shared_ptr<arrow::RecordBatch> IpcFile::read_of_stream(uint32_t batch) const {
  std::vector<IpcMessage> messages;
  for (const IpcMessage& message : metadata_->before)
    if (message.batch <= batch) messages.push_back(message);
  const IpcBatch& of = metadata_->batches[batch];
  messages.push_back({of.offset, of.header_bytes + of.body_bytes, batch});
  std::shared_ptr<arrow::RecordBatch> read;
  check_status(open_stream(std::move(messages))->ReadNext(&read));
  if (!read) throw FileError("Arrow stream: a batch is none");
  return read;
}

std::shared_ptr<arrow::RecordBatch> IpcFile::read_of_file(uint32_t batch) const {
  Reader reader = take_reader();
  auto read = reader->ReadRecordBatch(static_cast<int>(batch));
  check_status(read.status());
  give_back(std::move(reader));
  return *read;
}

std::shared_ptr<arrow::RecordBatch> IpcFile::read_by_library(uint32_t batch) const {
  auto read = is_stream_ ? read_of_stream(batch) : read_of_file(batch);
  if (static_cast<uint64_t>(read->num_rows()) != rows(batch)) throw FileError("Arrow file: a batch's number of rows");
  return read;
}

/* Where it is not known which buffers are a field's, fields share the body. */
uint64_t IpcFile::library_bytes(int field, uint32_t batch, const BatchLayout& layout) const {
  const FieldPlace& place = places_[static_cast<size_t>(field)];
  if (!place.known()) return static_cast<uint64_t>(metadata_->batches[batch].body_bytes / schema_->num_fields());
  uint64_t bytes = 0;
  for (uint64_t i = place.first_buffer; i < uint64_t{place.first_buffer} + place.buffers; i++)
    if (i < layout.buffers.size()) bytes += static_cast<uint64_t>(std::max<int64_t>(layout.buffers[i].length, 0));
  return bytes;
}

/* Past the page cache nobody reads ahead of us: all that the rows need is asked for at once. */
void hold_columns(StoredFile& file, std::vector<IpcBatchReader::Primitive>& primitive, const RowRanges& rows,
                  uint64_t bytes) {
  if (rows.empty() || primitive.empty() || !file.goes_past_cache(static_cast<int64_t>(bytes))) return;
  std::vector<StoredFile::Range> all;
  for (const IpcBatchReader::Primitive& column : primitive)
    for (const StoredFile::Range& range : column.values.ranges(rows.front().first, rows.back().end()))
      all.push_back(range);
  auto read = file.read_ranges(all);
  check_status(read.status());
  size_t next = 0;
  for (IpcBatchReader::Primitive& column : primitive) {
    const size_t count = column.values.range_count();
    column.values.hold(
        {all.begin() + static_cast<ptrdiff_t>(next), all.begin() + static_cast<ptrdiff_t>(next + count)},
        {read->begin() + static_cast<ptrdiff_t>(next), read->begin() + static_cast<ptrdiff_t>(next + count)});
    next += count;
  }
}

std::unique_ptr<BatchReader> IpcFile::read_rows(uint32_t batch, const RowRanges& rows) const {
  if (primitive_fields_.empty() && library_fields_.empty()) return read_constants(columns_);
  const IpcBatch& from = metadata_->batches[batch];
  const BatchLayout layout = read_batch_layout(*opened_.file, from);
  std::optional<LibraryColumns> library;
  std::vector<uint64_t> bytes(columns_.size());
  if (!library_fields_.empty()) {
    auto read = read_by_library(batch);
    library.emplace(LibraryColumns{read, BoundRows(columns_, library_fields_, *read->schema())});
    for (const int field : library_fields_) {
      bytes[first_column_of(columns_, field)] = library_bytes(field, batch, layout);
    }
  }
  uint64_t nrows = 0;
  for (const RowRange& range : rows) nrows += range.count;
  std::vector<IpcBatchReader::Primitive> primitive;
  for (size_t i = 0; i < columns_.size(); i++) {
    if (!std::binary_search(primitive_fields_.begin(), primitive_fields_.end(), columns_[i].field)) continue;
    const FieldPlace& place = places_[static_cast<size_t>(columns_[i].field)];
    primitive.push_back(
        {i, PrimitiveColumn(columns_[i], schema_->field(columns_[i].field)->type(), place, from, layout)});
    bytes[i] = primitive.back().values.bytes(nrows);
  }
  hold_columns(*opened_.file, primitive, rows, std::accumulate(bytes.begin(), bytes.end(), uint64_t{0}));
  return std::make_unique<IpcBatchReader>(opened_, columns_, std::move(primitive), std::move(library), std::move(bytes),
                                          rows);
}

}  // namespace

std::unique_ptr<TableFile> open_ipc_file(OpenedFile opened, std::vector<WantedColumn> wanted, bool is_stream) {
  return std::make_unique<IpcFile>(std::move(opened), std::move(wanted), is_stream);
}

}  // namespace turbine
