/*
 * storage_reader.h - reads extents of files into memory, from the page cache or past it.
 *
 * The one way by which the engine reads bytes of tables and files. It knows neither queries nor formats: whoever asks
 * says which path the bytes take (read_path.h). Reads past the page cache go through io_uring (drive_ring.h), or
 * through a pool of threads where the kernel refuses that. Whatever O_DIRECT cannot do, the page cache does.
 */
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/storage/drive_ring.h"
#include "engine/storage/read_path.h"
#include "engine/storage/storage_calls.h"
#include "engine/storage/storage_file.h"
#include "engine/threads/worker_pool.h"

namespace turbine {

/* Bytes of a file and where they go. O_DIRECT asks for multiples of kDirectAlignment in `offset`, `size` and `to`;
 * others go through the page cache. */
struct FileExtent {
  const StorageFile* file;
  uint64_t offset;
  uint64_t size;
  uint8_t* to;
  /* That the file must have: fewer than `size` if the extent may go beyond the file's end. */
  uint64_t least;
};

struct ExtentsRead {
  bool ok = true;               // else the content of all extents is undefined
  int error = 0;                // errno; 0: the file is too short
  uint64_t drive_bytes = 0;     // by O_DIRECT
  uint64_t page_cache_bytes = 0;
  uint64_t us = 0;              // all reads' time
};

/* Any thread. */
class StorageReader {
 public:
  /* On a thread of the reader's, or on the caller's before read() returns. Must not throw or wait. */
  using Done = std::function<void(const ExtentsRead& read)>;

  /* `threads` for the page cache; both outlive this. */
  explicit StorageReader(WorkerPool& threads, const StorageCalls& calls = system_storage_calls());

  /* How direct reads reach the drive, for the log and EXPLAIN. */
  bool uses_ring() const { return ring_ != nullptr; }
  /* Why not; "" if it does. */
  const std::string& why_no_ring() const { return why_no_ring_; }

  /* Files and memory must stay until `done`. Throws bad_alloc, before anything has begun. */
  void read(std::vector<FileExtent> extents, ReadPath path, Done done);

  /* The same, and waits; the caller's thread reads what comes by the page cache. Not from a thread of the pool. */
  ExtentsRead read_now(std::vector<FileExtent> extents, ReadPath path);

  /* Pins memory that many reads will go to, until the handle goes. Null if the process may not: reads work all the
   * same. */
  std::shared_ptr<void> pin(uint8_t* memory, uint64_t size);

 private:
  struct Request;
  void start(const std::vector<FileExtent>& extents, ReadPath path, Done done, bool waits);
  void read_past_cache(const std::shared_ptr<Request>& request, const FileExtent& extent);
  DriveRing::Read drive_read(const std::shared_ptr<Request>& request, const FileExtent& extent);
  void drive_done(const std::shared_ptr<Request>& request, FileExtent extent, int64_t result);
  void read_on_thread(const std::shared_ptr<Request>& request, const FileExtent& extent, bool direct);
  void read_by_calls(Request& request, FileExtent extent, bool direct);

  WorkerPool& threads_;
  const StorageCalls& calls_;
  std::string why_no_ring_;
  const std::shared_ptr<DriveRing> ring_;  // null: threads read
};

}  // namespace turbine
