/*
 * storage_pass.cc - see storage_pass.h.
 *
 * Called by main.cc. Each thread of a pass has an engine and buffers of its own, and takes the next request of the
 * files whenever one of its buffers is free. So all threads together read the files once, from front to back.
 *
 * What came from the drive is what the kernel has charged to this process (/proc/self/io, read_bytes). That counts
 * what it reads ahead, too, so it is cut to what was asked for.
 */
#include "storage_test/storage_pass.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "engine/topology/machine_topology.h"
#include "storage_test/read_engine.h"

namespace turbine {
namespace {

constexpr uint64_t kPageAlignment = 4096;

using PassClock = std::chrono::steady_clock;

double seconds_since(PassClock::time_point start) {
  return std::chrono::duration<double>(PassClock::now() - start).count();
}

/* A file that is open for one pass. */
struct OpenFile {
  int fd = -1;
  uint64_t bytes = 0;
  OpenFile() = default;
  OpenFile(OpenFile&& other) noexcept : fd(std::exchange(other.fd, -1)), bytes(other.bytes) {}
  ~OpenFile() {
    if (fd >= 0) close(fd);
  }
};

/* What the kernel has read for this process, bytes. */
uint64_t bytes_charged() {
  std::ifstream file("/proc/self/io");
  std::string name;
  for (uint64_t value; file >> name >> value;)
    if (name == "read_bytes:") return value;
  return 0;
}

/* Reads that a block device has ended, and their bytes. */
struct DriveCounters {
  uint64_t requests = 0, bytes = 0;
};

DriveCounters drive_counters(const TestedFile& file) {
  std::istringstream line(
      Sysfs(sysfs_root()).text("dev/block/" + std::to_string(file.major) + ":" + std::to_string(file.minor) + "/stat"));
  uint64_t requests = 0, merged = 0, sectors = 0;
  line >> requests >> merged >> sectors;
  return {requests, sectors * 512};
}

/* Hands out the requests of all files, in order. */
class RequestQueue {
 public:
  RequestQueue(const std::vector<OpenFile>& files, uint32_t request_bytes, uint64_t most_bytes)
      : files_(files), request_bytes_(request_bytes), left_(most_bytes) {}

  /* Before the first request: how long there are any. */
  void begin(double most_seconds) { end_ = PassClock::now() + until(most_seconds); }

  struct FileRequest {
    int fd;
    uint64_t offset;
    uint32_t bytes;
  };
  std::optional<FileRequest> next() {
    std::lock_guard lock(mutex_);
    if (failed_ || PassClock::now() >= end_) return std::nullopt;
    while (file_ < files_.size() && offset_ >= files_[file_].bytes) {
      file_++;
      offset_ = 0;
    }
    if (file_ == files_.size() || left_ == 0) return std::nullopt;
    const uint64_t bytes = std::min({uint64_t{request_bytes_}, files_[file_].bytes - offset_, left_});
    const FileRequest request{files_[file_].fd, offset_, static_cast<uint32_t>(bytes)};
    offset_ += bytes;
    left_ -= bytes;
    return request;
  }
  void fail() {
    std::lock_guard lock(mutex_);
    failed_ = true;
  }

 private:
  static PassClock::duration until(double seconds) {
    return std::chrono::duration_cast<PassClock::duration>(std::chrono::duration<double>(seconds));
  }

