/*
 * warp.cc - which lanes of a warp run, and where they go.
 *
 * Lanes that are at the same instruction of the same call run together. Of several such groups the one in the deepest
 * call runs first, then the one that is furthest behind: so lanes that a condition has parted come together again. If
 * those that run go round a loop for long, they may wait for the others, whose turn it is then.
 */
#include "engine/device/cuda/testing/ptx/warp.h"

#include <algorithm>

namespace turbine::ptx {

namespace {

constexpr uint32_t kNowhere = 0xffffffffu;
constexpr uint32_t kMostLoops = 300;
/* Of lanes whose turn it is while others are behind them. */
constexpr uint64_t kTurnSteps = 500;

constexpr int kTrapped = 719, kIllegalPc = 718;

}  // namespace

void Warp::start(LaunchState* launch, const Function& kernel, uint8_t* frames, uint8_t* local, uint64_t shared,
                 uint64_t shared_bytes, uint32_t block, uint32_t index, uint32_t threads) {
  launch_ = launch;
  frames_ = frames;
  bases_[0] = frames;
  bases_[1] = const_cast<uint8_t*>(launch->program->constants());
  local_begin_ = reinterpret_cast<uint64_t>(local);
  shared_ = shared;
  shared_bytes_ = shared_bytes;
  block_ = block;
  index_ = index;
  alive_ = threads >= kLanes ? kAllLanes : (1u << threads) - 1;
  at_barrier_ = meeting_ = carry = loops_ = turn_ = 0;
  others_turn_ = false;
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    pc_[lane] = kernel.first;
    frame_[lane] = kernel.frame_offset;
    local_[lane] = local_begin_ + lane * launch->program->local_stack_bytes();
    callers_[lane].clear();
  }
}

uint32_t Warp::lanes_at(uint32_t from, uint32_t pc, uint32_t frame) const {
  uint32_t found = 0;
  for (uint32_t lane = 0; lane < kLanes; lane++) found |= uint32_t{pc_[lane] == pc && frame_[lane] == frame} << lane;
  return found & from;
}

/* Of `from` the group that is to run; `stop_pc_` is where it meets the next one. */
void Warp::choose(uint32_t from) {
  uint32_t frame = 0, pc = kNowhere;
  for (uint32_t left = from; left != 0; left &= left - 1) frame = std::max(frame, frame_[std::countr_zero(left)]);
  for (uint32_t left = from; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (frame_[lane] == frame) pc = std::min(pc, pc_[lane]);
  }
  run_at(from, pc, frame);
}

/* Of `from` the group of the lane that has waited longest: whoever waits for it may be in several groups. */
void Warp::choose_next(uint32_t from) {
  const uint32_t later = from & ~((2u << turn_) - 1);
  turn_ = static_cast<uint32_t>(std::countr_zero(later != 0 ? later : from));
  run_at(from, pc_[turn_], frame_[turn_]);
}

void Warp::run_at(uint32_t from, uint32_t pc, uint32_t frame) {
  active_ = lanes_at(from, pc, frame);
  current_pc_ = pc;
  stop_pc_ = kNowhere;
  for (uint32_t left = from & ~active_; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (frame_[lane] == frame && pc_[lane] > pc) stop_pc_ = std::min(stop_pc_, pc_[lane]);
  }
  bases_[0] = frames_ + frame;
}

/* False if no lane can run. */
bool Warp::pick() {
  while (can_run() == 0)
    if (!complete_meetings()) return false;
  const uint32_t runnable = can_run();
  const uint32_t others = others_turn_ ? runnable & ~active_ : 0;
  others_turn_ = others != 0;
  if (others != 0)
    choose_next(others);
  else
    choose(runnable);
  others_wait_ = active_ != runnable;
  return true;
}

void Warp::park(uint32_t lanes, uint32_t pc) {
  for (; lanes != 0; lanes &= lanes - 1) pc_[std::countr_zero(lanes)] = pc;
}

