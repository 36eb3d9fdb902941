/*
 * ipc_body.cc - see ipc_body.h.
 *
 * The metadata is changed in place: libarrow has written all of its fields, and none changes its size.
 */
#include "export/ipc_body.h"

#include <algorithm>

#include "export/export_error.h"
#include "file_values/flat_buffer.h"

namespace turbine::exporting {
namespace {

void damaged_message() { throw ExportError(ExitCode::kFile, "the file's metadata is damaged"); }

constexpr int kHeaderType = 1, kHeader = 2, kBodyLength = 3; /* fields of Message */
constexpr uint8_t kDictionaryBatch = 2, kRecordBatch = 3;    /* types of headers */
constexpr int kDictionaryData = 1;                           /* field of DictionaryBatch */
constexpr int kBuffers = 2;                                  /* field of RecordBatch */
constexpr uint64_t kBufferBytes = 16;

constexpr int64_t kPage = 4096;
/* Buffers from which a page more or less is nothing. */
constexpr int64_t kLarge = 16 * kPage;

int64_t alignment_of(int64_t bytes) { return bytes >= kLarge ? kPage : kIpcAlignment; }

}  // namespace

IpcBody place_buffers(const std::vector<std::shared_ptr<arrow::Buffer>>& buffers) {
  IpcBody body;
  for (const auto& buffer : buffers) {
    const int64_t size = buffer == nullptr ? 0 : buffer->size();
    body.bytes = round_up(body.bytes, alignment_of(size));
    body.alignment = std::max(body.alignment, alignment_of(size));
    body.offsets.push_back(body.bytes);
    body.bytes = round_up(body.bytes + size, kIpcAlignment);
  }
  return body;
}

void put_places(const IpcBody& body, std::string& metadata) {
  // The batch that the message brings.
  const FlatBuffer<damaged_message> reader(metadata);
  const uint64_t message = reader.root();
  const uint64_t type = reader.field(message, kHeaderType);
  const uint8_t kind = type == 0 ? 0 : reader.at<uint8_t>(type);
  uint64_t batch = kind == kDictionaryBatch || kind == kRecordBatch ? reader.referred(message, kHeader) : 0;
  if (batch != 0 && kind == kDictionaryBatch) batch = reader.referred(batch, kDictionaryData);

  // Has it the buffers that we place?
  const uint64_t buffers = batch == 0 ? 0 : reader.referred(batch, kBuffers);
  const size_t count = buffers == 0 ? 0 : reader.at<uint32_t>(buffers);
  const uint64_t length = reader.field(message, kBodyLength);
  if (batch == 0 || count != body.offsets.size() || (length == 0 && body.bytes > 0)) {
    throw ExportError(ExitCode::kFile, "a message of the file has other buffers than it describes");
  }

  // Their places, and the body's length.
  for (size_t i = 0; i < count; i++) {
    const uint64_t place = buffers + 4 + i * kBufferBytes;
    (void)reader.at<int64_t>(place);
    memcpy(metadata.data() + place, &body.offsets[i], sizeof(int64_t));
  }
  if (length != 0) memcpy(metadata.data() + length, &body.bytes, sizeof(int64_t));
}

}  // namespace turbine::exporting
