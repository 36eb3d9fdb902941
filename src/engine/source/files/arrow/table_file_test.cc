/* table_file_test.cc - Arrow and Parquet files that libarrow has written are read as the engine's columns. */
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <random>

#include <arrow/array.h>
#include <arrow/array/builder_dict.h>
#include <arrow/builder.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/writer.h>

#include "engine/source/files/arrow/open_table_file.h"
#include "turbine/wire.h"

namespace turbine {
namespace {

constexpr int64_t kFileRows = 40000, kBatchRows = 15000;
constexpr int64_t kMicrosecondsTo2000 = int64_t{10957} * 86400 * 1000000;

WantedColumn wanted(const std::string& name, uint32_t type, int scale = 0, bool nullable = true) {
  WantedColumn column;
  column.name = name;
  column.type = type;
  column.scale = scale;
  column.nullable = nullable;
  return column;
}

bool is_null(int64_t row) { return row % 7 == 3; }
std::string text_of(int64_t row) { return row % 5 == 0 ? "" : "text " + std::to_string(row % 100); }

template <class Builder, class Value>
std::shared_ptr<arrow::Array> column_of(Builder&& builder, Value&& value) {
  for (int64_t row = 0; row < kFileRows; row++) {
    const arrow::Status status = is_null(row) ? builder.AppendNull() : builder.Append(value(row));
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  return *builder.Finish();
}

std::shared_ptr<arrow::Table> make_table() {
  auto* pool = arrow::default_memory_pool();
  const auto metadata = arrow::key_value_metadata({"min_values", "max_values"},
                                                  {"0,15000,30000", "14999, 29999,39999"});
  std::vector<std::shared_ptr<arrow::Field>> fields{arrow::field("i32", arrow::int32())->WithMetadata(metadata),
                                                    arrow::field("u16", arrow::uint16()),
                                                    arrow::field("day", arrow::date32()),
                                                    arrow::field("at", arrow::timestamp(arrow::TimeUnit::MILLI)),
                                                    arrow::field("price", arrow::decimal128(12, 2)),
                                                    arrow::field("wide", arrow::decimal128(30, 3)),
                                                    arrow::field("f", arrow::float64()),
                                                    arrow::field("b", arrow::boolean()),
                                                    arrow::field("t", arrow::utf8())};
  std::vector<std::shared_ptr<arrow::Array>> arrays{
      column_of(arrow::Int32Builder(), [](int64_t row) { return static_cast<int32_t>(row); }),
      column_of(arrow::UInt16Builder(), [](int64_t row) { return static_cast<uint16_t>(65535 - row % 1000); }),
      column_of(arrow::Date32Builder(), [](int64_t row) { return static_cast<int32_t>(row % 9000); }),
      column_of(arrow::TimestampBuilder(fields[3]->type(), pool), [](int64_t row) { return row * 1000003 - 5; }),
      column_of(arrow::Decimal128Builder(fields[4]->type()),
                [](int64_t row) { return arrow::Decimal128(row * 7 - 100); }),
      column_of(arrow::Decimal128Builder(fields[5]->type()),
                [](int64_t row) { return arrow::Decimal128(row % 2 ? -row : row, static_cast<uint64_t>(row)); }),
      column_of(arrow::DoubleBuilder(), [](int64_t row) { return static_cast<double>(row) / 3; }),
      column_of(arrow::BooleanBuilder(), [](int64_t row) { return row % 3 == 0; }),
      column_of(arrow::StringBuilder(), text_of)};
  return arrow::Table::Make(arrow::schema(fields), arrays);
}

std::shared_ptr<arrow::Array> make_dictionary(const std::shared_ptr<arrow::Array>& texts) {
  arrow::StringDictionary32Builder builder;
  EXPECT_TRUE(builder.AppendArray(*texts).ok());
  return *builder.Finish();
}

std::string to_ipc(const arrow::Table& table, arrow::Compression::type compression, bool as_stream = false) {
  auto sink = *arrow::io::BufferOutputStream::Create();
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  if (compression != arrow::Compression::UNCOMPRESSED) options.codec = *arrow::util::Codec::Create(compression);
  auto writer = as_stream ? *arrow::ipc::MakeStreamWriter(sink, table.schema(), options)
                          : *arrow::ipc::MakeFileWriter(sink, table.schema(), options);
  EXPECT_TRUE(writer->WriteTable(table, kBatchRows).ok());
  EXPECT_TRUE(writer->Close().ok());
  return (*sink->Finish())->ToString();
}

std::string to_stream(const arrow::Table& table, arrow::Compression::type compression) {
  return to_ipc(table, compression, true);
}

std::string to_parquet(const arrow::Table& table, bool dictionary, bool indexed = false) {
  auto sink = *arrow::io::BufferOutputStream::Create();
  parquet::WriterProperties::Builder properties;
  properties.compression(parquet::Compression::ZSTD);
  if (!dictionary) properties.disable_dictionary();
  if (indexed) properties.enable_write_page_index()->data_pagesize(4000)->write_batch_size(500);
  EXPECT_TRUE(
      parquet::arrow::WriteTable(table, arrow::default_memory_pool(), sink, kBatchRows, properties.build()).ok());
  return (*sink->Finish())->ToString();
}

class MemoryFile {
 public:
  explicit MemoryFile(const std::string& content) : fd_(memfd_create("file", MFD_CLOEXEC)) {
    EXPECT_EQ(write(fd_, content.data(), content.size()), static_cast<ssize_t>(content.size()));
  }
  ~MemoryFile() { close(fd_); }
  int fd() const { return fd_; }

 private:
  const int fd_;
};

std::vector<WantedColumn> all_columns() {
  return {wanted("i32", TB_TYPE_INT8),     wanted("u16", TB_TYPE_INT4),       wanted("day", TB_TYPE_DATE),
          wanted("at", TB_TYPE_TIMESTAMP), wanted("price", TB_TYPE_NUM64, 4), wanted("wide", TB_TYPE_NUM128, 3),
          wanted("f", TB_TYPE_FLOAT8),     wanted("b", TB_TYPE_BOOL),         wanted("t", TB_TYPE_TEXT)};
}

template <class T>
T value_at(const ColumnRows& column, uint32_t row) {
  T value;
  memcpy(&value, static_cast<const T*>(column.data().values) + row, sizeof value);
  return value;
}

/* Row `row` of the table is row `at` of what was read. */
void expect_row(const std::vector<ColumnRows>& columns, uint32_t at, int64_t row) {
  for (const ColumnRows& column : columns) {
    const TbColumnData data = column.data();
    ASSERT_EQ(data.valid && data.valid[at] == 0, is_null(row)) << "row " << row;
  }
  if (is_null(row)) return;
  ASSERT_EQ(value_at<int64_t>(columns[0], at), row);
  ASSERT_EQ(value_at<int32_t>(columns[1], at), 65535 - row % 1000);
  ASSERT_EQ(value_at<int32_t>(columns[2], at), row % 9000 - 10957);
  ASSERT_EQ(value_at<int64_t>(columns[3], at), (row * 1000003 - 5) * 1000 - kMicrosecondsTo2000);
  ASSERT_EQ(value_at<int64_t>(columns[4], at), (row * 7 - 100) * 100);
  const auto high = static_cast<__int128>(row % 2 ? -row : row);
  ASSERT_TRUE(value_at<__int128>(columns[5], at) == ((high << 64) | static_cast<uint64_t>(row)));
  ASSERT_EQ(value_at<double>(columns[6], at), static_cast<double>(row) / 3);
  ASSERT_EQ(value_at<uint8_t>(columns[7], at), row % 3 == 0);
  const auto view = value_at<TbTextView>(columns[8], at);
  ASSERT_EQ(std::string(reinterpret_cast<const char*>(columns[8].data().bytes) + view.offset, view.length),
            text_of(row));
}

std::vector<ColumnRows> rows_for(const std::vector<WantedColumn>& columns) {
  std::vector<ColumnRows> rows;
  for (const WantedColumn& column : columns) rows.emplace_back(column.type);
  return rows;
}

/* Reads all of it, in runs of changing length. */
void expect_table(const std::string& content, uint32_t format) {
  const MemoryFile file(content);
  const auto table = open_table_file(file.fd(), format, all_columns());
  ASSERT_EQ(table->batches(), 3u);
  std::vector<ColumnRows> columns = rows_for(all_columns());
  int64_t row = 0;
  for (uint32_t batch = 0; batch < table->batches(); batch++) {
    const auto reader = table->read(batch);
    std::vector<uint64_t> bytes(columns.size());
    reader->add_bytes(bytes);
    for (const uint64_t of_column : bytes) EXPECT_GT(of_column, 0u);
    for (uint64_t left = table->rows(batch), run = 1; left > 0; run = run * 3 % 8191) {
      const auto count = static_cast<uint32_t>(std::min(left, run));
      reader->read(count, columns);
      for (uint32_t i = 0; i < count; i++) expect_row(columns, i, row++);
      left -= count;
    }
    const auto zones = table->zones(batch);
    ASSERT_TRUE(zones[0].known);
    EXPECT_LE(zones[0].least, batch * kBatchRows + 1);
    EXPECT_GE(zones[0].greatest, std::min((batch + 1) * kBatchRows, kFileRows) - 2);
    EXPECT_FALSE(zones[8].known);
  }
  EXPECT_EQ(row, kFileRows);
}

TEST(TableFile, ReadsArrowFiles) {
  const auto table = make_table();
  expect_table(to_ipc(*table, arrow::Compression::UNCOMPRESSED), TB_COLUMN_FILE_ARROW);
  expect_table(to_ipc(*table, arrow::Compression::LZ4_FRAME), TB_COLUMN_FILE_ARROW);
  expect_table(to_ipc(*table, arrow::Compression::ZSTD), TB_COLUMN_FILE_ARROW);
}

TEST(TableFile, ReadsArrowStreams) {
  const auto table = make_table();
  for (const auto compression : {arrow::Compression::UNCOMPRESSED, arrow::Compression::ZSTD}) {
    const std::string stream = to_stream(*table, compression);
    expect_table(stream, TB_COLUMN_FILE_ARROW_STREAM);
    // Whoever writes it may leave out what says that it has ended.
    expect_table(stream.substr(0, stream.size() - 8), TB_COLUMN_FILE_ARROW_STREAM);
  }
}

/* Each batch's dictionary is another one, or has more than the one before. */
TEST(TableFile, StreamsMayChangeTheirDictionaries) {
  for (const bool grows : {false, true}) {
    const auto type = arrow::dictionary(arrow::int32(), arrow::utf8());
    const auto schema = arrow::schema({arrow::field("t", type), arrow::field("i32", arrow::int32())});
    auto sink = *arrow::io::BufferOutputStream::Create();
    auto options = arrow::ipc::IpcWriteOptions::Defaults();
    options.emit_dictionary_deltas = grows;
    auto writer = *arrow::ipc::MakeStreamWriter(sink, schema, options);
    arrow::StringBuilder words;
    for (int batch = 0; batch < 4; batch++) {
      if (!grows) words.Reset();
      for (int i = 0; i < 3; i++) EXPECT_TRUE(words.Append("word " + std::to_string(batch * 3 + i)).ok());
      arrow::StringBuilder copy;
      const auto so_far = *words.Finish();
      EXPECT_TRUE(words.AppendArraySlice(*so_far->data(), 0, so_far->length()).ok());
      arrow::Int32Builder codes, numbers;
      for (int row = 0; row < 100; row++)
        EXPECT_TRUE(codes.Append(static_cast<int32_t>(so_far->length()) - 1 - row % 3).ok() &&
                    numbers.Append(row).ok());
      EXPECT_TRUE(
          writer
              ->WriteRecordBatch(*arrow::RecordBatch::Make(
                  schema, 100, {*arrow::DictionaryArray::FromArrays(type, *codes.Finish(), so_far), *numbers.Finish()}))
              .ok());
    }
    EXPECT_TRUE(writer->Close().ok());
    const MemoryFile file((*sink->Finish())->ToString());
    const std::vector<WantedColumn> columns{wanted("t", TB_TYPE_TEXT), wanted("i32", TB_TYPE_INT4)};
    const auto table = open_table_file(file.fd(), TB_COLUMN_FILE_ARROW_STREAM, columns);
    ASSERT_EQ(table->batches(), 4u);
    for (const uint32_t batch : {3u, 0u, 2u, 1u}) {
      std::vector<ColumnRows> rows = rows_for(columns);
      table->read(batch)->read(100, rows);
      for (uint32_t row = 0; row < 100; row++) {
        const auto view = value_at<TbTextView>(rows[0], row);
        EXPECT_EQ(std::string(reinterpret_cast<const char*>(rows[0].data().bytes) + view.offset, view.length),
                  "word " + std::to_string(batch * 3 + 2 - row % 3));
        EXPECT_EQ(value_at<int32_t>(rows[1], row), static_cast<int32_t>(row));
      }
    }
  }
}

TEST(TableFile, ReadsParquetFiles) {
  const auto table = make_table();
  expect_table(to_parquet(*table, true), TB_COLUMN_FILE_PARQUET);
  expect_table(to_parquet(*table, false), TB_COLUMN_FILE_PARQUET);
}

TEST(TableFile, HasConstantsBesideColumns) {
  const MemoryFile file(to_parquet(*make_table(), true));
  WantedColumn number = wanted("n", TB_TYPE_INT4), text = wanted("s", TB_TYPE_TEXT), null = wanted("z", TB_TYPE_DATE);
  number.is_constant = text.is_constant = null.is_constant = null.is_null = true;
  number.value[0] = 42;
  text.text = "constant";
  const std::vector<WantedColumn> columns{number, text, null};
  const auto table = open_table_file(file.fd(), TB_COLUMN_FILE_PARQUET, columns);
  std::vector<ColumnRows> rows = rows_for(columns);
  table->read(0)->read(100, rows);
  EXPECT_EQ(value_at<int32_t>(rows[0], 99), 42);
  const auto zones = table->zones(0);
  EXPECT_TRUE(zones[0].known && zones[0].least == 42 && zones[0].greatest == 42);
  EXPECT_FALSE(zones[1].known);
  EXPECT_GT(zones[2].least, zones[2].greatest) << "no value passes";
  EXPECT_EQ(value_at<TbTextView>(rows[1], 99).length, 8u);
  EXPECT_EQ(rows[2].data().valid[99], 0);
}

TEST(TableFile, WhatDoesNotFitIsAnError) {
  const MemoryFile file(to_ipc(*make_table(), arrow::Compression::UNCOMPRESSED));
  const auto open = [&](const WantedColumn& column) {
    return open_table_file(file.fd(), TB_COLUMN_FILE_ARROW, {column});
  };
  EXPECT_THROW(open(wanted("absent", TB_TYPE_INT4)), FileError);
  EXPECT_THROW(open(wanted("t", TB_TYPE_INT4)), FileError);
  EXPECT_THROW(open(wanted("f", TB_TYPE_FLOAT4)), FileError);
  EXPECT_THROW(open(wanted("price", TB_TYPE_NUM64, 1)), FileError);
  EXPECT_THROW(open(wanted("at", TB_TYPE_TIMESTAMPTZ)), FileError);
  const WantedColumn not_null = wanted("i32", TB_TYPE_INT4, 0, false);
  std::vector<ColumnRows> rows = rows_for({not_null});
  EXPECT_THROW(open(not_null)->read(0)->read(10, rows), FileError);
}

/* Plain ones and those of a dictionary, of either format. */
TEST(TableFile, TextsThatAreNoUtf8AreAnError) {
  for (const char* text : {"\xff\xfe", "ab\xc3", "\xed\xa0\x80", "\xc0\x80"}) {
    arrow::StringBuilder builder;
    for (int row = 0; row < 40; row++) EXPECT_TRUE(builder.Append(row == 23 ? text : "fine \xc3\xa4").ok());
    const std::shared_ptr<arrow::Array> plain = *builder.Finish();
    for (const auto& array : {plain, make_dictionary(plain)}) {
      const auto table = arrow::Table::Make(arrow::schema({arrow::field("t", array->type())}), {array});
      for (const std::string& content :
           {to_ipc(*table, arrow::Compression::UNCOMPRESSED), to_parquet(*table, true), to_parquet(*table, false)}) {
        const MemoryFile file(content);
        const WantedColumn column = wanted("t", TB_TYPE_TEXT);
        std::vector<ColumnRows> rows = rows_for({column});
        const auto opened = open_table_file(
            file.fd(), content.starts_with("PAR1") ? TB_COLUMN_FILE_PARQUET : TB_COLUMN_FILE_ARROW, {column});
        EXPECT_THROW(opened->read(0)->read(40, rows), FileError) << array->type()->ToString();
      }
    }
  }
}

/* Some runs of rows of each batch; returns the pages that were left out. */
uint64_t expect_some_rows(const std::string& content, uint32_t format, std::mt19937& random, uint32_t apart) {
  const MemoryFile file(content);
  const auto table = open_table_file(file.fd(), format, all_columns());
  std::vector<ColumnRows> columns = rows_for(all_columns());
  uint64_t left_out = 0;
  for (uint32_t batch = 0; batch < table->batches(); batch++) {
    RowRanges ranges;
    for (uint64_t row = random() % apart; row < table->rows(batch); row += 1 + random() % apart) {
      ranges.push_back({row, std::min<uint64_t>(1 + random() % 700, table->rows(batch) - row)});
      row = ranges.back().end();
    }
    if (ranges.empty()) continue;
    const auto reader = table->read_rows(batch, ranges);
    for (const RowRange& range : ranges) {
      for (uint64_t row = range.first; row < range.end();) {
        const auto count = static_cast<uint32_t>(std::min<uint64_t>(1 + random() % 400, range.end() - row));
        reader->read(count, columns);
        for (uint32_t i = 0; i < count; i++) expect_row(columns, i, batch * kBatchRows + static_cast<int64_t>(row + i));
        row += count;
      }
    }
    left_out += reader->left_out().pages;
  }
  return left_out;
}

TEST(TableFile, ReadsSomeRows) {
  const auto table = make_table();
  std::mt19937 random(1);
  const std::string arrow = to_ipc(*table, arrow::Compression::ZSTD);
  for (int i = 0; i < 4; i++) expect_some_rows(arrow, TB_COLUMN_FILE_ARROW, random, 2000);
  for (const bool dictionary : {false, true}) {
    const std::string plain = to_parquet(*table, dictionary), indexed = to_parquet(*table, dictionary, true);
    for (const uint32_t apart : {300, 3000, 20000}) {
      EXPECT_EQ(expect_some_rows(plain, TB_COLUMN_FILE_PARQUET, random, apart), 0u);
      const uint64_t left_out = expect_some_rows(indexed, TB_COLUMN_FILE_PARQUET, random, apart);
      if (apart > 300) {
        EXPECT_GT(left_out, 0u);
      }
    }
  }
}

TEST(TableFile, PagesHaveTheirLeastAndGreatestValues) {
  const std::string content = to_parquet(*make_table(), false, true);
  const MemoryFile file(content);
  const auto table = open_table_file(file.fd(), TB_COLUMN_FILE_PARQUET, all_columns());
  std::vector<uint8_t> asked(all_columns().size());
  EXPECT_TRUE(table->page_zones(1, asked).empty());
  asked[0] = 1;
  const std::vector<PageZones> columns = table->page_zones(1, asked);
  ASSERT_EQ(columns.size(), 1u);
  const PageZones& pages = columns[0];
  EXPECT_EQ(pages.column, 0u);
  ASSERT_GT(pages.first_rows.size(), 5u);
  ASSERT_EQ(pages.zones.size(), pages.first_rows.size());
  for (size_t i = 0; i < pages.zones.size(); i++) {
    const int64_t first = kBatchRows + static_cast<int64_t>(pages.first_rows[i]);
    const int64_t end = kBatchRows +
                        static_cast<int64_t>(i + 1 < pages.zones.size() ? pages.first_rows[i + 1] : table->rows(1));
    ASSERT_TRUE(pages.zones[i].known);
    EXPECT_TRUE(pages.zones[i].least >= first && pages.zones[i].least <= first + 2) << i;
    EXPECT_TRUE(pages.zones[i].greatest < end && pages.zones[i].greatest >= end - 3) << i;
  }
}

/* Whatever is wrong with a file is an error, or its rows are read: nothing else. */
void mutate(std::string content, uint32_t format, uint32_t seed) {
  std::mt19937 random(seed);
  for (uint32_t i = 0, count = 1 + random() % 8; i < count; i++) {
    const size_t tail = std::min<size_t>(content.size(), 4096);
    const size_t place = random() % 2 ? random() % content.size() : content.size() - 1 - random() % tail;
    content[place] = static_cast<char>(random());
  }
  if (random() % 8 == 0) content.resize(random() % content.size());
  const MemoryFile file(content);
  try {
    const auto table = open_table_file(file.fd(), format, all_columns());
    std::vector<ColumnRows> columns = rows_for(all_columns());
    for (uint32_t batch = 0; batch < table->batches(); batch++) {
      const auto reader = table->read(batch);
      for (uint64_t left = table->rows(batch); left > 0;) {
        const auto rows = static_cast<uint32_t>(std::min<uint64_t>(left, 4096));
        reader->read(rows, columns);
        left -= rows;
      }
    }
  } catch (const FileError&) {
  } catch (const std::bad_alloc&) {
  }
}

TEST(TableFile, SurvivesMutatedFiles) {
  const auto table = make_table()->Slice(0, 3000);
  const std::string plain = to_ipc(*table, arrow::Compression::UNCOMPRESSED),
                    packed = to_ipc(*table, arrow::Compression::ZSTD),
                    stream = to_stream(*table, arrow::Compression::UNCOMPRESSED), parquet = to_parquet(*table, true);
  for (uint32_t seed = 0; seed < 300; seed++) {
    mutate(plain, TB_COLUMN_FILE_ARROW, seed);
    mutate(packed, TB_COLUMN_FILE_ARROW, seed);
    mutate(stream, TB_COLUMN_FILE_ARROW_STREAM, seed);
    mutate(parquet, TB_COLUMN_FILE_PARQUET, seed);
  }
}

}  // namespace
}  // namespace turbine
