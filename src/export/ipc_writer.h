/*
 * ipc_writer.h - Arrow IPC files: new ones, and record batches appended to one.
 */
#pragma once

#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>

#include <memory>
#include <string>

#include "export/ipc_footer.h"
#include "export/output_file.h"
#include "export/table_writer.h"
#include "export/value_ranges.h"

namespace turbine::exporting {

class IpcWriter : public TableWriter {
 public:
  /* `append`: the file begins with the batches of the older one, which must have the columns of
   * `schema`. `durable`: the file is on disk when finish() returns, as it is if it replaces one that
   * was appended to. Throws ExportError, as all functions do. */
  IpcWriter(std::unique_ptr<OutputFile> file, bool append, std::shared_ptr<arrow::Schema> schema, ValueRanges ranges,
            arrow::Compression::type compression, bool durable = false);

  void write(const arrow::RecordBatch& batch) override;
  void finish() override;
  int64_t bytes() const override { return position_; }

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  /* The values that a column of dictionary type has so far; null: none. A batch's own dictionary may
   * have more behind them. */
  const std::shared_ptr<arrow::Array>& dictionary(int column) const {
    return dictionaries_[static_cast<size_t>(column)];
  }

 private:
  void start_new();
  void start_with_old();
  void take_over_dictionaries(arrow::ipc::RecordBatchFileReader& reader);
  void write_dictionaries(const arrow::RecordBatch& batch);
  IpcBlock write_payload(const arrow::ipc::IpcPayload& payload);
  /* A message's metadata, padded so that what follows is aligned in the file. */
  void write_metadata(const std::string& metadata, int64_t alignment);
  void pad_to(int64_t position);
  void write_bytes(const std::string& bytes);

  std::unique_ptr<OutputFile> file_;
  std::shared_ptr<arrow::Schema> schema_;
  ValueRanges ranges_;
  arrow::ipc::IpcWriteOptions options_;
  arrow::ipc::DictionaryFieldMapper mapper_;
  IpcFooter footer_;
  /* Dictionaries that the file has, by field number; null before the first batch. */
  std::vector<std::shared_ptr<arrow::Array>> dictionaries_;
  int64_t position_ = 0;
  bool durable_;
};

}  // namespace turbine::exporting
