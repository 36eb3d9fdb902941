/*
 * accumulators.h - emits aggregate states: in registers for ungrouped aggregation, in group rows
 * for grouped.
 *
 * Registers: a loop carries a few values for every aggregate. step() combines a row into them
 * without a branch, so that host loops vectorise; only MIN and MAX of text branch, since their
 * states are in memory. fold() combines the values into the state row once per tile on the host.
 * fold_atomic() does so once per thread on the GPU.
 *
 * A 64-bit value that is summed to 128 bits is carried as two sums: of its low 32 bits (unsigned)
 * and of its high 32 bits (signed). They are exact for 2^31 rows, and vectorise where a 128-bit add
 * does not.
 *
 * Float minima and maxima are carried as integers in PostgreSQL's order: NaN (one bit pattern) is
 * above infinity.
 */
#pragma once

#include "compiler/codegen/loop_emitter.h"
#include "engine/program/group_layout.h"

namespace turbine {

/* One aggregate's argument for a row. `pass`: i1, the row counts for it. */
struct AggInput {
  llvm::Value* value = nullptr;  // as in registers; nullptr for count(*)
  llvm::Value* length = nullptr;  // text only
  llvm::Value* pass = nullptr;   // nullptr: always
};

class Accumulators {
 public:
  Accumulators(RowEmitter& rows, const Program& program, const GroupLayout& layout)
      : rows_(rows), program_(program), layout_(layout) {}

  /* The table whose arena holds text states (host); before init() or apply(). */
  void bind(llvm::Value* table) { table_ = table; }
  /* Some state is a text: its bytes need room in the arena before a tile. */
  bool has_text_states() const;
  /* i64: arena bytes that the current row may need for text states. */
  llvm::Value* text_state_bytes(llvm::Value* row_passes);

  /* Evaluates argument and FILTER of aggregate `i` for the current row. */
  AggInput input(size_t i, llvm::Value* row_passes);

  /* Carried values at the start; TB_ERR_* bits are the last one. */
  Carried init();
  /* Combines the current row, which counts where `row_passes` (nullptr: always). */
  Carried step(const Carried& carried, llvm::Value* row_passes);
  /* Host: combines carried values into the state row; returns TB_ERR_* bits. */
  llvm::Value* fold(const Carried& carried, llvm::Value* state_row);
  /* GPU: the same by atomics, from every thread of a warp together. */
  llvm::Value* fold_atomic(const Carried& carried, llvm::Value* state_row);

  /* Host: combines one row straight into a group's row; returns TB_ERR_* bits
   * or nullptr. */
  llvm::Value* apply(size_t i, const AggInput& input, llvm::Value* group_row);
  /* GPU: the same by atomics, combined first over the warp's lanes of the same
   * group (`peers`: i32 mask); all of them arrive together. */
  llvm::Value* apply_atomic(size_t i, const AggInput& input, llvm::Value* group_row, llvm::Value* peers);

  /* GPU: writes the states' identities into a fresh row, so that apply_atomic
   * needs no look at the valid byte. */
  void write_identities(llvm::Value* group_row);

 private:
  bool min_max(const TbAgg& agg) const { return agg.kind == TB_AGG_MIN || agg.kind == TB_AGG_MAX; }
  bool is_float(uint32_t type) const { return type == TB_TYPE_FLOAT4 || type == TB_TYPE_FLOAT8; }
  llvm::Value* to_key(uint32_t type, llvm::Value* v);    // floats: ordered integer
  llvm::Value* from_key(uint32_t type, llvm::Value* key);
  llvm::Constant* key_identity(const TbAgg& agg);
  llvm::Value* better(const TbAgg& agg, llvm::Value* a, llvm::Value* b);  // a before b
  llvm::Value* too_large_for_sum(uint32_t type, llvm::Value* v);
  llvm::Value* finite_magnitude(llvm::Value* v);
  llvm::Value* reaches_sum_limit(uint32_t type, llvm::Value* largest);
  static uint64_t magnitude_offset();
  llvm::Value* overflow_if(llvm::Value* cond, uint32_t bit);
  llvm::Value* combine_sum_wide(llvm::Value* sum, llvm::Value* state_row, const GroupField& field);
  llvm::Value* wide_sum(const TbAgg& agg, const Carried& carried, size_t at);
  llvm::Value* too_wide_for_atomics(llvm::Value* v);
  void require_supported(const TbAgg& agg);
  bool text_state(const TbAgg& agg) const { return min_max(agg) && tb_type_is_text(agg.type); }
  void apply_text(const TbAgg& agg, const GroupField& field, const AggInput& input, llvm::Value* group_row);

  RowEmitter& rows_;
  const Program& program_;
  const GroupLayout& layout_;
  llvm::Value* table_ = nullptr;
};

}  // namespace turbine
