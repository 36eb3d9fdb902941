/*
 * ipc_body_test.cc - buffers are where the metadata says, apart as they should be, and libarrow finds them.
 */
#include "export/ipc_body.h"

#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/message.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include "export/export_error.h"

namespace turbine::exporting {
namespace {

std::shared_ptr<arrow::RecordBatch> make_batch(int64_t rows) {
  arrow::Int64Builder numbers;
  arrow::StringBuilder texts;
  for (int64_t i = 0; i < rows; i++) {
    check(numbers.Append(i));
    check(i % 3 == 0 ? texts.AppendNull() : texts.Append(std::to_string(i)));
  }
  const auto schema = arrow::schema({arrow::field("n", arrow::int64()), arrow::field("t", arrow::utf8())});
  return arrow::RecordBatch::Make(schema, rows, {value_of(numbers.Finish()), value_of(texts.Finish())});
}

arrow::ipc::IpcPayload payload_of(const arrow::RecordBatch& batch) {
  arrow::ipc::IpcPayload payload;
  check(arrow::ipc::GetRecordBatchPayload(batch, arrow::ipc::IpcWriteOptions::Defaults(), &payload));
  return payload;
}

class IpcBodyOfRows : public testing::TestWithParam<int64_t> {};

TEST_P(IpcBodyOfRows, IsReadAsItWasWritten) {
  const auto batch = make_batch(GetParam());
  const auto payload = payload_of(*batch);
  const IpcBody body = place_buffers(payload.body_buffers);
  std::string metadata = payload.metadata->ToString();
  put_places(body, metadata);

  std::string bytes(static_cast<size_t>(body.bytes), '\0');
  int64_t end = 0;
  for (size_t i = 0; i < body.offsets.size(); i++) {
    const auto& buffer = payload.body_buffers[i];
    const int64_t size = buffer == nullptr ? 0 : buffer->size();
    EXPECT_GE(body.offsets[i], end);
    EXPECT_EQ(body.offsets[i] % (size >= 65536 ? 4096 : 64), 0);
    end = body.offsets[i] + size;
    if (size > 0) memcpy(bytes.data() + body.offsets[i], buffer->data(), static_cast<size_t>(size));
  }
  EXPECT_LE(end, body.bytes);
  const auto message = value_of(
      arrow::ipc::Message::Open(arrow::Buffer::FromString(metadata), arrow::Buffer::FromString(bytes)));
  EXPECT_EQ(message->body_length(), body.bytes);
  arrow::ipc::DictionaryMemo memo;
  const auto read = value_of(
      arrow::ipc::ReadRecordBatch(*message, batch->schema(), &memo, arrow::ipc::IpcReadOptions::Defaults()));
  EXPECT_TRUE(read->Equals(*batch));
  EXPECT_TRUE(read->ValidateFull().ok());
}

INSTANTIATE_TEST_SUITE_P(FewAndMany, IpcBodyOfRows, testing::Values(0, 1, 100, 8192, 100000));

TEST(IpcBody, HasAsManyBuffersAsItsMetadata) {
  const auto payload = payload_of(*make_batch(10));
  IpcBody body = place_buffers(payload.body_buffers);
  body.offsets.pop_back();
  std::string metadata = payload.metadata->ToString();
  EXPECT_THROW(put_places(body, metadata), ExportError);
}

TEST(IpcBody, IsNoneOfASchema) {
  arrow::ipc::IpcPayload payload;
  const auto schema = make_batch(0)->schema();
  check(arrow::ipc::GetSchemaPayload(*schema, arrow::ipc::IpcWriteOptions::Defaults(),
                                     arrow::ipc::DictionaryFieldMapper(*schema), &payload));
  std::string metadata = payload.metadata->ToString();
  EXPECT_THROW(put_places(IpcBody(), metadata), ExportError);
}

}  // namespace
}  // namespace turbine::exporting
