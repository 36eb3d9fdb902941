/*
 * interpreter.cc - the blocks of a launch, and whose turn it is.
 */
#include "engine/device/cuda/testing/ptx/interpreter.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

namespace turbine::ptx {

namespace {

constexpr int kLaunchTimeout = 702;
constexpr uint64_t kShortestTurn = 500, kLongestTurn = 4000;  // instructions of a warp

/* Memory that a host thread keeps for its launches. */
class LaunchMemory {
 public:
  uint8_t* take(uint64_t bytes) {
    if (bytes > size_) {
      memory_.reset(
          static_cast<uint8_t*>(std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment)));
      if (!memory_) throw std::bad_alloc();
      size_ = bytes;
    }
    return memory_.get();
  }

 private:
  static constexpr uint64_t kAlignment = 64;
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };
  std::unique_ptr<uint8_t, Free> memory_;
  uint64_t size_ = 0;
};

thread_local LaunchMemory launch_memory;

uint64_t whole_lines(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/* A block that is under way. */
struct RunningBlock {
  std::vector<Warp> warps;
  uint8_t* memory = nullptr;
  bool runs = false;

  uint32_t next_warp = 0;
};

class LaunchRun {
 public:
  explicit LaunchRun(const Launch& launch) : launch_(launch), random_(launch.seed) {
    const Program& program = *launch.program;
    state_.program = &program;
    state_.memory = &launch.memory;
    state_.parameters = reinterpret_cast<uint64_t>(launch.parameters);
    state_.grid = launch.blocks;
    state_.block_threads = launch.threads;
    // Nothing is remembered yet: only an access of one byte to this very object would fit.
    state_.memos.assign(program.memos(), AccessMemo{reinterpret_cast<uint64_t>(&state_), 0});
    warps_ = (launch.threads + kLanes - 1) / kLanes;
    shared_bytes_ = program.shared_bytes() + launch.shared_bytes;
    warp_bytes_ = whole_lines(program.stack_bytes()) + whole_lines(program.local_stack_bytes() * kLanes);
    const uint64_t block_bytes = whole_lines(shared_bytes_) + warps_ * warp_bytes_;
    blocks_.resize(std::min(std::max(launch.blocks_at_once, 1u), launch.blocks));
    uint8_t* memory = launch_memory.take(blocks_.size() * block_bytes);
    for (RunningBlock& block : blocks_) {
      block.warps.resize(warps_);
      block.memory = memory;
      memory += block_bytes;
    }
  }

  LaunchCounts run() {
    for (RunningBlock& block : blocks_) begin(block);
    while (running_ > 0) {
      for (RunningBlock& block : blocks_) {
        if (!block.runs) continue;
        turn(block);
        if (!block.runs) begin(block);
      }
    }
    return {state_.steps, state_.lane_steps};
  }

 private:
  uint32_t random() {
    random_ = random_ * 1664525u + 1013904223u;
    return random_ >> 8;
  }

  void begin(RunningBlock& block) {
    if (next_block_ == launch_.blocks) return;
    // Nobody may rely on zeroes.
    std::fill(block.memory, block.memory + shared_bytes_, uint8_t{0xa5});
    uint8_t* memory = block.memory + whole_lines(shared_bytes_);
    for (uint32_t i = 0; i < warps_; i++, memory += warp_bytes_)
      block.warps[i].start(&state_, *launch_.kernel, memory, memory + whole_lines(launch_.program->stack_bytes()),
                           reinterpret_cast<uint64_t>(block.memory), shared_bytes_, next_block_, i,
                           launch_.threads - i * kLanes);
    block.runs = true;
    next_block_++;
    running_++;
  }

  /* Each warp of the block that can run does so for a while. */
  void turn(RunningBlock& block) {
    const uint32_t first = random() % warps_;
    const uint64_t steps = state_.steps;
    for (uint32_t i = 0; i < warps_; i++)
      block.warps[(first + i) % warps_].run(kShortestTurn + random() % (kLongestTurn - kShortestTurn));
    pass_barrier(block, state_.steps != steps);
  }

  /* When all threads that are alive have come to it. */
  void pass_barrier(RunningBlock& block, bool moved) {
    bool alive = false, all = true, stuck = !moved;
    for (const Warp& warp : block.warps) {
      alive |= warp.alive() != 0;
      all &= (warp.alive() & ~warp.at_barrier()) == 0;
      stuck &= warp.can_run() == 0;
    }
    if (!alive) {
      block.runs = false;
      running_--;
    } else if (all) {
      for (Warp& warp : block.warps) warp.pass_barrier();
    } else if (stuck) {
      explain_stuck(block);
    }
  }

  [[noreturn]] void explain_stuck(const RunningBlock& block) const {
    for (const Warp& warp : block.warps) {
      const uint32_t waiting = warp.meeting() ? warp.meeting() : warp.alive();
      if (waiting == 0) continue;
      const uint32_t pc = warp.pc_of(static_cast<uint32_t>(std::countr_zero(waiting)));
      throw LaunchFault(kLaunchTimeout, launch_.program->line_text(launch_.program->code()[pc].line) +
                                            ": threads wait here for others that never come");
    }
    throw LaunchFault(kLaunchTimeout, "threads wait for others that never come");
  }

  const Launch& launch_;
  LaunchState state_;
  uint32_t random_;
  uint32_t warps_ = 0;
  uint64_t shared_bytes_ = 0, warp_bytes_ = 0;
  std::vector<RunningBlock> blocks_;
  uint32_t next_block_ = 0, running_ = 0;
};

}  // namespace

LaunchCounts run_launch(const Launch& launch) { return LaunchRun(launch).run(); }

}  // namespace turbine::ptx
