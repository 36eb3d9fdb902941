/*
 * row_group_reader_test.cc - Parquet files that libparquet has written, in every encoding, compression and version of
 * pages, are the rows that the same table has as an Arrow file; spoilt ones are those or an error.
 */
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <random>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>
#include <parquet/arrow/writer.h>

#include "engine/source/files/arrow/open_table_file.h"
#include "turbine/wire.h"

namespace turbine {
namespace {

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

/* A column of the file, and one that is wanted of it. */
struct Case {
  std::shared_ptr<arrow::DataType> type;
  uint32_t wanted;
  int scale = 0;
  bool display_scale = false;
};

std::vector<Case> cases() {
  using arrow::TimeUnit;
  return {{arrow::int8(), TB_TYPE_INT2},
          {arrow::uint8(), TB_TYPE_INT2},
          {arrow::int16(), TB_TYPE_INT4},
          {arrow::uint16(), TB_TYPE_INT4},
          {arrow::int32(), TB_TYPE_INT4},
          {arrow::int32(), TB_TYPE_INT8},
          {arrow::uint32(), TB_TYPE_INT8},
          {arrow::int64(), TB_TYPE_INT8},
          {arrow::date32(), TB_TYPE_DATE},
          {arrow::timestamp(TimeUnit::MILLI), TB_TYPE_TIMESTAMP},
          {arrow::timestamp(TimeUnit::NANO, "UTC"), TB_TYPE_TIMESTAMPTZ},
          {arrow::decimal128(7, 2), TB_TYPE_NUM64, 3},
          {arrow::decimal128(16, 0), TB_TYPE_NUM64, 0},
          {arrow::decimal128(30, 4), TB_TYPE_NUM128, 5},
          {arrow::decimal128(30, 4), TB_TYPE_INT4, 0, true},
          {arrow::float32(), TB_TYPE_FLOAT4},
          {arrow::float32(), TB_TYPE_FLOAT8},
          {arrow::float64(), TB_TYPE_FLOAT8},
          {arrow::boolean(), TB_TYPE_BOOL},
          {arrow::utf8(), TB_TYPE_TEXT},
          {arrow::large_utf8(), TB_TYPE_BPCHAR}};
}

std::vector<WantedColumn> wanted_columns(bool nullable) {
  std::vector<WantedColumn> columns;
  for (const Case& one : cases()) {
    WantedColumn column;
    // A decimal's digits are of the column before it.
    column.name = "c" + std::to_string(columns.size() - (one.display_scale ? 1 : 0));
    column.type = one.wanted;
    column.scale = one.scale;
    column.display_scale = one.display_scale;
    column.nullable = nullable;
    columns.push_back(column);
  }
  return columns;
}

/* Some row is NULL, and where. */
using Nulls = std::function<bool(int64_t)>;

template <class Builder, class Value>
std::shared_ptr<arrow::Array> build(Builder&& builder, int64_t rows, const Nulls& is_null, Value&& value) {
  for (int64_t row = 0; row < rows; row++)
    EXPECT_TRUE((is_null(row) ? builder.AppendNull() : builder.Append(value())).ok());
  return *builder.Finish();
}

/* Of `distinct` values, so that dictionaries are of use or not; some of each type's extremes. */
std::shared_ptr<arrow::Array> random_array(const std::shared_ptr<arrow::DataType>& type, int64_t rows,
                                           uint32_t distinct, const Nulls& is_null, std::mt19937_64& random) {
  const auto number = [&] { return static_cast<int64_t>(random() % distinct * 0x9e3779b97f4a7c15u); };
  const auto limited = [&](int64_t most) { return number() % most; };
  auto* pool = arrow::default_memory_pool();
  switch (type->id()) {
    case arrow::Type::INT8:
      return build(arrow::Int8Builder(), rows, is_null, [&] { return static_cast<int8_t>(number()); });
    case arrow::Type::UINT8:
      return build(arrow::UInt8Builder(), rows, is_null, [&] { return static_cast<uint8_t>(number()); });
    case arrow::Type::INT16:
      return build(arrow::Int16Builder(), rows, is_null, [&] { return static_cast<int16_t>(number()); });
    case arrow::Type::UINT16:
      return build(arrow::UInt16Builder(), rows, is_null, [&] { return static_cast<uint16_t>(number()); });
    case arrow::Type::INT32:
      return build(arrow::Int32Builder(), rows, is_null, [&] { return static_cast<int32_t>(number()); });
    case arrow::Type::UINT32:
      return build(arrow::UInt32Builder(), rows, is_null, [&] { return static_cast<uint32_t>(number()); });
    case arrow::Type::INT64: return build(arrow::Int64Builder(), rows, is_null, number);
    case arrow::Type::DATE32:
      return build(arrow::Date32Builder(), rows, is_null, [&] { return static_cast<int32_t>(limited(1000000)); });
    case arrow::Type::TIMESTAMP:
      return build(arrow::TimestampBuilder(type, pool), rows, is_null,
                   [&] { return limited(50000000000) * 1000; });  // some versions have no nanoseconds
    case arrow::Type::DECIMAL128: {
      const int precision = static_cast<const arrow::DecimalType&>(*type).precision();
      const int64_t most = precision < 18 ? static_cast<int64_t>(arrow::Decimal128::GetMaxValue(precision).low_bits())
                                          : INT64_MAX;
      return build(arrow::Decimal128Builder(type), rows, is_null, [&] {
        const arrow::Decimal128 value(limited(most));
        return precision < 18 ? value : arrow::Decimal128(value * arrow::Decimal128(1000003));
      });
    }
    case arrow::Type::FLOAT:
      return build(arrow::FloatBuilder(), rows, is_null, [&] { return static_cast<float>(limited(100000)) / 3; });
    case arrow::Type::DOUBLE:
      return build(arrow::DoubleBuilder(), rows, is_null, [&] { return static_cast<double>(number()) / 3; });
    case arrow::Type::BOOL: return build(arrow::BooleanBuilder(), rows, is_null, [&] { return (number() & 64) != 0; });
    case arrow::Type::STRING:
      return build(arrow::StringBuilder(), rows, is_null,
                   [&] { return random() % 9 == 0 ? std::string() : "text " + std::to_string(number()); });
    default:
      return build(arrow::LargeStringBuilder(), rows, is_null,
                   [&] { return "\xc3\xa4" + std::to_string(number()) + std::string(random() % 3, ' '); });
  }
}

struct Shape {
  int64_t rows = 20000;
  uint32_t distinct = 100;
  bool nullable = true;
  Nulls is_null = [](int64_t) { return false; };
};

std::shared_ptr<arrow::Table> random_table(const Shape& shape, std::mt19937_64& random) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const Case& one : cases()) {
    fields.push_back(arrow::field("c" + std::to_string(fields.size()), one.type, shape.nullable));
    arrays.push_back(random_array(one.type, shape.rows, shape.distinct, shape.is_null, random));
  }
  return arrow::Table::Make(arrow::schema(fields), arrays);
}

