/*
 * pipeline_test.cc - generated pipelines against scalar loops written here, over
 * {0, 1, 31, 32, 33, tile-1, tile, tile+1, several tiles} rows and no, some and
 * all NULLs; and the PTX of the same programs.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <random>

#include "compiler/testing/compiled_pipeline.h"
#include "compiler/testing/effort.h"
#include "compiler/testing/loaded_object.h"
#include "compiler/testing/growing_groups.h"
#include "engine/program/group_layout.h"
#include "engine/program/testing/program_writer.h"
#include "turbine/kernel.h"

namespace turbine {
namespace {

using testing::CompiledPipeline;
using testing::GrowingGroups;
using testing::ParamWriter;
using testing::PipelineCall;
using testing::ProgramWriter;

constexpr uint32_t kRowCounts[] = {
    0, 1, 31, 32, 33, TB_TILE_ROWS - 1, TB_TILE_ROWS, TB_TILE_ROWS + 1, 3 * TB_TILE_ROWS + 7};

/* A column with the validity that `mode` asks for: 0 no, 1 some, 2 all NULL. */
template <class T>
struct TestColumn {
  std::vector<T> values;
  std::vector<uint8_t> valid;
  TestColumn(uint32_t n, int mode, std::mt19937_64& random, std::function<T()> draw) {
    for (uint32_t i = 0; i < n; i++) {
      values.push_back(draw());
      valid.push_back(mode == 0 ? 1 : mode == 2 ? 0 : random() % 3 != 0);
    }
  }
  TbColumnData data() { return {values.data(), valid.data()}; }
};

template <class T>
T read_at(const uint8_t* row, uint32_t offset) {
  T v;
  std::memcpy(&v, row + offset, sizeof v);
  return v;
}

TEST(Pipeline, RowsThatPassInOrder) {
  ProgramWriter w;
  const uint32_t a = w.column(TB_TYPE_INT4, true), b = w.column(TB_TYPE_FLOAT8, true);
  const uint32_t limit = w.param(TB_TYPE_INT4), top = w.param(TB_TYPE_FLOAT8);
  w.filters = {w.call(TB_FN_INT4LT, {a, limit}), w.call(TB_FN_FLOAT8LT, {b, top})};
  CompiledPipeline code(w.blob(TB_SINK_ROWS));
  EXPECT_NE(code.ptx().find("tb_rows"), std::string::npos);
  std::mt19937_64 random(1);
  ParamWriter p;
  const int32_t l = 100;
  const double t = 0.5;
  p.scalar(&l, 4);
  p.scalar(&t, 8);
  const std::string params = p.block();
  for (uint32_t n : kRowCounts)
    for (int mode : {0, 1, 2}) {
      TestColumn<int32_t> ca(n, mode, random, [&] { return static_cast<int32_t>(random() % 200); });
      TestColumn<double> cb(n, mode, random,
                            [&] { return random() % 7 == 0 ? std::nan("") : (random() % 1000) / 1000.0; });
      std::vector<TbColumnData> columns{ca.data(), cb.data()};
      std::vector<uint32_t> ids(n + 1), out(n + 1), expected;
      for (uint32_t i = 0; i < n; i++) ids[i] = i * 3;
      for (uint32_t i = 0; i < n; i++)
        if (ca.valid[i] && cb.valid[i] && ca.values[i] < l && cb.values[i] < t) expected.push_back(ids[i]);
      PipelineCall run(columns, n, params);
      run.args.rowids = ids.data();
      run.args.out_rowids = out.data();
      code.pipeline(&run.args);
      out.resize(run.args.nout);
      EXPECT_EQ(out, expected) << n << " rows, mode " << mode;
      EXPECT_EQ(run.args.rows_passed, expected.size());
      EXPECT_EQ(run.args.errors, 0u);
    }
}

TEST(Pipeline, ErrorsCountOnlyForLiveRows) {
  ProgramWriter w;
  const uint32_t a = w.column(TB_TYPE_INT4), one = w.param(TB_TYPE_INT4), limit = w.param(TB_TYPE_INT4);
  w.filters = {w.call(TB_FN_INT4LT, {a, limit}), w.call(TB_FN_INT4LT, {w.call(TB_FN_INT4PL, {a, one}), limit})};
  CompiledPipeline code(w.blob(TB_SINK_ROWS));
  for (int32_t limit_value : {10, INT32_MAX}) {
    ParamWriter p;
    const int32_t o = 1;
    p.scalar(&o, 4);
    p.scalar(&limit_value, 4);
    const std::string params = p.block();
    std::vector<int32_t> values(100, 5);
    values[50] = INT32_MAX;      // dropped by the first conjunct either way
    values[60] = INT32_MAX - 1;  // passes it with the high limit; + 1 is no overflow
    std::vector<TbColumnData> columns{{values.data(), nullptr}};
    std::vector<uint32_t> ids(100), out(100);
    PipelineCall run(columns, 100, params);
    run.args.rowids = ids.data();
    run.args.out_rowids = out.data();
    code.pipeline(&run.args);
    EXPECT_EQ(run.args.errors, 0u);
    EXPECT_EQ(run.args.nout, 98u);
  }
  ProgramWriter v;
  const uint32_t c = v.column(TB_TYPE_INT4), d = v.param(TB_TYPE_INT4);
  v.filters = {v.call(TB_FN_INT4LT, {v.call(TB_FN_INT4PL, {c, d}), d})};
  CompiledPipeline raising(v.blob(TB_SINK_ROWS));
  ParamWriter p;
  const int32_t o = 1;
  p.scalar(&o, 4);
  const std::string params = p.block();
  std::vector<int32_t> values(5000, 5);
  values[4321] = INT32_MAX;
  std::vector<TbColumnData> columns{{values.data(), nullptr}};
  std::vector<uint32_t> ids(5000), out(5000);
  PipelineCall run(columns, 5000, params);
  run.args.rowids = ids.data();
  run.args.out_rowids = out.data();
  raising.pipeline(&run.args);
  EXPECT_EQ(run.args.errors, TB_ERR_OVERFLOW);
}

