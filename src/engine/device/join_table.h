/*
 * join_table.h - a join table that a BUILD has made: one block of host memory, which any device may read in
 * place or copy.
 *
 * Immutable, and shared by the queries that probe it. Its memory was part of the BUILD's budget and is no
 * query's any more. Whoever keeps the table accounts for charged_bytes().
 */
#pragma once

#include <memory>
#include <vector>

#include "engine/device/key_bounds.h"
#include "engine/memory/host_memory.h"
#include "engine/program/kept_row_layout.h"
#include "turbine/kernel.h"

namespace turbine {

class JoinTable {
 public:
  /* `block` begins with a TbJoinTable; `rows` were kept. */
  JoinTable(HostBuffer block, KeptRowLayout shape, uint64_t rows, std::vector<KeyBounds> bounds = {})
      : block_(std::move(block)), shape_(std::move(shape)), rows_(rows), bounds_(std::move(bounds)) {
    block_.charge_to(budget_);
  }
  JoinTable(const JoinTable&) = delete;

  const TbJoinTable* raw() const { return reinterpret_cast<const TbJoinTable*>(block_.data()); }
  const KeptRowLayout& shape() const { return shape_; }
  uint64_t rows() const { return rows_; }
  /* Of the first keys; those that are no integers are empty. */
  const std::vector<KeyBounds>& bounds() const { return bounds_; }
  /* Whether some row may have a first key from `first` to `last`; true where finding out would take long. */
  bool may_have_key(int64_t first, int64_t last) const;
  uint64_t charged_bytes() const { return block_.size(); }

  /* Does any look-up find at most one row? */
  bool unique() const { return raw()->kind == TB_TABLE_ALL ? rows_ <= 1 : raw()->next == 0; }

 private:
  MemoryBudget budget_{UINT64_MAX};  // before the block, which is charged to it
  HostBuffer block_;
  const KeptRowLayout shape_;
  const uint64_t rows_;
  const std::vector<KeyBounds> bounds_;
};

/* Bytes that say which rows of a FULL join's table have been matched, see
 * TbPipelineArgs::matched. */
inline uint64_t matched_bytes(const JoinTable& table) { return table.raw()->nrows + 1; }

/* The tables that a program probes, by the index of the join. */
using JoinTables = std::vector<std::shared_ptr<const JoinTable>>;

}  // namespace turbine