std::string to_ipc(const arrow::Table& table, int64_t batch_rows) {
  auto sink = *arrow::io::BufferOutputStream::Create();
  auto writer = *arrow::ipc::MakeFileWriter(sink, table.schema());
  EXPECT_TRUE(writer->WriteTable(table, batch_rows).ok());
  EXPECT_TRUE(writer->Close().ok());
  return (*sink->Finish())->ToString();
}

std::string to_parquet(const arrow::Table& table, int64_t batch_rows, parquet::WriterProperties::Builder properties) {
  auto sink = *arrow::io::BufferOutputStream::Create();
  const auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  const arrow::Status status = parquet::arrow::WriteTable(table, arrow::default_memory_pool(), sink, batch_rows,
                                                          properties.build(), arrow_properties);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return (*sink->Finish())->ToString();
}

/* With dictionaries of so many bytes for texts; 0: without. */
std::vector<ColumnRows> rows_for(const std::vector<WantedColumn>& columns, uint64_t dictionary_bytes = 0) {
  std::vector<ColumnRows> rows;
  for (const WantedColumn& column : columns) {
    const bool is_coded = dictionary_bytes > 0 && tb_type_is_text(column.type);
    rows.emplace_back(column.type, is_coded ? std::make_shared<TextDictionary>(dictionary_bytes) : nullptr);
  }
  return rows;
}

