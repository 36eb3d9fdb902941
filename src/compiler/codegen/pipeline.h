/*
 * pipeline.h - the two shapes of a pipeline over a chunk's columns.
 *
 * Both use the same emitters for a row's values (row_emitter.h), aggregate
 * states (accumulators.h) and groups (group_table.h); they differ in the loops:
 *
 * Host: tiles of TB_TILE_ROWS rows that stay in L2. Dense conjuncts fill a byte
 * mask in one vectorised loop, the mask becomes a selection vector, expensive
 * conjuncts shrink it, the sink runs over it. An ungrouped aggregate whose
 * arguments are dense too is one loop without mask or selection. Joins work on
 * the selection too (pipeline_host.h).
 *
 * GPU: a grid-stride loop, a row a thread; the next conjunct's columns are
 * loaded only where the earlier ones hold. Programs with joins, or with the sink
 * PROJECT, make tuples of their rows first, and the sink runs over those.
 */
#pragma once

#include "compiler/codegen/filter.h"
#include "compiler/codegen/group_table.h"

namespace turbine {

void emit_host_pipeline(ModuleBuilder& builder, const Program& program, const GroupLayout& layout);
void emit_gpu_pipeline(ModuleBuilder& builder, const Program& program, const GroupLayout& layout);

}  // namespace turbine
