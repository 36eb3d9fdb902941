/*
 * aggregate_sink.h - the sink AGGREGATE of the host's tb_pipeline.
 */
#pragma once

#include "compiler/codegen/filter.h"
#include "compiler/codegen/group_table.h"
#include "compiler/codegen/host_tile.h"

namespace turbine {

/* Filters and aggregates of the program can be one branch-free loop, without mask or selection. `filters`: all of
 * the program's that come before joins. */
bool is_fused(const Program& program, const FilterPlan& filters);

class AggregateSink {
 public:
  AggregateSink(HostTile& tile, const GroupLayout& layout);

  /* Loads the table of groups; once, in the entry block. */
  void bind();
  /* Adds the tuples of a batch that are alive. */
  void emit(const TupleBatch& b);
  /* If is_fused(): adds the tile's `n` (i64) rows that pass the conjuncts, and counts them. */
  void emit_fused_tile(llvm::Value* n, const std::vector<uint32_t>& conjuncts);

 private:
  using Value = llvm::Value;

  void emit_ungrouped(const TupleBatch& b);
  void emit_grouped(const TupleBatch& b);
  TupleBatch of_new_entries(const TupleBatch& b);
  TupleBatch of_unknown_groups(const TupleBatch& b);
  Value* emit_state_sizes(const TupleBatch& b);
  Value* emit_group_hashes(const TupleBatch& b);
  void emit_group_room(const TupleBatch& b, Value* bytes);
  void keep_keys(Value* k);
  void load_keys(Value* k);
  void emit_prefetches(const TupleBatch& b);
  void emit_reserve(const TupleBatch& b);
  void emit_apply(const TupleBatch& b);

  HostTile& tile_;
  const Program& program_;
  RowEmitter& rows_;
  llvm::IRBuilder<>& ir_;
  Accumulators accumulators_;
  GroupTableEmitter groups_;
  Value* table_ = nullptr;
  Value* unknown_ = nullptr;  // scratch memory: places whose entry has no group yet; null: entries have none
  /* Scratch memory of the keys that are kept from their hash to their look-up: a value and a byte per tuple. */
  struct KeptKey {
    Value *values = nullptr, *nulls = nullptr;
  };
  std::vector<KeptKey> kept_;
};

}  // namespace turbine