/* greatest(a, b) < least(x, y), NULLs skipped and NaN above all; and hour of local time, whose zone covers nothing. */
TEST(Pipeline, ExtremesAndZones) {
  ProgramWriter w;
  const uint32_t a = w.column(TB_TYPE_INT4, true), b = w.column(TB_TYPE_INT4, true), x = w.column(TB_TYPE_FLOAT8, true),
                 y = w.column(TB_TYPE_FLOAT8, true);
  const uint32_t greatest = w.expr(TB_EXPR_GREATEST, TB_TYPE_INT4, TB_EX_NULLABLE, TB_FN_INT4LT, {a, b});
  const uint32_t least = w.expr(TB_EXPR_LEAST, TB_TYPE_FLOAT8, TB_EX_NULLABLE, TB_FN_FLOAT8LT, {x, y});
  const uint32_t as_double = w.expr(TB_EXPR_CALL, TB_TYPE_FLOAT8, TB_EX_NULLABLE, TB_FN_INT4_TO_FLOAT8, {greatest});
  w.filters = {w.expr(TB_EXPR_CALL, TB_TYPE_BOOL, TB_EX_NULLABLE, TB_FN_FLOAT8LT, {as_double, least})};
  CompiledPipeline code(w.blob(TB_SINK_ROWS));
  const double nan = std::nan("");
  std::vector<int32_t> as = {1, 5, 9, 0, 3, 7}, bs = {2, 4, 0, 8, 0, 7};
  std::vector<double> xs = {3, 5, nan, 9, nan, 8}, ys = {2.5, 0, nan, 8.5, 0, nan};
  std::vector<uint8_t> va = {1, 1, 1, 0, 0, 1}, vb = {1, 1, 0, 1, 0, 1}, vx = {1, 1, 1, 1, 1, 1},
                       vy = {1, 0, 1, 1, 1, 1};
  // 2 < 2.5; 5 < 5; 9 < NaN; 8 < 8.5; NULL; 7 < 8
  const std::vector<uint32_t> expected = {0, 2, 3, 5};
  std::vector<TbColumnData> columns{
      {as.data(), va.data()}, {bs.data(), vb.data()}, {xs.data(), vx.data()}, {ys.data(), vy.data()}};
  std::vector<uint32_t> ids(6), out(6);
  std::iota(ids.begin(), ids.end(), 0u);
  const std::string none = ParamWriter().block();
  PipelineCall run(columns, 6, none);
  run.args.rowids = ids.data();
  run.args.out_rowids = out.data();
  code.pipeline(&run.args);
  out.resize(run.args.nout);
  EXPECT_EQ(out, expected);

  ProgramWriter z;
  const uint32_t moment = z.column(TB_TYPE_TIMESTAMPTZ), zone = z.param(TB_TYPE_TEXT, 0, TB_PARAM_ZONE);
  const uint32_t day = z.call(TB_FN_DATE_TRUNC_DAY_TIMESTAMPTZ, {moment, zone});
  z.filters = {z.call(TB_FN_TIMESTAMPTZ_LE, {day, moment})};
  EXPECT_NE(CompiledPipeline(z.blob(TB_SINK_ROWS)).ptx().find("tb_rows"), std::string::npos);
}

/*
 * n = a; f = 1; while (n > 1) { s = 0; while (s < n) s = s + 1; f = f * s; n = n - 1; }; f = b
 *
 * A loop in a loop, whose next values need the inner one's last; errors and steps of both count.
 */
ProgramWriter nested_loops() {
  ProgramWriter w;
  const uint32_t a = w.column(TB_TYPE_INT4, true), b = w.column(TB_TYPE_INT4), one = w.param(TB_TYPE_INT4),
                 zero = w.param(TB_TYPE_INT4);
  auto local = [&](uint32_t number) { return w.expr(TB_EXPR_LOCAL, TB_TYPE_INT4, TB_EX_NULLABLE, number, {}); };
  const uint32_t n = local(0), f = local(1), s = local(2);
  const uint32_t below = w.call(TB_FN_INT4LT, {s, n}), more = w.call(TB_FN_INT4PL, {s, one});
  const uint32_t inner = w.expr(TB_EXPR_LOOP, TB_TYPE_BOOL, TB_EX_RAISES, 2, {zero, below, below, more});
  const uint32_t product = w.call(TB_FN_INT4MUL, {f, local(2)}), less = w.call(TB_FN_INT4MI, {n, one});
  const uint32_t outer = w.expr(TB_EXPR_LOOP, TB_TYPE_BOOL, TB_EX_RAISES, 0,
                                {a, one, w.call(TB_FN_INT4GT, {n, one}), inner, less, product});
  const uint32_t value = w.expr(TB_EXPR_SEQUENCE, TB_TYPE_INT4, TB_EX_NULLABLE, 1, {outer, local(1)});
  w.filters = {w.call(TB_FN_INT4EQ, {value, b})};
  return w;
}

