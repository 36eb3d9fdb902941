/*
 * storage_reader.cc - see storage_reader.h.
 *
 * Owns no file and no memory. Called by the sources of heap pages and of files of columns. It must end every request
 * exactly once, after the last read into the request's memory.
 *
 * A request is cut into reads of one extent of its file each. A read ends well, or short, or with an error:
 *   short          the rest is read, until the file ends;
 *   EINVAL         the file system takes no O_DIRECT: the page cache has it from now on;
 *   EAGAIN, EINTR  a thread repeats it;
 *   others         the request fails, once its other reads have ended.
 */
#include "engine/storage/storage_reader.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <new>
#include <utility>

#include "engine/profile/stopwatch.h"

namespace turbine {
namespace {

bool is_aligned(const FileExtent& extent) {
  return ((extent.offset | extent.size | reinterpret_cast<uintptr_t>(extent.to)) & (kDirectAlignment - 1)) == 0;
}

/* What is left of an extent behind its first bytes. */
FileExtent rest_of(FileExtent extent, uint64_t done) {
  extent.offset += done;
  extent.size -= done;
  extent.to += done;
  extent.least -= std::min(extent.least, done);
  return extent;
}

std::vector<FileExtent> cut(const std::vector<FileExtent>& extents) {
  std::vector<FileExtent> reads;
  for (FileExtent extent : extents) {
    for (;;) {
      // The first read ends where extents of the file do.
      const uint64_t size = kExtentBytes - extent.offset % kExtentBytes;
      if (extent.size <= size) break;
      FileExtent first = extent;
      first.size = size;
      first.least = std::min(extent.least, size);
      reads.push_back(first);
      extent = rest_of(extent, size);
    }
    reads.push_back(extent);
  }
  return reads;
}

}  // namespace

struct StorageReader::Request {
  const Done done;
  std::atomic<uint64_t> left;  // reads
  std::atomic<int> error{0};
  std::atomic<bool> failed{false};
  std::atomic<uint64_t> drive_bytes{0}, page_cache_bytes{0}, us{0};

  Request(uint64_t reads, Done done) : done(std::move(done)), left(reads) {}

  void fail(int why) {
    error = why;
    failed = true;
  }

  void read_done() {
    if (left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    done({.ok = !failed, .error = error, .drive_bytes = drive_bytes, .page_cache_bytes = page_cache_bytes, .us = us});
  }
};

StorageReader::StorageReader(WorkerPool& threads, const StorageCalls& calls)
    : threads_(threads), calls_(calls), ring_(DriveRing::open(calls, &why_no_ring_)) {}

void StorageReader::read(std::vector<FileExtent> extents, ReadPath path, Done done) {
  start(extents, path, std::move(done), false);
}

void StorageReader::start(const std::vector<FileExtent>& extents, ReadPath path, Done done, bool waits) {
  const std::vector<FileExtent> reads = cut(extents);
  if (reads.empty()) return done({});

  // Which way each goes. Room for all, so that nothing can fail once a read has begun.
  std::vector<FileExtent> by_cache, by_thread;
  std::vector<DriveRing::Read> by_ring;
  by_cache.reserve(reads.size());
  by_thread.reserve(reads.size());
  by_ring.reserve(reads.size());
  auto request = std::make_shared<Request>(reads.size(), std::move(done));
  for (const FileExtent& read : reads) {
    const bool past_cache = path == ReadPath::kDirect ||
                            (path == ReadPath::kPastPageCache && !read.file->was_in_page_cache(read.offset, read.size));
    if (!past_cache || !is_aligned(read) || read.file->direct_fd() < 0)
      by_cache.push_back(read);
    else if (ring_)
      by_ring.push_back(drive_read(request, read));
    else
      by_thread.push_back(read);
  }

  // The drive first: it works while the page cache is copied.
  if (!by_ring.empty()) ring_->post(std::move(by_ring));
  for (const FileExtent& read : by_thread) read_on_thread(request, read, true);
  for (const FileExtent& read : by_cache) {
    if (!waits) {
      read_on_thread(request, read, false);
      continue;
    }
    const Stopwatch stopwatch;
    read_by_calls(*request, read, false);
    request->us += stopwatch.microseconds();
    request->read_done();
  }
}

ExtentsRead StorageReader::read_now(std::vector<FileExtent> extents, ReadPath path) {
  std::mutex mutex;
  std::condition_variable ended;
  bool has_ended = false;
  ExtentsRead result;
  const auto done = [&](const ExtentsRead& read) {
    // Under the lock to the end: the caller's stack goes as soon as it is free.
    std::lock_guard lock(mutex);
    result = read;
    has_ended = true;
    ended.notify_all();
  };
  start(extents, path, done, true);
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return has_ended; });
  return result;
}