void Warp::run(uint64_t budget) {
  const uint64_t end = launch_->steps + budget;
  while (launch_->steps < end && pick())
    if (!run_group(others_turn_ ? std::min(end, launch_->steps + kTurnSteps) : end)) return;
}

/* Runs the chosen group until it parts, meets another one or has used up its steps. False: it waits for other warps. */
bool Warp::run_group(uint64_t end) {
  const std::vector<Instruction>& code = launch_->program->code();
  uint64_t steps = 0;
  const uint32_t first = active_;
  uint32_t pc = current_pc_;
  bool goes_on = true;
  for (;;) {
    const Instruction& instruction = code[pc];
    uint32_t lanes = active_;
    if (instruction.has_guard) {
      const uint32_t guard = predicate(instruction.guard);
      lanes &= instruction.guard_negated ? ~guard : guard;
    }
    steps++;
    if (instruction.flow == Flow::NEXT) {
      if (lanes != 0) instruction.run(*this, instruction, lanes);
      if (++pc != stop_pc_) continue;
      park(active_, pc);
      break;
    }
    const uint32_t rest = active_ & ~lanes;
    if (lanes == 0) {
      if (++pc != stop_pc_) continue;
      park(active_, pc);
      break;
    }
    if (instruction.flow == Flow::BRANCH && rest == 0) {
      const bool back = instruction.target <= pc;
      pc = instruction.target;
      if (back && others_wait_ && ++loops_ > kMostLoops) {
        loops_ = 0;
        others_turn_ = true;
        park(active_, pc);
        break;
      }
      const bool used_up = back && launch_->steps + steps >= end;
      if (pc < stop_pc_ && !used_up) continue;
      park(active_, pc);
      break;
    }
    if (instruction.flow == Flow::MEET && rest == 0 && meet_at_once(instruction, lanes)) {
      instruction.run(*this, instruction, lanes);
      if (++pc != stop_pc_) continue;
      park(active_, pc);
      break;
    }
    // The group parts, or the lanes that run change.
    park(rest, pc + 1);
    park(lanes, pc + 1);
    switch (instruction.flow) {
      case Flow::BRANCH: park(lanes, instruction.target); break;
      case Flow::BRANCH_TABLE: {
        const std::vector<uint32_t>& table = launch_->program->branch_tables()[instruction.target];
        const uint32_t* const index = words<uint32_t>(instruction.a);
        for (uint32_t left = lanes; left != 0; left &= left - 1) {
          const int lane = std::countr_zero(left);
          if (index[lane] >= table.size())
            throw LaunchFault(kIllegalPc, launch_->program->line_text(instruction.line) + ": no such branch target");
          pc_[lane] = table[index[lane]];
        }
        break;
      }
      case Flow::CALL: call(instruction, lanes, pc); break;
      case Flow::RETURN: return_from(lanes); break;
      case Flow::EXIT: alive_ &= ~lanes; break;
      case Flow::BLOCK_BARRIER: at_barrier_ |= lanes; break;
      case Flow::WARP_BARRIER:
      case Flow::MEET:
        park(lanes, pc);
        meeting_ |= lanes;
        meet(instruction, lanes);
        break;
      case Flow::YIELD:
        others_turn_ = others_wait_;
        goes_on = others_wait_;
        break;
      case Flow::TRAP: throw LaunchFault(kTrapped, launch_->program->line_text(instruction.line) + ": trap");
      case Flow::NEXT: break;
    }
    break;
  }
  launch_->steps += steps;
  launch_->lane_steps += steps * static_cast<uint64_t>(std::popcount(first));
  return goes_on;
}

