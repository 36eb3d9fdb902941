/*
 * pipeline.h - the two shapes of a pipeline over a chunk's columns.
 *
 * Both use the same emitters for a row's values (row_emitter.h), aggregate states (accumulators.h) and groups
 * (group_table.h). They differ in the loops:
 *
 * Host: tiles of TB_TILE_ROWS rows, which stay in L2. Conjuncts that a dense loop can take fill a byte mask in
 * one vectorised loop. The mask becomes a selection vector, expensive conjuncts shrink it, and the sink runs
 * over it. An ungrouped aggregate whose arguments are dense too is one loop without mask or selection. Joins
 * work on the selection too (host_joins.h).
 *
 * GPU: a grid-stride loop with one row per thread. The columns of a conjunct are loaded only if the earlier
 * conjuncts hold. Programs with joins, or with the sink PROJECT, first make tuples of their rows; then the sink
 * runs over the tuples.
 */
#pragma once

#include "compiler/codegen/filter.h"
#include "compiler/codegen/group_table.h"

namespace turbine {

void emit_host_pipeline(ModuleBuilder& builder, const Program& program, const GroupLayout& layout);
void emit_gpu_pipeline(ModuleBuilder& builder, const Program& program, const GroupLayout& layout);

}  // namespace turbine