std::string_view text_of(const ColumnRows& rows, uint32_t row) {
  const TbColumnData data = rows.data();
  const bool coded = rows.is_coded();
  const TbTextView& view = coded ? rows.dictionary()->views()[static_cast<const int32_t*>(data.values)[row]]
                                 : static_cast<const TbTextView*>(data.values)[row];
  return {reinterpret_cast<const char*>(coded ? rows.dictionary()->bytes() : data.bytes) + view.offset, view.length};
}

/* NULLs too. */
void expect_equal(const WantedColumn& wanted, const ColumnRows& one, const ColumnRows& other, uint32_t rows) {
  const TbColumnData a = one.data(), b = other.data();
  const uint32_t width = tb_type_width(wanted.type);
  for (uint32_t i = 0; i < rows; i++) {
    const bool is_value = !a.valid || a.valid[i];
    ASSERT_EQ(is_value, !b.valid || b.valid[i]) << wanted.name << ", row " << i;
    if (!is_value) continue;
    if (tb_type_is_text(wanted.type)) {
      ASSERT_EQ(text_of(one, i), text_of(other, i)) << wanted.name << ", row " << i;
    } else {
      const auto* values = static_cast<const uint8_t*>(a.values);
      ASSERT_EQ(
          memcmp(values + uint64_t{i} * width, static_cast<const uint8_t*>(b.values) + uint64_t{i} * width, width), 0)
          << wanted.name << ", row " << i;
    }
  }
}

constexpr int64_t kBatchRows = 12000;

/* Adds to `coded` the columns, run by run, that came as numbers of a dictionary. */
void expect_as_in_arrow(const arrow::Table& table, bool nullable, const parquet::WriterProperties::Builder& properties,
                        std::mt19937_64& random, uint64_t* coded) {
  const MemoryFile arrow_file(to_ipc(table, kBatchRows)), parquet_file(to_parquet(table, kBatchRows, properties));
  const std::vector<WantedColumn> wanted = wanted_columns(nullable);
  const auto one = open_table_file(arrow_file.fd(), TB_COLUMN_FILE_ARROW, wanted);
  const auto other = open_table_file(parquet_file.fd(), TB_COLUMN_FILE_PARQUET, wanted);
  ASSERT_EQ(one->batches(), other->batches());
  static const uint64_t dictionaries[] = {0, 300, 20000, 1 << 20};
  std::vector<ColumnRows> expected = rows_for(wanted), read = rows_for(wanted, dictionaries[random() % 4]);
  for (uint32_t batch = 0; batch < one->batches(); batch++) {
    ASSERT_EQ(one->rows(batch), other->rows(batch));
    const auto arrow_reader = one->read(batch);
    const auto parquet_reader = other->read(batch);
    for (uint64_t left = one->rows(batch); left > 0;) {
      const auto count = static_cast<uint32_t>(1 + random() % std::min<uint64_t>(left, 9000));
      arrow_reader->read(count, expected);
      parquet_reader->read(count, read);
      for (size_t i = 0; i < wanted.size(); i++)
        ASSERT_NO_FATAL_FAILURE(expect_equal(wanted[i], expected[i], read[i], count)) << "batch " << batch;
      for (const ColumnRows& column : read) *coded += column.is_coded();
      left -= count;
    }
  }
}

