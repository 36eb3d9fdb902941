/*
 * group_state.cc - what generated GPU kernels do to memory that many threads
 * share: aggregate states, the buckets of a group table, and output counters.
 *
 * Called by the kernels of compiler/codegen/{pipeline,probe}_gpu.cc alone; compiled for
 * the host too, where a "warp" is one thread, so that unit tests reach it.
 *
 * Every atomic is relaxed. Order matters in one place only, when a group's row
 * is published: a fence stands between the row and its bucket, and readers of
 * rows use volatile loads. LLVM's NVPTX backend drops stronger orders silently.
 *
 * rt_warp_*: all 32 lanes of a warp arrive together; one of them writes.
 * rt_block_*: all threads of a block arrive together.
 * rt_peers_*: the lanes of a warp that rt_warp_peers named arrive together; the
 * lowest of them writes.
 * rt_state_*: any thread, at any time.
 */
#include "rt/text_bytes.h"

#include "turbine/kernel.h"
#include "turbine/state_text.h"

using namespace turbine::rt;

namespace {

#ifdef __NVPTX__
constexpr uint32_t kAllLanes = 0xffffffffu;
constexpr uint32_t kLanes = 32;

RT_INLINE uint32_t lane() { return __nvvm_read_ptx_sreg_laneid(); }

RT_INLINE uint64_t from_lane_below(uint64_t value, uint32_t distance) {
  uint32_t low = __nvvm_shfl_sync_down_i32(kAllLanes, (int)(uint32_t)value, (int)distance, 31);
  uint32_t high = __nvvm_shfl_sync_down_i32(kAllLanes, (int)(uint32_t)(value >> 32), (int)distance, 31);
  return (uint64_t)high << 32 | low;
}

/* fold(mine, other) over the warp; lane 0 has the result. */
template <class T, class Fold>
RT_INLINE T warp_fold(T mine, Fold fold) {
  for (uint32_t distance = 16; distance > 0; distance /= 2) {
    uint64_t words[(sizeof(T) + 7) / 8] = {};
    __builtin_memcpy(words, &mine, sizeof(T));
    for (uint64_t& word : words) word = from_lane_below(word, distance);
    T other;
    __builtin_memcpy(&other, words, sizeof(T));
    mine = fold(mine, other);
  }
  return mine;
}

/* Of the block. */
RT_INLINE uint32_t warp() { return (uint32_t)__nvvm_read_ptx_sreg_tid_x() / 32; }
constexpr uint32_t kWarps = TB_BLOCK_THREADS / 32;

RT_INLINE uint32_t from_first_lane(uint32_t value) {
  return (uint32_t)__nvvm_shfl_sync_idx_i32(kAllLanes, (int)value, 0, 31);
}

RT_INLINE void fence() { __nvvm_membar_gl(); }

/* fold over the lanes of `peers`, all of which are here; the lowest of them has
 * the result. Halves the values each round: a lane takes its next peer's value
 * and every second one leaves. Rounds: log2 of the largest number of peers. */
template <class T, class Fold>
RT_INLINE T peers_fold(T mine, uint32_t peers, Fold fold) {
  uint32_t rank = (uint32_t)__builtin_popcount(peers & (uint32_t)__nvvm_read_ptx_sreg_lanemask_lt());
  uint32_t above = peers & (uint32_t)__nvvm_read_ptx_sreg_lanemask_gt();
  uint32_t alive = peers;
  while (alive & (alive - 1)) {
    uint64_t words[(sizeof(T) + 7) / 8] = {};
    __builtin_memcpy(words, &mine, sizeof(T));
    int next = above != 0 ? __builtin_ctz(above) : (int)lane();
    for (uint64_t& word : words) {
      uint32_t low = (uint32_t)__nvvm_shfl_sync_idx_i32(peers, (int)(uint32_t)word, next, 31);
      uint32_t high = (uint32_t)__nvvm_shfl_sync_idx_i32(peers, (int)(uint32_t)(word >> 32), next, 31);
      word = (uint64_t)high << 32 | low;
    }
    T other;
    __builtin_memcpy(&other, words, sizeof(T));
    if (above != 0) mine = fold(mine, other);
    alive = (uint32_t)__nvvm_vote_ballot_sync(peers, (rank & 1) == 0) & alive;
    above &= alive;
    rank >>= 1;
  }
  return mine;
}

RT_INLINE bool leads(uint32_t peers) { return lane() == (uint32_t)__builtin_ctz(peers); }
#else
RT_INLINE uint32_t lane() { return 0; }
RT_INLINE uint32_t warp() { return 0; }
constexpr uint32_t kLanes = 1;
constexpr uint32_t kWarps = 1;

RT_INLINE uint32_t from_first_lane(uint32_t value) { return value; }

template <class T, class Fold>
RT_INLINE T warp_fold(T mine, Fold) {
  return mine;
}

RT_INLINE void fence() { __sync_synchronize(); }

template <class T, class Fold>
RT_INLINE T peers_fold(T mine, uint32_t, Fold) {
  return mine;
}

RT_INLINE bool leads(uint32_t) { return true; }
#endif

RT_INLINE void add_u64(uint64_t* state, uint64_t value) { __atomic_fetch_add(state, value, __ATOMIC_RELAXED); }

/* Two 64-bit additions with the carry between them: the sum is exact once all
 * have been made, in whatever order. */
RT_INLINE void add_i128(uint64_t* state, __int128 value) {
  uint64_t low = (uint64_t)value;
  uint64_t high = (uint64_t)((uint128)value >> 64);
  uint64_t old = __atomic_fetch_add(&state[0], low, __ATOMIC_RELAXED);
  high += old + low < old;
  if (high != 0) __atomic_fetch_add(&state[1], high, __ATOMIC_RELAXED);
}

RT_INLINE void add_f64(double* state, double value) {
#ifdef __NVPTX__
  (void)__nvvm_atom_add_gen_d(state, value);
#else
  uint64_t* bits = (uint64_t*)state;
  uint64_t expected = __atomic_load_n(bits, __ATOMIC_RELAXED);
  uint64_t desired;
  do {
    desired = __builtin_bit_cast(uint64_t, __builtin_bit_cast(double, expected) + value);
  } while (!__atomic_compare_exchange_n(bits, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
#endif
}

template <class T>
RT_INLINE T sum_of(T a, T b) {
  return a + b;
}
RT_INLINE int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }
RT_INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Of a slot: the state, and the warp's value. */
template <class T, class Fold>
RT_INLINE void put_into_slot(uint64_t* slot, void* state, T mine, Fold fold) {
  T value = warp_fold(mine, fold);
  if (lane() != 0) return;
  slot[0] = (uint64_t)(uintptr_t)state;
  __builtin_memcpy(slot + 1 + 2 * warp(), &value, sizeof(T));
}

/* add(state, the block's value) for each slot; `nothing` changes no value. */
template <class T, class Fold, class Add>
RT_INLINE void fold_slots(const uint64_t* slots, uint32_t count, T nothing, Fold fold, Add add) {
  for (uint32_t i = warp(); i < count; i += kWarps) {
    const uint64_t* slot = slots + (uint64_t)i * TB_BLOCK_SLOT_WORDS;
    T value = nothing;
    if (lane() < kWarps) __builtin_memcpy(&value, slot + 1 + 2 * lane(), sizeof(T));
    value = warp_fold(value, fold);
    if (lane() == 0) add((void*)(uintptr_t)slot[0], value);
  }
}

/* Bits of a float as an integer in PostgreSQL's order, and back (the same). */
RT_INLINE int32_t flip_float(int32_t bits) { return bits ^ (bits < 0 ? INT32_MAX : 0); }
RT_INLINE int64_t flip_float(int64_t bits) { return bits ^ (bits < 0 ? INT64_MAX : 0); }

template <class Word, bool Min, class ToKey, class FromKey>
RT_INLINE void extreme(Word* state, int64_t key, ToKey to_key, FromKey from_key) {
  Word seen = __atomic_load_n(state, __ATOMIC_RELAXED);
  for (;;) {
    int64_t old = to_key(seen);
    if (Min ? key >= old : key <= old) return;
    Word desired = from_key(seen, key);
    if (__atomic_compare_exchange_n(state, &seen, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
  }
}

/* Min or max into a state of any fixed-width type; narrow ones by the aligned
 * 32-bit word around them. */
template <bool Min>
RT_INLINE void extreme_of_type(void* state, int64_t key, uint32_t type) {
  switch (tb_type_width(type)) {
    case 8: {
      bool is_float = type == TB_TYPE_FLOAT8;
      extreme<uint64_t, Min>((uint64_t*)state, key,
                             [=](uint64_t w) { return is_float ? flip_float((int64_t)w) : (int64_t)w; },
                             [=](uint64_t, int64_t k) { return (uint64_t)(is_float ? flip_float(k) : k); });
      return;
    }
    case 4: {
      bool is_float = type == TB_TYPE_FLOAT4;
      extreme<uint32_t, Min>(
          (uint32_t*)state, key, [=](uint32_t w) { return (int64_t)(is_float ? flip_float((int32_t)w) : (int32_t)w); },
          [=](uint32_t, int64_t k) { return (uint32_t)(is_float ? flip_float((int32_t)k) : (int32_t)k); });
      return;
    }
    default: {
      uint32_t bytes = tb_type_width(type);
      uint32_t shift = (uint32_t)((uintptr_t)state & 3u) * 8;
      uint32_t mask = bytes == 2 ? 0xffffu : 0xffu;
      uint32_t* word = (uint32_t*)((uintptr_t)state & ~(uintptr_t)3);
      extreme<uint32_t, Min>(
          word, key,
          [=](uint32_t w) {
            uint32_t v = w >> shift & mask;
            return bytes == 2 ? (int64_t)(int16_t)v : (int64_t)(int8_t)v;
          },
          [=](uint32_t w, int64_t k) { return (w & ~(mask << shift)) | ((uint32_t)k & mask) << shift; });
      return;
    }
  }
}

RT_INLINE uint64_t append_u64(uint64_t* counter) {
#ifdef __NVPTX__
  uint32_t active = __nvvm_activemask();
  uint32_t below = (uint32_t)__nvvm_read_ptx_sreg_lanemask_lt();
  uint32_t leader = (uint32_t)__builtin_ctz(active);
  uint64_t base = 0;
  if (lane() == leader) base = __atomic_fetch_add(counter, (uint64_t)__builtin_popcount(active), __ATOMIC_RELAXED);
  uint32_t low = (uint32_t)__nvvm_shfl_sync_idx_i32(active, (int)(uint32_t)base, (int)leader, 31);
  uint32_t high = (uint32_t)__nvvm_shfl_sync_idx_i32(active, (int)(uint32_t)(base >> 32), (int)leader, 31);
  return ((uint64_t)high << 32 | low) + (uint64_t)__builtin_popcount(active & below);
#else
  return __atomic_fetch_add(counter, (uint64_t)1, __ATOMIC_RELAXED);
#endif
}

}  // namespace

RT_EXPORT void rt_state_add_u64(void* state, uint64_t value) { add_u64((uint64_t*)state, value); }

RT_EXPORT void rt_state_add_i128(void* state, __int128 value) { add_i128((uint64_t*)state, value); }

RT_EXPORT void rt_state_add_f64(void* state, double value) { add_f64((double*)state, value); }

RT_EXPORT void rt_state_min_key(void* state, int64_t key, uint32_t type) { extreme_of_type<true>(state, key, type); }

RT_EXPORT void rt_state_max_key(void* state, int64_t key, uint32_t type) { extreme_of_type<false>(state, key, type); }

RT_EXPORT void rt_state_or_u32(uint32_t* state, uint32_t bits) {
  if (bits != 0) __atomic_fetch_or(state, bits, __ATOMIC_RELAXED);
}

RT_EXPORT void rt_warp_sum_u64(void* state, uint64_t value) {
  uint64_t sum = warp_fold(value, [](uint64_t a, uint64_t b) { return a + b; });
  if (lane() == 0 && sum != 0) add_u64((uint64_t*)state, sum);
}

/* row[offset] = 1 for each of `count` pairs {bit, offset} whose bit some lane has in `marks`. */
RT_EXPORT void rt_warp_mark(uint8_t* row, uint32_t marks, const uint32_t* places, uint32_t count) {
  marks = from_first_lane(warp_fold(marks, [](uint32_t a, uint32_t b) { return a | b; }));
  for (uint32_t i = lane(); i < count; i += kLanes)
    if (marks >> places[2 * i] & 1) *(volatile uint8_t*)(row + places[2 * i + 1]) = 1;
}

/* Values of the block's threads, each with a slot of TB_BLOCK_SLOT_WORDS in shared memory. They are put, then comes a
 * barrier, then all slots of a kind are folded and added to their states. */
RT_EXPORT void rt_block_put_f64(uint64_t* slot, void* state, double value) {
  put_into_slot(slot, state, value, sum_of<double>);
}

RT_EXPORT void rt_block_put_u64(uint64_t* slot, void* state, uint64_t value) {
  put_into_slot(slot, state, value, sum_of<uint64_t>);
}

RT_EXPORT void rt_block_put_i128(uint64_t* slot, void* state, __int128 value) {
  put_into_slot(slot, state, (uint128)value, sum_of<uint128>);
}

RT_EXPORT void rt_block_put_min(uint64_t* slot, void* state, int64_t key) { put_into_slot(slot, state, key, lesser); }

RT_EXPORT void rt_block_put_max(uint64_t* slot, void* state, int64_t key) { put_into_slot(slot, state, key, larger); }

RT_EXPORT void rt_block_sum_f64(const uint64_t* slots, uint32_t count) {
  fold_slots(slots, count, -0.0, sum_of<double>, [](void* state, double sum) { add_f64((double*)state, sum); });
}

RT_EXPORT void rt_block_sum_u64(const uint64_t* slots, uint32_t count) {
  fold_slots(slots, count, (uint64_t)0, sum_of<uint64_t>, [](void* state, uint64_t sum) {
    if (sum != 0) add_u64((uint64_t*)state, sum);
  });
}

RT_EXPORT void rt_block_sum_i128(const uint64_t* slots, uint32_t count) {
  fold_slots(slots, count, (uint128)0, sum_of<uint128>, [](void* state, uint128 sum) {
    if (sum != 0) add_i128((uint64_t*)state, (__int128)sum);
  });
}

RT_EXPORT void rt_block_min_key(const uint64_t* slots, uint32_t count, uint32_t type) {
  fold_slots(slots, count, INT64_MAX, lesser,
             [type](void* state, int64_t key) { extreme_of_type<true>(state, key, type); });
}

RT_EXPORT void rt_block_max_key(const uint64_t* slots, uint32_t count, uint32_t type) {
  fold_slots(slots, count, INT64_MIN, larger,
             [type](void* state, int64_t key) { extreme_of_type<false>(state, key, type); });
}

/* The lanes that are here with the same group: they combine their values first,
 * so that a few large groups do not mean an atomic a row at one address. */
RT_EXPORT uint32_t rt_warp_peers(uint32_t group) {
#ifdef __NVPTX__
  return (uint32_t)__nvvm_match_any_sync_i32(__nvvm_activemask(), group);
#else
  (void)group;
  return 1;
#endif
}

RT_EXPORT void rt_peers_count(void* state, bool pass, uint32_t peers) {
  uint32_t sum = peers_fold((uint32_t)pass, peers, [](uint32_t a, uint32_t b) { return a + b; });
  if (leads(peers) && sum != 0) add_u64((uint64_t*)state, sum);
}

/* `value` is the neutral element where `pass` is false; `valid` is set if any
 * lane passes. */
RT_EXPORT void rt_peers_sum_u64(void* state, uint8_t* valid, uint64_t value, bool pass, uint32_t peers) {
  uint64_t sum = peers_fold(value, peers, [](uint64_t a, uint64_t b) { return a + b; });
  uint32_t any = peers_fold((uint32_t)pass, peers, [](uint32_t a, uint32_t b) { return a | b; });
  if (!leads(peers) || any == 0) return;
  *(volatile uint8_t*)valid = 1;
  add_u64((uint64_t*)state, sum);
}

RT_EXPORT void rt_peers_sum_i128(void* state, uint8_t* valid, __int128 value, bool pass, uint32_t peers) {
  uint128 sum = peers_fold((uint128)value, peers, [](uint128 a, uint128 b) { return a + b; });
  uint32_t any = peers_fold((uint32_t)pass, peers, [](uint32_t a, uint32_t b) { return a | b; });
  if (!leads(peers) || any == 0) return;
  *(volatile uint8_t*)valid = 1;
  add_i128((uint64_t*)state, (__int128)sum);
}

RT_EXPORT void rt_peers_sum_f64(void* state, uint8_t* valid, double value, bool pass, uint32_t peers) {
  double sum = peers_fold(value, peers, [](double a, double b) { return a + b; });
  uint32_t any = peers_fold((uint32_t)pass, peers, [](uint32_t a, uint32_t b) { return a | b; });
  if (!leads(peers) || any == 0) return;
  *(volatile uint8_t*)valid = 1;
  add_f64((double*)state, sum);
}

RT_EXPORT void rt_peers_min_key(void* state, uint8_t* valid, int64_t key, uint32_t type, bool pass, uint32_t peers) {
  int64_t least = peers_fold(key, peers, [](int64_t a, int64_t b) { return a < b ? a : b; });
  uint32_t any = peers_fold((uint32_t)pass, peers, [](uint32_t a, uint32_t b) { return a | b; });
  if (!leads(peers) || any == 0) return;
  *(volatile uint8_t*)valid = 1;
  extreme_of_type<true>(state, least, type);
}

RT_EXPORT void rt_peers_max_key(void* state, uint8_t* valid, int64_t key, uint32_t type, bool pass, uint32_t peers) {
  int64_t most = peers_fold(key, peers, [](int64_t a, int64_t b) { return a > b ? a : b; });
  uint32_t any = peers_fold((uint32_t)pass, peers, [](uint32_t a, uint32_t b) { return a | b; });
  if (!leads(peers) || any == 0) return;
  *(volatile uint8_t*)valid = 1;
  extreme_of_type<false>(state, most, type);
}

namespace {

/* A lane's text for min or max; nothing if `pass` is 0. */
struct TextCandidate {
  const char* bytes;
  uint32_t length;
  uint32_t pass;
};

template <bool want_min>
RT_INLINE TextCandidate better_text(TextCandidate a, TextCandidate b) {
  if (!a.pass || !b.pass) return a.pass ? a : b;
  int order = compare_bytes(b.bytes, b.length, a.bytes, a.length);
  return (want_min ? order < 0 : order > 0) ? b : a;
}

/* As compare_bytes(). The stored text may have been written by another multiprocessor a moment ago, so it is read by
 * volatile words; it is 8-aligned and padded to whole words. */
RT_INLINE int compare_to_shared(const char* text, uint32_t length, const uint8_t* stored, uint32_t stored_length) {
  const volatile uint64_t* words = (const volatile uint64_t*)stored;
  uint32_t common = length < stored_length ? length : stored_length;
  uint32_t at = 0;
  for (; common - at >= 8; at += 8) {
    uint64_t left = load_u64(text + at), right = words[at / 8];
    if (left != right) return __builtin_bswap64(left) < __builtin_bswap64(right) ? -1 : 1;
  }
  if (uint32_t rest = common - at; rest != 0) {
    uint64_t left = load_partial(text + at, rest), right = words[at / 8] & ~(uint64_t)0 >> (64 - 8 * rest);
    if (left != right) return __builtin_bswap64(left) < __builtin_bswap64(right) ? -1 : 1;
  }
  return length < stored_length ? -1 : length > stored_length ? 1 : 0;
}

/* Would the text replace the state's? */
template <bool want_min>
RT_INLINE bool improves(const TbGroupTable* table, uint64_t word, TextCandidate text) {
  if (!text.pass) return false;
  if (word == TB_STATE_TEXT_NONE) return true;
  const uint8_t* stored = table->arena + tb_state_text_offset(word);
  int order = compare_to_shared(text.bytes, text.length, stored, tb_state_text_length(word));
  return want_min ? order < 0 : order > 0;
}

/*
 * Combines the text into the state, whatever other threads do to it meanwhile. The bytes are written before the word
 * that names them, so whoever sees the word finds them. If the arena has no room, table->full is set, and the row has
 * to come again once there is: combining a text twice changes nothing.
 */
template <bool want_min>
RT_INLINE void combine_text(TbGroupTable* table, uint64_t* state, uint8_t* valid, TextCandidate text) {
  uint64_t word = *(const volatile uint64_t*)state;
  if (!improves<want_min>(table, word, text)) return;
  // Millions of rows may come yet: all would wait for one counter.
  if (*(const volatile uint32_t*)&table->full) return;
  uint64_t size = ((uint64_t)text.length + 7) & ~(uint64_t)7;
  uint64_t offset = __atomic_fetch_add(&table->arena_used, size, __ATOMIC_RELAXED);
  if (offset + size > table->arena_capacity) {
    *(volatile uint32_t*)&table->full = 1;
    return;
  }
  uint64_t* copy = (uint64_t*)(table->arena + offset);
  uint32_t at = 0;
  for (; text.length - at >= 8; at += 8) copy[at / 8] = load_u64(text.bytes + at);
  if (at < text.length) copy[at / 8] = load_partial(text.bytes + at, text.length - at);
  fence();
  uint64_t ours = tb_state_text(offset, text.length);
  do {
    uint64_t seen = word;
    if (__atomic_compare_exchange_n(state, &seen, ours, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      *(volatile uint8_t*)valid = 1;
      return;
    }
    word = seen;
  } while (improves<want_min>(table, word, text));
}

/* Most rows improve nothing, and are done after a look at the state. */
template <bool want_min>
RT_INLINE void peers_text(TbGroupTable* table, uint64_t* state, uint8_t* valid, TextCandidate text, uint32_t peers) {
  text.pass = improves<want_min>(table, *(const volatile uint64_t*)state, text);
  TextCandidate best = peers_fold(text, peers, better_text<want_min>);
  if (leads(peers)) combine_text<want_min>(table, state, valid, best);
}

}  // namespace

/* min(text) and max(text) of at most TB_STATE_TEXT_MOST_BYTES into a state word; sets table->full if the arena has no
 * room. The texts stay readable for all lanes until the kernel ends. */
RT_EXPORT void rt_peers_text_extreme(TbGroupTable* table, void* state, uint8_t* valid, const char* bytes,
                                     uint32_t length, bool pass, bool want_min, uint32_t peers) {
  TextCandidate text = {bytes, length, pass};
  if (want_min)
    peers_text<true>(table, (uint64_t*)state, valid, text, peers);
  else
    peers_text<false>(table, (uint64_t*)state, valid, text, peers);
}

/* The next index of an output that all threads append to; lanes that arrive
 * together take one atomic. */
RT_EXPORT uint32_t rt_warp_append(uint32_t* counter) {
#ifdef __NVPTX__
  uint32_t active = __nvvm_activemask();
  uint32_t below = (uint32_t)__nvvm_read_ptx_sreg_lanemask_lt();
  uint32_t leader = (uint32_t)__builtin_ctz(active);
  uint32_t base = 0;
  if (lane() == leader) base = __atomic_fetch_add(counter, (uint32_t)__builtin_popcount(active), __ATOMIC_RELAXED);
  base = (uint32_t)__nvvm_shfl_sync_idx_i32(active, (int)base, (int)leader, 31);
  return base + (uint32_t)__builtin_popcount(active & below);
#else
  return __atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED);
#endif
}

/* The same for an output of any size. */
RT_EXPORT uint64_t rt_warp_append_u64(uint64_t* counter) { return append_u64(counter); }

/* A row of the store, and `text_bytes` of its arena at *arena_offset; all ones, with
 * store->full set, where either has no room: nothing in the store counts then. */
RT_EXPORT uint64_t rt_store_reserve(TbRowStore* store, uint64_t text_bytes, uint64_t* arena_offset) {
  uint64_t row = append_u64(&store->nrows);
  *arena_offset = text_bytes == 0 ? 0 : __atomic_fetch_add(&store->arena_used, text_bytes, __ATOMIC_RELAXED);
  if (row < store->capacity && *arena_offset + text_bytes <= store->arena_capacity) return row;
  *(volatile uint32_t*)&store->full = 1;
  return ~(uint64_t)0;
}

/* Text keys against a group's, whose bytes another multiprocessor may have written
 * a moment ago: volatile loads, a word at a time, since this one's L1 cache may
 * hold an older line. `stored` is 8-aligned and padded to whole words. */
RT_EXPORT bool rt_key_eq_text_shared(const char* key, uint32_t key_length, const char* stored, uint32_t stored_length) {
  if (key_length != stored_length) return false;
  const volatile uint64_t* words = (const volatile uint64_t*)stored;
  uint32_t at = 0;
  for (; key_length - at >= 8; at += 8)
    if (words[at / 8] != load_u64(key + at)) return false;
  uint32_t rest = key_length - at;
  if (rest == 0) return true;
  uint64_t mask = ~(uint64_t)0 >> (64 - 8 * rest);
  return ((words[at / 8] ^ load_partial(key + at, rest)) & mask) == 0;
}

/* The multiprocessor's clock, for rt_stop_wanted. */
RT_EXPORT uint32_t rt_clock() {
#ifdef __NVPTX__
  return (uint32_t)__nvvm_read_ptx_sreg_clock();
#else
  return 0;
#endif
}

/* True if the query of a kernel that started at `started` is over. `stop` may be null: nobody can stop it. The clock's
 * 32 bits come round every few seconds; then a look is skipped, which the next one makes good. */
RT_EXPORT bool rt_stop_wanted(const uint32_t* stop, uint32_t started) {
#ifdef __NVPTX__
  if (rt_clock() - started < TB_STOP_PATIENCE) return false;
#else
  (void)started;
#endif
  return stop && *(const volatile uint32_t*)stop != 0;
}

/* Between two looks at a bucket that another thread is filling: thousands of threads would keep the memory's queue so
 * full that the owner's writes wait. */
RT_EXPORT void rt_bucket_wait() {
#ifdef __NVPTX__
  asm volatile("nanosleep.u32 100;");
#endif
}

/* Takes an empty bucket; returns what was there (0: it is ours now). */
RT_EXPORT uint32_t rt_bucket_claim(uint32_t* bucket) {
  uint32_t expected = 0;
  __atomic_compare_exchange_n(bucket, &expected, TB_BUCKET_BUSY, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}

/* Ends a claim: everything written before is there for who sees `entry`. */
RT_EXPORT void rt_bucket_publish(uint32_t* bucket, uint32_t entry) {
  fence();
  __atomic_store_n(bucket, entry, __ATOMIC_RELAXED);
}

/* A row number, and `text_bytes` of the arena at *arena_offset. TB_NONE, with
 * table->full set, where either has no room; the table then has to grow. */
RT_EXPORT uint32_t rt_group_reserve(TbGroupTable* table, uint64_t text_bytes, uint64_t* arena_offset) {
  *arena_offset = 0;
  // Millions of rows may come yet: all would wait for one counter.
  if (*(volatile uint32_t*)&table->full) return TB_NONE;
  if (text_bytes != 0) {
    *arena_offset = __atomic_fetch_add(&table->arena_used, text_bytes, __ATOMIC_RELAXED);
    if (*arena_offset + text_bytes > table->arena_capacity) {
      *(volatile uint32_t*)&table->full = 1;
      return TB_NONE;
    }
  }
  uint64_t row = __atomic_fetch_add(&table->ngroups, (uint64_t)1, __ATOMIC_RELAXED);
  if (row >= table->group_capacity) {
    *(volatile uint32_t*)&table->full = 1;
    return TB_NONE;
  }
  return (uint32_t)row;
}

/* Has the block's threads ask for these bytes, so that the loops that read them soon wait for them once. */
RT_EXPORT void rt_block_prefetch(const uint8_t* begin, uint64_t size, uint64_t thread, uint64_t threads) {
#ifdef __NVPTX__
  constexpr uint64_t kLine = 128;
  const uint8_t* first = (const uint8_t*)((uint64_t)begin & ~(kLine - 1));
  for (const uint8_t* at = first + thread * kLine; at < begin + size; at += threads * kLine)
    asm volatile("prefetch.L2 [%0];" ::"l"(at));
#else
  (void)begin, (void)size, (void)thread, (void)threads;
#endif
}