  const std::vector<OpenFile>& files_;
  const uint32_t request_bytes_;
  std::mutex mutex_;  // the fields below
  size_t file_ = 0;
  uint64_t offset_ = 0, left_;
  bool failed_ = false;
  PassClock::time_point end_;
};

/* A thread's memory for its requests in flight. */
class PassBuffers {
 public:
  PassBuffers(const PassOptions& options, const GpuMemory* gpu) : copies_(options.way == StorageWay::kGpu) {
    const bool pinned = copies_ || options.way == StorageWay::kPinned;
    if (pinned && !gpu) throw std::runtime_error("there is no GPU");
    for (uint32_t i = 0; i < options.depth; i++) {
      if (pinned) {
        on_gpu_.push_back(std::make_unique<GpuMemory::Buffer>(*gpu, options.request_bytes));
        memory_.push_back(on_gpu_.back()->host());
      } else {
        void* memory = nullptr;
        if (posix_memalign(&memory, kPageAlignment, options.request_bytes) != 0) throw std::bad_alloc();
        ordinary_.emplace_back(memory, &free);
        memory_.push_back(static_cast<uint8_t*>(memory));
      }
    }
  }
  uint8_t* at(uint32_t tag) const { return memory_[tag]; }
  /* Before the buffer is read into again. */
  void make_free(uint32_t tag) {
    if (copies_) on_gpu_[tag]->await_copy();
  }
  void filled(uint32_t tag, uint64_t bytes) {
    if (copies_) on_gpu_[tag]->copy_to_gpu(bytes);
  }

 private:
  const bool copies_;
  std::vector<std::unique_ptr<void, void (*)(void*)>> ordinary_;
  std::vector<std::unique_ptr<GpuMemory::Buffer>> on_gpu_;
  std::vector<uint8_t*> memory_;
};

/* What threads add up. */
struct PassTotals {
  std::atomic<uint64_t> bytes{0}, requests{0}, wait_ns{0};
  std::mutex mutex;
  std::string error;  // the first; protected by mutex