TEST(Pipeline, LoopsInLoops) {
  const ProgramWriter w = nested_loops();
  CompiledPipeline code(ProgramWriter(w).blob(TB_SINK_ROWS));
  EXPECT_NE(code.ptx().find("tb_rows"), std::string::npos);
  struct Case {
    int32_t a;
    uint8_t valid;
    int32_t b;
    bool passes;
    uint32_t errors;
  };
  const std::vector<Case> cases = {{5, 1, 120, true, 0},
                                   {5, 1, 121, false, 0},
                                   {1, 1, 1, true, 0},
                                   {-3, 1, 1, true, 0},
                                   {7, 0, 1, true, 0},  // NULL > 1 is not true
                                   {12, 1, 479001600, true, 0},
                                   {13, 1, 0, false, TB_ERR_OVERFLOW},
                                   {100000000, 1, 0, false, TB_ERR_STEPS}};
  for (const Case& c : cases) {
    ParamWriter p;
    const int32_t one = 1, zero = 0;
    p.scalar(&one, 4);
    p.scalar(&zero, 4);
    const std::string params = p.block();
    std::vector<int32_t> as = {c.a}, bs = {c.b};
    std::vector<uint8_t> va = {c.valid};
    std::vector<TbColumnData> columns{{as.data(), va.data()}, {bs.data(), nullptr}};
    std::vector<uint32_t> ids(1), out(1);
    PipelineCall run(columns, 1, params);
    run.args.rowids = ids.data();
    run.args.out_rowids = out.data();
    code.pipeline(&run.args);
    EXPECT_EQ(run.args.errors, c.errors) << c.a;
    if (c.errors == 0) {
      EXPECT_EQ(run.args.nout, c.passes ? 1u : 0u) << c.a;
    }
  }
}

/*
 * n = a; while (n < c) n = n + p; n + p + p + ... = b
 *
 * Too heavy for its caller, so a function of its own, which first reads p inside the loop.
 */
TEST(Pipeline, LoopsInParts) {
  constexpr int kTerms = 150;
  ProgramWriter w;
  const uint32_t a = w.column(TB_TYPE_INT4), b = w.column(TB_TYPE_INT4), c = w.column(TB_TYPE_INT4),
                 p = w.param(TB_TYPE_INT4);
  auto local = [&]() { return w.expr(TB_EXPR_LOCAL, TB_TYPE_INT4, TB_EX_NULLABLE, 0, {}); };
  const uint32_t n = local();
  const uint32_t less = w.call(TB_FN_INT4LT, {n, c}), more = w.call(TB_FN_INT4PL, {n, p});
  const uint32_t loop = w.expr(TB_EXPR_LOOP, TB_TYPE_BOOL, TB_EX_RAISES, 0, {a, less, less, more});
  uint32_t sum = local();
  for (int i = 0; i < kTerms; i++) sum = w.call(TB_FN_INT4PL, {sum, p});
  const uint32_t value = w.expr(TB_EXPR_SEQUENCE, TB_TYPE_INT4, TB_EX_NULLABLE, 1, {loop, sum});
  w.filters = {w.call(TB_FN_INT4EQ, {value, b})};
  CompiledPipeline code(w.blob(TB_SINK_ROWS));
  ParamWriter writer;
  const int32_t step = 4;
  writer.scalar(&step, 4);
  const std::string params = writer.block();
  std::vector<int32_t> as = {-9, 7, 3}, bs = {7 + kTerms * step, 7 + kTerms * step, 0}, cs = {4, 4, 4};
  std::vector<TbColumnData> columns{{as.data(), nullptr}, {bs.data(), nullptr}, {cs.data(), nullptr}};
  std::vector<uint32_t> ids = {0, 1, 2}, out(3);
  PipelineCall run(columns, 3, params);
  run.args.rowids = ids.data();
  run.args.out_rowids = out.data();
  code.pipeline(&run.args);
  EXPECT_EQ(run.args.errors, 0u);
  EXPECT_EQ(run.args.nout, 2u);
}

/* Of a local outside of its loop there is no code, and no program is compiled wrongly for it. */
TEST(Pipeline, RefusesALocalOutsideOfItsLoop) {
  ProgramWriter w;
  const uint32_t b = w.column(TB_TYPE_INT4);
  const uint32_t lost = w.expr(TB_EXPR_LOCAL, TB_TYPE_INT4, TB_EX_NULLABLE, 0, {});
  w.filters = {w.call(TB_FN_INT4EQ, {lost, b})};
  EXPECT_THROW(CompiledPipeline(w.blob(TB_SINK_ROWS)), std::runtime_error);
}

