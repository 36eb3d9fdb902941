/* storage_reader_test.cc - each path brings the same bytes, and each failure of a call shows as what it is. */
#include "engine/storage/storage_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>

#include "engine/storage/busy_clock.h"

namespace turbine {
namespace {

constexpr uint64_t kMegabyte = 1 << 20;
constexpr uint64_t kFileBytes = 5 * kMegabyte + 3 * kDirectAlignment + 100;

uint8_t byte_at(uint64_t offset) { return static_cast<uint8_t>(offset / 512 * 7 + offset % 251); }

/* Memory for what O_DIRECT writes. */
struct AlignedBytes {
  explicit AlignedBytes(uint64_t size) : bytes(static_cast<uint8_t*>(aligned_alloc(kDirectAlignment, size)), &free) {
    memset(bytes.get(), 0xee, size);
  }
  uint8_t* data() const { return bytes.get(); }
  std::unique_ptr<uint8_t, decltype(&free)> bytes;
};

/* The calls of the system, some of which fail as a test wants it. */
class FaultyCalls {
 public:
  StorageCalls calls = system_storage_calls();
  std::mutex mutex;
  std::set<int> direct_fds;      // opened with O_DIRECT
  uint64_t ring_reads = 0, calls_made = 0;
  /* Results of the next completions of reads, in their place; nothing: as they are. */
  std::vector<int> ring_results;
  /* The same of preadv2: an errno, negative, or the most bytes. */
  std::vector<int> call_results;

  FaultyCalls() {
    calls.open = [this](const char* path, int flags) {
      const int fd = open(path, flags);
      std::lock_guard lock(mutex);
      if (flags & O_DIRECT) direct_fds.insert(fd);
      return fd;
    };
    calls.ring_wait = [this](io_uring* ring, io_uring_cqe** completion) {
      const int error = io_uring_wait_cqe(ring, completion);
      if (error != 0 || (*completion)->user_data == UINT64_MAX) return error;
      std::lock_guard lock(mutex);
      ring_reads++;
      if (!ring_results.empty()) {
        if (ring_results.front() <= 0 || ring_results.front() < (*completion)->res)
          (*completion)->res = ring_results.front();
        ring_results.erase(ring_results.begin());
      }
      return 0;
    };
    calls.preadv2 = [this](int fd, const iovec* part, off_t offset, int flags) -> ssize_t {
      iovec less = *part;
      {
        std::lock_guard lock(mutex);
        calls_made++;
        if (!call_results.empty()) {
          const int result = call_results.front();
          call_results.erase(call_results.begin());
          if (result == 0) return 0;
          if (result < 0) {
            errno = -result;
            return -1;
          }
          less.iov_len = std::min(less.iov_len, static_cast<size_t>(result));
        }
      }
      return preadv2(fd, &less, 1, offset, flags);
    };
  }

  void refuse_ring() {
    calls.ring_open = [](unsigned, io_uring*) { return -EPERM; };
  }
};

class StorageReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fd_ = mkstemp(name_);
    ASSERT_GE(fd_, 0);
    std::vector<uint8_t> bytes(kFileBytes);
    for (uint64_t i = 0; i < kFileBytes; i++) bytes[i] = byte_at(i);
    ASSERT_EQ(write(fd_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    ASSERT_EQ(fsync(fd_), 0);
  }
  void TearDown() override {
    unlink(name_);
    close(fd_);
  }

  void drop_cache() const { ASSERT_EQ(posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED), 0); }

  /* One extent, checked byte by byte if it could be read. */
  ExtentsRead read(StorageReader& reader, const StorageFile& file, uint64_t offset, uint64_t size, ReadPath path,
                   uint64_t least = UINT64_MAX) {
    const AlignedBytes memory(size + kDirectAlignment);
    least = std::min(least, size);
    const ExtentsRead result = reader.read_now({{&file, offset, size, memory.data(), least}}, path);
    for (uint64_t i = 0; result.ok && i < least; i++) {
      if (memory.data()[i] == byte_at(offset + i)) continue;
      ADD_FAILURE() << "byte " << i << " of " << size << " from " << offset;
      break;
    }
    return result;
  }

