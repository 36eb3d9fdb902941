/*
 * program_check.h - the parts of Program::parse(): what a program may not be.
 *
 * Internal to this folder. Each throws ProgramError; in this order, since each
 * relies on what those before have checked.
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/program/program.h"

namespace turbine {

[[noreturn]] inline void program_fail(const std::string& what) { throw ProgramError("program: " + what); }

[[noreturn]] inline void program_fail(const char* kind, size_t index, const std::string& what) {
  program_fail(std::string(kind) + " " + std::to_string(index) + ": " + what);
}

/* Attributes, parameters and columns: what rows consist of. */
void check_row_shape(const Program& program);

/* Expressions, each over operands that precede it. Returns which of them are
 * arrays: those are operands of ANY and ALL only. */
std::vector<bool> check_exprs(const Program& program);

/* Joins, and the sink with its filters: also that no expression is used before
 * the columns that it needs are there. */
void check_joins_and_sink(const Program& program, const std::vector<bool>& is_array);

}  // namespace turbine
