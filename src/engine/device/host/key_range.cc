/*
 * key_range.cc - range and uniqueness of an integer key.
 *
 * Called by join_table_build.cc before anything is placed. Decides only whether rows can lie
 * in the order of their keys; other keys go to hashing.
 */
#include "engine/device/host/key_range.h"

#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>

namespace turbine {
namespace {

template <class T>
T load(const uint8_t* values, uint64_t row) {
  T value;
  memcpy(&value, values + row * sizeof value, sizeof value);
  return value;
}

}  // namespace

int64_t integer_value(uint32_t type, const uint8_t* values, uint64_t row) {
  switch (tb_type_width(type)) {
    case 2: return load<int16_t>(values, row);
    case 4: return load<int32_t>(values, row);
    default: return load<int64_t>(values, row);
  }
}

uint64_t KeyRange::rank(int64_t key) const {
  const uint64_t place = static_cast<uint64_t>(key) - static_cast<uint64_t>(places.min);
  const TbRankWord word = reinterpret_cast<const TbRankWord*>(ranks->data())[place / 32];
  return word.before + static_cast<uint32_t>(std::popcount(word.bits & ((1u << (place % 32)) - 1)));
}

KeyBounds bounds_of_key(const KeptRowLayout& shape, const KeptParts& parts, size_t key, WorkerPool& pool) {
  const uint32_t type = shape.columns[key].type;
  std::mutex mutex;
  KeyBounds bounds;
  parts.each(pool, [&](const KeptParts::Part& part) {
    KeyBounds own;
    for (uint64_t i = 0; i < part.count; i++) {
      if (null_key(shape, part, i)) {
        own.nulls = true;
        continue;
      }
      const int64_t value = integer_value(type, part.store->values(key), part.first + i);
      own.min = std::min(own.min, value);
      own.max = std::max(own.max, value);
    }
    std::lock_guard lock(mutex);
    bounds.min = std::min(bounds.min, own.min);
    bounds.max = std::max(bounds.max, own.max);
    bounds.nulls |= own.nulls;
  });
  return bounds;
}

std::optional<KeyRange> narrow_key_range(const KeptRowLayout& shape, const KeptParts& parts, const KeyBounds& bounds,
                                         WorkerPool& pool, MemoryBudget& budget) {
  const uint32_t type = shape.columns[0].type;
  const std::optional<KeyPlaces> places = narrow_key_places(bounds, parts.rows());
  if (!places) return {};
  KeyRange range{*places, {}};
  if (parts.rows() == 0) return range;
  range.ranks.emplace(budget, places->words() * sizeof(TbRankWord));

  auto* words = reinterpret_cast<TbRankWord*>(range.ranks->data());
  // Rows without a key have no place in its order.
  std::atomic<bool> unique{!bounds.nulls};
  parts.each(pool, [&](const KeptParts::Part& part) {
    for (uint64_t i = 0; i < part.count && unique.load(std::memory_order_relaxed); i++) {
      const int64_t key = integer_value(type, part.store->values(0), part.first + i);
      const uint64_t place = static_cast<uint64_t>(key) - static_cast<uint64_t>(places->min);
      const uint32_t bit = 1u << (place % 32);
      if (std::atomic_ref(words[place / 32].bits).fetch_or(bit, std::memory_order_relaxed) & bit) unique = false;
    }
  });
  range.places.unique = unique;
  uint32_t before = 0;
  for (uint64_t i = 0; i < places->words(); i++) {
    words[i].before = before;
    before += static_cast<uint32_t>(std::popcount(words[i].bits));
  }
  return range;
}

}  // namespace turbine
