/*
 * parquet_writer.cc - record batches to row groups, their columns encoded by several threads.
 *
 * The only file of the export programs, with dump.cc, that sees libparquet's headers.
 */
#include "export/parquet_writer.h"

#include <arrow/record_batch.h>
#include <arrow/util/compression.h>
#include <parquet/properties.h>

#include "export/dictionary_choice.h"
#include "export/export_error.h"

namespace turbine::exporting {
namespace {

/* Compresses nearly as well as higher levels, at twice their speed. */
constexpr int kZstdLevel = 1;

/* `first`: rows that say which columns get a dictionary; null: there are none. */
std::shared_ptr<parquet::WriterProperties> writer_properties(const ParquetOptions& options,
                                                             const arrow::RecordBatch* first) {
  parquet::WriterProperties::Builder builder;
  builder.compression(options.compression)
      ->max_row_group_length(1LL << 30)
      ->enable_write_page_index()
      ->enable_statistics();
  if (options.compression == arrow::Compression::ZSTD) builder.compression_level(kZstdLevel);
  if (!options.dictionary) builder.disable_dictionary();
  for (int i = 0; options.dictionary && first != nullptr && i < first->num_columns(); i++)
    if (!is_worth_dictionary(first->column(i))) builder.disable_dictionary(first->column_name(i));
  return builder.build();
}

class ParquetWriter : public TableWriter {
 public:
  ParquetWriter(std::unique_ptr<OutputFile> file, std::shared_ptr<arrow::Schema> schema, const ParquetOptions& options)
      : file_(std::move(file)), schema_(std::move(schema)), options_(options) {}

  void write(const arrow::RecordBatch& batch) override {
    if (writer_ == nullptr) open(&batch);
    check(writer_->NewBufferedRowGroup());
    check(writer_->WriteRecordBatch(batch));
  }

  void finish() override {
    if (writer_ == nullptr) open(nullptr);
    check(writer_->Close());
    bytes_ = value_of(file_->stream()->Tell());
    file_->commit(false);
  }

  int64_t bytes() const override { return bytes_ > 0 ? bytes_ : file_->stream()->Tell().ValueOr(0); }

 private:
  void open(const arrow::RecordBatch* first) {
    parquet::ArrowWriterProperties::Builder arrow_builder;
    arrow_builder.store_schema()->set_use_threads(true);
    writer_ = value_of(parquet::arrow::FileWriter::Open(*schema_, arrow::default_memory_pool(), file_->stream(),
                                                        writer_properties(options_, first), arrow_builder.build()));
  }

  const std::unique_ptr<OutputFile> file_;
  const std::shared_ptr<arrow::Schema> schema_;
  const ParquetOptions options_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
  int64_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<TableWriter> make_parquet_writer(std::unique_ptr<OutputFile> file,
                                                 const std::shared_ptr<arrow::Schema>& schema,
                                                 const ParquetOptions& options) {
  return std::make_unique<ParquetWriter>(std::move(file), schema, options);
}

}  // namespace turbine::exporting