/* See jit/negations.h. */
TEST(Pipeline, NoNegationIsLeftToTheGpusCompiler) {
  ProgramWriter w;
  const uint32_t a = w.column(TB_TYPE_INT4), b = w.column(TB_TYPE_INT2);
  w.aggregate(TB_AGG_MAX, w.call(TB_FN_INT4UM, {a}));
  w.aggregate(TB_AGG_MIN, w.call(TB_FN_INT2UM, {b}));
  CompiledPipeline code(w.blob(TB_SINK_AGGREGATE));
  EXPECT_NE(code.ptx().find("max.s"), std::string::npos);
  EXPECT_EQ(code.ptx().find("neg.s32"), std::string::npos);
  EXPECT_EQ(code.ptx().find("neg.s16"), std::string::npos);
}

TEST(Pipeline, UngroupedAggregates) {
  ProgramWriter w;
  const uint32_t a = w.column(TB_TYPE_INT4, true), b = w.column(TB_TYPE_INT8, true), c = w.column(TB_TYPE_FLOAT8, true);
  const uint32_t limit = w.param(TB_TYPE_INT4);
  w.filters = {w.call(TB_FN_INT4LT, {a, limit})};
  w.aggregate(TB_AGG_COUNT);
  w.aggregate(TB_AGG_COUNT, b);
  w.aggregate(TB_AGG_SUM_INT, a);
  w.aggregate(TB_AGG_SUM_WIDE, b);
  w.aggregate(TB_AGG_SUM_FLOAT, c);
  w.aggregate(TB_AGG_MIN, b);
  w.aggregate(TB_AGG_MAX, c);
  CompiledPipeline code(w.blob(TB_SINK_AGGREGATE));
  EXPECT_NE(code.ptx().find("tb_reduce"), std::string::npos);
  const GroupLayout layout = group_layout(code.program());
  std::mt19937_64 random(2);
  ParamWriter p;
  const int32_t l = 150;
  p.scalar(&l, 4);
  const std::string params = p.block();
  for (uint32_t n : kRowCounts)
    for (int mode : {0, 1, 2}) {
      TestColumn<int32_t> ca(n, mode, random, [&] { return static_cast<int32_t>(random() % 200) - 100; });
      TestColumn<int64_t> cb(n, mode, random, [&] { return static_cast<int64_t>(random()); });
      TestColumn<double> cc(n, mode, random, [&] { return static_cast<double>(random() % 1000); });
      std::vector<TbColumnData> columns{ca.data(), cb.data(), cc.data()};
      int64_t count = 0, count_b = 0, sum_a = 0, min_b = INT64_MAX;
      __int128 sum_b = 0;
      double sum_c = 0, max_c = -1;
      bool any_c = false;
      for (uint32_t i = 0; i < n; i++) {
        if (!ca.valid[i] || ca.values[i] >= l) continue;
        count++;
        sum_a += ca.values[i];
        if (cb.valid[i]) {
          count_b++;
          sum_b += cb.values[i];
          min_b = std::min(min_b, cb.values[i]);
        }
        if (cc.valid[i]) {
          any_c = true;
          sum_c += cc.values[i];
          max_c = std::max(max_c, cc.values[i]);
        }
      }
      GrowingGroups table(layout.row_size, 1, 0);
      PipelineCall run(columns, n, params);
      run.args.groups = &table.t;
      code.pipeline(&run.args);
      const uint8_t* row = table.t.rows;
      const auto& s = layout.states;
      EXPECT_EQ(run.args.errors, 0u);
      EXPECT_EQ(run.args.rows_passed, static_cast<uint64_t>(count));
      EXPECT_EQ(read_at<int64_t>(row, s[0].value_offset), count);
      EXPECT_EQ(read_at<int64_t>(row, s[1].value_offset), count_b);
      EXPECT_EQ(row[s[2].valid_offset], count > 0);
      EXPECT_EQ(row[s[3].valid_offset], count_b > 0);
      EXPECT_EQ(row[s[5].valid_offset], count_b > 0);
      EXPECT_EQ(row[s[6].valid_offset], any_c);
      if (count) {
        EXPECT_EQ(read_at<int64_t>(row, s[2].value_offset), sum_a);
      }
      if (count_b) {
        EXPECT_TRUE(read_at<__int128>(row, s[3].value_offset) == sum_b);
        EXPECT_EQ(read_at<int64_t>(row, s[5].value_offset), min_b);
      }
      if (any_c) {
        EXPECT_EQ(read_at<double>(row, s[4].value_offset), sum_c);  // integers: exact
        EXPECT_EQ(read_at<double>(row, s[6].value_offset), max_c);
      }
    }
}

size_t times_in(const std::string& text, const std::string& part) {
  size_t times = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) times++;
  return times;
}

/* Aggregates of the same FILTER and the same NULLs share a counter or a mark, others do not: here more than a word has
 * bits for, and more sums than a block of a GPU folds at a time. */
