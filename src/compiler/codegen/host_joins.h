/*
 * host_joins.h - the joins of the host's tb_pipeline, with the filters between them.
 *
 * A join first looks up the first match of every tuple of a batch. That is all for joins that keep or drop tuples
 * (unique INNER, LEFT and FULL, SEMI, ANTI). Joins that fan out take these matches as heads of chains, fill
 * batches of their own, and have the rest of the pipeline inside their loop.
 */
#pragma once

#include "compiler/codegen/full_join.h"
#include "compiler/codegen/host_tile.h"
#include "compiler/codegen/join_plan.h"
#include "compiler/codegen/join_probe.h"

namespace turbine {

class HostJoins {
 public:
  HostJoins(HostTile& tile, const JoinPlan& plan);

  /* Loads the arguments; once, in the entry block. `tables`: nullptr if there are no joins. */
  void bind(llvm::Value* args, llvm::Value* tables);
  /* Which rows of the source only start behind a FULL join. */
  FullJoins& full() { return full_; }

  /* Emits join j and those behind it over the batch, and `sink` wherever tuples have passed the last one. */
  using Sink = llvm::function_ref<void(const TupleBatch& b)>;
  void emit(size_t j, TupleBatch b, Sink sink);

 private:
  using Value = llvm::Value;
  using Lookup = llvm::function_ref<JoinMatch(Value* k)>;

  bool keeps_all(size_t j) const { return program_.joins()[j].kind == TB_JOIN_LEFT || full_.is_full(j); }
  bool walks_chain(size_t j) const;
  void emit_filters_after(size_t j, TupleBatch& b);
  void emit_marks(size_t j, const TupleBatch& b);
  void emit_stop_check();

  /* Look-ups: all return {count, errors}. */
  void emit_lookup(size_t j, TupleBatch& b);
  Carried emit_lookup_loop(size_t j, const TupleBatch& in, bool branch_free, Lookup lookup);
  Carried emit_lookup_mask(size_t j, const TupleBatch& in, Lookup lookup);
  Carried emit_lookup_list(size_t j, const TupleBatch& in, Lookup lookup);
  Carried emit_lookup_hashed(size_t j, const TupleBatch& in);
  Carried emit_lookup_empty(size_t j, const TupleBatch& in);
  Carried emit_all_stay(size_t j, const TupleBatch& in, llvm::function_ref<Value*(Value* row)> match);
  JoinMatch check_residual(size_t j, JoinMatch match);
  JoinMatch walk_chain(size_t j, JoinMatch head);

  /* Joins that fan out. */
  void emit_expansion(size_t j, const TupleBatch& in, Sink sink);
  std::vector<uint32_t> late_texts(size_t j) const;
  void emit_late_residual(size_t j, const std::vector<uint32_t>& texts, TupleBatch& b);
  Carried fill_batch(size_t j, const TupleBatch& in, const TupleBatch& out, const Carried& start);
  Carried fill_one(size_t j, const TupleBatch& in, const TupleBatch& out, const Carried& now);

  HostTile& tile_;
  const Program& program_;
  const JoinPlan& plan_;
  RowEmitter& rows_;
  llvm::IRBuilder<>& ir_;
  std::vector<JoinProbe> probes_;
  FullJoins full_;
  Value* stop_ = nullptr;  // where there are joins: the word that says that nobody wants the result
};

}  // namespace turbine
