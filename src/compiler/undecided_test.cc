/*
 * undecided_test.cc - what PostgreSQL decides: rows of a ROWS program whose conjuncts on geometries raise are marked,
 * in order, and no later conjunct is asked; POSSIBLE and UNDECIDED make the errors of a condition values.
 */
#include <gtest/gtest.h>

#include <numeric>

#include "compiler/testing/compiled_pipeline.h"
#include "compiler/testing/growing_store.h"
#include "engine/program/testing/program_writer.h"
#include "turbine/functions.h"
#include "turbine/point_column.h"

namespace turbine {
namespace {

using namespace testing;

constexpr uint32_t kUndecidedRowCounts[] = {0, 1, 31, 33, TB_TILE_ROWS - 1, TB_TILE_ROWS + 1, 3 * TB_TILE_ROWS + 7};

/* Points (x, 0) and (parameter, 0): GEOS decides whether they touch if they are the same, else they do not. */
class PointWriter {
 public:
  ProgramWriter w;
  const uint32_t x = w.column(TB_TYPE_FLOAT8), zero = w.param(TB_TYPE_FLOAT8);
  std::vector<double> values{0};

  uint32_t call(uint32_t function, double with) {
    values.push_back(with);
    const uint32_t other = point(w.param(TB_TYPE_FLOAT8));
    return w.call(function, {point(x), other});
  }
  uint32_t negated(uint32_t condition) { return w.expr(TB_EXPR_NOT, TB_TYPE_BOOL, 0, 0, {condition}); }
  std::string params() const {
    ParamWriter p;
    for (double value : values) p.scalar(&value, sizeof value);
    return p.block();
  }

