/*
 * join_probe.h - emits look-ups in a TbJoinTable, for one row.
 *
 * The loops around it branch on the table's kind once a tile (host) or once a
 * row (GPU, where all threads agree); each look-up here is of one kind. The
 * table is immutable and lies in the memory of the device that runs the code.
 */
#pragma once

#include "compiler/codegen/key_values.h"
#include "compiler/codegen/loop_emitter.h"

namespace turbine {

/* What a look-up found. */
struct JoinMatch {
  llvm::Value* hit = nullptr;  // i1
  llvm::Value* row = nullptr;  // i32: of the table; anything where there is no hit
};

class JoinProbe {
 public:
  JoinProbe(RowEmitter& rows, const Program& program, uint32_t join);

  /* Loads the header's fields; once, in the entry block. `tables` as in TbPipelineArgs. */
  void bind(llvm::Value* tables);

  /* i32: TbTableKind, or 0 if the table has no rows. */
  llvm::Value* kind() const { return kind_; }
  bool keyless() const { return join_.nkeys == 0; }
  /* Nothing is looked up: matches are numbers below the key. */
  bool series() const { return join_.kind == TB_JOIN_SERIES; }
  /* One key of a type that DENSE and DIRECT tables are made for. */
  bool integer_key() const;
  /* All keys can be evaluated in a vectorised loop. */
  bool dense_keys() const;

  /* Evaluates the probe keys of the current row: once, before a look-up. */
  void eval_keys();
  /* Loads carry this access group, if given (parallel loops). */
  void access_group(llvm::MDNode* group) { group_ = group; }

  JoinMatch dense();
  JoinMatch direct();
  JoinMatch first_of_all();
  JoinMatch first_of_series();
  llvm::Value* hash();
  void prefetch(llvm::Value* hash);
  JoinMatch hashed(llvm::Value* hash);
  /* The same in two steps, so that the keys' memory can be on its way between them:
   * the first row whose bucket has the hash's tag (i32, TB_NONE: no match at all), and
   * the look-up that is told it. */
  llvm::Value* candidate(llvm::Value* hash);
  void prefetch_keys(llvm::Value* candidate);
  JoinMatch hashed_at(llvm::Value* candidate, llvm::Value* hash);
  /* The match of a hashed table is noted by the entry of the row's text. The keys are evaluated if nobody has noted it.
   */
  bool by_entry() const { return rows_.notes_match(index_); }
  JoinMatch noted();
  /* Evaluates the keys and looks up, whatever the kind is, branching on it: for code that has one row. */
  JoinMatch any_kind();

  /* The next row of equal keys (i32), or TB_NONE; `row` may be TB_NONE. Of a series the number
   * that follows `row` for the current row's key, which is evaluated again. */
  llvm::Value* next(llvm::Value* row);

 private:
  llvm::Value* mark(llvm::Value* loaded);
  llvm::Value* field(llvm::Type* type, uint64_t offset);
  llvm::Value* keys_equal(llvm::Value* row);
  llvm::Value* next_of_series(llvm::Value* number);
  JoinMatch in_span(llvm::Value** place);

  RowEmitter& rows_;
  const TbJoin& join_;
  const uint32_t index_;
  llvm::SmallVector<uint32_t, 4> exprs_, types_;
  llvm::SmallVector<RowValue, 4> keys_;
  llvm::Value* any_null_ = nullptr;
  llvm::MDNode* group_ = nullptr;
  llvm::Value *table_ = nullptr, *kind_ = nullptr, *nrows_ = nullptr, *key_min_ = nullptr, *key_span_ = nullptr;
  llvm::Value *bucket_mask_ = nullptr, *buckets_ = nullptr, *next_ = nullptr, *has_next_ = nullptr, *bytes_ = nullptr;
  llvm::SmallVector<llvm::Value*, 4> key_values_;
};

}  // namespace turbine
