/*
 * key_range.h - what a join table's one integer key looks like: its range, and
 * which values there are. Decides whether rows can be found by the key itself.
 */
#pragma once

#include <optional>

#include "engine/device/host/kept_parts.h"
#include "engine/device/key_bounds.h"

namespace turbine {

/* Is key number `key` stored as an integer? */
bool is_integer_key(const KeptRowLayout& shape, size_t key);

/* Are rows with these keys candidates for look-up by the key itself? */
bool integer_key(const KeptRowLayout& shape);

/* Of an integer key, in one pass over the rows. */
KeyBounds bounds_of_key(const KeptRowLayout& shape, const KeptParts& parts, size_t key, WorkerPool& pool);

/* Key `row` of a column of an integer type, as a number. */
int64_t integer_value(uint32_t type, const uint8_t* values, uint64_t row);

struct KeyRange {
  int64_t min = 0;
  uint64_t span = 0;           // key - min < span; 0: no rows
  bool unique = true;          // and every row has a key
  std::optional<HostBuffer> ranks;  // unique: TbRankWord for every 32 values of key - min

  uint64_t words() const { return (span + 31) / 32; }
  uint64_t rank(int64_t key) const;  // of a key that is there
};

/* Of the one key, whose bounds are known. Nothing if the range is too wide for its
 * rows. Throws DeviceError. */
std::optional<KeyRange> narrow_key_range(const KeptRowLayout& shape, const KeptParts& parts, const KeyBounds& bounds,
                                         WorkerPool& pool, MemoryBudget& budget);

}  // namespace turbine
