/*
 * host_group_table.h - owner of the memory behind a TbGroupTable on the host.
 *
 * Generated code fills the raw() view and asks for room (make_room); this
 * grows rows, buckets and texts within the query's budget. Rows that are not filled hold
 * anything: whoever makes a group clears its row. One thread at a time.
 *
 * Texts lie in blocks, and a block never moves. The arena is the address space: it begins at null,
 * offsets of texts are addresses, and arena_used and arena_capacity are the free part of the last
 * block. So a row means the same in any other table, while the blocks are there (take_texts).
 */
#pragma once

#include <vector>

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

  /* Room for at least `groups` more groups, and `bytes` more of text. Says
   * whether anything had to grow; throws DeviceError beyond the budget. */
  bool ensure_rows(uint64_t groups);
  bool ensure_arena(uint64_t bytes);

  /* The group of `row`'s keys, which is appended (states and all) if new:
   * `fresh` tells. `row` belongs to another table with `arena`. Texts of a table
   * of this kind are not copied: its blocks must outlive this table. */
  uint8_t* find_or_copy(const GroupFold& fold, const uint8_t* row, const uint8_t* arena, bool* fresh);

  /* Asks the memory for the texts of the group that find_or_copy() may find for `row`. */
  void prefetch_texts(const GroupFold& fold, const uint8_t* row) const;

  /* The blocks of its texts; the table takes no more rows with texts. */
  std::vector<HostBuffer> take_texts();
  /* Forgets all texts, and keeps memory for others. */
  void clear_texts();

  uint64_t reserve(uint32_t length) override;
  uint8_t* bytes() override { return raw_.arena; }

 private:
  void rebuild_buckets();
  void clear_last_block();

  TbGroupTable raw_{};
  MemoryBudget& budget_;
  HostBuffer rows_;
  HostBuffer buckets_;
  std::vector<HostBuffer> texts_;
};

}  // namespace turbine
