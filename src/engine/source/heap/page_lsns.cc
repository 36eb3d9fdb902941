/*
 * page_lsns.cc - see page_lsns.h.
 *
 * Owns one ring of io_uring(7) a thread, made when it is first needed. Called by segment_source.cc on the
 * readers' threads. No read may outlive its call, since the next one uses the same memory, and none may wait for a
 * drive.
 */
#include "engine/source/heap/page_lsns.h"

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "engine/source/heap/direct_reader.h"

namespace turbine {
namespace {

/* A header begins with PostgreSQL's PageXLogRecPtr. */
using RawLsn = uint32_t[2];

/* Shared with the kernel, which moves the head of the one queue and the tail of the other. */
class Ring {
 public:
  Ring() = default;
  Ring(const Ring&) = delete;
  ~Ring() { close_ring(); }

  /* Returns false if there is no ring to be had: nothing was read. Results are those of read(2), with an errno
   * negative, and the bytes are in raw(). */
  bool read(const RelationFiles& files, std::span<const uint32_t> blocks, int32_t* results) {
    if (!open()) return false;
    const uint32_t tail = *submission_.tail;
    for (size_t i = 0; i < blocks.size(); i++) {
      io_uring_sqe& entry = entries_[(tail + i) & submission_.mask];
      entry = {};
      entry.opcode = IORING_OP_READ_FIXED;
      entry.fd = files.fd(blocks[i] / kFileBlocks);
      entry.off = uint64_t{blocks[i] % kFileBlocks} * TB_PAGE_SIZE;
      entry.addr = reinterpret_cast<uint64_t>(&raw_[i]);
      entry.len = sizeof(RawLsn);
      entry.rw_flags = RWF_NOWAIT;
      entry.user_data = i;
      numbers_[(tail + i) & submission_.mask] = (tail + static_cast<uint32_t>(i)) & submission_.mask;
    }
    __atomic_store_n(submission_.tail, tail + static_cast<uint32_t>(blocks.size()), __ATOMIC_RELEASE);
    return submit(static_cast<uint32_t>(blocks.size())) && collect(blocks.size(), results);
  }

  const RawLsn& raw(size_t i) const { return raw_[i]; }

 private:
  struct Queue {
    uint32_t* head;
    uint32_t* tail;
    uint32_t mask;
  };

  bool open() {
    if (fd_ >= 0) return true;
    if (refused_) return false;
    refused_ = !make();
    if (refused_) close_ring();
    return !refused_;
  }

  /* What was mapped before a failure is unmapped by close_ring(). */
  bool make() {
    io_uring_params params{};
    fd_ = static_cast<int>(syscall(SYS_io_uring_setup, kMostPageLsns, &params));
    if (fd_ < 0) return false;
    if ((params.features & IORING_FEAT_SINGLE_MMAP) == 0) return false;
    queues_size_ = std::max<size_t>(params.sq_off.array + params.sq_entries * sizeof(uint32_t),
                                    params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
    queues_ = map(queues_size_, IORING_OFF_SQ_RING);
    entries_size_ = params.sq_entries * sizeof(io_uring_sqe);
    entries_ = reinterpret_cast<io_uring_sqe*>(map(entries_size_, IORING_OFF_SQES));
    if (!queues_ || !entries_) return false;
    submission_ = queue(params.sq_off.head, params.sq_off.tail, params.sq_off.ring_mask);
    completion_ = queue(params.cq_off.head, params.cq_off.tail, params.cq_off.ring_mask);
    numbers_ = reinterpret_cast<uint32_t*>(queues_ + params.sq_off.array);
    completions_ = reinterpret_cast<io_uring_cqe*>(queues_ + params.cq_off.cqes);
    const iovec buffer{raw_, sizeof raw_};
    return syscall(SYS_io_uring_register, fd_, IORING_REGISTER_BUFFERS, &buffer, 1) == 0;
  }

  uint8_t* map(size_t size, uint64_t what) const {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_,
                        static_cast<off_t>(what));
    return memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
  }

