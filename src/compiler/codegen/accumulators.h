/*
 * accumulators.h - emits aggregate states: in registers for ungrouped aggregation, in group rows
 * for grouped.
 *
 * Registers: a loop carries a few values for every aggregate. step() combines a row into them
 * without a branch, so that host loops vectorise; only MIN and MAX of text branch, since their
 * states are in memory. fold() combines the values into the state row once per tile on the host.
 * fold_of_block() does so once per block of threads on the GPU.
 *
 * What is carried for each aggregate is kept small, because a GPU's thread has few registers: the
 * sum or extreme alone. Whether there was a value is a counter or bit of all aggregates that see
 * the same rows, and the largest value summed is one for all sums of a type.
 *
 * A 64-bit value that is summed to 128 bits is carried as two sums: of its low 32 bits (unsigned)
 * and of its high 32 bits (signed). They are exact for 2^31 rows, and vectorise where a 128-bit add
 * does not.
 *
 * Float minima and maxima are carried as integers in PostgreSQL's order: NaN (one bit pattern) is
 * above infinity.
 */
#pragma once

#include <optional>
#include <vector>

#include "compiler/codegen/block_fold.h"
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
  Accumulators(RowEmitter& rows, const Program& program, const GroupLayout& layout);

  /* GPU: about how many registers the carried values take. */
  static uint32_t carried_words(const Program& program);

  /* The table whose arena holds text states (host); before init() or apply(). */
  void bind(llvm::Value* table) { table_ = table; }
  /* Some state is a text: its bytes need room in the arena before a tile. */
  bool has_text_states() const { return turbine::has_text_states(program_); }
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
  /* GPU: the same by atomics, from every thread of a block together. `fold` has the states to emit. */
  llvm::Value* fold_of_block(const Carried& carried, llvm::Value* state_row, BlockFold& fold);

  /* Host: combines one row straight into a group's row; returns TB_ERR_* bits
   * or nullptr. */
  llvm::Value* apply(size_t i, const AggInput& input, llvm::Value* group_row);
  /* GPU: the same by atomics, combined first over the warp's lanes of the same
   * group (`peers`: i32 mask); all of them arrive together. */
  llvm::Value* apply_atomic(size_t i, const AggInput& input, llvm::Value* group_row, llvm::Value* peers);

  /* GPU: MIN and MAX of text are combined where groups are reserved, since they take memory. This does so by atomics,
   * with `table` full if there was no room; apply_atomic and step leave them out. Doing so again for the same rows
   * changes nothing. */
  void reserve_texts(llvm::Value* table, llvm::Value* group_row, llvm::Value* peers);
  /* The same of all rows of a thread (ungrouped): carried are a text and its length for each such state. */
  Carried init_texts();
  Carried step_texts(const Carried& carried);
  void reserve_texts_of_warp(const Carried& carried, llvm::Value* table, llvm::Value* state_row);

  /* GPU: writes the states' identities into a fresh row, so that apply_atomic
   * needs no look at the valid byte. */
  void write_identities(llvm::Value* group_row);

 private:
  bool min_max(const TbAgg& agg) const { return agg.kind == TB_AGG_MIN || agg.kind == TB_AGG_MAX; }
  bool is_float(uint32_t type) const { return type == TB_TYPE_FLOAT4 || type == TB_TYPE_FLOAT8; }
  llvm::Value* to_key(uint32_t type, llvm::Value* v);  // floats: ordered integer
  llvm::Value* from_key(uint32_t type, llvm::Value* key);
  llvm::Constant* key_identity(const TbAgg& agg);
  llvm::Value* better(const TbAgg& agg, llvm::Value* a, llvm::Value* b);  // a before b
  llvm::Value* too_large_for_sum(uint32_t type, llvm::Value* v);
  llvm::Value* finite_magnitude(llvm::Value* v);
  llvm::Value* reaches_sum_limit(uint32_t type, llvm::Value* largest);
  llvm::ConstantInt* magnitude_of(double v);
  llvm::Value* overflow_if(llvm::Value* cond, uint32_t bit);
  llvm::Value* combine_sum_wide(llvm::Value* sum, llvm::Value* state_row, const GroupField& field);
  llvm::Value* wide_sum(const TbAgg& agg, const Carried& carried, size_t at);
  llvm::Value* too_wide_for_atomics(llvm::Value* v);
  void require_supported(const TbAgg& agg);
  AggInput text_input(size_t i);
  void combine_text(size_t i, const AggInput& input, llvm::Value* table, llvm::Value* group_row, llvm::Value* peers);
  void apply_text(const TbAgg& agg, const GroupField& field, const AggInput& input, llvm::Value* group_row);

  void note_seen(size_t which, llvm::Value* pass, Carried& carried);
  llvm::Value* rows_seen(size_t i, const Carried& carried);
  llvm::Value* errors_of(const Carried& carried);
  void mark_states(const Carried& carried, llvm::Value* state_row);

  /* Aggregates with the same FILTER see the same rows if their arguments are never NULL, or are the same. */
  struct SeenRows {
    uint32_t filter, null_of;  // expressions or TB_NONE
    bool counted;  // else only marked that there was one
    size_t at;  // of the counter
  };
  llvm::Type* count_type() { return gpu_ ? rows_.ir().getInt32Ty() : rows_.ir().getInt64Ty(); }
  std::optional<size_t>& largest_at(const TbAgg& agg) {
    return agg.type == TB_TYPE_FLOAT4 ? largest_float4_ : largest_float8_;
  }

  RowEmitter& rows_;
  const Program& program_;
  const GroupLayout& layout_;
  const bool gpu_;
  // Places in Carried: the aggregates' values, counters, marks (GPU: bit i of SeenRows i), the largest
  // finite_magnitude() of each type's sums, TB_ERR_* bits.
  std::vector<size_t> value_at_, seen_of_;  // by aggregate
  std::vector<SeenRows> seen_;
  size_t marks_at_ = 0;
  std::optional<size_t> largest_float4_, largest_float8_;
  llvm::Value* table_ = nullptr;
};

}  // namespace turbine
