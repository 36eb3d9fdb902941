/*
 * host_group_table.h - owner of the memory behind a TbGroupTable on the host.
 *
 * Generated code fills the raw() view and asks for room (make_room); this
 * grows rows, buckets and arena within the query's budget. Rows that are not filled hold anything: whoever makes a
 * group clears its row. One thread at a time.
 */
#pragma once

#include "engine/group_fold/group_fold.h"
#include "engine/memory/host_memory.h"
#include "turbine/kernel.h"

namespace turbine {

class HostGroupTable final : public FoldArena {
 public:
  /* `capacity` groups, rounded up to a power of two. */
  HostGroupTable(uint32_t row_size, uint64_t capacity, MemoryBudget& budget);
  HostGroupTable(const HostGroupTable&) = delete;

  /* Memory that a fresh table of `capacity` groups takes. */
  static uint64_t bytes_for(uint32_t row_size, uint64_t capacity);

  TbGroupTable* raw() { return &raw_; }
  uint64_t size() const { return raw_.ngroups; }
  uint8_t* row(uint64_t group) const { return raw_.rows + group * raw_.row_size; }
  const uint8_t* arena() const { return raw_.arena; }
  uint64_t arena_used() const { return raw_.arena_used; }

  /* Room for at least `groups` more groups, and `bytes` more of text. Says
   * whether anything had to grow; throws DeviceError beyond the budget. */
  bool ensure_rows(uint64_t groups);
  bool ensure_arena(uint64_t bytes);

  /* The group of `row`'s keys, which is appended (states and all) if new:
   * `fresh` tells. `row` belongs to another table with `arena`. */
  uint8_t* find_or_copy(const GroupFold& fold, const uint8_t* row, const uint8_t* arena, bool* fresh);

  uint64_t reserve(uint32_t length) override;
  uint8_t* bytes() override { return raw_.arena; }

 private:
  void rebuild_buckets();

  TbGroupTable raw_{};
  MemoryBudget& budget_;
  HostBuffer rows_;
  HostBuffer buckets_;
  HostBuffer arena_;
};

}  // namespace turbine
