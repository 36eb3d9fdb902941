/*
 * batch_layout.h - where the record batches of an Arrow IPC file or stream are, and where a batch has its columns.
 *
 * libarrow tells the rows of a batch only once it has read it, and the places of its buffers not at all. So the
 * two small flatbuffers that say it are read here: the file's footer, and the header of each batch
 * (format/File.fbs, Schema.fbs and Message.fbs of Apache Arrow's specification). Whatever they say is checked against
 * the file's size; what libarrow reads later is checked against them.
 */
#pragma once

#include <cstdint>
#include <vector>

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

namespace turbine {

struct IpcBatch {
  uint64_t rows;
  int64_t offset;  // of its header
  int32_t header_bytes;
  int64_t body_bytes;  // behind the header
  bool compressed;
};

/* Of a stream: a message that batches behind it are read with. */
struct IpcMessage {
  int64_t offset, bytes;  // with its body
  size_t batch;           // the first one behind it
};

struct IpcBatches {
  bool little_endian = true;
  std::vector<IpcBatch> batches;
  std::vector<IpcMessage> before;  // of a stream: its schema, then its dictionaries
};

/* Of a whole file, and of a whole stream, which has no footer: each message says how long it is. Throws FileError. */
IpcBatches read_ipc_batches(arrow::io::RandomAccessFile& file);
IpcBatches read_ipc_stream(arrow::io::RandomAccessFile& file);

/* Message.fbs. Of an array: its values, and how many of them are NULL. */
struct IpcNode {
  int64_t length, nulls;
};
/* Message.fbs. From the body's begin on. */
struct IpcBuffer {
  int64_t offset, length;
};
static_assert(sizeof(IpcNode) == 16 && sizeof(IpcBuffer) == 16);

/* What a batch's header says of its columns: as many as the schema's fields make. Nothing of it is checked. */
struct BatchLayout {
  std::vector<IpcNode> nodes;
  std::vector<IpcBuffer> buffers;
};
/* Throws FileError. */
BatchLayout read_batch_layout(arrow::io::RandomAccessFile& file, const IpcBatch& batch);

/* Which of a layout's nodes and buffers are a field's. */
struct FieldPlace {
  static constexpr uint32_t kUnknown = UINT32_MAX;
  uint32_t first_node = kUnknown, first_buffer = 0, buffers = 0;
  bool known() const { return first_node != kUnknown; }
};
/* By field of the schema. Behind a field whose number of buffers the batch itself tells (views), or is another in
 * another version of the format (unions), none is known. */
std::vector<FieldPlace> field_places(const arrow::Schema& schema);

}  // namespace turbine
