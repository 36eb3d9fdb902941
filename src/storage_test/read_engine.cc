/*
 * read_engine.cc - the engine of threads, and that of io_uring.
 *
 * Called by storage_pass.cc. Each owns its threads, and never throws after it has been made.
 */
#include "storage_test/read_engine.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/storage/drive_ring.h"

namespace turbine {
namespace {

class PreadEngine final : public ReadEngine {
 public:
  explicit PreadEngine(unsigned depth) {
    for (unsigned i = 0; i < std::max(depth, 1u); i++) threads_.emplace_back([this] { work(); });
  }
  ~PreadEngine() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wanted_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  const char* name() const override { return "pread"; }

  void submit(int fd, uint64_t offset, uint32_t size, uint8_t* to, uint32_t tag) override {
    {
      std::lock_guard lock(mutex_);
      reads_.push_back({fd, offset, size, to, tag});
    }
    wanted_.notify_one();
  }

  Ended wait() override {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [this] { return !ended_.empty(); });
    const Ended ended = ended_.front();
    ended_.pop_front();
    return ended;
  }

 private:
  struct PostedRead {
    int fd;
    uint64_t offset;
    uint32_t size;
    uint8_t* to;
    uint32_t tag;
  };

  /* A short read goes on, so that every request is whole; the file's end is short. */
  static int64_t read_whole(const PostedRead& read) {
    uint32_t have = 0;
    while (have < read.size) {
      const ssize_t n = pread(read.fd, read.to + have, read.size - have, static_cast<off_t>(read.offset + have));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return -errno;
      if (n == 0) break;
      have += static_cast<uint32_t>(n);
    }
    return have;
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wanted_.wait(lock, [this] { return stopping_ || !reads_.empty(); });
      if (reads_.empty()) return;
      const PostedRead read = reads_.front();
      reads_.pop_front();
      lock.unlock();
      const int64_t result = read_whole(read);
      lock.lock();
      ended_.push_back({read.tag, result});
      finished_.notify_one();
    }
  }

  std::mutex mutex_;  // the fields below
  std::condition_variable wanted_, finished_;
  std::deque<PostedRead> reads_;
  std::deque<Ended> ended_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

class RingEngine final : public ReadEngine {
 public:
  explicit RingEngine(std::shared_ptr<DriveRing> ring) : ring_(std::move(ring)) {}
  ~RingEngine() override { ring_.reset(); }  // its thread calls back
  const char* name() const override { return "io_uring"; }

  void submit(int fd, uint64_t offset, uint32_t size, uint8_t* to, uint32_t tag) override {
    std::vector<DriveRing::Read> reads;
    reads.push_back({fd, offset, size, to, [this, tag](int64_t result) {
                       std::lock_guard lock(mutex_);
                       ended_.push_back({tag, result});
                       finished_.notify_one();
                     }});
    ring_->post(std::move(reads));
  }

  Ended wait() override {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [this] { return !ended_.empty(); });
    const Ended ended = ended_.front();
    ended_.pop_front();
    return ended;
  }

 private:
  std::mutex mutex_;  // the fields below
  std::condition_variable finished_;
  std::deque<Ended> ended_;
  std::shared_ptr<DriveRing> ring_;
};

}  // namespace

std::unique_ptr<ReadEngine> make_pread_engine(unsigned depth) { return std::make_unique<PreadEngine>(depth); }

std::unique_ptr<ReadEngine> make_ring_engine() {
  std::string why;
  std::shared_ptr<DriveRing> ring = DriveRing::open(system_storage_calls(), &why);
  return ring ? std::make_unique<RingEngine>(std::move(ring)) : nullptr;
}

}  // namespace turbine