 private:
  uint32_t point(uint32_t x_of_point) {
    return w.expr(TB_EXPR_POINT, TB_TYPE_GEOMETRY, 0, tb_point_form(0, 0, 0), {x_of_point, zero});
  }
};

std::vector<double> by_row(uint32_t rows) {
  std::vector<double> x(rows);
  for (uint32_t i = 0; i < rows; i++) x[i] = i % 7;
  return x;
}

TEST(Undecided, RowsAreMarkedInOrder) {
  PointWriter p;
  // 2: undecided. 4: dropped. 5: undecided. 2 is never asked whether it is 2 or below.
  p.w.filters = {p.negated(p.call(TB_FN_ST_TOUCHES, 2)), p.negated(p.call(TB_FN_ST_INTERSECTS, 4)),
                 p.negated(p.call(TB_FN_ST_INTERSECTS, 2)), p.negated(p.call(TB_FN_ST_CROSSES, 5)),
                 p.negated(p.call(TB_FN_ST_INTERSECTS, 6))};
  const CompiledPipeline code(p.w.blob(TB_SINK_ROWS));
  EXPECT_TRUE(code.has_kernel("tb_rows"));
  const std::string params = p.params();
  for (uint32_t rows : kUndecidedRowCounts) {
    std::vector<double> x = by_row(rows);
    std::vector<uint32_t> ids(rows + 1), out(rows + 1), expected;
    for (uint32_t i = 0; i < rows; i++) {
      ids[i] = TB_ROWID(i / 100, 1 + i % 100);
      const auto kind = static_cast<int>(x[i]);
      if (kind != 4 && kind != 6) expected.push_back(ids[i] | (kind == 2 || kind == 5 ? TB_ROWID_UNDECIDED : 0));
    }
    const std::vector<TbColumnData> columns{{x.data(), nullptr}};
    PipelineCall run(columns, rows, params);
    run.args.rowids = ids.data();
    run.args.out_rowids = out.data();
    code.pipeline(&run.args);
    out.resize(run.args.nout);
    EXPECT_EQ(out, expected) << rows << " rows";
    EXPECT_EQ(run.args.errors, 0u);
  }
}

/* Of other errors the chunk is told, as ever. */
TEST(Undecided, OtherErrorsAreTheChunks) {
  ProgramWriter w;
  const uint32_t a = w.column(TB_TYPE_FLOAT8), b = w.param(TB_TYPE_FLOAT8);
  w.filters = {w.call(TB_FN_FLOAT8LT, {w.call(TB_FN_FLOAT8DIV, {b, a}), b})};
  const CompiledPipeline code(w.blob(TB_SINK_ROWS));
  ParamWriter p;
  const double one = 1;
  p.scalar(&one, sizeof one);
  const std::string params = p.block();
  std::vector<double> x = {1, 0, 3};
  std::vector<uint32_t> ids = {1, 2, 3}, out(3);
  const std::vector<TbColumnData> columns{{x.data(), nullptr}};
  PipelineCall run(columns, 3, params);
  run.args.rowids = ids.data();
  run.args.out_rowids = out.data();
  code.pipeline(&run.args);
  EXPECT_NE(run.args.errors, 0u);
}

/* (x touches 2 or is 3) as a value, and whether it is known; with `where`, only of rows that are not 2. */
TEST(Undecided, ErrorsAreValues) {
  for (bool where : {false, true}) {
    PointWriter p;
    const uint32_t condition = p.w.expr(TB_EXPR_OR, TB_TYPE_BOOL, 0, 0,
                                        {p.call(TB_FN_ST_TOUCHES, 5), p.call(TB_FN_ST_INTERSECTS, 3)});
    std::vector<uint32_t> operands = {condition};
    if (where) operands.push_back(p.negated(p.call(TB_FN_ST_INTERSECTS, 2)));
    const uint32_t undecided = p.w.expr(TB_EXPR_UNDECIDED, TB_TYPE_BOOL, 0, 0, operands);
    const uint32_t possible = p.w.expr(TB_EXPR_POSSIBLE, TB_TYPE_BOOL, 0, 0, operands);
    for (uint32_t expr : {undecided, possible}) p.w.exprs[expr].flags = expr == possible && where ? TB_EX_RAISES : 0;
    p.w.outputs = {p.x, possible, undecided};
    const CompiledPipeline code(p.w.blob(TB_SINK_PROJECT));
    const std::string params = p.params();
    std::vector<double> x = by_row(TB_TILE_ROWS + 5);
    const std::vector<TbColumnData> columns{{x.data(), nullptr}};
    GrowingStore store(code.program());
    PipelineCall run(columns, static_cast<uint32_t>(x.size()), params);
    run.args.store = &store.s;
    run.args.make_room = GrowingStore::make_room;
    code.pipeline(&run.args);
    EXPECT_EQ(run.args.errors, 0u);
    ASSERT_EQ(store.s.nrows, x.size());
    for (uint64_t row = 0; row < store.s.nrows; row++) {
      const auto kind = static_cast<int>(value_of<double>(store.read(0, row)));
      EXPECT_EQ(value_of<uint8_t>(store.read(1, row)), kind == 3 || kind == 5 ? 1 : 0) << kind;
      EXPECT_EQ(value_of<uint8_t>(store.read(2, row)), kind == 5 ? 1 : 0) << kind;
    }
  }
  // Where the second operand is false, the error is one.
  PointWriter p;
  const uint32_t touches = p.call(TB_FN_ST_TOUCHES, 5);
  p.w.outputs = {
      p.w.expr(TB_EXPR_POSSIBLE, TB_TYPE_BOOL, TB_EX_RAISES, 0, {touches, p.negated(p.call(TB_FN_ST_INTERSECTS, 5))})};
  const CompiledPipeline code(p.w.blob(TB_SINK_PROJECT));
  const std::string params = p.params();
  for (double value : {4.0, 5.0}) {
    const std::vector<TbColumnData> columns{{&value, nullptr}};
    GrowingStore store(code.program());
    PipelineCall run(columns, 1, params);
    run.args.store = &store.s;
    run.args.make_room = GrowingStore::make_room;
    code.pipeline(&run.args);
    EXPECT_EQ(run.args.errors, value == 5 ? uint32_t{TB_ERR_UNREPRESENTABLE} : 0u);
  }
}

}  // namespace
}  // namespace turbine