void Warp::call(const Instruction& instruction, uint32_t lanes, uint32_t pc) {
  const Program& program = *launch_->program;
  const CallSite& site = program.calls()[instruction.target];
  const Function& callee = program.functions()[site.callee];
  // The caller is the function whose code this is.
  const auto caller = std::prev(std::upper_bound(program.functions().begin(), program.functions().end(), pc,
                                                 [](uint32_t at, const Function& f) { return at < f.first; }));
  const size_t level = callers_[std::countr_zero(lanes)].size() + 1;
  const uint64_t frame = level * program.level_bytes() + callee.frame_offset;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const uint64_t here = local_[lane], there = here + caller->local_bytes;
    const uint64_t local_end = local_begin_ + (static_cast<uint64_t>(lane) + 1) * program.local_stack_bytes();
    if (frame + callee.frame_bytes > program.stack_bytes() || there + callee.local_bytes > local_end)
      throw LaunchFault(kTrapped, program.line_text(instruction.line) + ": the stack is full");
    for (const CallSite::Copy& copy : site.arguments)
      std::memcpy(reinterpret_cast<void*>(there + copy.to), reinterpret_cast<void*>(here + copy.from), copy.bytes);
    callers_[lane].push_back({pc + 1, frame_[lane], here, instruction.target});
    frame_[lane] = static_cast<uint32_t>(frame);
    local_[lane] = there;
    pc_[lane] = callee.first;
  }
}

void Warp::return_from(uint32_t lanes) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const CallFrame caller = callers_[lane].back();
    callers_[lane].pop_back();
    for (const CallSite::Copy& copy : launch_->program->calls()[caller.call].results)
      std::memcpy(reinterpret_cast<void*>(caller.local + copy.to), reinterpret_cast<void*>(local_[lane] + copy.from),
                  copy.bytes);
    pc_[lane] = caller.pc;
    frame_[lane] = caller.frame;
    local_[lane] = caller.local;
  }
}

/* Whether the lanes that run are just those that the instruction wants. */
bool Warp::meet_at_once(const Instruction& instruction, uint32_t lanes) const {
  const uint32_t* const wanted = words<uint32_t>(instruction.e);
  for (uint32_t left = lanes; left != 0; left &= left - 1)
    if ((wanted[std::countr_zero(left)] & alive_) != lanes) return false;
  return true;
}

/* Lanes that have come to where `lanes` are: each set that is complete goes on. */
void Warp::meet(const Instruction& instruction, uint32_t lanes) {
  const int any = std::countr_zero(lanes);
  const uint32_t pc = pc_[any], frame = frame_[any];
  bases_[0] = frames_ + frame;
  const uint32_t* const wanted = words<uint32_t>(instruction.e);
  uint32_t here = lanes_at(meeting_, pc, frame);
  uint32_t arrived = here;
  const std::vector<Instruction>& code = launch_->program->code();
  // Barriers of a warp may be passed at different places.
  if (instruction.flow == Flow::WARP_BARRIER)
    for (uint32_t left = meeting_; left != 0; left &= left - 1)
      if (const int lane = std::countr_zero(left); code[pc_[lane]].flow == Flow::WARP_BARRIER) arrived |= 1u << lane;
  while (here != 0) {
    const int lane = std::countr_zero(here);
    const uint32_t members = wanted[lane] & alive_;
    if ((members >> lane & 1) == 0)
      throw LaunchFault(kTrapped,
                        launch_->program->line_text(instruction.line) + ": a lane that is not in its own mask");
    here &= ~members;
    if ((members & ~arrived) != 0) continue;
    if (instruction.flow == Flow::MEET) instruction.run(*this, instruction, members);
    meeting_ &= ~members;
    for (uint32_t left = members; left != 0; left &= left - 1) pc_[std::countr_zero(left)]++;
  }
}

/* When no lane runs: others may have ended that these wait for. False if nobody could go on. */
bool Warp::complete_meetings() {
  const uint32_t before = meeting_;
  for (uint32_t left = before; left != 0; left &= left - 1) {
    const uint32_t bit = left & ~(left - 1);
    if ((meeting_ & bit) != 0) meet(launch_->program->code()[pc_[std::countr_zero(bit)]], bit);
  }
  return meeting_ != before;
}

}  // namespace turbine::ptx
