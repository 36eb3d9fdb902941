/*
 * stored_file.cc - see stored_file.h.
 *
 * Owns its descriptor. Called by libarrow and by the readers of both formats, on the threads that decode. O_DIRECT
 * reads whole blocks of a drive to aligned memory. So a read into libarrow's own buffer reads the blocks around it, and
 * the buffer is a part of them; a read to a caller's memory is copied out of a window that each thread keeps.
 */
#include "engine/source/files/arrow/stored_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <arrow/buffer.h>
#include <arrow/status.h>

namespace turbine {
namespace {

/* Of a thread: four reads of a drive at a time. */
constexpr uint64_t kWindowBytes = 4 << 20;

constexpr auto kBlock = static_cast<int64_t>(kDirectAlignment);

int64_t block_start(int64_t position) { return position / kBlock * kBlock; }
int64_t block_end(int64_t position) { return (position + kBlock - 1) / kBlock * kBlock; }

arrow::Status read_status(const ExtentsRead& read) {
  if (read.ok) return arrow::Status::OK();
  return arrow::Status::IOError(read.error ? strerror(read.error) : "the file has become shorter");
}

struct FreeMemory {
  void operator()(uint8_t* memory) const { free(memory); }
};

/* Null: there is no memory. */
uint8_t* thread_window() {
  static thread_local std::unique_ptr<uint8_t, FreeMemory> window;
  if (!window) window.reset(static_cast<uint8_t*>(aligned_alloc(kDirectAlignment, kWindowBytes)));
  return window.get();
}

}  // namespace

StoredFile::StoredFile(int fd, FileReading reading, arrow::MemoryPool* pool)
    : fd_(fd), reading_(std::move(reading)), pool_(pool), storage_(fd) {
  set_mode(arrow::io::FileMode::READ);
}

StoredFile::~StoredFile() { close(fd_); }

arrow::Result<int64_t> StoredFile::GetSize() {
  struct stat file;
  if (fstat(fd_, &file) != 0) return arrow::Status::IOError(strerror(errno));
  return static_cast<int64_t>(file.st_size);
}

arrow::Status StoredFile::Seek(int64_t position) {
  if (position < 0) return arrow::Status::Invalid("a position before the file");
  position_ = position;
  return arrow::Status::OK();
}

arrow::Result<int64_t> StoredFile::Read(int64_t size, void* to) {
  ARROW_ASSIGN_OR_RAISE(const int64_t read, ReadAt(position_, size, to));
  position_ += read;
  return read;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> StoredFile::Read(int64_t size) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> read, ReadAt(position_, size));
  position_ += read->size();
  return read;
}

arrow::Result<int64_t> StoredFile::clip(int64_t position, int64_t size) {
  if (position < 0 || size < 0) return arrow::Status::Invalid("a place before the file");
  ARROW_ASSIGN_OR_RAISE(const int64_t end, GetSize());
  return std::clamp<int64_t>(end - position, 0, size);
}

bool StoredFile::goes_past_cache(int64_t size) const {
  return reading_.storage && reading_.path != ReadPath::kPageCache && size > 0 && storage_.direct_fd() >= 0;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> StoredFile::ReadAt(int64_t position, int64_t size) {
  ARROW_ASSIGN_OR_RAISE(size, clip(position, size));
  if (!goes_past_cache(size)) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, arrow::AllocateBuffer(size, pool_));
    ARROW_RETURN_NOT_OK(read_bytes(position, size, buffer->mutable_data()));
    return buffer;
  }
  ARROW_ASSIGN_OR_RAISE(auto buffers, read_ranges({{position, size}}));
  return std::move(buffers[0]);
}

arrow::Result<std::vector<std::shared_ptr<arrow::Buffer>>> StoredFile::read_ranges(const std::vector<Range>& ranges) {
  std::vector<std::shared_ptr<arrow::Buffer>> buffers;
  std::vector<FileExtent> extents;
  for (const Range& range : ranges) {
    ARROW_ASSIGN_OR_RAISE(const int64_t size, clip(range.position, range.size));
    const int64_t from = block_start(range.position), end = block_end(range.position + size);
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> blocks, arrow::AllocateBuffer(end - from, kBlock, pool_));
    if (size > 0)
      extents.push_back({.file = &storage_,
                         .offset = static_cast<uint64_t>(from),
                         .size = static_cast<uint64_t>(end - from),
                         .to = blocks->mutable_data(),
                         .least = static_cast<uint64_t>(range.position + size - from)});
    buffers.push_back(arrow::SliceBuffer(std::move(blocks), range.position - from, size));
  }
  ARROW_RETURN_NOT_OK(read_status(reading_.read_now(std::move(extents))));
  return buffers;
}

arrow::Result<int64_t> StoredFile::ReadAt(int64_t position, int64_t size, void* to) {
  ARROW_ASSIGN_OR_RAISE(size, clip(position, size));
  auto* const bytes = static_cast<uint8_t*>(to);
  ARROW_RETURN_NOT_OK(goes_past_cache(size) && thread_window() ? read_windows(position, size, bytes)
                                                               : read_bytes(position, size, bytes));
  return size;
}

/* By the page cache. */
arrow::Status StoredFile::read_bytes(int64_t position, int64_t size, uint8_t* to) {
  while (size > 0) {
    const ssize_t n = pread(fd_, to, static_cast<size_t>(size), position);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return arrow::Status::IOError(strerror(errno));
    if (n == 0) return arrow::Status::IOError("the file has become shorter");
    to += n;
    position += n;
    size -= n;
  }
  return arrow::Status::OK();
}

arrow::Status StoredFile::read_windows(int64_t position, int64_t size, uint8_t* to) {
  uint8_t* const window = thread_window();
  while (size > 0) {
    const int64_t from = block_start(position);
    const int64_t part = std::min(size, from + static_cast<int64_t>(kWindowBytes) - position);
    const FileExtent extent{.file = &storage_,
                            .offset = static_cast<uint64_t>(from),
                            .size = static_cast<uint64_t>(block_end(position + part) - from),
                            .to = window,
                            .least = static_cast<uint64_t>(position + part - from)};
    ARROW_RETURN_NOT_OK(read_status(reading_.read_now({extent})));
    memcpy(to, window + (position - from), static_cast<size_t>(part));
    to += part;
    position += part;
    size -= part;
  }
  return arrow::Status::OK();
}

}  // namespace turbine