  char name_[32] = "/var/tmp/pgt-storage-XXXXXX";
  int fd_ = -1;
  FaultyCalls faults_;
  WorkerPool threads_{"test", 3};
};

TEST_F(StorageReaderTest, EachPathBringsTheSame) {
  for (const bool has_ring : {true, false}) {
    if (!has_ring) faults_.refuse_ring();
    StorageReader reader(threads_, faults_.calls);
    if (has_ring && !reader.uses_ring()) GTEST_SKIP() << "io_uring: " << reader.why_no_ring();
    EXPECT_EQ(reader.why_no_ring().empty(), has_ring);
    for (const ReadPath path : {ReadPath::kDirect, ReadPath::kPastPageCache, ReadPath::kPageCache}) {
      const StorageFile file(fd_, faults_.calls);
      if (file.direct_fd() < 0) GTEST_SKIP() << "no O_DIRECT here";
      drop_cache();
      const uint64_t before = faults_.ring_reads;
      const ExtentsRead all = read(reader, file, 0, 5 * kMegabyte, path);
      EXPECT_TRUE(all.ok);
      const bool by_drive = path != ReadPath::kPageCache;
      EXPECT_EQ(all.drive_bytes, by_drive ? 5 * kMegabyte : 0);
      EXPECT_EQ(all.page_cache_bytes, by_drive ? 0 : 5 * kMegabyte);
      EXPECT_EQ(faults_.ring_reads - before, has_ring && by_drive ? 5u : 0u);
      EXPECT_EQ(file.in_page_cache(0, 5 * kMegabyte), !by_drive);
      // Neither aligned nor more than some bytes.
      EXPECT_TRUE(read(reader, file, 12345, 70, path).ok);
    }
  }
}

TEST_F(StorageReaderTest, TakesFromThePageCacheWhatIsThere) {
  StorageReader reader(threads_, faults_.calls);
  const StorageFile file(fd_, faults_.calls);
  if (file.direct_fd() < 0) GTEST_SKIP() << "no O_DIRECT here";
  drop_cache();
  ASSERT_EQ(posix_fadvise(fd_, 0, 0, POSIX_FADV_RANDOM), 0);
  ASSERT_TRUE(read(reader, file, kMegabyte, kMegabyte, ReadPath::kPageCache).ok);
  if (file.in_page_cache(3 * kMegabyte, kMegabyte)) GTEST_SKIP() << "the file system keeps its pages";
  const ExtentsRead mixed = read(reader, file, 0, 4 * kMegabyte, ReadPath::kPastPageCache);
  EXPECT_TRUE(mixed.ok);
  EXPECT_EQ(mixed.page_cache_bytes, kMegabyte);
  EXPECT_EQ(mixed.drive_bytes, 3 * kMegabyte);
  EXPECT_FALSE(file.in_page_cache(0, 4 * kMegabyte));
  // Which does not look there at all.
  EXPECT_EQ(read(reader, file, kMegabyte, kMegabyte, ReadPath::kDirect).drive_bytes, kMegabyte);
}

TEST_F(StorageReaderTest, GoesOnAfterShortReads) {
  for (const bool has_ring : {true, false}) {
    if (!has_ring) faults_.refuse_ring();
    StorageReader reader(threads_, faults_.calls);
    const StorageFile file(fd_, faults_.calls);
    if (file.direct_fd() < 0 || (has_ring && !reader.uses_ring())) GTEST_SKIP() << "no direct reads here";
    for (const int bytes : {4096, 8192, 4096 * 200, 512, 100}) {
      faults_.ring_results = {bytes, bytes};
      faults_.call_results = {bytes, bytes};
      const ExtentsRead all = read(reader, file, 0, kMegabyte, ReadPath::kDirect);
      EXPECT_TRUE(all.ok) << bytes;
      // The kernel has brought all bytes at once: what counts is that the rest was asked for.
      EXPECT_EQ(all.drive_bytes + all.page_cache_bytes, kMegabyte) << bytes;
      faults_.ring_results = faults_.call_results = {};
    }
  }
}

TEST_F(StorageReaderTest, ReachesTheEndOfAFile) {
  StorageReader reader(threads_, faults_.calls);
  const StorageFile file(fd_, faults_.calls);
  const uint64_t room = kFileBytes / kDirectAlignment * kDirectAlignment + kDirectAlignment;
  for (const ReadPath path : {ReadPath::kDirect, ReadPath::kPageCache}) {
    EXPECT_TRUE(read(reader, file, 0, room, path, kFileBytes).ok);
    const ExtentsRead beyond = read(reader, file, 0, room, path, kFileBytes + 1);
    EXPECT_FALSE(beyond.ok);
    EXPECT_EQ(beyond.error, 0);
    EXPECT_FALSE(read(reader, file, room, kDirectAlignment, path).ok);
  }
}

TEST_F(StorageReaderTest, AFileThatShrinksOrVanishes) {
  StorageReader reader(threads_, faults_.calls);
  const StorageFile file(fd_, faults_.calls);
  EXPECT_TRUE(read(reader, file, 0, 4 * kMegabyte, ReadPath::kDirect).ok);
  ASSERT_EQ(unlink(name_), 0);
  EXPECT_TRUE(read(reader, file, 0, 4 * kMegabyte, ReadPath::kDirect).ok) << "its descriptor keeps it";
  ASSERT_EQ(ftruncate(fd_, 2 * kMegabyte), 0);
  for (const ReadPath path : {ReadPath::kDirect, ReadPath::kPastPageCache, ReadPath::kPageCache}) {
    EXPECT_FALSE(read(reader, file, 0, 4 * kMegabyte, path).ok);
    EXPECT_TRUE(read(reader, file, 0, 2 * kMegabyte, path).ok);
  }
}

TEST_F(StorageReaderTest, ErrorsOfTheDriveAreTold) {
  for (const bool has_ring : {true, false}) {
    if (!has_ring) faults_.refuse_ring();
    StorageReader reader(threads_, faults_.calls);
    const StorageFile file(fd_, faults_.calls);
    if (file.direct_fd() < 0 || (has_ring && !reader.uses_ring())) GTEST_SKIP() << "no direct reads here";
    // Of one read of several.
    faults_.ring_results = {1 << 30, -EIO};
    faults_.call_results = {1 << 30, -EIO};
    const ExtentsRead failed = read(reader, file, 0, 4 * kMegabyte, ReadPath::kDirect);
    EXPECT_FALSE(failed.ok);
    EXPECT_EQ(failed.error, EIO);
    faults_.ring_results = faults_.call_results = {};
    EXPECT_TRUE(read(reader, file, 0, 4 * kMegabyte, ReadPath::kDirect).ok);
  }
}

TEST_F(StorageReaderTest, WhatODirectCannotDoThePageCacheDoes) {
  for (const int error : {EINVAL, EOPNOTSUPP}) {
    for (const bool has_ring : {true, false}) {
      if (!has_ring) faults_.refuse_ring();
      StorageReader reader(threads_, faults_.calls);
      const StorageFile file(fd_, faults_.calls);
      if (file.direct_fd() < 0 || (has_ring && !reader.uses_ring())) GTEST_SKIP() << "no direct reads here";
      faults_.ring_results = {-error};
      if (!has_ring) faults_.call_results = {-error};
      EXPECT_TRUE(read(reader, file, 0, kMegabyte, ReadPath::kDirect).ok);
      EXPECT_EQ(file.direct_fd(), -1) << "it is not asked again";
      EXPECT_EQ(read(reader, file, 0, kMegabyte, ReadPath::kDirect).page_cache_bytes, kMegabyte);
      faults_.ring_results = {};
    }
    faults_.calls.ring_open = system_storage_calls().ring_open;
  }
  // The file system does not even open it.
  faults_.calls.open = [](const char*, int) { return -1; };
  StorageReader reader(threads_, faults_.calls);
  const StorageFile file(fd_, faults_.calls);
  EXPECT_EQ(read(reader, file, 0, kMegabyte, ReadPath::kDirect).page_cache_bytes, kMegabyte);
}

TEST_F(StorageReaderTest, InterruptedReadsAreRepeated) {
  StorageReader reader(threads_, faults_.calls);
  const StorageFile file(fd_, faults_.calls);
  for (const int error : {EAGAIN, EINTR}) {
    faults_.ring_results = {-error};
    faults_.call_results = {-EINTR};
    EXPECT_TRUE(read(reader, file, 0, 2 * kMegabyte, ReadPath::kDirect).ok);
    faults_.call_results = {};
  }
}

TEST_F(StorageReaderTest, ManyReadsAtOnce) {
  StorageReader reader(threads_, faults_.calls);
  const StorageFile file(fd_, faults_.calls);
  constexpr int kRequests = 100;
  std::mutex mutex;
  std::condition_variable ended;
  int done = 0, good = 0;
  const AlignedBytes memory(uint64_t{kRequests} * 8 * kDirectAlignment);
  const std::shared_ptr<void> pinned = reader.pin(memory.data(), uint64_t{kRequests} * 8 * kDirectAlignment);
  for (int i = 0; i < kRequests; i++) {
    uint8_t* to = memory.data() + uint64_t(i) * 8 * kDirectAlignment;
    std::vector<FileExtent> extents;
    for (uint64_t part = 0; part < 8; part++)
      extents.push_back({&file, (static_cast<uint64_t>(i) * 8 + part) * kDirectAlignment, kDirectAlignment,
                         to + part * kDirectAlignment, kDirectAlignment});
    reader.read(std::move(extents), i % 3 == 0 ? ReadPath::kPageCache : ReadPath::kDirect,
                [&](const ExtentsRead& read) {
                  std::lock_guard lock(mutex);
                  done++;
                  good += read.ok;
                  ended.notify_all();
                });
  }
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return done == kRequests; });
  EXPECT_EQ(good, kRequests);
  for (uint64_t i = 0; i < uint64_t{kRequests} * 8 * kDirectAlignment; i++)
    ASSERT_EQ(memory.data()[i], byte_at(i)) << i;
  lock.unlock();
  EXPECT_TRUE(reader.read_now({}, ReadPath::kDirect).ok);
}