  void fail(const std::string& what) {
    std::lock_guard lock(mutex);
    if (error.empty()) error = what;
  }
};

/* As turbined reads: past the page cache by io_uring, where the kernel allows it. */
std::unique_ptr<ReadEngine> make_engine(const PassOptions& options) {
  std::unique_ptr<ReadEngine> engine;
  if (options.way != StorageWay::kPageCache) engine = make_ring_engine();
  return engine ? std::move(engine) : make_pread_engine(options.depth);
}

/* A thread's part: keeps as many requests in flight as it may. */
void read_requests(RequestQueue& queue, const PassOptions& options, PassBuffers& buffers, PassTotals& totals) {
  const std::unique_ptr<ReadEngine> engine = make_engine(options);
  std::vector<uint32_t> expected(options.depth);
  uint32_t in_flight = 0;
  bool more = true;
  const auto start = [&](uint32_t tag) {
    const auto request = more ? queue.next() : std::nullopt;
    more = request.has_value();
    if (!request) return;
    expected[tag] = request->bytes;
    // O_DIRECT wants whole blocks: at its end, a file gives less.
    const auto size = static_cast<uint32_t>((request->bytes + kPageAlignment - 1) / kPageAlignment * kPageAlignment);
    engine->submit(request->fd, request->offset, std::min(size, options.request_bytes), buffers.at(tag), tag);
    in_flight++;
  };
  for (uint32_t tag = 0; tag < options.depth; tag++) start(tag);
  while (in_flight > 0) {
    const auto before = PassClock::now();
    const ReadEngine::Ended ended = engine->wait();
    totals.wait_ns += static_cast<uint64_t>(std::chrono::nanoseconds(PassClock::now() - before).count());
    in_flight--;
    if (ended.result < static_cast<int64_t>(expected[ended.tag])) {
      totals.fail(ended.result < 0 ? strerror(static_cast<int>(-ended.result)) : "the file is shorter than it was");
      queue.fail();
      continue;
    }
    totals.bytes += expected[ended.tag];
    totals.requests++;
    buffers.filled(ended.tag, expected[ended.tag]);
    buffers.make_free(ended.tag);
    start(ended.tag);
  }
}

std::vector<OpenFile> open_files(const std::vector<TestedFile>& files, const PassOptions& options) {
  std::vector<OpenFile> open_for_pass;
  const bool direct = options.way != StorageWay::kPageCache;
  for (const TestedFile& file : files) {
    OpenFile& opened = open_for_pass.emplace_back();
    opened.fd = open(file.path.c_str(), O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
    opened.bytes = file.bytes;
    if (opened.fd < 0)
      throw std::runtime_error(file.path + ": " + strerror(errno) +
                               (direct && errno == EINVAL ? " (the file system has no O_DIRECT)" : ""));
    if (!direct && options.drop_cache) {
      // Only what is on the drive can be forgotten.
      fdatasync(opened.fd);
      posix_fadvise(opened.fd, 0, 0, POSIX_FADV_DONTNEED);
    }
  }
  return open_for_pass;
}

}  // namespace

const char* storage_way_name(StorageWay way) {
  switch (way) {
    case StorageWay::kDirect: return "direct";
    case StorageWay::kPageCache: return "page-cache";
    case StorageWay::kPinned: return "pinned";
    case StorageWay::kGpu: return "gpu";
  }
  return "?";
}

TestedFile find_tested_file(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) throw std::runtime_error(path + ": " + strerror(errno));
  if (!S_ISREG(status.st_mode)) throw std::runtime_error(path + ": it is not an ordinary file");
  if (status.st_size == 0) throw std::runtime_error(path + ": it is empty");
  return {path, static_cast<uint64_t>(status.st_size), major(status.st_dev), minor(status.st_dev)};
}

PassResult run_pass(const std::vector<TestedFile>& files, const PassOptions& options, const GpuMemory* gpu,
                    const std::function<void(uint64_t, uint64_t)>& progress) {
  PassResult result;
  result.options = options;
  result.engine = make_engine(options)->name();
  try {
    const std::vector<OpenFile> opened = open_files(files, options);
    uint64_t all = 0;
    for (const OpenFile& file : opened) all += file.bytes;
    all = std::min(all, options.most_bytes);
    RequestQueue queue(opened, options.request_bytes, options.most_bytes);
    PassTotals totals;
    // Memory is there before the clock starts: pinning it takes longer than some reads.
    std::latch ready(options.threads), go(1);
    std::atomic<uint32_t> running{options.threads};
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < options.threads; i++)
      threads.emplace_back([&] {
        std::optional<PassBuffers> buffers;
        const auto guarded = [&](const auto& work) {
          try {
            work();
          } catch (const std::exception& error) {
            totals.fail(error.what());
            queue.fail();
          }
        };
        guarded([&] {
          if (gpu) gpu->enter();
          buffers.emplace(options, gpu);
        });
        ready.count_down();
        go.wait();
        if (buffers) guarded([&] { read_requests(queue, options, *buffers, totals); });
        running--;
      });
    ready.wait();
    const uint64_t charged = bytes_charged();
    const DriveCounters drive = drive_counters(files.front());
    const auto start = PassClock::now();
    queue.begin(options.most_seconds);
    go.count_down();
    while (running > 0) {
      progress(totals.bytes, all);
      std::this_thread::sleep_for(std::chrono::milliseconds(running > 0 ? 5 : 0));
    }
    for (std::thread& thread : threads) thread.join();
    result.seconds = seconds_since(start);
    progress(totals.bytes, all);
    result.error = totals.error;
    result.bytes = totals.bytes;
    result.requests = totals.requests;
    result.wait_seconds = static_cast<double>(totals.wait_ns) / 1e9;
    result.drive_bytes = std::min(bytes_charged() - charged, result.bytes);
    result.cached_bytes = result.bytes - result.drive_bytes;
    const DriveCounters after = drive_counters(files.front());
    result.drive_requests = after.requests - drive.requests;
    if (result.drive_requests > 0)
      result.drive_request_bytes = static_cast<double>(after.bytes - drive.bytes) /
                                   static_cast<double>(result.drive_requests);
  } catch (const std::exception& error) {
    result.error = error.what();
  }
  return result;
}

}  // namespace turbine
