/*
 * block_threads.cc - the threads of a GPU's blocks as contexts that take turns on one
 * thread of the host.
 *
 * Owns their stacks. Called by fakes of kernels; the product must never link it.
 */
#include "engine/device/cuda/testing/block_threads.h"

#include <ucontext.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <vector>

#include "engine/device/cuda/gpu_threads.h"

namespace turbine::cuda::testing {
namespace {

constexpr unsigned kLanes = 32;
constexpr size_t kStackBytes = 128 << 10;

enum class At { kRunning, kWaiting, kBarrier, kWarpBarrier, kMatch, kBallot, kShuffleUp, kShuffle, kDone };

/* A place to go on from. Only the first switch to a lane is swapcontext's, which asks the
 * kernel each time for the mask of signals. */
using Place = void* [5];

struct Lane {
  ucontext_t context;
  Place place;
  bool begun = false;
  std::unique_ptr<char[]> stack{new char[kStackBytes]};
  At at = At::kRunning;
  uint32_t value = 0, by = 0, result = 0;
};

struct BlockThreads {
  unsigned number = 0;
  std::vector<Lane> lanes;
  std::vector<uint64_t> shared;
};

class Scheduler {
 public:
  Scheduler(const BlockShape& shape, const std::function<void()>& kernel) : shape_(shape), kernel_(kernel) {}

  void run() {
    std::vector<std::unique_ptr<BlockThreads>> alive;
    std::mt19937 random(shape_.blocks);
    unsigned started = 0;
    while (started < shape_.blocks || !alive.empty()) {
      while (alive.size() < shape_.at_once && started < shape_.blocks) {
        alive.push_back(std::make_unique<BlockThreads>());
        start(*alive.back(), started++);
      }
      const size_t turn = random() % alive.size();
      if (step(*alive[turn])) alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(turn));
    }
  }

  static Scheduler* current;
  BlockThreads* block = nullptr;
  Lane* lane = nullptr;

  unsigned blocks() const { return shape_.blocks; }

  /* The running thread stops, until the scheduler lets it go on. */
  __attribute__((noinline)) uint32_t stop(At at, uint32_t value, uint32_t by) {
    Lane& self = *lane;
    self.at = at;
    self.value = value;
    self.by = by;
    if (__builtin_setjmp(self.place) == 0) resume(place_);
    return current->lane->result;
  }

 private:
  void start(BlockThreads& threads, unsigned number) {
    threads.number = number;
    threads.shared.assign(shape_.shared_bytes / sizeof(uint64_t) + 1, 0xa5a5a5a5a5a5a5a5u);
    threads.lanes = std::vector<Lane>(shape_.threads);
    for (Lane& each : threads.lanes) {
      getcontext(&each.context);
      each.context.uc_stack.ss_sp = each.stack.get();
      each.context.uc_stack.ss_size = kStackBytes;
      each.context.uc_link = nullptr;
      makecontext(&each.context, &Scheduler::body, 0);
    }
  }

  static void body() {
    current->kernel_();
    current->lane->at = At::kDone;
    resume(current->place_);
  }

  /* Until it stops. */
  __attribute__((noinline)) void go_on(Lane& next) {
    lane = &next;
    if (__builtin_setjmp(place_) != 0) return;
    if (lane->begun) resume(lane->place);
    lane->begun = true;
    setcontext(&lane->context);
  }
  /* setjmp and longjmp must not be one function's. */
  __attribute__((noinline, noreturn)) static void resume(Place& place) { __builtin_longjmp(place, 1); }

  /* Until the block's next barrier, its end, or a thread that waits. True at its end. */
  bool step(BlockThreads& threads) {
    size_t at_barrier = 0, done = 0;
    for (unsigned first = 0; first < shape_.threads; first += kLanes) run_warp(threads, &threads.lanes[first]);
    for (const Lane& each : threads.lanes) {
      at_barrier += each.at == At::kBarrier;
      done += each.at == At::kDone;
    }
    if (done == threads.lanes.size()) return true;
    if (at_barrier == threads.lanes.size())
      for (Lane& each : threads.lanes) each.at = At::kRunning;
    else if (at_barrier > 0 && done > 0)
      throw std::logic_error("some threads of a block ended before its barrier");
    return false;
  }

  void run_warp(BlockThreads& threads, Lane* warp) {
    for (;;) {
      bool waits = false;
      for (unsigned i = 0; i < kLanes; i++) {
        if (warp[i].at == At::kWaiting) warp[i].at = At::kRunning;
        if (warp[i].at != At::kRunning) continue;
        block = &threads;
        go_on(warp[i]);
        waits |= warp[i].at == At::kWaiting;
      }
      if (waits) return;
      for (unsigned i = 1; i < kLanes; i++)
        if (warp[i].at != warp[0].at) throw std::logic_error("the lanes of a warp do not meet");
      if (warp[0].at == At::kBarrier || warp[0].at == At::kDone) return;
      exchange(warp);
      for (unsigned i = 0; i < kLanes; i++) warp[i].at = At::kRunning;
    }
  }

  static void exchange(Lane* warp) {
    for (unsigned i = 0; i < kLanes; i++) {
      Lane& self = warp[i];
      self.result = 0;
      switch (self.at) {
        case At::kMatch:
          for (unsigned j = 0; j < kLanes; j++) self.result |= uint32_t{warp[j].value == self.value} << j;
          break;
        case At::kBallot:
          for (unsigned j = 0; j < kLanes; j++) self.result |= uint32_t{warp[j].value != 0} << j;
          break;
        case At::kShuffleUp: self.result = i >= self.by ? warp[i - self.by].value : self.value; break;
        case At::kShuffle: self.result = warp[self.by % kLanes].value; break;
        default: break;
      }
    }
  }

  const BlockShape& shape_;
  const std::function<void()>& kernel_;
  Place place_;
};

Scheduler* Scheduler::current = nullptr;

}  // namespace

void run_blocks(const BlockShape& shape, const std::function<void()>& kernel) {
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  Scheduler scheduler(shape, kernel);
  Scheduler::current = &scheduler;
  scheduler.run();
  Scheduler::current = nullptr;
}

}  // namespace turbine::cuda::testing

using turbine::cuda::testing::At;
using turbine::cuda::testing::Scheduler;

uint32_t tb_thread(void) {
  return static_cast<uint32_t>(Scheduler::current->lane - Scheduler::current->block->lanes.data());
}
uint32_t tb_block(void) { return Scheduler::current->block->number; }
uint32_t tb_blocks(void) { return Scheduler::current->blocks(); }
void tb_block_barrier(void) { Scheduler::current->stop(At::kBarrier, 0, 0); }
void tb_warp_barrier(void) { Scheduler::current->stop(At::kWarpBarrier, 0, 0); }
void tb_wait_a_little(void) { Scheduler::current->stop(At::kWaiting, 0, 0); }
uint32_t tb_match_any(uint32_t value) { return Scheduler::current->stop(At::kMatch, value, 0); }
uint32_t tb_ballot(uint32_t value) { return Scheduler::current->stop(At::kBallot, value, 0); }
uint32_t tb_shuffle_up(uint32_t value, uint32_t by) { return Scheduler::current->stop(At::kShuffleUp, value, by); }
uint32_t tb_shuffle(uint32_t value, uint32_t lane) { return Scheduler::current->stop(At::kShuffle, value, lane); }
void* tb_memory_of_block(void) { return Scheduler::current->block->shared.data(); }
