/*
 * additions.cc - see additions.h.
 *
 * Additions have dictionary columns as plain values. What a dictionary lacks is known, and added to it, when the file
 * is made. Small batches of additions become one, up to the size that to_arrow gives its batches.
 */
#include "export/backend/additions.h"

#include <arrow/array/array_dict.h>
#include <arrow/array/concatenate.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/cast.h>
#include <arrow/ipc/reader.h>
#include <arrow/util/byte_size.h>

#include <optional>

#include "export/backend/file_columns.h"
#include "export/backend/folder_file.h"
#include "export/export_run.h"
#include "export/ipc_writer.h"
#include "turbine/file_writer.h"

namespace turbine::exporting {
namespace {

using Batch = std::shared_ptr<arrow::RecordBatch>;

std::unique_ptr<OutputFile> new_file(const WriterRequest& request) {
  auto file = std::make_unique<FolderFile>(request.options.output, request.old_file);
  file->stop_before(request.stop);
  return file;
}

std::shared_ptr<arrow::ipc::RecordBatchFileReader> open_batches(const std::string& name) {
  return value_of(arrow::ipc::RecordBatchFileReader::Open(open_in_folder(name)));
}

/* Batches of rows, cast to the file's columns. */
class AdditionWriter final : public TableWriter {
 public:
  AdditionWriter(std::unique_ptr<OutputFile> file, FileColumns columns)
      : columns_(std::move(columns)),
        writer_(std::move(file), false, columns_.schema(), {}, arrow::Compression::UNCOMPRESSED) {}

  void write(const arrow::RecordBatch& batch) override { writer_.write(*columns_.convert(batch)); }
  void finish() override { writer_.finish(); }
  int64_t bytes() const override { return writer_.bytes(); }

 private:
  FileColumns columns_;
  IpcWriter writer_;
};

/* Values as indexes into the file's dictionary, which gets those that it lacks behind the others. */
std::shared_ptr<arrow::Array> encode(const std::shared_ptr<arrow::Array>& values, const arrow::Field& field,
                                     const std::shared_ptr<arrow::Array>& known) {
  const auto& type = static_cast<const arrow::DictionaryType&>(*field.type());
  const int64_t taken = known == nullptr ? 0 : known->length();
  const auto all = known == nullptr ? values : value_of(arrow::Concatenate({known, values}));
  const auto encoded = value_of(arrow::compute::DictionaryEncode(all)).make_array();
  const auto& dictionary = static_cast<const arrow::DictionaryArray&>(*encoded);
  auto indices = arrow::compute::Cast(*dictionary.indices()->Slice(taken), type.index_type());
  if (!indices.ok()) {
    throw ExportError(ExitCode::kValue, "column \"" + field.name() + "\": the file's dictionary has no room for " +
                                            std::to_string(dictionary.dictionary()->length()) + " values");
  }
  return value_of(arrow::DictionaryArray::FromArrays(field.type(), *indices, dictionary.dictionary()));
}

/* Gathers batches, and writes them when they are enough. */
class Merger {
 public:
  explicit Merger(IpcWriter& writer) : writer_(writer) {}

  void add(Batch batch) {
    rows_ += batch->num_rows();
    const int64_t bytes = value_of(arrow::util::ReferencedBufferSize(*batch));
    if (bytes_ + bytes > kBatchBytes) flush();
    gathered_.push_back(std::move(batch));
    bytes_ += bytes;
  }

  void flush() {
    if (!gathered_.empty()) {
      const Batch plain = gathered_.size() == 1 ? gathered_[0] : value_of(arrow::ConcatenateRecordBatches(gathered_));
      writer_.write(*with_dictionaries(*plain));
    }
    gathered_.clear();
    bytes_ = 0;
  }

  int64_t rows() const { return rows_; }

 private:
  Batch with_dictionaries(const arrow::RecordBatch& plain) const {
    const auto& schema = writer_.schema();
    arrow::ArrayVector arrays;
    for (int i = 0; i < schema->num_fields(); i++) {
      const auto& field = schema->field(i);
      arrays.push_back(field->type()->id() == arrow::Type::DICTIONARY
                           ? encode(plain.column(i), *field, writer_.dictionary(i))
                           : plain.column(i));
    }
    return arrow::RecordBatch::Make(schema, plain.num_rows(), std::move(arrays));
  }

  IpcWriter& writer_;
  std::vector<Batch> gathered_;
  int64_t bytes_ = 0, rows_ = 0;
};

/* The columns of the new file; those of dictionaries stay as they are. */
std::shared_ptr<arrow::Schema> merged_schema(const WriterRequest& request) {
  if (request.old_file.empty() && request.additions.empty()) {
    throw ExportError(ExitCode::kServer, "the backend's request is damaged");
  }
  const auto schema = open_batches(request.old_file.empty() ? request.additions[0] : request.old_file)->schema();
  /* Without the statistics of rows that go. */
  const auto plain = addition_schema(*schema);
  arrow::FieldVector fields;
  for (int i = 0; i < schema->num_fields(); i++) fields.push_back(plain->field(i)->WithType(schema->field(i)->type()));
  return arrow::schema(fields, schema->metadata());
}

}  // namespace

int64_t write_addition(int input, const WriterRequest& request) {
  BackendSource source(input, request);
  std::optional<FileColumns> columns;
  if (!request.old_file.empty()) {
    columns.emplace(*open_batches(request.old_file)->schema(), source.column_names(), source.types());
  }
  run_export(source, request.options, [&](const auto& schema) -> std::unique_ptr<TableWriter> {
    if (columns) return std::make_unique<AdditionWriter>(new_file(request), *columns);
    return std::make_unique<IpcWriter>(new_file(request), false, schema, ValueRanges(), request.options.compression);
  });
  return source.rows();
}

int64_t merge_additions(const WriterRequest& request) {
  const bool append = !request.old_file.empty() && !(request.flags & TB_WRITER_EMPTIED);
  const auto schema = merged_schema(request);
  IpcWriter writer(new_file(request), append, schema, ValueRanges(*schema, {}), request.options.compression,
                   /*durable=*/true);
  Merger merger(writer);
  const auto plain = addition_schema(*schema);
  for (const std::string& name : request.additions) {
    const auto addition = open_batches(name);
    /* Two statements, one inside the other, may each have begun a new file. */
    if (!addition->schema()->Equals(*plain, /*check_metadata=*/false)) {
      throw ExportError(ExitCode::kUsage, "statements of the transaction write different columns");
    }
    for (int i = 0; i < addition->num_record_batches(); i++) merger.add(value_of(addition->ReadRecordBatch(i)));
  }
  merger.flush();
  writer.finish();
  return merger.rows();
}

}  // namespace turbine::exporting
