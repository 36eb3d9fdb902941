/*
 * dump.cc - what --dump prints, for both kinds of file.
 *
 * Reads metadata; of an IPC file's batches, also the number of rows.
 */
#include "export/dump.h"

#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include <cstdio>

#include "export/export_error.h"
#include "file_values/batch_bounds.h"

namespace turbine::exporting {
namespace {

using File = std::shared_ptr<arrow::io::RandomAccessFile>;

void print_schema(const arrow::Schema& schema) {
  printf("columns: %d\n", schema.num_fields());
  for (const auto& field : schema.fields())
    printf("  %s: %s\n", field->name().c_str(), field->type()->ToString().c_str());
}

void dump_ipc(const File& file) {
  const auto reader = value_of(arrow::ipc::RecordBatchFileReader::Open(file));
  const auto schema = reader->schema();
  printf("format: Arrow IPC\nrows: %lld\n", static_cast<long long>(value_of(reader->CountRows())));
  print_schema(*schema);
  printf("record batches: %d\n", reader->num_record_batches());
  for (int i = 0; i < reader->num_record_batches(); i++) {
    const auto batch = value_of(reader->ReadRecordBatch(i));
    printf("  batch %d: %lld rows\n", i, static_cast<long long>(batch->num_rows()));
    for (const auto& field : schema->fields()) {
      if (field->metadata() == nullptr) continue;
      const std::string all_least = field->metadata()->Get(kMinValues).ValueOr("");
      const std::string all_greatest = field->metadata()->Get(kMaxValues).ValueOr("");
      const auto least = listed_bounds(all_least), greatest = listed_bounds(all_greatest);
      const auto number = static_cast<size_t>(i);
      if (number < least.size() && number < greatest.size()) {
        printf("    %s: %s to %s\n", field->name().c_str(), std::string(least[number]).c_str(),
               std::string(greatest[number]).c_str());
      }
    }
  }
}

void dump_row_group(const parquet::FileMetaData& metadata, int number) {
  const auto group = metadata.RowGroup(number);
  printf("  row group %d: %lld rows\n", number, static_cast<long long>(group->num_rows()));
  for (int i = 0; i < group->num_columns(); i++) {
    const auto column = group->ColumnChunk(i);
    printf("    %s: %s, %lld bytes", column->path_in_schema()->ToDotString().c_str(),
           arrow::util::Codec::GetCodecAsString(column->compression()).c_str(),
           static_cast<long long>(column->total_compressed_size()));
    const auto statistics = column->is_stats_set() ? column->statistics() : nullptr;
    if (statistics != nullptr && statistics->HasMinMax()) {
      const auto type = column->type();
      const auto text = [&](const std::string& value) {
        return parquet::FormatStatValue(type, value, metadata.schema()->Column(i)->logical_type());
      };
      printf(", %s to %s", text(statistics->EncodeMin()).c_str(), text(statistics->EncodeMax()).c_str());
    }
    printf("\n");
  }
}

void dump_parquet(const File& file) {
  const auto reader = value_of(parquet::arrow::OpenFile(file, arrow::default_memory_pool()));
  const auto metadata = reader->parquet_reader()->metadata();
  std::shared_ptr<arrow::Schema> schema;
  check(reader->GetSchema(&schema));
  printf("format: Parquet\nrows: %lld\n", static_cast<long long>(metadata->num_rows()));
  print_schema(*schema);
  printf("row groups: %d\n", metadata->num_row_groups());
  for (int i = 0; i < metadata->num_row_groups(); i++) dump_row_group(*metadata, i);
}

}  // namespace

void dump_file(const std::string& path) {
  const File file = value_of(arrow::io::ReadableFile::Open(path));
  const auto head = value_of(file->ReadAt(0, 6))->ToString();
  if (head.starts_with("PAR1")) {
    dump_parquet(file);
  } else if (head == "ARROW1") {
    dump_ipc(file);
  } else {
    throw ExportError(ExitCode::kFile, "\"" + path + "\" is neither an Arrow IPC nor a Parquet file");
  }
}

}  // namespace turbine::exporting
