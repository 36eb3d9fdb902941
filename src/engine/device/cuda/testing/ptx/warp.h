/*
 * warp.h - 32 threads that run together, and what their instructions may touch.
 *
 * The lanes of a warp that are at the same instruction run it together. interpreter.cc decides which these are;
 * operations see a mask of lanes and the slots of their operands. For tests only.
 */
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/device/cuda/testing/ptx/program.h"

namespace turbine::ptx {

/* Ends a launch: what the driver's result is, and why. */
class LaunchFault : public std::runtime_error {
 public:
  LaunchFault(int code, const std::string& why) : std::runtime_error(why), result(code) {}
  const int result;  // of driver_api.h
};

/* Memory that was allowed the last time an instruction accessed memory: the least and the greatest address less it. */
struct AccessMemo {
  uint64_t begin;
  uint64_t last;
};

/* What all warps of a launch share. One host thread runs them all. */
struct LaunchState {
  const Program* program = nullptr;
  const std::vector<Range>* memory = nullptr;  // sorted by begin, none overlaps
  std::vector<AccessMemo> memos;
  uint64_t parameters = 0;  // address
  uint32_t grid = 0, block_threads = 0;
  uint64_t steps = 0;  // instructions of warps so far
  uint64_t lane_steps = 0;
};

/* Where a lane goes on when its function returns. */
struct CallFrame {
  uint32_t pc;
  uint32_t frame;
  uint64_t local;
  uint32_t call;
};

class Warp {
 public:
  /* Begins a block's warp: `threads` lanes are alive. */
  void start(LaunchState* launch, const Function& kernel, uint8_t* frames, uint8_t* local, uint64_t shared,
             uint64_t shared_bytes, uint32_t block, uint32_t index, uint32_t threads);

  /* Runs until no lane can go on, or for about `budget` instructions. */
  void run(uint64_t budget);

  uint32_t alive() const { return alive_; }
  uint32_t can_run() const { return alive_ & ~at_barrier_ & ~meeting_; }
  uint32_t at_barrier() const { return at_barrier_; }
  uint32_t meeting() const { return meeting_; }
  void pass_barrier() { at_barrier_ = 0; }
  /* Of a lane that cannot go on. */
  uint32_t pc_of(uint32_t lane) const { return pc_[lane]; }

  /* For operations: the words of a slot. */
  template <class Word>
  Word* words(Slot slot) const {
    return reinterpret_cast<Word*>(bases_[slot & 1] + (slot >> 1));
  }
  uint32_t predicate(Slot slot) const { return *words<uint32_t>(slot); }
  void set_predicate(Slot slot, uint32_t lanes, uint32_t bits) const {
    uint32_t& mask = *words<uint32_t>(slot);
    mask = (mask & ~lanes) | (bits & lanes);
  }
  /* Checks that an access is to memory of the launch, and aligned. Throws LaunchFault. */
  void check_access(const Instruction& instruction, uint64_t address, uint32_t bytes) const {
    const AccessMemo& memo = launch_->memos[instruction.memo];
    if (address - memo.begin > memo.last || address % bytes != 0) find_memory(instruction, address, bytes);
  }
  /* The address of each lane of a memory instruction. */
  void addresses(const Instruction& instruction, uint32_t lanes, uint64_t* found) const;
  uint64_t special(uint64_t index, uint32_t lane) const;

  uint32_t carry = 0;  // a bit for each lane

 private:
  void find_memory(const Instruction& instruction, uint64_t address, uint32_t bytes) const;
  bool pick();
  void choose(uint32_t from);
  void choose_next(uint32_t from);
  void run_at(uint32_t from, uint32_t pc, uint32_t frame);
  void park(uint32_t lanes, uint32_t pc);
  bool run_group(uint64_t end);
  void call(const Instruction& instruction, uint32_t lanes, uint32_t pc);
  void return_from(uint32_t lanes);
  bool meet_at_once(const Instruction& instruction, uint32_t lanes) const;
  void meet(const Instruction& instruction, uint32_t lanes);
  bool complete_meetings();
  uint32_t lanes_at(uint32_t from, uint32_t pc, uint32_t frame) const;

  LaunchState* launch_ = nullptr;
  uint8_t* bases_[2] = {};  // the frame of the lanes that run, and constants
  uint8_t* frames_ = nullptr;
  uint64_t local_begin_ = 0, shared_ = 0, shared_bytes_ = 0;
  uint32_t block_ = 0, index_ = 0;

  uint32_t alive_ = 0, at_barrier_ = 0, meeting_ = 0;
  /* The lanes that run, where they are, and where they wait for others again. */
  uint32_t active_ = 0, current_pc_ = 0, stop_pc_ = 0;
  bool others_wait_ = false;  // for these lanes, though they could run
  bool others_turn_ = false;
  uint32_t turn_ = 0;   // the lane whose turn was last
  uint32_t loops_ = 0;  // jumps back while others waited
  uint32_t pc_[kLanes] = {};
  uint32_t frame_[kLanes] = {};  // offset in frames_
  uint64_t local_[kLanes] = {};  // address of the function's local memory
  std::vector<CallFrame> callers_[kLanes];
};

/* body(lane) for each of `lanes`. */
template <class Body>
inline void for_lanes(uint32_t lanes, Body&& body) {
  if (lanes == kAllLanes) {
#pragma GCC ivdep
    for (uint32_t lane = 0; lane < kLanes; lane++) body(lane);
  } else {
    for (; lanes != 0; lanes &= lanes - 1) body(static_cast<uint32_t>(std::countr_zero(lanes)));
  }
}

}  // namespace turbine::ptx