  Queue queue(uint32_t head, uint32_t tail, uint32_t mask) const {
    return {reinterpret_cast<uint32_t*>(queues_ + head), reinterpret_cast<uint32_t*>(queues_ + tail),
            *reinterpret_cast<const uint32_t*>(queues_ + mask)};
  }

  /* Reads that do not wait are complete when the kernel has taken them. */
  bool submit(uint32_t count) {
    while (count > 0) {
      const auto taken = static_cast<int>(
          syscall(SYS_io_uring_enter, fd_, count, count, IORING_ENTER_GETEVENTS, nullptr, 0));
      if (taken < 0 && errno == EINTR) continue;
      if (taken <= 0) return give_up();
      count -= static_cast<uint32_t>(taken);
    }
    return true;
  }

  bool collect(size_t count, int32_t* results) {
    uint32_t head = *completion_.head;
    while (count > 0) {
      if (head == __atomic_load_n(completion_.tail, __ATOMIC_ACQUIRE)) {
        if (syscall(SYS_io_uring_enter, fd_, 0, 1, IORING_ENTER_GETEVENTS, nullptr, 0) < 0 && errno != EINTR)
          return give_up();
        continue;
      }
      const io_uring_cqe& done = completions_[head & completion_.mask];
      results[done.user_data] = done.res;
      __atomic_store_n(completion_.head, ++head, __ATOMIC_RELEASE);
      count--;
    }
    return true;
  }

  /* With the ring goes what it has not finished. */
  bool give_up() {
    refused_ = true;
    close_ring();
    return false;
  }

  void close_ring() {
    if (queues_) munmap(queues_, queues_size_);
    if (entries_) munmap(entries_, entries_size_);
    if (fd_ >= 0) close(fd_);
    queues_ = nullptr;
    entries_ = nullptr;
    fd_ = -1;
  }

  bool refused_ = false;
  int fd_ = -1;
  size_t queues_size_ = 0, entries_size_ = 0;
  uint8_t* queues_ = nullptr;
  io_uring_sqe* entries_ = nullptr;
  Queue submission_{}, completion_{};
  uint32_t* numbers_ = nullptr;  // of entries, in the order of submission
  io_uring_cqe* completions_ = nullptr;
  alignas(64) RawLsn raw_[kMostPageLsns] = {};
};

}  // namespace

PageLsns::PageLsns(const RelationFiles& files, MappedFiles& mapped, uint32_t nblocks) : files_(files) {
  for (uint32_t file = 0; uint64_t{file} * kFileBlocks < nblocks; file++)
    mapped_.push_back(mapped.find(files.fd(file)));
}

/* Blocks of one file at a time. */
void PageLsns::read(std::span<const uint32_t> blocks, uint64_t* lsns) const {
  while (!blocks.empty()) {
    const uint32_t file = blocks.front() / kFileBlocks;
    uint32_t pages[kMostPageLsns], count = 0;
    while (count < std::min(blocks.size(), kMostPageLsns) && blocks[count] / kFileBlocks == file) {
      pages[count] = blocks[count] % kFileBlocks;
      count++;
    }
    if (file < mapped_.size() && mapped_[file])
      mapped_[file]->read_lsns({pages, count}, lsns);
    else
      read_page_lsns(files_, blocks.first(count), lsns);
    blocks = blocks.subspan(count);
    lsns += count;
  }
}

/* A file system that can not tell whether it would wait is asked otherwise. */
void read_page_lsns(const RelationFiles& files, std::span<const uint32_t> blocks, uint64_t* lsns) {
  assert(blocks.size() <= kMostPageLsns);
  thread_local Ring ring;
  int32_t results[kMostPageLsns];
  const bool read = ring.read(files, blocks, results);
  for (size_t i = 0; i < blocks.size(); i++) {
    if (read && results[i] == sizeof(RawLsn))
      lsns[i] = uint64_t{ring.raw(i)[0]} << 32 | ring.raw(i)[1];
    else
      lsns[i] = read && results[i] == -EAGAIN ? 0 : cached_page_lsn(files, blocks[i]);
  }
}

}  // namespace turbine
