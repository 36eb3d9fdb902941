/*
 * ipc_writer.h - Arrow IPC files: new ones, and record batches appended to one.
 */
#pragma once

#include <arrow/ipc/options.h>
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
  /* `append`: the file at `path` keeps its batches, and must have the columns of `schema`.
   * The new file replaces it when it is complete. Throws ExportError, as all functions do. */
  IpcWriter(const std::string& path, bool append, std::shared_ptr<arrow::Schema> schema, ValueRanges ranges,
            arrow::Compression::type compression);

  void write(const arrow::RecordBatch& batch) override;
  void finish() override;
  int64_t bytes() const override { return position_; }

 private:
  void start_new();
  void start_with(const std::string& path);
  void take_over_dictionaries(const std::string& path);
  void write_dictionaries(const arrow::RecordBatch& batch);
  IpcBlock write_payload(const arrow::ipc::IpcPayload& payload);
  void write_bytes(const std::string& bytes);

  OutputFile file_;
  std::shared_ptr<arrow::Schema> schema_;
  ValueRanges ranges_;
  arrow::ipc::IpcWriteOptions options_;
  arrow::ipc::DictionaryFieldMapper mapper_;
  IpcFooter footer_;
  /* Dictionaries that the file has, by field number; null before the first batch. */
  std::vector<std::shared_ptr<arrow::Array>> dictionaries_;
  int64_t position_ = 0;
  bool appending_;
};

}  // namespace turbine::exporting