TEST(Pipeline, AggregatesCountTheirOwnRows) {
  constexpr int kLimits = 66;
  ProgramWriter w;
  const uint32_t a = w.column(TB_TYPE_INT4), b = w.column(TB_TYPE_FLOAT8, true), c = w.column(TB_TYPE_FLOAT8);
  // Never NULL, but its code asks whether b is.
  const uint32_t either = w.expr(TB_EXPR_COALESCE, TB_TYPE_FLOAT8, 0, 0, {b, c});
  w.exprs[either].flags = 0;
  enum Argument { kB, kC, kEither };
  struct Wanted {
    uint8_t kind;
    Argument of;
    int limit;  // a < limit; 0: any row
  };
  std::vector<Wanted> wanted = {{TB_AGG_COUNT, kB, 0},     {TB_AGG_SUM_FLOAT, kC, 0}, {TB_AGG_SUM_FLOAT, kB, 0},
                                {TB_AGG_MAX, kB, 0},       {TB_AGG_MAX, kC, 5},       {TB_AGG_COUNT, kB, 5},
                                {TB_AGG_SUM_FLOAT, kB, 5}, {TB_AGG_MAX, kB, 5},       {TB_AGG_COUNT, kEither, 0},
                                {TB_AGG_MAX, kEither, 5}};
  for (int limit = 1; limit <= kLimits; limit++) wanted.push_back({TB_AGG_SUM_FLOAT, kC, limit});
  std::map<int, uint32_t> filters;
  filters[0] = TB_NONE;
  ParamWriter p;
  for (const Wanted& agg : wanted) {
    if (!filters.contains(agg.limit)) {
      filters[agg.limit] = w.call(TB_FN_INT4LT, {a, w.param(TB_TYPE_INT4)});
      p.scalar(&agg.limit, 4);
    }
    w.aggregate(agg.kind, agg.of == kB ? b : agg.of == kC ? c : either, filters[agg.limit]);
  }
  CompiledPipeline code(w.blob(TB_SINK_AGGREGATE));
  // Three rounds of sums: their barriers, and those between.
  EXPECT_EQ(times_in(code.ptx(), "bar.sync"), 5u);
  const GroupLayout layout = group_layout(code.program());
  const std::string params = p.block();
  std::mt19937_64 random(7);
  for (uint32_t n : kRowCounts)
    for (int mode : {0, 1, 2})
      for (int least : {0, kLimits / 2}) {  // of a: some filters pass no row
        TestColumn<int32_t> ca(n, 0, random, [&] { return least + static_cast<int32_t>(random() % kLimits); });
        TestColumn<double> cb(n, mode, random, [&] { return static_cast<double>(random() % 1000); });
        TestColumn<double> cc(n, 0, random, [&] { return static_cast<double>(random() % 1000); });
        std::vector<TbColumnData> columns{{ca.values.data(), nullptr}, cb.data(), {cc.values.data(), nullptr}};
        GrowingGroups table(layout.row_size, 1, 0);
        PipelineCall run(columns, n, params);
        run.args.groups = &table.t;
        code.pipeline(&run.args);
        EXPECT_EQ(run.args.errors, 0u);
        for (size_t k = 0; k < wanted.size(); k++) {
          int64_t count = 0;
          double sum = 0, max = -1;
          for (uint32_t i = 0; i < n; i++) {
            if (wanted[k].limit && ca.values[i] >= wanted[k].limit) continue;
            if (wanted[k].of == kB && !cb.valid[i]) continue;
            const bool is_b = wanted[k].of == kB || (wanted[k].of == kEither && cb.valid[i]);
            const double value = is_b ? cb.values[i] : cc.values[i];
            count++;
            sum += value;
            max = std::max(max, value);
          }
          const auto& state = layout.states[k];
          if (wanted[k].kind == TB_AGG_COUNT) {
            EXPECT_EQ(read_at<int64_t>(table.t.rows, state.value_offset), count) << k;
            continue;
          }
          EXPECT_EQ(table.t.rows[state.valid_offset], count > 0) << k;
          if (count == 0) continue;
          EXPECT_EQ(read_at<double>(table.t.rows, state.value_offset), wanted[k].kind == TB_AGG_MAX ? max : sum) << k;
        }
      }
}

/* Blocks that find registers: sums in registers are worth more than threads that wait. */
TEST(Pipeline, ManySumsHaveMoreRegisters) {
  for (const size_t sums : {1, 22, 90}) {
    ProgramWriter w;
    const uint32_t a = w.column(TB_TYPE_FLOAT8), b = w.column(TB_TYPE_FLOAT8);
    uint32_t value = a;
    for (size_t i = 0; i < sums; i++) {
      w.aggregate(TB_AGG_SUM_FLOAT, value);
      value = w.expr(TB_EXPR_MODEL, TB_TYPE_FLOAT8, 0, TB_MODEL_PRODUCT, {value, b});
    }
    CompiledPipeline code(w.blob(TB_SINK_AGGREGATE));
    const size_t kernel = code.ptx().find(".entry tb_reduce(");
    const std::string shape = ".minnctapersm " + std::to_string(sums == 1 ? 4 : sums == 22 ? 2 : 1);
    EXPECT_NE(code.ptx().substr(kernel, 200).find(shape), std::string::npos) << sums;
    // One largest value for all of them, and no counter each.
    EXPECT_EQ(times_in(code.ptx().substr(kernel), "max.s32"), sums);
    EXPECT_EQ(times_in(code.ptx().substr(kernel), "max.s64"), 0u);
  }
}

