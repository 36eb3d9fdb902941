/*
 * memory_access.cc - loads, stores, atomics, special registers, and moves between registers of two widths.
 *
 * Every access is checked: it has to be aligned, and to lie in memory that the launch may use.
 */
#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>

#include "engine/device/cuda/testing/ptx/slot_values.h"

namespace turbine::ptx {

namespace {

/* Another thread of the host may write there. */
template <class T>
T read(uint64_t address) {
  return __atomic_load_n(reinterpret_cast<const T*>(address), __ATOMIC_RELAXED);
}

template <class T, class Word, unsigned kCount>
void run_load(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  uint64_t from[kLanes];
  warp.addresses(instruction, lanes, from);
  Word* to[kCount] = {warp.words<Word>(instruction.d)};
  for (unsigned i = 1; i < kCount; i++) to[i] = warp.words<Word>(instruction.more[i - 1]);
  const bool checked = instruction.base == Base::REGISTER || instruction.base == Base::NOTHING;
  for (; lanes != 0; lanes &= lanes - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(lanes));
    if (checked) warp.check_access(instruction, from[lane], sizeof(T) * kCount);
    // A signed type extends to the register's width.
    for (unsigned i = 0; i < kCount; i++) to[i][lane] = static_cast<Word>(read<T>(from[lane] + i * sizeof(T)));
  }
}

template <class T, class Word, unsigned kCount>
void run_store(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  uint64_t to[kLanes];
  warp.addresses(instruction, lanes, to);
  const Word* from[kCount] = {warp.words<Word>(instruction.d)};
  for (unsigned i = 1; i < kCount; i++) from[i] = warp.words<Word>(instruction.more[i - 1]);
  const bool checked = instruction.base == Base::REGISTER || instruction.base == Base::NOTHING;
  for (; lanes != 0; lanes &= lanes - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(lanes));
    if (checked) warp.check_access(instruction, to[lane], sizeof(T) * kCount);
    for (unsigned i = 0; i < kCount; i++)
      __atomic_store_n(reinterpret_cast<T*>(to[lane] + i * sizeof(T)), static_cast<T>(from[i][lane]), __ATOMIC_RELAXED);
  }
}

template <class T, bool kStore>
Run access_of(Width reg, unsigned count) {
  const auto choose = [&]<class Word>(Word) -> Run {
    switch (count) {
      case 1: return kStore ? run_store<T, Word, 1> : run_load<T, Word, 1>;
      case 2: return kStore ? run_store<T, Word, 2> : run_load<T, Word, 2>;
      case 4: return kStore ? run_store<T, Word, 4> : run_load<T, Word, 4>;
      default: return nullptr;
    }
  };
  if (reg == '8') return choose(uint64_t{});
  if constexpr (sizeof(T) == 8)
    return nullptr;
  else
    return choose(uint32_t{});
}

template <bool kStore>
Run access_of_type(std::string_view type, Width reg, unsigned count) {
  if (type == "s8") return access_of<int8_t, kStore>(reg, count);
  if (type == "s16") return access_of<int16_t, kStore>(reg, count);
  if (type == "s32") return access_of<int32_t, kStore>(reg, count);
  switch (type_bytes(type)) {
    case 1: return access_of<uint8_t, kStore>(reg, count);
    case 2: return access_of<uint16_t, kStore>(reg, count);
    case 4: return access_of<uint32_t, kStore>(reg, count);
    case 8: return access_of<uint64_t, kStore>(reg, count);
    default: return nullptr;
  }
}

/* F(memory, a, b) does it and returns what was there. */
template <class T, auto F>
void run_atomic(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  uint64_t at[kLanes];
  warp.addresses(instruction, lanes, at);
  // `red` has no result, and its d is a slot that nobody reads.
  WordOf<T>* const d = warp.words<WordOf<T>>(instruction.d);
  const WordOf<T>*const b = warp.words<WordOf<T>>(instruction.b), *const c = warp.words<WordOf<T>>(instruction.c);
  for (; lanes != 0; lanes &= lanes - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(lanes));
    warp.check_access(instruction, at[lane], sizeof(T));
    auto* const memory = reinterpret_cast<WordOf<T>*>(at[lane]);
    d[lane] = F(memory, b[lane], c[lane]);
  }
}

