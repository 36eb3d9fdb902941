/*
 * pipeline_host.h - the emitter of tb_pipeline, which several files implement:
 *
 *   pipeline_host.cc       tiles, filters, room
 *   join_lookup.cc         joins that keep or drop a tuple, and heads of chains
 *   join_expand.cc         joins that fan out
 *   aggregate_sink.cc      ungrouped and grouped aggregates
 *   row_store_sink.cc      PROJECT, BUILD
 *
 * Emission follows the data: each step emits its loops over the batch that it is
 * given, then the rest of the pipeline; a join that fans out does so inside its
 * own loop.
 */
#pragma once

#include "compiler/codegen/full_join.h"
#include "compiler/codegen/join_plan.h"
#include "compiler/codegen/join_probe.h"
#include "compiler/codegen/pipeline.h"
#include "compiler/codegen/row_store.h"
#include "compiler/codegen/tuple_batch.h"
#include "turbine/kernel.h"

namespace turbine {

class HostPipeline {
 public:
  HostPipeline(ModuleBuilder& builder, const Program& program, const GroupLayout& layout);
  void emit();

 private:
  using Value = llvm::Value;
  /* Matches that a residual is asked about before `stop` is looked at again: a millisecond or so. */
  static constexpr uint32_t kCandidates = 64 << 10;

  Value* field(llvm::Type* type, uint64_t offset) { return rows_.load(type, args_, offset); }
  Value* take_scratch(uint64_t bytes);
  Value* take_words() { return take_scratch(4 * TB_TILE_ROWS); }
  Value* word_at(Value* words, Value* i) { return rows_.index(ir_.getInt32Ty(), words, i); }
  void or_errors(Value* bits);
  void add_to(uint64_t offset, Value* amount);

  void bind();
  void emit_tile(Value* n);
  /* Starts the k-th tuple that is alive; returns its place (i64). */
  Value* begin_tuple(const TupleBatch& b, Value* k, llvm::MDNode* access_group = nullptr);
  TupleBatch new_batch();
  /* Asks for room for `rows` more groups or stored rows and `bytes` of text where
   * `enough` (i1) does not hold. */
  void emit_room(Value* enough, Value* rows, Value* bytes);
  /* Returns from the pipeline if nobody wants its result any more. */
  void emit_stop_check();

  /* Those of a place among the joins, see JoinPlan; later ones in one pass. */
  void emit_filters_after(size_t j, TupleBatch& b);
  void emit_dense_filter(TupleBatch& b, const std::vector<uint32_t>& conjuncts);
  void emit_selective_filter(TupleBatch& b, const std::vector<uint32_t>& conjuncts, Value* passed_over);
  void select_by_mask(TupleBatch& b);

  void emit_joins(size_t j, TupleBatch b);
  /* join_lookup.cc */
  void emit_lookup(size_t j, TupleBatch& b);
  using Lookup = llvm::function_ref<JoinMatch(Value* k)>;
  Carried emit_lookup_loop(size_t j, const TupleBatch& in, bool branch_free, Lookup lookup);
  Carried emit_lookup_mask(size_t j, const TupleBatch& in, Lookup lookup);
  Carried emit_lookup_list(size_t j, const TupleBatch& in, Lookup lookup);
  Carried emit_lookup_hashed(size_t j, const TupleBatch& in);
  Carried emit_lookup_empty(size_t j, const TupleBatch& in);
  Carried emit_lookup_given(size_t j, const TupleBatch& in);
  Carried emit_all_stay(size_t j, const TupleBatch& in, llvm::function_ref<Value*(Value* row)> match);
  void emit_marks(size_t j, const TupleBatch& b);
  JoinMatch check_residual(size_t j, JoinMatch match);
  JoinMatch walk_chain(size_t j, JoinMatch head);
  bool keeps_all(size_t j) const { return program_.joins()[j].kind == TB_JOIN_LEFT || full_.is_full(j); }
  bool walks_chain(size_t j) const;
  /* join_expand.cc */
  void emit_expansion(size_t j, const TupleBatch& in);
  Carried fill_batch(size_t j, const TupleBatch& in, const TupleBatch& out, const Carried& start);
  Carried fill_one(size_t j, const TupleBatch& in, const TupleBatch& out, const Carried& now);

  void emit_rows_sink(const TupleBatch& b);
  void emit_sink(const TupleBatch& b);
  /* aggregate_sink.cc */
  bool fused() const;
  void emit_fused_tile(Value* n);
  void emit_ungrouped_sink(const TupleBatch& b);
  void emit_grouped_sink(const TupleBatch& b);
  Value* emit_state_sizes(const TupleBatch& b);
  Value* emit_group_hashes(const TupleBatch& b);
  void emit_group_room(const TupleBatch& b, Value* bytes);
  void emit_reserve(const TupleBatch& b);
  void emit_apply(const TupleBatch& b);
  /* row_store_sink.cc */
  void emit_store_sink(TupleBatch b);
  void drop_null_keys(TupleBatch& b);
  Value* emit_text_sizes(const TupleBatch& b);
  void emit_store_hashes(const TupleBatch& b, Value* first);
  void emit_store_column(const TupleBatch& b, size_t column, Value* first);

  ModuleBuilder& builder_;
  const Program& program_;
  llvm::IRBuilder<> ir_;
  RowEmitter rows_;
  Accumulators accumulators_;
  GroupTableEmitter groups_;
  RowStoreEmitter store_;
  JoinPlan plan_;
  FilterPlan first_filters_;  // those before the first join
  std::vector<JoinProbe> probes_;
  FullJoins full_;
  uint64_t scratch_used_ = 0;
  Value *args_ = nullptr, *scratch_ = nullptr, *table_ = nullptr, *start_ = nullptr;
  Value *rowids_ = nullptr, *out_rowids_ = nullptr, *stop_ = nullptr;
  Value *mask_ = nullptr, *hashes_ = nullptr, *groups_of_ = nullptr;  // arrays in scratch, free between steps
};

}  // namespace turbine
