/*
 * ipc_file.cc - Arrow IPC files. A batch is a record batch.
 *
 * Owns readers of libarrow, as many as threads read at once: each knows the file's dictionaries. The minimum and
 * maximum of each batch are in the fields' metadata, as pg2arrow writes them: "min_values" and "max_values", lists
 * of integers as they are stored, with commas between them.
 */
#include <algorithm>
#include <charconv>
#include <mutex>
#include <string_view>

#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "engine/source/files/arrow/arrow_file.h"
#include "engine/source/files/arrow/integer_form.h"
#include "engine/source/files/arrow/ipc_footer.h"

namespace turbine {
namespace {

/* What a file says about itself. */
struct IpcMetadata {
  std::vector<IpcBatch> batches;
};

/* The value of a batch in such a list; false: it has none. */
bool listed_value(const std::string& list, uint32_t batch, int64_t* value) {
  size_t start = 0;
  for (uint32_t i = 0; i < batch; i++) {
    start = list.find(',', start);
    if (start == std::string::npos) return false;
    start++;
  }
  const std::string_view rest = std::string_view(list).substr(start);
  std::string_view item = rest.substr(0, rest.find(','));
  while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
  while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
  const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), *value);
  return error == std::errc() && end == item.data() + item.size();
}

class IpcFile final : public TableFile {
 public:
  IpcFile(OpenedFile opened, std::vector<WantedColumn> wanted) : opened_(std::move(opened)) {
    find_metadata();
    options_.memory_pool = file_memory();
    options_.use_threads = false;
    auto reader = arrow::ipc::RecordBatchFileReader::Open(opened_.file, options_);
    check_status(reader.status());
    schema_ = (*reader)->schema();
    if (static_cast<size_t>((*reader)->num_record_batches()) != metadata_->batches.size())
      throw FileError("Arrow file: the number of its batches");
    columns_ = bind_columns(*schema_, std::move(wanted));
    fields_ = bound_fields(columns_);
    options_.included_fields = fields_;
  }

  uint32_t batches() const override { return static_cast<uint32_t>(metadata_->batches.size()); }
  uint64_t rows(uint32_t batch) const override { return metadata_->batches[batch].rows; }
  /* Columns share the body, by their width at best. */
  uint64_t bytes(uint32_t batch) const override {
    return schema_->num_fields() == 0
               ? 0
               : metadata_->batches[batch].bytes * fields_.size() / static_cast<uint64_t>(schema_->num_fields());
  }
  const FileVersion& version() const override { return opened_.version; }
  void check_unchanged() const override { opened_.check_unchanged(); }
  std::vector<StoredColumn::Zone> zones(uint32_t batch) const override;
  std::unique_ptr<BatchReader> read_rows(uint32_t batch, const RowRanges& rows) const override;

 private:
  using Reader = std::shared_ptr<arrow::ipc::RecordBatchFileReader>;

  void find_metadata() {
    metadata_ = std::static_pointer_cast<const IpcMetadata>(metadata_cache().find(opened_.version));
    if (metadata_) return;
    metadata_ = std::make_shared<const IpcMetadata>(IpcMetadata{read_ipc_batches(*opened_.file)});
    metadata_cache().add(opened_.version, metadata_);
  }

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
  std::shared_ptr<const IpcMetadata> metadata_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<BoundColumn> columns_;
  std::vector<int> fields_;
  arrow::ipc::IpcReadOptions options_ = arrow::ipc::IpcReadOptions::Defaults();
  mutable std::mutex mutex_;
  mutable std::vector<Reader> idle_;
};

class IpcBatchReader final : public BatchReader {
 public:
  IpcBatchReader(std::shared_ptr<arrow::RecordBatch> batch, const std::vector<BoundColumn>& columns,
                 const std::vector<int>& fields, const RowRanges& rows)
      : batch_(std::move(batch)), columns_(columns), bound_(columns, fields, *batch_->schema()), rows_(rows) {
    bound_.check(*batch_);
  }
  void read(uint32_t nrows, std::vector<ColumnRows>& columns) override {
    for (ColumnRows& column : columns) column.clear();
    append_constants(columns_, nrows, columns);
    rows_.take(nrows);
    bound_.append(*batch_, static_cast<int64_t>(rows_.row() - nrows), nrows, columns);
  }

 private:
  const std::shared_ptr<arrow::RecordBatch> batch_;
  const std::vector<BoundColumn>& columns_;
  const BoundRows bound_;
  RowCursor rows_;
};

std::vector<StoredColumn::Zone> IpcFile::zones(uint32_t batch) const {
  std::vector<StoredColumn::Zone> zones(columns_.size());
  for (size_t i = 0; i < columns_.size(); i++) {
    if (columns_[i].field == BoundColumn::kConstant) {
      zones[i] = constant_zone(columns_[i].wanted);
      continue;
    }
    const arrow::Field& field = *schema_->field(columns_[i].field);
    IntegerForm form;
    if (!field.metadata() || columns_[i].wanted.display_scale ||
        !integer_form(*field.type(), columns_[i].wanted, &form))
      continue;
    const auto least = field.metadata()->Get("min_values"), greatest = field.metadata()->Get("max_values");
    StoredColumn::Zone& zone = zones[i];
    int64_t min = 0, max = 0;
    zone.known = least.ok() && greatest.ok() && listed_value(*least, batch, &min) &&
                 listed_value(*greatest, batch, &max) && form.convert(min, &zone.least) &&
                 form.convert(max, &zone.greatest);
  }
  return zones;
}

std::unique_ptr<BatchReader> IpcFile::read_rows(uint32_t batch, const RowRanges& rows) const {
  if (fields_.empty()) return read_constants(columns_);
  Reader reader = take_reader();
  auto read = reader->ReadRecordBatch(static_cast<int>(batch));
  check_status(read.status());
  give_back(std::move(reader));
  if (static_cast<uint64_t>((*read)->num_rows()) != this->rows(batch))
    throw FileError("Arrow file: a batch's number of rows");
  return std::make_unique<IpcBatchReader>(*read, columns_, fields_, rows);
}

}  // namespace

std::unique_ptr<TableFile> open_ipc_file(OpenedFile opened, std::vector<WantedColumn> wanted) {
  return std::make_unique<IpcFile>(std::move(opened), std::move(wanted));
}

}  // namespace turbine