/* The verdict of a sum of floats over rows of which the one in the middle has `value`, and
 * passes the aggregate's FILTER or not. */
uint32_t errors_of_sum(CompiledPipeline& code, double value, bool passes) {
  constexpr uint32_t kRows = 3000;
  const uint8_t type = code.program().aggs()[0].type;
  std::vector<int32_t> keys(kRows, 1);
  std::vector<double> doubles(kRows, 1);
  keys[kRows / 2] = passes ? 1 : -1;
  doubles[kRows / 2] = value;
  std::vector<float> floats(doubles.begin(), doubles.end());
  void* values = type == TB_TYPE_FLOAT4 ? static_cast<void*>(floats.data()) : doubles.data();
  std::vector<TbColumnData> columns{{keys.data(), nullptr}, {values, nullptr}};
  ParamWriter p;
  const int32_t zero = 0;
  p.scalar(&zero, 4);
  const std::string params = p.block();
  GrowingGroups table(group_layout(code.program()).row_size, 16, 32);
  PipelineCall run(columns, kRows, params);
  run.args.groups = &table.t;
  run.args.make_room = GrowingGroups::make_room;
  code.pipeline(&run.args);
  return run.args.errors;
}

/* A value that may make PostgreSQL's states overflow is a verdict; NaN and infinities, which
 * cannot, are not, nor is a row that the aggregate's FILTER drops. */
TEST(Pipeline, SumsOfLargeFloatsAreVerdicts) {
  for (const uint8_t type : {TB_TYPE_FLOAT4, TB_TYPE_FLOAT8})
    for (const bool grouped : {false, true}) {
      ProgramWriter w;
      const uint32_t key = w.column(TB_TYPE_INT4), value = w.column(type), zero = w.param(TB_TYPE_INT4);
      if (grouped) w.keys = {key};
      w.aggregate(TB_AGG_SUM_FLOAT, value, w.call(TB_FN_INT4LT, {zero, key}));
      CompiledPipeline code(w.blob(TB_SINK_AGGREGATE));
      EXPECT_NE(code.ptx().find(grouped ? "tb_apply" : "tb_reduce"), std::string::npos);
      const double limit = tb_float_sum_limit(type);
      for (const double large : {limit, -limit, 3e38, -3e38, 1e200, 1.7e308}) {
        if (std::fabs(large) < limit || (type == TB_TYPE_FLOAT4 && std::fabs(large) > 3e38)) continue;
        EXPECT_EQ(errors_of_sum(code, large, true), TB_ERR_STATE_OVERFLOW) << large;
        EXPECT_EQ(errors_of_sum(code, large, false), 0u) << large;
      }
      for (const double summed : {double{INFINITY}, -double{INFINITY}, double{NAN}, limit * 0.999, -limit * 0.999})
        EXPECT_EQ(errors_of_sum(code, summed, true), 0u) << summed;
    }
}

/* In a full table nobody claims a bucket, and nobody waits for one without pause: rows of one frequent key would do so
 * one after the other, for seconds. */
void expect_full_tables_are_left_alone(const std::string& ptx) {
  const size_t begin = ptx.find(".visible .entry tb_reserve(");
  ASSERT_NE(begin, std::string::npos);
  // LLVM 21 says how it is ordered: atom.relaxed.cas.
  const size_t claim = std::min(ptx.find("atom.cas", begin), ptx.find("atom.relaxed.cas", begin));
  ASSERT_NE(claim, std::string::npos);
  const std::string full = "+" + std::to_string(offsetof(TbGroupTable, full)) + "]";
  bool looks_first = false;
  for (size_t at = ptx.find("ld.volatile.", begin); at < claim && at != std::string::npos;
       at = ptx.find("ld.volatile.", at + 1))
    looks_first |= ptx.substr(at, ptx.find(';', at) - at).find(full) != std::string::npos;
  EXPECT_TRUE(looks_first);
  EXPECT_NE(ptx.find("nanosleep", begin), std::string::npos);
}

