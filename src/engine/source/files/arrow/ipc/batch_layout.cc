/*
 * batch_layout.cc - see batch_layout.h.
 *
 * Owns nothing. Called when a file is opened, and for each batch that is read. Field numbers are those of the
 * specification's tables.
 */
#include "engine/source/files/arrow/ipc/batch_layout.h"

#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include <arrow/buffer.h>
#include <arrow/extension_type.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include "engine/source/files/table_file.h"
#include "file_values/flat_buffer.h"

namespace turbine {
namespace {

[[noreturn]] void corrupt_ipc(const std::string& what) { throw FileError("Arrow file: " + what); }

void corrupt_metadata() { corrupt_ipc("its metadata leaves its buffer"); }

/* A FlatBuffer of a file, with its bytes. */
class FlatTable : public FlatBuffer<corrupt_metadata> {
 public:
  /* So many bytes of the file. Throws FileError. */
  static FlatTable read(arrow::io::RandomAccessFile& file, int64_t offset, int64_t size) {
    auto buffer = file.ReadAt(offset, size);
    if (!buffer.ok() || (*buffer)->size() != size) corrupt_ipc("its metadata can not be read");
    return FlatTable(*buffer);
  }

 private:
  explicit FlatTable(std::shared_ptr<arrow::Buffer> bytes)
      : FlatBuffer({reinterpret_cast<const char*>(bytes->data()), static_cast<size_t>(bytes->size())}),
        bytes_(std::move(bytes)) {}

  std::shared_ptr<arrow::Buffer> bytes_;
};

constexpr char kMagic[] = "ARROW1";
constexpr int64_t kMagicSize = 6;
constexpr int64_t kMostFooterBytes = 1 << 30;
constexpr int64_t kMostHeaderBytes = 64 << 20;
constexpr uint32_t kContinuation = 0xffffffff;

/* File.fbs. */
struct Block {
  int64_t offset;
  int32_t metadata_length;
  int32_t padding;
  int64_t body_length;
};
static_assert(sizeof(Block) == 24);

FlatTable read_footer(arrow::io::RandomAccessFile& file, int64_t size) {
  if (size < 2 * kMagicSize + 4) corrupt_ipc("it is too short");
  auto tail = file.ReadAt(size - kMagicSize - 4, kMagicSize + 4);
  if (!tail.ok() || (*tail)->size() != kMagicSize + 4 || memcmp((*tail)->data() + 4, kMagic, kMagicSize) != 0)
    corrupt_ipc("it does not end as one");
  int32_t length;
  memcpy(&length, (*tail)->data(), sizeof length);
  if (length <= 0 || length > kMostFooterBytes || length > size - 2 * kMagicSize - 4)
    corrupt_ipc("the size of its footer");
  return FlatTable::read(file, size - kMagicSize - 4 - length, length);
}

/* `schema`: the field that has it; 0: there is none. */
bool is_little_endian(const FlatTable& flat, uint64_t schema) {
  constexpr uint32_t kEndianness = 0;
  if (schema == 0) return true;
  const uint64_t endianness = flat.field(flat.follow(schema), kEndianness);
  return endianness == 0 || flat.at<int16_t>(endianness) == 0;
}

/* Message.fbs. */
constexpr uint32_t kHeaderType = 1, kHeader = 2, kBodyLength = 3;
constexpr uint8_t kSchemaMessage = 1, kDictionaryBatch = 2, kRecordBatch = 3;

uint8_t type_of(const FlatTable& message) {
  const uint64_t type = message.field(message.root(), kHeaderType);
  if (type == 0 || message.field(message.root(), kHeader) == 0) corrupt_ipc("a message is none");
  return message.at<uint8_t>(type);
}

/* A batch's header. */
class Header {
 public:
  static constexpr uint32_t kLength = 0, kNodes = 1, kBuffers = 2, kCompression = 3;

  Header(arrow::io::RandomAccessFile& file, int64_t offset, int32_t bytes) : message_(read(file, offset, bytes)) {
    if (type_of(message_) != kRecordBatch) corrupt_ipc("a batch is none");
    table_ = message_.follow(message_.field(message_.root(), kHeader));
  }
  uint64_t rows() const {
    const uint64_t length = message_.field(table_, kLength);
    const int64_t rows = length == 0 ? 0 : message_.at<int64_t>(length);
    if (rows < 0) corrupt_ipc("a batch has fewer than no rows");
    return static_cast<uint64_t>(rows);
  }
  bool compressed() const { return message_.field(table_, kCompression) != 0; }
  BatchLayout layout() const {
    return {message_.structs<IpcNode>(table_, kNodes), message_.structs<IpcBuffer>(table_, kBuffers)};
  }

 private:
  static FlatTable read(arrow::io::RandomAccessFile& file, int64_t offset, int32_t bytes) {
    const FlatTable prefix = FlatTable::read(file, offset, 8);
    const int64_t start = prefix.at<uint32_t>(0) == kContinuation ? 8 : 4;
    if (bytes <= start) corrupt_ipc("the header of a batch is empty");
    return FlatTable::read(file, offset + start, bytes - start);
  }