TEST(ReadPathChoice, SparesThePageCacheLargeTables) {
  constexpr uint64_t kMemory = 1000;
  EXPECT_EQ(choose_read_path(StoragePath::kAuto, 0.5, 499, kMemory), ReadPath::kPageCache);
  EXPECT_EQ(choose_read_path(StoragePath::kAuto, 0.5, 500, kMemory), ReadPath::kPastPageCache);
  EXPECT_EQ(choose_read_path(StoragePath::kAuto, 0, 0, kMemory), ReadPath::kPastPageCache);
  EXPECT_EQ(choose_read_path(StoragePath::kAuto, 0.5, 500, 0), ReadPath::kPageCache);
  EXPECT_EQ(choose_read_path(StoragePath::kDirect, 0.5, 1, kMemory), ReadPath::kDirect);
  EXPECT_EQ(choose_read_path(StoragePath::kPageCache, 0.5, 5000, kMemory), ReadPath::kPageCache);
}

TEST(BusyTime, CountsEachMomentOnce) {
  BusyClock clock;
  clock.begin();
  clock.begin();
  usleep(2000);
  EXPECT_EQ(clock.end(), 0u);
  const uint64_t us = clock.end();
  EXPECT_GE(us, 2000u);
  clock.begin();
  EXPECT_LT(clock.end(), us);
}

}  // namespace
}  // namespace turbine