/* Writers' choices, as they come. */
parquet::WriterProperties::Builder random_properties(std::mt19937_64& random, std::string& description) {
  static const std::pair<parquet::Compression::type, const char*> compressions[] = {
      {parquet::Compression::UNCOMPRESSED, "none"}, {parquet::Compression::SNAPPY, "snappy"},
      {parquet::Compression::ZSTD, "zstd"},         {parquet::Compression::GZIP, "gzip"},
      {parquet::Compression::LZ4, "lz4"},           {parquet::Compression::BROTLI, "brotli"}};
  parquet::WriterProperties::Builder builder;
  const auto& compression = compressions[random() % 12 < 6 ? 2 : random() % 6];
  builder.compression(compression.first);
  const int64_t page_size = int64_t{1} << (8 + random() % 13);
  builder.data_pagesize(page_size)->write_batch_size(1 + static_cast<int64_t>(random() % 2000));
  const bool v2 = random() % 2;
  builder.data_page_version(v2 ? parquet::ParquetDataPageVersion::V2 : parquet::ParquetDataPageVersion::V1);
  builder.version(random() % 4 ? parquet::ParquetVersion::PARQUET_2_6 : parquet::ParquetVersion::PARQUET_1_0);
  const int64_t dictionary_size = random() % 2 ? 1 << 20 : int64_t{1} << (6 + random() % 10);
  if (random() % 2) builder.enable_store_decimal_as_integer();
  const uint32_t kind = random() % 4;
  if (kind == 0) builder.disable_dictionary();
  if (kind > 0) builder.dictionary_pagesize_limit(dictionary_size);
  if (kind == 0 && random() % 3 == 0) {
    // Encodings that libparquet has to read, beside others that it has not.
    for (size_t i = 0; i < cases().size(); i++) {
      const std::string name = "c" + std::to_string(i);
      const auto id = cases()[i].type->id();
      if (random() % 2) continue;
      if (id == arrow::Type::INT32 || id == arrow::Type::INT64)
        builder.encoding(name, parquet::Encoding::DELTA_BINARY_PACKED);
      else if (id == arrow::Type::STRING)
        builder.encoding(name, parquet::Encoding::DELTA_BYTE_ARRAY);
      else if (id == arrow::Type::DOUBLE || id == arrow::Type::FLOAT)
        builder.encoding(name, parquet::Encoding::BYTE_STREAM_SPLIT);
      else if (id == arrow::Type::BOOL)
        builder.encoding(name, parquet::Encoding::RLE);
    }
  }
  description = std::string(compression.second) + (v2 ? ", V2" : ", V1") + ", pages of " + std::to_string(page_size) +
                ", dictionary " + (kind == 0 ? "none" : std::to_string(dictionary_size));
  return builder;
}

Shape random_shape(std::mt19937_64& random) {
  static const uint32_t distinct[] = {1, 2, 3, 17, 200, 3000, 100000};
  static const int64_t rows[] = {1, 7, 100, 5000, 13000, 26000};
  Shape shape;
  shape.rows = rows[random() % 6];
  shape.distinct = distinct[random() % 7];
  const uint64_t seed = random();
  switch (random() % 6) {
    case 0: shape.nullable = false; break;
    case 1: break;
    case 2: shape.is_null = [](int64_t row) { return row % 7 == 3; }; break;
    case 3: shape.is_null = [](int64_t) { return true; }; break;
    case 4: shape.is_null = [](int64_t row) { return row / 1000 % 2 == 0; }; break;
    case 5: shape.is_null = [seed](int64_t row) { return (static_cast<uint64_t>(row) * seed >> 33) % 3 == 0; }; break;
  }
  return shape;
}

/* How many of what is random; more of them for a long run. */
uint32_t rounds(uint32_t usual) {
  const char* factor = getenv("TURBINE_TEST_ROUNDS");
  return factor ? usual * static_cast<uint32_t>(atoi(factor)) : usual;
}

TEST(RowGroupReader, FilesOfEveryKind) {
  uint64_t coded = 0;
  for (uint32_t seed = 0; seed < rounds(60); seed++) {
    std::mt19937_64 random(seed);
    const Shape shape = random_shape(random);
    const auto table = random_table(shape, random);
    std::string description;
    const parquet::WriterProperties::Builder properties = random_properties(random, description);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + description + ", " + std::to_string(shape.rows) + " rows of " +
                 std::to_string(shape.distinct));
    ASSERT_NO_FATAL_FAILURE(expect_as_in_arrow(*table, shape.nullable, properties, random, &coded));
  }
  EXPECT_GT(coded, 50u);
}

