/*
 * arrow_test.cc - proves that libarrow and libparquet are found, fit their headers and
 * this compiler's C++ library, and write and read files of every compression we offer.
 */
#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/table.h>
#include <arrow/util/decimal.h>
#include <gtest/gtest.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace {

class ArrowTest : public testing::Test {
 protected:
  ArrowTest() : folder(std::filesystem::temp_directory_path() / ("arrow_test." + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder);
  }
  ~ArrowTest() override { std::filesystem::remove_all(folder); }

  /* 1,000 rows of a number, a text and a decimal; every seventh text is NULL. */
  static std::shared_ptr<arrow::RecordBatch> make_batch() {
    arrow::Int64Builder numbers;
    arrow::StringBuilder texts;
    arrow::Decimal128Builder decimals(arrow::decimal128(38, 4));
    for (int64_t row = 0; row < 1000; row++) {
      EXPECT_TRUE(numbers.Append(row * row).ok());
      EXPECT_TRUE((row % 7 == 0 ? texts.AppendNull() : texts.Append("row " + std::to_string(row))).ok());
      EXPECT_TRUE(decimals.Append(arrow::Decimal128(row) * arrow::Decimal128("12345678901234567890")).ok());
    }
    auto schema = arrow::schema({arrow::field("number", arrow::int64()), arrow::field("text", arrow::utf8()),
                                 arrow::field("decimal", arrow::decimal128(38, 4))});
    return arrow::RecordBatch::Make(schema, 1000, {*numbers.Finish(), *texts.Finish(), *decimals.Finish()});
  }

  std::string path(const char* name) const { return folder / name; }

  std::filesystem::path folder;
};

TEST_F(ArrowTest, IpcFileReadsBack) {
  const auto batch = make_batch();
  const auto file = arrow::io::FileOutputStream::Open(path("a.arrow")).ValueOrDie();
  const auto writer = arrow::ipc::MakeFileWriter(file, batch->schema()).ValueOrDie();
  ASSERT_TRUE(writer->WriteRecordBatch(*batch).ok());
  ASSERT_TRUE(writer->WriteRecordBatch(*batch->Slice(10, 20)).ok());
  ASSERT_TRUE(writer->Close().ok());
  ASSERT_TRUE(file->Close().ok());

  const auto input = arrow::io::MemoryMappedFile::Open(path("a.arrow"), arrow::io::FileMode::READ).ValueOrDie();
  const auto reader = arrow::ipc::RecordBatchFileReader::Open(input).ValueOrDie();
  ASSERT_EQ(reader->num_record_batches(), 2);
  EXPECT_TRUE(reader->ReadRecordBatch(0).ValueOrDie()->Equals(*batch));
  EXPECT_TRUE(reader->ReadRecordBatch(1).ValueOrDie()->Equals(*batch->Slice(10, 20)));
}

TEST_F(ArrowTest, ParquetFileReadsBackWithEveryCompression) {
  const auto table = arrow::Table::FromRecordBatches({make_batch()}).ValueOrDie();
  for (const auto compression : {parquet::Compression::UNCOMPRESSED, parquet::Compression::ZSTD,
                                 parquet::Compression::SNAPPY, parquet::Compression::LZ4}) {
    const auto properties = parquet::WriterProperties::Builder().compression(compression)->build();
    const auto file = arrow::io::FileOutputStream::Open(path("a.parquet")).ValueOrDie();
    ASSERT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, 300, properties).ok());
    ASSERT_TRUE(file->Close().ok());

    const auto input = arrow::io::ReadableFile::Open(path("a.parquet")).ValueOrDie();
    const auto reader = parquet::arrow::OpenFile(input, arrow::default_memory_pool()).ValueOrDie();
    EXPECT_EQ(reader->num_row_groups(), 4);
    EXPECT_EQ(reader->parquet_reader()->metadata()->RowGroup(0)->ColumnChunk(0)->compression(), compression);
    const auto read = reader->ReadTable().ValueOrDie();
    EXPECT_TRUE(read->Equals(*table)) << static_cast<int>(compression);
  }
}

}  // namespace
