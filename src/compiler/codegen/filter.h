/*
 * filter.h - splits a program's conjuncts into those that one dense loop over a tile evaluates at
 * once, and those that deserve a selection first.
 *
 * A conjunct is dense if it is cheap, vectorisable, and made of fixed-width values. The dense loop
 * takes the longest dense prefix in PostgreSQL's order, and of the later dense conjuncts those that
 * cannot raise. So no conjunct raises for a row that PostgreSQL would have dropped before. But a
 * later dense conjunct may drop a row for which an earlier, selective one would have raised.
 */
#pragma once

#include "compiler/codegen/row_emitter.h"

namespace turbine {

/* May the conjunct leave a row undecided? Of a ROWS program those may that read geometries: what they raise is marked
 * in the row's id (TB_ROWID_UNDECIDED), and is no error of the chunk. */
bool leaves_undecided(const Program& program, uint32_t conjunct);

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
