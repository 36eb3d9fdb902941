/*
 * lane_exchange.cc - what the lanes of a warp tell each other: shfl, vote, match, redux, activemask.
 *
 * `lanes` are all that take part: those of the instruction's mask that are alive.
 */
#include <algorithm>
#include <bit>

#include "engine/device/cuda/testing/ptx/slot_values.h"

namespace turbine::ptx {

namespace {

/* Calls body(lane) with the lowest lane first. */
template <class Body>
void each_lane(uint32_t lanes, Body&& body) {
  for (; lanes != 0; lanes &= lanes - 1) body(static_cast<uint32_t>(std::countr_zero(lanes)));
}

enum class Shuffle { UP, DOWN, XOR, INDEX };

/* a: the value; b: the distance or lane; c: the last lane of a segment, and 32 minus the segment's width << 8. */
template <Shuffle kKind>
void run_shuffle(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const uint32_t *const value = warp.words<uint32_t>(instruction.a), *const by = warp.words<uint32_t>(instruction.b),
                        *const control = warp.words<uint32_t>(instruction.c);
  uint32_t old[kLanes];
  std::copy(value, value + kLanes, old);
  uint32_t* const d = warp.words<uint32_t>(instruction.d);
  uint32_t from_another = 0;
  each_lane(lanes, [&](uint32_t lane) {
    const uint32_t segment = control[lane] >> 8 & 31, clamp = control[lane] & 31, distance = by[lane] & 31;
    const uint32_t last = (lane & segment) | (clamp & ~segment), first = lane & segment;
    int from = 0;
    bool there = false;
    switch (kKind) {
      case Shuffle::UP:
        from = static_cast<int>(lane) - static_cast<int>(distance);
        there = from >= static_cast<int>(last);
        break;
      case Shuffle::DOWN:
        from = static_cast<int>(lane + distance);
        there = from <= static_cast<int>(last);
        break;
      case Shuffle::XOR:
        from = static_cast<int>(lane ^ distance);
        there = from <= static_cast<int>(last);
        break;
      case Shuffle::INDEX:
        from = static_cast<int>(first | (distance & ~segment));
        there = from <= static_cast<int>(last);
        break;
    }
    if (!there) from = static_cast<int>(lane);
    from_another |= uint32_t{there} << lane;
    // PTX does not define what comes from a lane that takes no part: something that tests notice.
    d[lane] = lanes >> from & 1 ? old[from] : 0xa5a5a5a5;
  });
  if (instruction.q != 0) warp.set_predicate(instruction.q, lanes, from_another);
}

void run_ballot(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const uint32_t bits = warp.predicate(instruction.a) & lanes;
  uint32_t* const d = warp.words<uint32_t>(instruction.d);
  each_lane(lanes, [&](uint32_t lane) { d[lane] = bits; });
}

template <auto F>
void run_vote(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  warp.set_predicate(instruction.d, lanes, F(warp.predicate(instruction.a) & lanes, lanes) ? kAllLanes : 0);
}

template <class Word>
void run_match_any(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const Word* const a = warp.words<Word>(instruction.a);
  uint32_t same[kLanes];
  each_lane(lanes, [&](uint32_t lane) {
    same[lane] = 0;
    each_lane(lanes, [&](uint32_t other) { same[lane] |= uint32_t{a[other] == a[lane]} << other; });
  });
  uint32_t* const d = warp.words<uint32_t>(instruction.d);
  each_lane(lanes, [&](uint32_t lane) { d[lane] = same[lane]; });
}

template <class Word>
void run_match_all(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const Word* const a = warp.words<Word>(instruction.a);
  const Word first = a[std::countr_zero(lanes)];
  bool all = true;
  each_lane(lanes, [&](uint32_t lane) { all &= a[lane] == first; });
  uint32_t* const d = warp.words<uint32_t>(instruction.d);
  each_lane(lanes, [&](uint32_t lane) { d[lane] = all ? lanes : 0; });
  if (instruction.q != 0) warp.set_predicate(instruction.q, lanes, all ? kAllLanes : 0);
}

template <class T, auto F>
void run_redux(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const uint32_t* const a = warp.words<uint32_t>(instruction.a);
  T result = static_cast<T>(a[std::countr_zero(lanes)]);
  each_lane(lanes & (lanes - 1), [&](uint32_t lane) { result = F(result, static_cast<T>(a[lane])); });
  uint32_t* const d = warp.words<uint32_t>(instruction.d);
  each_lane(lanes, [&](uint32_t lane) { d[lane] = static_cast<uint32_t>(result); });
}

void run_active(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  uint32_t* const d = warp.words<uint32_t>(instruction.d);
  each_lane(lanes, [&](uint32_t lane) { d[lane] = lanes; });
}

std::map<std::string, Operation> make_exchanges() {
  std::map<std::string, Operation> table = {
      {"shfl.up.b32", {run_shuffle<Shuffle::UP>, '4', "444"}},
      {"shfl.down.b32", {run_shuffle<Shuffle::DOWN>, '4', "444"}},
      {"shfl.bfly.b32", {run_shuffle<Shuffle::XOR>, '4', "444"}},
      {"shfl.idx.b32", {run_shuffle<Shuffle::INDEX>, '4', "444"}},
      {"vote.ballot.b32", {run_ballot, '4', "p"}},
      {"vote.any.pred", {run_vote<[](uint32_t some, uint32_t) { return some != 0; }>, 'p', "p"}},
      {"vote.all.pred", {run_vote<[](uint32_t some, uint32_t all) { return some == all; }>, 'p', "p"}},
      {"vote.uni.pred", {run_vote<[](uint32_t some, uint32_t all) { return some == 0 || some == all; }>, 'p', "p"}},
      {"match.any.b32", {run_match_any<uint32_t>, '4', "4"}},
      {"match.any.b64", {run_match_any<uint64_t>, '4', "8"}},
      {"match.all.b32", {run_match_all<uint32_t>, '4', "4"}},
      {"match.all.b64", {run_match_all<uint64_t>, '4', "8"}},
      {"activemask.b32", {run_active, '4', ""}},
  };
  using U = uint32_t;
  using S = int32_t;
  table["redux.add.u32"] = table["redux.add.s32"] = {run_redux<U, [](U a, U b) { return a + b; }>, '4', "4"};
  table["redux.and.b32"] = {run_redux<U, [](U a, U b) { return a & b; }>, '4', "4"};
  table["redux.or.b32"] = {run_redux<U, [](U a, U b) { return a | b; }>, '4', "4"};
  table["redux.xor.b32"] = {run_redux<U, [](U a, U b) { return a ^ b; }>, '4', "4"};
  table["redux.min.u32"] = {run_redux<U, [](U a, U b) { return a < b ? a : b; }>, '4', "4"};
  table["redux.max.u32"] = {run_redux<U, [](U a, U b) { return b < a ? a : b; }>, '4', "4"};
  table["redux.min.s32"] = {run_redux<S, [](S a, S b) { return a < b ? a : b; }>, '4', "4"};
  table["redux.max.s32"] = {run_redux<S, [](S a, S b) { return b < a ? a : b; }>, '4', "4"};
  return table;
}

}  // namespace

const Operation* find_exchange(const std::string& opcode) {
  static const std::map<std::string, Operation> kTable = make_exchanges();
  const auto found = kTable.find(opcode);
  return found == kTable.end() ? nullptr : &found->second;
}

}  // namespace turbine::ptx