TEST(Pipeline, GroupsOfIntegerAndTextKeys) {
  ProgramWriter w;
  const uint32_t k = w.column(TB_TYPE_INT4, true), s = w.column(TB_TYPE_TEXT, true), v = w.column(TB_TYPE_INT8, true);
  w.keys = {k, s};
  w.aggregate(TB_AGG_COUNT);
  w.aggregate(TB_AGG_SUM_WIDE, v);
  w.aggregate(TB_AGG_MAX, v);
  CompiledPipeline code(w.blob(TB_SINK_AGGREGATE));
  EXPECT_NE(code.ptx().find("tb_reserve"), std::string::npos);
  EXPECT_NE(code.ptx().find("tb_apply"), std::string::npos);
  expect_full_tables_are_left_alone(code.ptx());
  const GroupLayout layout = group_layout(code.program());
  std::mt19937_64 random(3);
  const std::string params = ParamWriter().block();
  std::string bytes;
  std::vector<TbTextView> words;
  for (int i = 0; i < 40; i++) {
    std::string word(i % 13, static_cast<char>('a' + i % 5));
    if (i > 20) word += std::to_string(i);
    words.push_back({static_cast<uint32_t>(word.size()), 0, 0, static_cast<uint32_t>(bytes.size())});
    bytes += word;
  }
  for (uint32_t n : kRowCounts)
    for (int mode : {0, 1, 2}) {
      TestColumn<int32_t> ck(n, mode, random, [&] { return static_cast<int32_t>(random() % 500); });
      TestColumn<TbTextView> cs(n, mode, random, [&] { return words[random() % words.size()]; });
      TestColumn<int64_t> cv(n, mode, random, [&] { return static_cast<int64_t>(random() % 1000); });
      std::vector<TbColumnData> columns{ck.data(), cs.data(), cv.data()};
      struct Expected {
        int64_t count = 0, sum = 0, max = -1;
      };
      std::map<std::string, Expected> expected;
      for (uint32_t i = 0; i < n; i++) {
        std::string key = ck.valid[i] ? std::to_string(ck.values[i]) : "null";
        key += "|" + (cs.valid[i] ? "'" + bytes.substr(cs.values[i].offset, cs.values[i].length) : "null");
        Expected& e = expected[key];
        e.count++;
        if (cv.valid[i]) {
          e.sum += cv.values[i];
          e.max = std::max(e.max, cv.values[i]);
        }
      }
      GrowingGroups table(layout.row_size, 4, 1);
      PipelineCall run(columns, n, params);
      run.args.groups = &table.t;
      run.args.make_room = GrowingGroups::make_room;
      run.args.bytes = reinterpret_cast<const uint8_t*>(bytes.data());
      code.pipeline(&run.args);
      ASSERT_EQ(run.args.status, TB_PIPELINE_DONE);
      EXPECT_EQ(run.args.errors, 0u);
      ASSERT_EQ(table.t.ngroups, expected.size()) << n << " rows, mode " << mode;
      for (uint64_t g = 0; g < table.t.ngroups; g++) {
        const uint8_t* row = table.t.rows + g * layout.row_size;
        std::string key = row[layout.keys[0].valid_offset]
                              ? std::to_string(read_at<int32_t>(row, layout.keys[0].value_offset))
                              : "null";
        const auto text = read_at<TbGroupText>(row, layout.keys[1].value_offset);
        key += "|" + (row[layout.keys[1].valid_offset]
                          ? "'" + std::string(reinterpret_cast<char*>(table.t.arena) + text.offset, text.length)
                          : "null");
        ASSERT_TRUE(expected.count(key)) << key;
        const Expected& e = expected[key];
        EXPECT_EQ(read_at<int64_t>(row, layout.states[0].value_offset), e.count);
        EXPECT_EQ(row[layout.states[1].valid_offset], e.max >= 0);
        EXPECT_TRUE(read_at<__int128>(row, layout.states[1].value_offset) == e.sum);
        if (e.max >= 0) {
          EXPECT_EQ(read_at<int64_t>(row, layout.states[2].value_offset), e.max);
        }
      }
    }
}

TEST(Pipeline, TextExtremesPerGroupAndOverall) {
  for (bool grouped : {true, false}) {
    ProgramWriter w;
    const uint32_t k = w.column(TB_TYPE_INT4), s = w.column(TB_TYPE_TEXT, true);
    if (grouped) w.keys = {k};
    w.aggregate(TB_AGG_MIN, s);
    w.aggregate(TB_AGG_COUNT, s);
    w.aggregate(TB_AGG_MAX, s);
    const Program program = Program::parse(w.blob(TB_SINK_AGGREGATE));
    const testing::LoadedObject object(compile_program(program, TB_TARGET_HOST, "", "", testing::effort()).bytes);
    const auto pipeline = object.symbol<testing::PipelineFn>("tb_pipeline");
    const GroupLayout layout = group_layout(program);
    std::mt19937_64 random(5);
    const std::string params = ParamWriter().block();
    const uint32_t n = 3 * TB_TILE_ROWS + 5;
    std::string bytes;
    std::vector<TbTextView> views;
    std::map<int32_t, std::pair<std::string, std::string>> expected;
    TestColumn<int32_t> ck(n, 0, random, [&] { return static_cast<int32_t>(random() % 20); });
    TestColumn<TbTextView> cs(n, 1, random, [&] {
      const std::string word(random() % 9, static_cast<char>('a' + random() % 26));
      const TbTextView view{static_cast<uint32_t>(word.size()), 0, 0, static_cast<uint32_t>(bytes.size())};
      bytes += word;
      return view;
    });
    for (uint32_t i = 0; i < n; i++) {
      if (!cs.valid[i]) continue;
      const std::string word = bytes.substr(cs.values[i].offset, cs.values[i].length);
      auto [at, fresh] = expected.try_emplace(grouped ? ck.values[i] : 0, word, word);
      at->second.first = std::min(at->second.first, word);
      at->second.second = std::max(at->second.second, word);
    }
    std::vector<TbColumnData> columns{ck.data(), cs.data()};
    GrowingGroups table(layout.row_size, 1, 1);
    if (!grouped) table.t.ngroups = 1;
    PipelineCall run(columns, n, params);
    run.args.groups = &table.t;
    run.args.make_room = GrowingGroups::make_room;
    run.args.bytes = reinterpret_cast<const uint8_t*>(bytes.data());
    pipeline(&run.args);
    ASSERT_EQ(run.args.status, TB_PIPELINE_DONE);
    EXPECT_GT(table.grown, 0);
    ASSERT_EQ(table.t.ngroups, expected.size());
    for (uint64_t g = 0; g < table.t.ngroups; g++) {
      const uint8_t* row = table.t.rows + g * layout.row_size;
      const auto& [least, most] = expected.at(grouped ? read_at<int32_t>(row, layout.keys[0].value_offset) : 0);
      auto text = [&](size_t state) {
        const auto t = read_at<TbGroupText>(row, layout.states[state].value_offset);
        return std::string(reinterpret_cast<char*>(table.t.arena) + t.offset, t.length);
      };
      EXPECT_EQ(text(0), least);
      EXPECT_EQ(text(2), most);
    }
  }
}

