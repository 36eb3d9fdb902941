/*
 * ipc_footer.cc - see ipc_footer.h.
 *
 * Owns nothing. A flatbuffer's table begins with the distance back to its vtable, which has a 16-bit place for
 * each field; places, vectors and tables are followed only within the buffer.
 */
#include "engine/source/files/arrow/ipc_footer.h"

#include <cstring>
#include <string>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include "engine/source/files/table_file.h"

namespace turbine {
namespace {

constexpr char kMagic[] = "ARROW1";
constexpr int64_t kMagicSize = 6;
constexpr int64_t kMostFooterBytes = 1 << 30;
constexpr int64_t kMostHeaderBytes = 64 << 20;
constexpr uint32_t kContinuation = 0xffffffff;

[[noreturn]] void corrupt(const std::string& what) { throw FileError("Arrow file: " + what); }

/* A flatbuffer, and what may be read of it. */
class Flat {
 public:
  explicit Flat(std::shared_ptr<arrow::Buffer> buffer) : buffer_(std::move(buffer)) {}

  template <class T>
  T at(uint64_t place) const {
    T value;
    if (place > size() || size() - place < sizeof value) corrupt("its metadata leaves its buffer");
    memcpy(&value, buffer_->data() + place, sizeof value);
    return value;
  }
  uint64_t root() const { return at<uint32_t>(0); }
  /* Where a table has its field; 0: it has none. */
  uint64_t field(uint64_t table, uint32_t number) const {
    const auto vtable = static_cast<uint64_t>(static_cast<int64_t>(table) - at<int32_t>(table));
    const uint32_t entry = 4 + 2 * number;
    if (entry + 2 > at<uint16_t>(vtable)) return 0;
    const auto distance = at<uint16_t>(vtable + entry);
    return distance == 0 ? 0 : table + distance;
  }
  /* What the field's offset points to. */
  uint64_t follow(uint64_t place) const { return place + at<uint32_t>(place); }

 private:
  uint64_t size() const { return static_cast<uint64_t>(buffer_->size()); }
  std::shared_ptr<arrow::Buffer> buffer_;
};

Flat read_flat(arrow::io::RandomAccessFile& file, int64_t offset, int64_t size) {
  auto buffer = file.ReadAt(offset, size);
  if (!buffer.ok() || (*buffer)->size() != size) corrupt("its metadata can not be read");
  return Flat(*buffer);
}

struct Block {
  int64_t offset;
  int32_t metadata_length;
  int32_t padding;
  int64_t body_length;
};
static_assert(sizeof(Block) == 24);

std::vector<Block> read_blocks(arrow::io::RandomAccessFile& file, int64_t size) {
  constexpr uint32_t kRecordBatches = 3;
  if (size < 2 * kMagicSize + 4) corrupt("it is too short");
  auto tail = file.ReadAt(size - kMagicSize - 4, kMagicSize + 4);
  if (!tail.ok() || (*tail)->size() != kMagicSize + 4 || memcmp((*tail)->data() + 4, kMagic, kMagicSize) != 0)
    corrupt("it does not end as one");
  int32_t length;
  memcpy(&length, (*tail)->data(), sizeof length);
  if (length <= 0 || length > kMostFooterBytes || length > size - 2 * kMagicSize - 4) corrupt("the size of its footer");
  const Flat footer = read_flat(file, size - kMagicSize - 4 - length, length);
  const uint64_t field = footer.field(footer.root(), kRecordBatches);
  std::vector<Block> blocks;
  if (field == 0) return blocks;
  const uint64_t vector = footer.follow(field);
  const auto count = footer.at<uint32_t>(vector);
  if (uint64_t{count} * sizeof(Block) > static_cast<uint64_t>(length)) corrupt("the number of its batches");
  for (uint32_t i = 0; i < count; i++) blocks.push_back(footer.at<Block>(vector + 4 + i * sizeof(Block)));
  return blocks;
}

uint64_t rows_of(arrow::io::RandomAccessFile& file, const Block& block) {
  constexpr uint32_t kHeaderType = 1, kHeader = 2, kLength = 0;
  constexpr uint8_t kRecordBatch = 3;
  Flat prefix = read_flat(file, block.offset, 8);
  const int64_t start = prefix.at<uint32_t>(0) == kContinuation ? 8 : 4;
  if (block.metadata_length <= start) corrupt("the header of a batch is empty");
  const Flat message = read_flat(file, block.offset + start, block.metadata_length - start);
  const uint64_t type = message.field(message.root(), kHeaderType);
  const uint64_t header = message.field(message.root(), kHeader);
  if (type == 0 || header == 0 || message.at<uint8_t>(type) != kRecordBatch) corrupt("a batch is none");
  const uint64_t length = message.field(message.follow(header), kLength);
  const int64_t rows = length == 0 ? 0 : message.at<int64_t>(length);
  if (rows < 0) corrupt("a batch has fewer than no rows");
  return static_cast<uint64_t>(rows);
}

}  // namespace

std::vector<IpcBatch> read_ipc_batches(arrow::io::RandomAccessFile& file) {
  const auto size = file.GetSize();
  if (!size.ok()) corrupt("its size is not known");
  std::vector<IpcBatch> batches;
  for (const Block& block : read_blocks(file, *size)) {
    if (block.offset < 0 || block.metadata_length < 0 || block.metadata_length > kMostHeaderBytes ||
        block.body_length < 0 || block.offset > *size - block.metadata_length ||
        block.body_length > *size - block.metadata_length - block.offset)
      corrupt("a batch leaves the file");
    batches.push_back({rows_of(file, block), static_cast<uint64_t>(block.body_length)});
  }
  return batches;
}

}  // namespace turbine
