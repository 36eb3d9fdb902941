/*
 * full_join.h - what FULL joins add to a pipeline, on either target.
 *
 * When a row of a FULL join's table is a match, its byte is set (mark()). Once all rows of the
 * source are through, the pipeline runs over the table's rows without a byte. Their chunks bring no
 * columns: all columns of the source are NULL, and their tuples begin behind the join. So these
 * tuples pass over the code of earlier joins and filters (passes_over()). The code that follows is
 * the same for both kinds of tuples.
 */
#pragma once

#include "compiler/codegen/loop_emitter.h"

namespace turbine {

class FullJoins {
 public:
  FullJoins(RowEmitter& rows, const Program& program);

  /* Loads the arguments; once, in the entry block. */
  void bind(llvm::Value* args, llvm::Value* tables);

  /* May tuples begin at this join, or behind it? */
  bool reaches(size_t join) const { return join < end_; }
  bool is_full(size_t join) const { return program_.joins()[join].kind == TB_JOIN_FULL; }

  /* i1, of joins that are reached: there is nothing to look up. The match is then the
   * row that the tuple begins with, or TB_NONE; `row`: i64, of the chunk. */
  llvm::Value* is_given(size_t join);
  llvm::Value* given_match(size_t join, llvm::Value* row);

  /* i1, or nullptr for never: tuples begin behind the filters that stand there, as
   * JoinPlan::filters has them. */
  llvm::Value* passes_over(size_t filters);

  /* i64: what is counted of `amount` rows of the source, or tuples after a join. */
  llvm::Value* counted_rows(llvm::Value* amount);
  llvm::Value* counted(size_t join, llvm::Value* amount);

  /* The row of a FULL join's table, or TB_NONE (i32), is a match, unless it is given: a
   * GPU may probe rows again, and must find those as they were. */
  void mark(size_t join, llvm::Value* match);
  /* i1, GPU: the chunk's row is a row of a table that has been a match. */
  llvm::Value* is_matched(llvm::Value* row);

 private:
  llvm::Value* byte(llvm::Value* bytes, llvm::Value* row);

  RowEmitter& rows_;
  const Program& program_;
  const size_t end_;
  llvm::Value *pass_ = nullptr, *unmatched_ = nullptr, *first_ = nullptr, *seen_ = nullptr;
  std::vector<llvm::Value*> matched_, nrows_;
};

}  // namespace turbine
