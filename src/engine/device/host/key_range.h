/*
 * key_range.h - what a join table's one integer key looks like: its range, and
 * which values there are. Decides whether rows can be found by the key itself.
 */
#pragma once

#include <optional>

#include "engine/device/host/kept_parts.h"
#include "engine/device/join_table_layout.h"

namespace turbine {

/* Of an integer key, in one pass over the rows. */
KeyBounds bounds_of_key(const KeptRowLayout& shape, const KeptParts& parts, size_t key, WorkerPool& pool);

/* Key `row` of a column of an integer type, as a number. */
int64_t integer_value(uint32_t type, const uint8_t* values, uint64_t row);

/* Where look-ups may find rows by their one integer key. */
struct KeyRange {
  KeyPlaces places;
  std::optional<HostBuffer> ranks;  // unique: TbRankWord for every 32 values of key - min

  uint64_t rank(int64_t key) const;  // of a key that is there
};

/* Of the one key, whose bounds are known. Nothing if the range is too wide for its
 * rows. Throws DeviceError. */
std::optional<KeyRange> narrow_key_range(const KeptRowLayout& shape, const KeptParts& parts, const KeyBounds& bounds,
                                         WorkerPool& pool, MemoryBudget& budget);

}  // namespace turbine
