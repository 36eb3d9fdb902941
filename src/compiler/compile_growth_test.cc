/*
 * compile_growth_test.cc - what a compilation has to do grows with the program, and no faster.
 *
 * Counted in instructions, since times depend on what else the machine does: those of all functions together grow as
 * the expression does, and those of the largest function do not grow at all, because passes take longer than in
 * proportion to it. Both targets, in full and quickly.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/jit/compile_program.h"
#include "engine/program/testing/program_writer.h"

namespace turbine {
namespace {

using testing::ProgramWriter;

struct Size {
  size_t all = 0, largest = 0;
};

/* In IR as text an instruction is an indented line of a function. */
Size instructions_of(const std::string& ir) {
  Size size;
  size_t here = 0;
  std::istringstream lines(ir);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("define ", 0) == 0) here = 0;
    if (line.rfind("  ", 0) != 0) continue;
    size.all++;
    size.largest = std::max(size.largest, ++here);
  }
  return size;
}

/* Makes an expression of n operands; what it needs of the program it adds. */
using Shape = std::function<uint32_t(ProgramWriter& w, uint32_t column, uint32_t n)>;

constexpr uint8_t kInt = TB_TYPE_INT4;

uint32_t condition(ProgramWriter& w, uint32_t column) {
  return w.call(TB_FN_INT4EQ, {w.call(TB_FN_INT4MOD, {column, w.param(kInt)}), w.param(kInt)});
}

uint32_t list(ProgramWriter& w, uint8_t op, uint32_t n, const std::function<uint32_t()>& operand) {
  std::vector<uint32_t> operands;
  for (uint32_t i = 0; i < n; i++) operands.push_back(operand());
  return w.expr(op, w.exprs[operands[0]].type, TB_EX_NULLABLE, 0, operands);
}

uint32_t case_of(ProgramWriter& w, uint32_t n, const std::function<uint32_t()>& condition_of_arm) {
  std::vector<uint32_t> operands;
  for (uint32_t i = 0; i < n; i++) {
    operands.push_back(condition_of_arm());
    operands.push_back(w.param(kInt));
  }
  operands.push_back(w.param(kInt));
  return w.expr(TB_EXPR_CASE, kInt, TB_EX_NULLABLE, 0, operands);
}

uint32_t searched_case(ProgramWriter& w, uint32_t column, uint32_t n) {
  return case_of(w, n, [&] { return condition(w, column); });
}

/* CASE f(column) WHEN ... */
uint32_t simple_case(ProgramWriter& w, uint32_t column, uint32_t n) {
  const uint32_t value = w.call(TB_FN_INT4MOD, {column, w.param(kInt)});
  return case_of(w, n, [&] { return w.call(TB_FN_INT4EQ, {value, w.param(kInt)}); });
}

uint32_t any_of(ProgramWriter& w, uint32_t column, uint32_t n) {
  return list(w, TB_EXPR_OR, n, [&] { return condition(w, column); });
}

uint32_t all_of(ProgramWriter& w, uint32_t column, uint32_t n) {
  return list(w, TB_EXPR_AND, n, [&] { return condition(w, column); });
}

uint32_t coalesce(ProgramWriter& w, uint32_t column, uint32_t n) {
  return list(w, TB_EXPR_COALESCE, n, [&] {
    const uint32_t null = w.param(kInt, 0, TB_PARAM_NULLABLE);
    return w.expr(TB_EXPR_CASE, kInt, TB_EX_NULLABLE, 0, {condition(w, column), w.param(kInt), null});
  });
}

uint32_t nested_case(ProgramWriter& w, uint32_t column, uint32_t n) {
  uint32_t e = w.param(kInt);
  for (uint32_t i = 0; i < n; i++)
    e = w.expr(TB_EXPR_CASE, kInt, TB_EX_NULLABLE, 0, {condition(w, column), w.param(kInt), e});
  return e;
}

uint32_t deep_sum(ProgramWriter& w, uint32_t column, uint32_t n) {
  uint32_t e = column;
  for (uint32_t i = 0; i < n; i++) e = w.call(i % 2 ? TB_FN_INT4PL : TB_FN_INT4DIV, {e, w.param(kInt)});
  return e;
}

struct Case {
  const char* name;
  Shape shape;
};

const Case kCases[] = {{"CASE WHEN", searched_case}, {"CASE f WHEN", simple_case}, {"OR", any_of},   {"AND", all_of},
                       {"COALESCE", coalesce},       {"nested CASE", nested_case}, {"sum", deep_sum}};

Size compiled_size(const Shape& shape, uint32_t n, TbTarget target, TbEffort effort) {
  ProgramWriter w;
  const uint32_t column = w.column(kInt, true);
  w.keys = {shape(w, column, n)};
  w.aggregate(TB_AGG_COUNT);
  const Program program = Program::parse(w.blob(TB_SINK_AGGREGATE));
  return instructions_of(compile_program(program, target, "", "", effort, true).optimized_ir);
}

void expect_linear(const Case& c, TbTarget target, TbEffort effort) {
  SCOPED_TRACE(c.name);
  constexpr uint32_t kOperands = 64;
  const Size one = compiled_size(c.shape, kOperands, target, effort);
  const Size four = compiled_size(c.shape, 4 * kOperands, target, effort);
  EXPECT_LT(four.all, 5 * one.all);
  // Two levels of functions where there was one, say; not more.
  EXPECT_LT(four.largest, one.largest * 3 / 2);
}

TEST(CompileGrowth, HostInFull) {
  for (const Case& c : kCases) expect_linear(c, TB_TARGET_HOST, TB_EFFORT_FULL);
}

TEST(CompileGrowth, HostQuickly) {
  for (const Case& c : kCases) expect_linear(c, TB_TARGET_HOST, TB_EFFORT_QUICK);
}

TEST(CompileGrowth, Ptx) {
  for (const Case& c : kCases) expect_linear(c, TB_TARGET_PTX, TB_EFFORT_FULL);
}

/* A CASE over a CASE over a CASE: each is written once, and used by all arms of the next. */
TEST(CompileGrowth, SharedOperandsAreNotRepeated) {
  auto tower = [](ProgramWriter& w, uint32_t column, uint32_t levels) {
    uint32_t value = column;
    for (uint32_t i = 0; i < levels; i++) value = simple_case(w, value, 12);
    return value;
  };
  for (TbTarget target : {TB_TARGET_HOST, TB_TARGET_PTX}) {
    const Size two = compiled_size(tower, 2, target, TB_EFFORT_QUICK);
    const Size eight = compiled_size(tower, 8, target, TB_EFFORT_QUICK);
    EXPECT_LT(eight.all, 6 * two.all);
  }
}

}  // namespace
}  // namespace turbine
