/*
 * filter.h - splits a program's conjuncts into what a dense loop over a tile
 * evaluates at once, and what deserves a selection first.
 *
 * Dense: cheap, of fixed-width values, vectorisable. The dense conjuncts are
 * the longest such prefix in PostgreSQL's order, and of the rest those that
 * can not raise; so a row never raises where PostgreSQL would have dropped it
 * before, but for rows that also an earlier expensive conjunct drops.
 */
#pragma once

#include "compiler/codegen/row_emitter.h"

namespace turbine {

struct FilterPlan {
  std::vector<uint32_t> dense;      // in one loop
  std::vector<uint32_t> selective;  // a pass over the selection each
};

/* Cheap and vectorisable. */
bool is_dense(const Program& program, uint32_t expr);
FilterPlan plan_filters(const Program& program, const std::vector<uint32_t>& filters);

/* The conjunction of `conjuncts` for the current row; nullptr: true. Later ones
 * are wanted only where the earlier ones hold. Where `passed_over` (i1, or nullptr for
 * never) holds, none is wanted, and the result is true. */
llvm::Value* emit_conjunction(RowEmitter& rows, const std::vector<uint32_t>& conjuncts,
                              llvm::Value* passed_over = nullptr);

}  // namespace turbine