  FlatTable message_;
  uint64_t table_ = 0;
};

/* Of an array, its children's among them; none: it is not known. */
struct Parts {
  uint32_t nodes, buffers;
};
std::optional<Parts> parts_of(const arrow::DataType& type) {
  // Its own; arrays without children have no others.
  Parts parts{1, 0};
  switch (type.id()) {
    case arrow::Type::NA: return parts;
    case arrow::Type::EXTENSION: return parts_of(*static_cast<const arrow::ExtensionType&>(type).storage_type());
    case arrow::Type::DICTIONARY: parts.buffers = 2; return parts;
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY: parts.buffers = 3; return parts;
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::MAP: parts.buffers = 2; break;
    case arrow::Type::STRUCT:
    case arrow::Type::FIXED_SIZE_LIST: parts.buffers = 1; break;
    default:
      if (!arrow::is_primitive(type.id()) && !arrow::is_decimal(type.id()) &&
          type.id() != arrow::Type::FIXED_SIZE_BINARY)
        return std::nullopt;
      parts.buffers = 2;
      return parts;
  }
  // Those of its children.
  for (const auto& field : type.fields()) {
    const auto child = parts_of(*field->type());
    if (!child) return std::nullopt;
    parts.nodes += child->nodes;
    parts.buffers += child->buffers;
  }
  return parts;
}

}  // namespace

IpcBatches read_ipc_batches(arrow::io::RandomAccessFile& file) {
  constexpr uint32_t kSchema = 1, kRecordBatches = 3;
  const auto size = file.GetSize();
  if (!size.ok()) corrupt_ipc("its size is not known");
  const FlatTable footer = read_footer(file, *size);
  IpcBatches all{is_little_endian(footer, footer.field(footer.root(), kSchema)), {}, {}};
  for (const Block& block : footer.structs<Block>(footer.root(), kRecordBatches)) {
    if (block.offset < 0 || block.metadata_length < 0 || block.metadata_length > kMostHeaderBytes ||
        block.body_length < 0 || block.offset > *size - block.metadata_length ||
        block.body_length > *size - block.metadata_length - block.offset)
      corrupt_ipc("a batch leaves the file");
    const Header header(file, block.offset, block.metadata_length);
    all.batches.push_back({header.rows(), block.offset, block.metadata_length, block.body_length, header.compressed()});
  }
  return all;
}

namespace {

/* A message of a stream. */
struct Message {
  uint8_t type;
  int32_t header_bytes;
  int64_t body_bytes;
  uint64_t bytes() const { return static_cast<uint64_t>(header_bytes) + static_cast<uint64_t>(body_bytes); }
};

/* False: the stream has ended. */
bool read_message(arrow::io::RandomAccessFile& file, int64_t offset, int64_t size, IpcBatches& all, Message* message) {
  if (size - offset < 8) return false;
  const FlatTable prefix = FlatTable::read(file, offset, 8);
  const bool marked = prefix.at<uint32_t>(0) == kContinuation;
  const auto length = prefix.at<int32_t>(marked ? 4 : 0);
  const int32_t start = marked ? 8 : 4;
  if (length == 0) return false;
  if (length < 0 || length > kMostHeaderBytes || length > size - offset - start)
    corrupt_ipc("a message leaves the stream");
  const FlatTable flat = FlatTable::read(file, offset + start, length);
  const uint64_t body = flat.field(flat.root(), kBodyLength);
  *message = {type_of(flat), start + length, body == 0 ? 0 : flat.at<int64_t>(body)};
  if (message->body_bytes < 0 || message->body_bytes > size - offset - message->header_bytes)
    corrupt_ipc("a message leaves the stream");
  if (message->type == kSchemaMessage) all.little_endian = is_little_endian(flat, flat.field(flat.root(), kHeader));
  return true;
}

}  // namespace

IpcBatches read_ipc_stream(arrow::io::RandomAccessFile& file) {
  const auto size = file.GetSize();
  if (!size.ok()) corrupt_ipc("its size is not known");
  IpcBatches all;
  Message message{};
  for (int64_t offset = 0; read_message(file, offset, *size, all, &message);
       offset += static_cast<int64_t>(message.bytes())) {
    if ((message.type == kSchemaMessage) != all.before.empty())
      corrupt_ipc("a stream's schema is not its first message");
    if (message.type == kRecordBatch) {
      const Header header(file, offset, message.header_bytes);
      all.batches.push_back({header.rows(), offset, message.header_bytes, message.body_bytes, header.compressed()});
    } else if (message.type == kSchemaMessage || message.type == kDictionaryBatch) {
      all.before.push_back({offset, static_cast<int64_t>(message.bytes()), all.batches.size()});
    } else {
      corrupt_ipc("a message that is no batch");
    }
  }
  if (all.before.empty()) corrupt_ipc("a stream without a schema");
  return all;
}

BatchLayout read_batch_layout(arrow::io::RandomAccessFile& file, const IpcBatch& batch) {
  const Header header(file, batch.offset, batch.header_bytes);
  if (header.rows() != batch.rows) corrupt_ipc("a batch's number of rows");
  return header.layout();
}

std::vector<FieldPlace> field_places(const arrow::Schema& schema) {
  std::vector<FieldPlace> places(static_cast<size_t>(schema.num_fields()));
  uint32_t node = 0, buffer = 0;
  for (size_t i = 0; i < places.size(); i++) {
    const auto parts = parts_of(*schema.field(static_cast<int>(i))->type());
    if (!parts) break;
    places[i] = {node, buffer, parts->buffers};
    node += parts->nodes;
    buffer += parts->buffers;
  }
  return places;
}

}  // namespace turbine
