/*
 * compile_time.h - how long compiling a program takes, as far as its size tells.
 *
 * Compiling takes time in proportion to a program's expressions (compiler/codegen/expression_parts.h). The figures
 * are of one idle processor. On a busy machine compiling takes longer: CodeDemand::wait is for that.
 */
#pragma once

#include <chrono>

#include "engine/program/program.h"
#include "turbine/compile.h"

namespace turbine {

/* Until code of this effort can run: for a GPU its driver's part included. */
std::chrono::milliseconds expected_compile_time(const Program& program, TbTarget target, TbEffort effort);

}  // namespace turbine