TEST(Pipeline, StopsWhereThereIsNoRoom) {
  ProgramWriter w;
  const uint32_t k = w.column(TB_TYPE_INT4);
  w.keys = {k};
  w.aggregate(TB_AGG_COUNT);
  CompiledPipeline code(w.blob(TB_SINK_AGGREGATE));
  const std::string params = ParamWriter().block();
  const uint32_t n = 4 * TB_TILE_ROWS;
  std::vector<int32_t> values(n);
  for (uint32_t i = 0; i < n; i++) values[i] = static_cast<int32_t>(i);
  std::vector<TbColumnData> columns{{values.data(), nullptr}};
  GrowingGroups table(group_layout(code.program()).row_size, 1, 0);
  table.refuse_after = 2;
  PipelineCall run(columns, n, params);
  run.args.groups = &table.t;
  run.args.make_room = GrowingGroups::make_room;
  code.pipeline(&run.args);
  EXPECT_EQ(run.args.status, TB_PIPELINE_STOPPED);
  EXPECT_EQ(table.t.ngroups, 2 * TB_TILE_ROWS);
}

TEST(Pipeline, LogicFollowsThreeValues) {
  // (a < p AND b < p) OR a IS NULL, CASE, COALESCE over all NULL patterns
  ProgramWriter w;
  const uint32_t a = w.column(TB_TYPE_INT4, true), b = w.column(TB_TYPE_INT4, true), p0 = w.param(TB_TYPE_INT4);
  const uint32_t both = w.expr(TB_EXPR_AND, TB_TYPE_BOOL, 0, 0,
                               {w.call(TB_FN_INT4LT, {a, p0}), w.call(TB_FN_INT4LT, {b, p0})});
  const uint32_t neither = w.expr(TB_EXPR_NOT, TB_TYPE_BOOL, 0, 0, {both});
  const uint32_t value = w.expr(TB_EXPR_CASE, TB_TYPE_INT4, TB_EX_NULLABLE, 0,
                                {w.expr(TB_EXPR_IS_NULL, TB_TYPE_BOOL, 0, 0, {a}), b, neither, p0,
                                 w.expr(TB_EXPR_COALESCE, TB_TYPE_INT4, TB_EX_NULLABLE, 0, {b, a})});
  w.filters = {w.expr(TB_EXPR_IS_NOT_FALSE, TB_TYPE_BOOL, 0, 0, {w.call(TB_FN_INT4LT, {value, p0})})};
  CompiledPipeline code(w.blob(TB_SINK_ROWS));
  std::mt19937_64 random(4);
  const int32_t l = 3;
  ParamWriter p;
  p.scalar(&l, 4);
  const std::string params = p.block();
  const uint32_t n = 3000;
  TestColumn<int32_t> ca(n, 1, random, [&] { return static_cast<int32_t>(random() % 6); });
  TestColumn<int32_t> cb(n, 1, random, [&] { return static_cast<int32_t>(random() % 6); });
  std::vector<TbColumnData> columns{ca.data(), cb.data()};
  std::vector<uint32_t> ids(n), out(n), expected;
  using Maybe = std::optional<int>;
  for (uint32_t i = 0; i < n; i++) {
    ids[i] = i;
    Maybe va = ca.valid[i] ? Maybe(ca.values[i]) : Maybe(), vb = cb.valid[i] ? Maybe(cb.values[i]) : Maybe();
    auto less = [&](Maybe x) { return x ? std::optional<bool>(*x < l) : std::optional<bool>(); };
    auto la = less(va), lb = less(vb);
    std::optional<bool> conj;
    if ((la && !*la) || (lb && !*lb))
      conj = false;
    else if (la && lb)
      conj = true;
    Maybe v = !va ? vb : (conj && !*conj) ? Maybe(l) : vb ? vb : va;
    auto lv = less(v);
    if (!lv || *lv) expected.push_back(i);
  }
  PipelineCall run(columns, n, params);
  run.args.rowids = ids.data();
  run.args.out_rowids = out.data();
  code.pipeline(&run.args);
  out.resize(run.args.nout);
  EXPECT_EQ(out, expected);
}

}  // namespace
}  // namespace turbine
