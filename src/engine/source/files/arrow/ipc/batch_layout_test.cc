/* batch_layout_test.cc - which buffers are a field's, and which fields are read from where they lie. */
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include "engine/source/files/arrow/ipc/batch_layout.h"
#include "engine/source/files/arrow/open_table_file.h"
#include "turbine/wire.h"

namespace turbine {
namespace {

constexpr int64_t kRows = 3000;

std::shared_ptr<arrow::Array> numbers(int64_t first) {
  arrow::Int32Builder builder;
  for (int64_t row = 0; row < kRows; row++) EXPECT_TRUE(builder.Append(static_cast<int32_t>(first + row)).ok());
  return *builder.Finish();
}

/* Arrays of a type, whatever is in them. */
std::shared_ptr<arrow::Array> some(const std::shared_ptr<arrow::DataType>& type) {
  return *arrow::MakeArrayOfNull(type, kRows);
}

/* A column of numbers behind one of the type. */
std::string file_with(const std::shared_ptr<arrow::DataType>& type) {
  const auto schema = arrow::schema({arrow::field("other", type), arrow::field("number", arrow::int32())});
  auto sink = *arrow::io::BufferOutputStream::Create();
  auto writer = *arrow::ipc::MakeFileWriter(sink, schema);
  for (int batch = 0; batch < 3; batch++)
    EXPECT_TRUE(
        writer->WriteRecordBatch(*arrow::RecordBatch::Make(schema, kRows, {some(type), numbers(batch * 7)})).ok());
  EXPECT_TRUE(writer->Close().ok());
  return (*sink->Finish())->ToString();
}

struct Read {
  bool apart;
  uint64_t bytes;
};

/* Reads the numbers, of each batch the last ones. */
Read read_numbers(const std::shared_ptr<arrow::DataType>& type) {
  const std::string content = file_with(type);
  const int fd = memfd_create("file", MFD_CLOEXEC);
  EXPECT_EQ(write(fd, content.data(), content.size()), static_cast<ssize_t>(content.size()));
  WantedColumn wanted;
  wanted.name = "number";
  wanted.type = TB_TYPE_INT4;
  const auto file = open_table_file(fd, TB_COLUMN_FILE_ARROW, {wanted});
  std::vector<ColumnRows> rows;
  rows.emplace_back(wanted.type);
  Read read{file->reads_rows_apart(), 0};
  for (uint32_t batch = 0; batch < 3; batch++) {
    const auto reader = file->read_rows(batch, {{1000, 1500}, {kRows - 1, 1}});
    reader->read(1500, rows);
    const auto* values = static_cast<const int32_t*>(rows[0].data().values);
    for (int i = 0; i < 1500; i++) EXPECT_EQ(values[i], static_cast<int>(batch * 7 + 1000) + i) << type->ToString();
    reader->read(1, rows);
    EXPECT_EQ(*static_cast<const int32_t*>(rows[0].data().values), static_cast<int>(batch * 7 + kRows) - 1);
    std::vector<uint64_t> bytes(1);
    reader->add_bytes(bytes);
    read.bytes += bytes[0];
  }
  close(fd);
  return read;
}

TEST(BatchLayout, BuffersOfEveryTypeAreCounted) {
  const auto text = arrow::field("t", arrow::utf8());
  for (const auto& type : std::vector<std::shared_ptr<arrow::DataType>>{
           arrow::null(), arrow::boolean(), arrow::int8(), arrow::decimal256(50, 3), arrow::fixed_size_binary(16),
           arrow::utf8(), arrow::large_binary(), arrow::list(text), arrow::large_list(arrow::list(text)),
           arrow::fixed_size_list(text, 3), arrow::struct_({text, arrow::field("l", arrow::list(text))}),
           arrow::map(arrow::utf8(), arrow::int32()), arrow::dictionary(arrow::int16(), arrow::utf8()),
           arrow::month_day_nano_interval()}) {
    const Read read = read_numbers(type);
    EXPECT_TRUE(read.apart) << type->ToString();
    EXPECT_EQ(read.bytes, 3 * 1501 * sizeof(int32_t)) << type->ToString();
  }
}

/* Then libarrow reads the column, all of each batch. */
TEST(BatchLayout, BehindUnknownOnesNothingIsKnown) {
  for (const auto& type : std::vector<std::shared_ptr<arrow::DataType>>{
           arrow::utf8_view(), arrow::dense_union({arrow::field("a", arrow::int32())}),
           arrow::list(arrow::field("v", arrow::binary_view()))}) {
    const Read read = read_numbers(type);
    EXPECT_FALSE(read.apart) << type->ToString();
    EXPECT_GT(read.bytes, 0u);
  }
  const auto places = field_places(*arrow::schema(
      {arrow::field("a", arrow::int32()), arrow::field("b", arrow::utf8_view()), arrow::field("c", arrow::int32())}));
  EXPECT_TRUE(places[0].known());
  EXPECT_FALSE(places[1].known());
  EXPECT_FALSE(places[2].known());
}

}  // namespace
}  // namespace turbine
