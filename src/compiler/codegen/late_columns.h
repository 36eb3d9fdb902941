/*
 * late_columns.h - columns of the source that a host pipeline may read as codes.
 *
 * Loops over all rows of a tile are vectorised, and want values side by side. What is read
 * only of rows that a filter or join has let pass is better taken from its codes, one by
 * one: most of it is never looked at. So is text, which no such loop reads.
 */
#pragma once

#include <vector>

#include "compiler/codegen/join_plan.h"
#include "compiler/codegen/module_builder.h"

namespace turbine {

/* By column of the program: of the source, text or taken for integers, and never read by a loop
 * over all rows. `fused`: the whole program is such a loop. */
std::vector<bool> late_columns(const Program& program, const JoinPlan& plan, bool fused);

/* The symbol that tells of them, see kernel.h. */
void emit_late_columns(ModuleBuilder& builder, const std::vector<bool>& late);

}  // namespace turbine