/* By compare and exchange: what the host has no instruction for. */
template <class T, auto F>
WordOf<T> replaced(WordOf<T>* memory, WordOf<T> operand) {
  WordOf<T> old = __atomic_load_n(memory, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(memory, &old, word_of<T>(F(value_of<T>(old), value_of<T>(operand))), false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
  return old;
}

template <class W>
Run bit_atomic(std::string_view operation) {
  if (operation == "add") return run_atomic<W, [](W* m, W a, W) { return __atomic_fetch_add(m, a, __ATOMIC_SEQ_CST); }>;
  if (operation == "and") return run_atomic<W, [](W* m, W a, W) { return __atomic_fetch_and(m, a, __ATOMIC_SEQ_CST); }>;
  if (operation == "or") return run_atomic<W, [](W* m, W a, W) { return __atomic_fetch_or(m, a, __ATOMIC_SEQ_CST); }>;
  if (operation == "xor") return run_atomic<W, [](W* m, W a, W) { return __atomic_fetch_xor(m, a, __ATOMIC_SEQ_CST); }>;
  if (operation == "exch")
    return run_atomic<W, [](W* m, W a, W) { return __atomic_exchange_n(m, a, __ATOMIC_SEQ_CST); }>;
  if (operation == "cas")
    return run_atomic<W, [](W* m, W expected, W value) {
      __atomic_compare_exchange_n(m, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
      return expected;
    }>;
  return nullptr;
}

template <class T>
Run extreme_atomic(std::string_view operation) {
  using W = WordOf<T>;
  if (operation == "min")
    return run_atomic<T, [](W* m, W a, W) { return replaced<T, [](T x, T y) { return x < y ? x : y; }>(m, a); }>;
  if (operation == "max")
    return run_atomic<T, [](W* m, W a, W) { return replaced<T, [](T x, T y) { return y < x ? x : y; }>(m, a); }>;
  return nullptr;
}

template <class T>
Run float_atomic(std::string_view operation) {
  using W = WordOf<T>;
  if (operation != "add") return nullptr;
  return run_atomic<T, [](W* m, W a, W) { return replaced<T, [](T x, T y) { return x + y; }>(m, a); }>;
}

template <class Word>
void run_special(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  Word* const d = warp.words<Word>(instruction.d);
  for_lanes(lanes, [&](uint32_t lane) { d[lane] = static_cast<Word>(warp.special(instruction.number, lane)); });
}

void run_address(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  uint64_t found[kLanes];
  warp.addresses(instruction, lanes, found);
  uint64_t* const d = warp.words<uint64_t>(instruction.d);
  for_lanes(lanes, [&](uint32_t lane) { d[lane] = found[lane]; });
}

template <class Word, unsigned kHalfBits>
void run_pack(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const uint32_t *const low = warp.words<uint32_t>(instruction.a), *const high = warp.words<uint32_t>(instruction.b);
  Word* const d = warp.words<Word>(instruction.d);
  constexpr Word kMask = static_cast<Word>((uint64_t{1} << kHalfBits) - 1);
  for_lanes(lanes, [&](uint32_t lane) {
    d[lane] = static_cast<Word>((low[lane] & kMask) | static_cast<Word>(high[lane]) << kHalfBits);
  });
}

template <class Word, unsigned kHalfBits>
void run_unpack(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const Word* const a = warp.words<Word>(instruction.a);
  uint32_t *const low = warp.words<uint32_t>(instruction.d), *const high = warp.words<uint32_t>(instruction.q);
  constexpr Word kMask = static_cast<Word>((uint64_t{1} << kHalfBits) - 1);
  for_lanes(lanes, [&](uint32_t lane) {
    const Word value = a[lane];
    low[lane] = static_cast<uint32_t>(value & kMask);
    high[lane] = static_cast<uint32_t>(value >> kHalfBits);
  });
}

enum Special : uint64_t {
  TID_X,
  NTID_X,
  CTAID_X,
  NCTAID_X,
  ZERO,
  ONE,
  LANE,
  WARP,
  WARPS,
  LANES_EQ,
  LANES_LE,
  LANES_LT,
  LANES_GE,
  LANES_GT,
  CLOCK,
  CLOCK64,
};

}  // namespace

Run load_of(std::string_view type, Width reg, unsigned count) { return access_of_type<false>(type, reg, count); }
Run store_of(std::string_view type, Width reg, unsigned count) { return access_of_type<true>(type, reg, count); }

Run atomic_of(std::string_view operation, std::string_view type) {
  if (type == "f32") return float_atomic<float>(operation);
  if (type == "f64") return float_atomic<double>(operation);
  if (operation == "min" || operation == "max") {
    if (type == "s32") return extreme_atomic<int32_t>(operation);
    if (type == "u32") return extreme_atomic<uint32_t>(operation);
    if (type == "s64") return extreme_atomic<int64_t>(operation);
    if (type == "u64") return extreme_atomic<uint64_t>(operation);
    return nullptr;
  }
  switch (type_bytes(type)) {
    case 4: return bit_atomic<uint32_t>(operation);
    case 8: return bit_atomic<uint64_t>(operation);
    default: return nullptr;
  }
}

bool find_special(const std::string& name, uint64_t* index, Width* width) {
  static const std::map<std::string, uint64_t> kSpecials = {
      {"%tid.x", TID_X},          {"%tid.y", ZERO},           {"%tid.z", ZERO},           {"%ntid.x", NTID_X},
      {"%ntid.y", ONE},           {"%ntid.z", ONE},           {"%ctaid.x", CTAID_X},      {"%ctaid.y", ZERO},
      {"%ctaid.z", ZERO},         {"%nctaid.x", NCTAID_X},    {"%nctaid.y", ONE},         {"%nctaid.z", ONE},
      {"%laneid", LANE},          {"%warpid", WARP},          {"%nwarpid", WARPS},        {"%lanemask_eq", LANES_EQ},
      {"%lanemask_le", LANES_LE}, {"%lanemask_lt", LANES_LT}, {"%lanemask_ge", LANES_GE}, {"%lanemask_gt", LANES_GT},
      {"%clock", CLOCK},          {"%clock64", CLOCK64},
  };
  const auto found = kSpecials.find(name);
  if (found == kSpecials.end()) return false;
  *index = found->second;
  *width = found->second == CLOCK64 ? '8' : '4';
  return true;
}

Run special_read(Width width) { return width == '8' ? run_special<uint64_t> : run_special<uint32_t>; }
Run address_of() { return run_address; }
Run pack_of(Width result) { return result == '8' ? run_pack<uint64_t, 32> : run_pack<uint32_t, 16>; }
Run unpack_of(Width source) { return source == '8' ? run_unpack<uint64_t, 32> : run_unpack<uint32_t, 16>; }

uint64_t Warp::special(uint64_t index, uint32_t lane) const {
  const uint32_t bit = 1u << lane;
  switch (index) {
    case TID_X: return index_ * kLanes + lane;
    case NTID_X: return launch_->block_threads;
    case CTAID_X: return block_;
    case NCTAID_X: return launch_->grid;
    case ONE: return 1;
    case LANE: return lane;
    case WARP: return index_;
    case WARPS: return (launch_->block_threads + kLanes - 1) / kLanes;
    case LANES_EQ: return bit;
    case LANES_LT: return bit - 1;
    case LANES_LE: return bit | (bit - 1);
    case LANES_GT: return ~(bit | (bit - 1));
    case LANES_GE: return ~(bit - 1);
    // An instruction takes a few cycles.
    case CLOCK:
    case CLOCK64: return launch_->steps * 4;
    default: return 0;
  }
}

void Warp::addresses(const Instruction& instruction, uint32_t lanes, uint64_t* found) const {
  const uint64_t number = instruction.number;
  switch (instruction.base) {
    case Base::REGISTER: {
      const uint64_t* const from = words<uint64_t>(instruction.a);
      for_lanes(lanes, [&](uint32_t lane) { found[lane] = from[lane] + number; });
      return;
    }
    case Base::LOCAL: {
      for_lanes(lanes, [&](uint32_t lane) { found[lane] = local_[lane] + number; });
      return;
    }
    case Base::NOTHING: std::fill(found, found + kLanes, number); return;
    case Base::SHARED: std::fill(found, found + kLanes, shared_ + number); return;
    case Base::PARAMETERS: std::fill(found, found + kLanes, launch_->parameters + number); return;
  }
}

void Warp::find_memory(const Instruction& instruction, uint64_t address, uint32_t bytes) const {
  constexpr int kIllegalAddress = 700, kMisalignedAddress = 716;
  const auto told = [&](const char* why) {
    char text[64];
    std::snprintf(text, sizeof text, " (address 0x%llx, %u bytes)", static_cast<unsigned long long>(address), bytes);
    return launch_->program->line_text(instruction.line) + ": " + why + text;
  };
  if (address % bytes != 0) throw LaunchFault(kMisalignedAddress, told("misaligned access"));

  const auto holds = [&](const Range& range) {
    return range.bytes >= bytes && address - range.begin <= range.bytes - bytes;
  };
  const std::vector<Range>& memory = *launch_->memory;
  const auto next = std::upper_bound(memory.begin(), memory.end(), address,
                                     [](uint64_t place, const Range& range) { return place < range.begin; });
  if (next != memory.begin() && holds(*std::prev(next))) {
    launch_->memos[instruction.memo] = {std::prev(next)->begin, std::prev(next)->bytes - bytes};
    return;
  }
  // The block's and the warp's own: not remembered.
  if (holds({shared_, shared_bytes_}) || holds({local_begin_, launch_->program->local_stack_bytes() * kLanes})) return;
  for (const Range& range : launch_->program->variables())
    if (holds(range)) {
      launch_->memos[instruction.memo] = {range.begin, range.bytes - bytes};
      return;
    }
  throw LaunchFault(kIllegalAddress, told("access outside of all memory"));
}

}  // namespace turbine::ptx
