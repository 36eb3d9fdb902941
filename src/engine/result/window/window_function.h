/*
 * window_function.h - what a window function takes and what it makes.
 *
 * Used as a result plan is checked, before any row is read: the shapes that it gives are
 * what window_pass.cc relies on later.
 */
#pragma once

#include <vector>

#include "engine/result/plan/column_shape.h"
#include "turbine/result.h"

namespace turbine {

/* The function's column, over rows of `columns`, in a pass with this frame.
 * Throws ProgramError if it cannot be: kinds, columns, types, numbers. */
ColumnShape window_column(const TbWindowFunction& function, const TbWindowPass& pass,
                          const std::vector<ColumnShape>& columns);

}  // namespace turbine
