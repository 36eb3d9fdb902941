/*
 * parquet_file.cc - Parquet files, read page by page. Metadata is checked by libparquet as it
 * is parsed; counts of rows are checked against the pages here. Types that libparquet would convert with a loss are
 * read as they are stored (stored_types.h).
 */
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include "file_reader/batch_file.h"
#include "file_reader/reader_error.h"
#include "file_reader/stored_types.h"

namespace turbine::file_reader {

namespace {

constexpr int64_t kPieceRows = 64 * 1024;
constexpr int64_t kStreamBuffer = 1 << 20;

class ParquetFile final : public BatchFile {
 public:
  explicit ParquetFile(const FilePtr& file) {
    parquet::ReaderProperties properties(reader_pool());
    properties.enable_buffered_stream();
    properties.set_buffer_size(kStreamBuffer);
    auto arrow_properties = parquet::default_arrow_reader_properties();
    arrow_properties.set_use_threads(false);
    arrow_properties.set_batch_size(kPieceRows);
    arrow_properties.set_pre_buffer(false);
    /* UUID and JSON are types of the file, whether or not its writer has kept an Arrow schema in it. */
    arrow_properties.set_arrow_extensions_enabled(true);
    auto opened = parquet::ParquetFileReader::Open(file, properties);
    metadata_ = opened->metadata();
    stored_types_ = std::make_unique<StoredTypes>(*metadata_);
    reader_ = check(parquet::arrow::FileReader::Make(reader_pool(), std::move(opened), arrow_properties));
    std::shared_ptr<arrow::Schema> stored;
    check(reader_->GetSchema(&stored));
    arrow::FieldVector fields;
    for (int column = 0; column < stored->num_fields(); column++)
      fields.push_back(stored->field(column)->WithType(stored_types_->declared(field_of(column))));
    schema_ = arrow::schema(std::move(fields), stored->metadata());
  }

  FileFormat format() const override { return FileFormat::parquet; }
  const arrow::Schema& schema() const override { return *schema_; }

  std::vector<BatchSize> batch_sizes() override {
    std::vector<BatchSize> sizes;
    for (int group = 0; group < metadata_->num_row_groups(); group++) {
      const auto row_group = metadata_->RowGroup(group);
      sizes.push_back({rows_of(*row_group), std::max<int64_t>(row_group->total_byte_size(), 0)});
    }
    return sizes;
  }

  int64_t column_bytes(int column) override {
    int64_t bytes = 0;
    for (int group = 0; group < metadata_->num_row_groups(); group++) {
      const auto row_group = metadata_->RowGroup(group);
      for (const int leaf : leaves_of({column}))
        if (__builtin_add_overflow(bytes, std::max<int64_t>(row_group->ColumnChunk(leaf)->total_compressed_size(), 0),
                                   &bytes))
          throw ReaderError(sqlstate::corrupt, "a column's size is beyond what files can have");
    }
    return bytes;
  }

  std::optional<BatchBounds> bounds(int batch, int column) override {
    const auto& field = field_of(column);
    if (!field.is_leaf() || stored_types_->is_int96_column(field.column_index)) return std::nullopt;
    const auto chunk = metadata_->RowGroup(batch)->ColumnChunk(field.column_index);
    if (!chunk->is_stats_set()) return std::nullopt;
    const auto statistics = chunk->statistics();
    if (!statistics || !statistics->HasMinMax()) return std::nullopt;
    BatchBounds found;
    if (!parquet::arrow::StatisticsAsScalars(*statistics, &found.least, &found.greatest).ok()) return std::nullopt;
    return found;
  }

  std::shared_ptr<arrow::Array> as_declared(int column, const std::shared_ptr<arrow::Array>& stored) const override {
    return StoredTypes::convert(stored, schema_->field(column)->type());
  }

  void read(const std::vector<int>& columns, const Wanted& wanted, const Consume& consume) override {
    const std::vector<int> leaves = leaves_of(columns);
    for (int group = 0; group < metadata_->num_row_groups(); group++) {
      if (!wanted(group)) continue;
      const int64_t rows = rows_of(*metadata_->RowGroup(group));
      if (columns.empty()) {
        consume(group, *arrow::RecordBatch::Make(arrow::schema({}), rows, arrow::ArrayVector{}));
        continue;
      }
      const auto reader = check(reader_->GetRecordBatchReader({group}, leaves));
      int64_t read_rows = 0;
      for (std::shared_ptr<arrow::RecordBatch> piece;;) {
        check(reader->ReadNext(&piece));
        if (!piece) break;
        read_rows += piece->num_rows();
        consume(group, *piece);
      }
      if (read_rows != rows)
        throw ReaderError(sqlstate::corrupt, "a row group has other than the promised number of rows");
    }
  }

 private:
  static int64_t rows_of(const parquet::RowGroupMetaData& row_group) {
    if (row_group.num_rows() < 0) throw ReaderError(sqlstate::corrupt, "a row group has fewer than no rows");
    return row_group.num_rows();
  }

  const parquet::arrow::SchemaField& field_of(int column) const {
    return reader_->manifest().schema_fields[static_cast<size_t>(column)];
  }

  /* Leaf columns of top-level ones. */
  std::vector<int> leaves_of(const std::vector<int>& columns) const {
    std::vector<int> leaves;
    const auto add = [&](const auto& self, const parquet::arrow::SchemaField& field) -> void {
      if (field.is_leaf()) leaves.push_back(field.column_index);
      for (const auto& child : field.children) self(self, child);
    };
    for (const int column : columns) add(add, field_of(column));
    return leaves;
  }

  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::unique_ptr<StoredTypes> stored_types_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace

std::unique_ptr<BatchFile> open_parquet_file(const FilePtr& file) { return std::make_unique<ParquetFile>(file); }

}  // namespace turbine::file_reader