DriveRing::Read StorageReader::drive_read(const std::shared_ptr<Request>& request, const FileExtent& extent) {
  return {extent.file->direct_fd(), extent.offset, static_cast<uint32_t>(extent.size), extent.to,
          [this, request, extent, stopwatch = Stopwatch()](int64_t result) {
            request->us += stopwatch.microseconds();
            drive_done(request, extent, result);
          }};
}

/* A read that finds no memory for its own record has failed; the request goes on with the others. */
void StorageReader::read_past_cache(const std::shared_ptr<Request>& request, const FileExtent& extent) {
  try {
    std::vector<DriveRing::Read> reads;
    reads.push_back(drive_read(request, extent));
    ring_->post(std::move(reads));
  } catch (const std::bad_alloc&) {
    request->fail(ENOMEM);
    request->read_done();
  }
}

/* On the ring's thread. */
void StorageReader::drive_done(const std::shared_ptr<Request>& request, FileExtent extent, int64_t result) {
  if (result == -EINVAL || result == -EOPNOTSUPP) {
    extent.file->refuse_direct();
    return read_on_thread(request, extent, false);
  }
  if (result == -EAGAIN || result == -EINTR) return read_on_thread(request, extent, true);
  if (result < 0) {
    request->fail(static_cast<int>(-result));
    return request->read_done();
  }
  const auto bytes = std::min(static_cast<uint64_t>(result), extent.size);
  request->drive_bytes += bytes;
  extent = rest_of(extent, bytes);
  if (extent.least == 0) return request->read_done();
  if (bytes == 0) {
    request->fail(0);
    return request->read_done();
  }
  // Where a short read has ended in a page there is no direct way on: the file may be growing.
  if (is_aligned(extent))
    read_past_cache(request, extent);
  else
    read_on_thread(request, extent, false);
}

void StorageReader::read_on_thread(const std::shared_ptr<Request>& request, const FileExtent& extent, bool direct) {
  try {
    threads_.post([this, request, extent, direct](unsigned) {
      const Stopwatch stopwatch;
      read_by_calls(*request, extent, direct);
      request->us += stopwatch.microseconds();
      request->read_done();
    });
  } catch (const std::bad_alloc&) {
    request->fail(ENOMEM);
    request->read_done();
  }
}

void StorageReader::read_by_calls(Request& request, FileExtent extent, bool direct) {
  while (extent.least > 0) {
    direct = direct && is_aligned(extent) && extent.file->direct_fd() >= 0;
    const iovec part{extent.to, extent.size};
    const int fd = direct ? extent.file->direct_fd() : extent.file->fd();
    const ssize_t n = calls_.preadv2(fd, &part, static_cast<off_t>(extent.offset), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && direct && (errno == EINVAL || errno == EOPNOTSUPP)) {
      extent.file->refuse_direct();
      continue;
    }
    if (n <= 0) return request.fail(n < 0 ? errno : 0);
    (direct ? request.drive_bytes : request.page_cache_bytes) += static_cast<uint64_t>(n);
    extent = rest_of(extent, static_cast<uint64_t>(n));
  }
}

std::shared_ptr<void> StorageReader::pin(uint8_t* memory, uint64_t size) {
  if (!ring_ || !ring_->pin(memory, size)) return nullptr;
  return {memory, [ring = ring_, size](void* pinned) { ring->unpin(static_cast<uint8_t*>(pinned), size); }};
}

}  // namespace turbine