TEST(RowGroupReader, ErrorsNameTheColumn) {
  std::mt19937_64 random(1);
  Shape shape;
  shape.is_null = [](int64_t row) { return row == 5; };
  const auto table = random_table(shape, random);
  const MemoryFile file(to_parquet(*table, kBatchRows, parquet::WriterProperties::Builder()));
  for (const WantedColumn& column : wanted_columns(false)) {
    const auto opened = open_table_file(file.fd(), TB_COLUMN_FILE_PARQUET, {column});
    std::vector<ColumnRows> rows = rows_for({column});
    try {
      opened->read(0)->read(10, rows);
      ADD_FAILURE() << column.name << ": a NULL in a column that is declared NOT NULL";
    } catch (const FileError& e) {
      EXPECT_NE(std::string(e.what()).find("\"" + column.name + "\""), std::string::npos) << e.what();
    }
  }
}

void read_all(const std::string& content) {
  const MemoryFile file(content);
  const std::vector<WantedColumn> wanted = wanted_columns(true);
  try {
    const auto table = open_table_file(file.fd(), TB_COLUMN_FILE_PARQUET, wanted);
    std::vector<ColumnRows> columns = rows_for(wanted, 1 << 20);
    for (uint32_t batch = 0; batch < table->batches(); batch++) {
      const auto reader = table->read(batch);
      for (uint64_t left = std::min<uint64_t>(table->rows(batch), 100000); left > 0;) {
        const auto rows = static_cast<uint32_t>(std::min<uint64_t>(left, 4096));
        reader->read(rows, columns);
        left -= rows;
      }
    }
  } catch (const FileError&) {
  } catch (const std::bad_alloc&) {
  }
}

std::string mutated(std::string content, std::mt19937_64& random) {
  static const uint8_t bytes[] = {0, 1, 2, 0x7f, 0x80, 0xff, 31, 32, 33};
  for (uint64_t i = 0, count = 1 + random() % 6; i < count; i++) {
    const size_t place = random() % content.size();
    const uint64_t kind = random() % 4;
    if (kind == 0) content[place] = static_cast<char>(random());
    if (kind == 1) content[place] = static_cast<char>(content[place] ^ 1 << random() % 8);
    if (kind == 2) content[place] = static_cast<char>(bytes[random() % sizeof bytes]);
    if (kind == 3 && place + 4 <= content.size())
      for (size_t at = place; at < place + 4; at++) content[at] = static_cast<char>(random() % 3 == 0 ? 0xff : 0);
  }
  return content;
}

TEST(RowGroupReader, SurvivesMutatedPages) {
  // Of few rows, so that most bytes are headers, levels and indexes; uncompressed ones reach the decoders.
  std::vector<std::string> files;
  for (uint32_t kind = 0; kind < 16; kind++) {
    std::mt19937_64 random(kind);
    Shape shape;
    shape.rows = kind % 4 == 0 ? 20 : 400;
    shape.distinct = kind % 4 == 1 ? 100000 : 20;
    if (kind % 3 != 0) shape.is_null = [](int64_t row) { return row % 5 == 2; };
    parquet::WriterProperties::Builder properties;
    properties.compression(kind % 4 == 3 ? parquet::Compression::ZSTD : parquet::Compression::UNCOMPRESSED);
    properties.disable_statistics();
    if (kind & 4) properties.data_page_version(parquet::ParquetDataPageVersion::V2);
    if (kind & 8) properties.data_pagesize(256)->write_batch_size(50);
    if (kind % 5 == 4) properties.disable_dictionary();
    files.push_back(to_parquet(*random_table(shape, random), 300, properties));
  }
  for (uint32_t seed = 0; seed < rounds(1000); seed++) {
    std::mt19937_64 random(seed);
    read_all(mutated(files[seed % files.size()], random));
  }
}

}  // namespace
}  // namespace turbine
