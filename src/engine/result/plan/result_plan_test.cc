/*
 * result_plan_test.cc - every violation of a result plan is found.
 */
#include "engine/result/plan/result_plan.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <tuple>

#include "engine/program/testing/program_writer.h"
#include "engine/result/testing/plan_writer.h"

namespace turbine {
namespace {

using testing::PlanWriter;
using testing::ProgramWriter;

/* SELECT integer, text, boolean, real, numeric(10,2), numeric(30,4), bigint, smallint */
enum Column : uint32_t { kInt4, kText, kBool, kReal, kNum64, kNum128, kInt8, kInt2, kColumns };

Program program(uint16_t sink = TB_SINK_PROJECT) {
  ProgramWriter writer;
  writer.sink = sink;
  const std::vector<uint32_t> columns = {writer.column(TB_TYPE_INT4, true),
                                         writer.column(TB_TYPE_TEXT),
                                         writer.column(TB_TYPE_BOOL),
                                         writer.column(TB_TYPE_FLOAT4),
                                         writer.column(TB_TYPE_NUM64, false, 2),
                                         writer.column(TB_TYPE_NUM128, false, 4),
                                         writer.column(TB_TYPE_INT8),
                                         writer.column(TB_TYPE_INT2)};
  if (sink == TB_SINK_PROJECT || sink == TB_SINK_BUILD) writer.outputs = columns;
  return Program::parse(writer.blob());
}

bool valid(const PlanWriter& writer, const Program& of = program()) {
  try {
    ResultPlan::parse(writer.blob(), of);
    return true;
  } catch (const ProgramError&) {
    return false;
  }
}

PlanWriter full_plan() {
  PlanWriter writer(kColumns);
  writer.pass({{kInt4, 0}, {kText, TB_SORT_DESCENDING}}, 1);
  const uint32_t rank = writer.function(TB_WINDOW_RANK);
  writer.function(TB_WINDOW_SUM, kInt4, 0, TB_NONE, kBool);
  writer.pass({{rank, TB_SORT_NULLS_FIRST}}, 0, TB_FRAME_ROWS, TB_BOUND_PRECEDING, TB_BOUND_FOLLOWING, 3, 4);
  writer.function(TB_WINDOW_LAG, kText, -2, kText);
  writer.order({{rank, 0}, {kText, 0}}).limit(10, true);
  writer.header.ndistinct = 2;
  writer.conditions.push_back({rank, TB_CONDITION_STRICT, 7});
  return writer;
}

TEST(ResultPlan, TellsItsColumns) {
  const ResultPlan plan = ResultPlan::parse(full_plan().blob(), program());
  ASSERT_EQ(plan.columns().size(), kColumns + 3u);
  EXPECT_EQ(plan.sink_columns(), size_t{kColumns});
  EXPECT_EQ(plan.columns()[kColumns].type, TB_TYPE_INT8);
  EXPECT_FALSE(plan.columns()[kColumns].nullable);
  EXPECT_EQ(plan.columns()[kColumns + 1].type, TB_TYPE_INT8);
  EXPECT_TRUE(plan.columns()[kColumns + 1].nullable);
  EXPECT_EQ(plan.columns()[kColumns + 2].type, TB_TYPE_TEXT);
  EXPECT_EQ(plan.order().size(), 2u);
  EXPECT_EQ(plan.limit(), 10u);
  EXPECT_TRUE(plan.with_ties());
}

TEST(ResultPlan, AnAggregatesColumnsAreKeysAndStates) {
  ProgramWriter writer;
  writer.sink = TB_SINK_AGGREGATE;
  const uint32_t v = writer.column(TB_TYPE_NUM64, true, 2);
  writer.keys = {v};
  writer.aggregate(TB_AGG_COUNT);
  writer.aggregate(TB_AGG_SUM_WIDE, v);
  PlanWriter plan(3);
  plan.order({{2, 0}});
  plan.pass({}, 0);
  plan.function(TB_WINDOW_SUM, 2);
  const ResultPlan parsed = ResultPlan::parse(plan.blob(), Program::parse(writer.blob()));
  const auto& columns = parsed.columns();
  ASSERT_EQ(columns.size(), 4u);
  EXPECT_EQ(columns[0].type, TB_TYPE_NUM64);
  EXPECT_EQ(columns[1].type, TB_TYPE_INT8);
  EXPECT_FALSE(columns[1].nullable);
  EXPECT_EQ(columns[3].type, TB_TYPE_NUM128);
  EXPECT_EQ(columns[3].scale, 2);
}

TEST(ResultPlan, EveryViolationIsFound) {
  ASSERT_TRUE(valid(full_plan()));
  EXPECT_FALSE(valid(full_plan(), program(TB_SINK_ROWS)));
  EXPECT_FALSE(valid(full_plan(), program(TB_SINK_BUILD)));
  using Damage = std::function<void(PlanWriter&)>;
  const std::vector<Damage> damages = {
      [](PlanWriter& p) { p.header.magic++; },
      [](PlanWriter& p) { p.header.version++; },
      [](PlanWriter& p) { p.header.flags |= 2; },
      [](PlanWriter& p) { p.header.reserved = 1; },
      [](PlanWriter& p) { p.header.ncolumns++; },
      [](PlanWriter& p) { p.header.ndistinct = 3; },
      [](PlanWriter& p) { p.header.nkeys = 3; },
      [](PlanWriter& p) { p.header.first_key = UINT32_MAX; },
      [](PlanWriter& p) { p.keys.back().column = kColumns + 3; },
      [](PlanWriter& p) { p.keys.back().flags = 4; },
      [](PlanWriter& p) { p.keys.resize(TB_MAX_SORT_KEYS + 1, p.keys[0]); },
      [](PlanWriter& p) { p.passes.resize(TB_MAX_WINDOW_PASSES + 1, p.passes.back()); },
      [](PlanWriter& p) { p.functions.resize(TB_MAX_WINDOW_FUNCTIONS + 1, p.functions[0]); },
      [](PlanWriter& p) { p.conditions.resize(TB_MAX_RESULT_CONDITIONS + 1, p.conditions[0]); },
      // Passes.
      [](PlanWriter& p) { p.passes[0].nkeys = 100; },
      [](PlanWriter& p) { p.passes[0].first_key = UINT32_MAX; },
      [](PlanWriter& p) { p.passes[0].npartition = 3; },
      [](PlanWriter& p) { p.passes[1].first_function = 1; },
      [](PlanWriter& p) { p.passes[1].nfunctions = 2; },
      [](PlanWriter& p) { p.passes[1].nfunctions = UINT32_MAX; },
      [](PlanWriter& p) { p.passes.pop_back(); },
      [](PlanWriter& p) { p.keys[0].column = kColumns; },      // its own function
      [](PlanWriter& p) { p.keys[2].column = kColumns + 2; },  // likewise
      [](PlanWriter& p) { p.passes[0].frame_mode = 0; },
      [](PlanWriter& p) { p.passes[0].frame_mode = 4; },
      [](PlanWriter& p) { p.passes[0].start_bound = 0; },
      [](PlanWriter& p) { p.passes[0].start_bound = TB_BOUND_UNBOUNDED_FOLLOWING; },
      [](PlanWriter& p) { p.passes[0].end_bound = TB_BOUND_UNBOUNDED_PRECEDING; },
      [](PlanWriter& p) { p.passes[0].end_bound = 6; },
      [](PlanWriter& p) { p.passes[0].start_bound = TB_BOUND_PRECEDING; },  // a range by an offset of a text
      [](PlanWriter& p) { p.passes[1].start_bound = TB_BOUND_FOLLOWING, p.passes[1].end_bound = TB_BOUND_CURRENT_ROW; },
      [](PlanWriter& p) { p.passes[1].start_bound = TB_BOUND_CURRENT_ROW, p.passes[1].end_bound = TB_BOUND_PRECEDING; },
      [](PlanWriter& p) { p.passes[0].exclusion = TB_EXCLUDE_TIES + 1; },
      [](PlanWriter& p) { p.passes[0].start_offset_high = 1; },
      [](PlanWriter& p) { p.passes[0].start_limit = kInt4; },  // without an offset
      [](PlanWriter& p) { p.passes[1].end_limit = kInt4; },    // of rows
      [](PlanWriter& p) { p.passes[1].end_offset_high = 1; },  // of rows
      // Functions.
      [](PlanWriter& p) { p.functions[0].kind = 0; },
      [](PlanWriter& p) { p.functions[0].kind = TB_WINDOW_MAX + 1; },
      [](PlanWriter& p) { p.functions[0].reserved = 1; },
      [](PlanWriter& p) { p.functions[0].arg = kInt4; },
      [](PlanWriter& p) { p.functions[0].filter = kBool; },
      [](PlanWriter& p) { p.functions[0].other = kInt4; },
      [](PlanWriter& p) { p.functions[0].kind = TB_WINDOW_NTILE, p.functions[0].n = 0; },
      [](PlanWriter& p) { p.functions[0].kind = TB_WINDOW_NTILE, p.functions[0].n = int64_t{1} << 31; },
      [](PlanWriter& p) { p.functions[1].arg = TB_NONE; },
      [](PlanWriter& p) { p.functions[1].arg = kColumns; },
      [](PlanWriter& p) { p.functions[1].arg = UINT32_MAX - 1; },
      [](PlanWriter& p) { p.functions[1].arg = kText; },
      [](PlanWriter& p) { p.functions[1].filter = kInt4; },
      [](PlanWriter& p) { p.functions[1].filter = kColumns; },
      [](PlanWriter& p) { p.functions[1].other = kInt4; },
      [](PlanWriter& p) {
        p.functions[1].kind = TB_WINDOW_MIN, p.functions[1].arg = kBool, p.functions[1].filter = TB_NONE;
      },
      [](PlanWriter& p) { p.functions[1].kind = TB_WINDOW_FIRST_VALUE; },  // with a filter
      [](PlanWriter& p) { p.functions[2].arg = TB_NONE; },
      [](PlanWriter& p) { p.functions[2].other = kInt4; },
      [](PlanWriter& p) { p.functions[2].other = kColumns + 3; },
      [](PlanWriter& p) { p.functions[2].arg = kNum64, p.functions[2].other = kNum128; },
      [](PlanWriter& p) { p.functions[2] = {TB_WINDOW_NTH_VALUE, kText, TB_NONE, TB_NONE, 0, 0}; },
      [](PlanWriter& p) { p.functions[2] = {TB_WINDOW_SUM, kReal, TB_NONE, TB_NONE, 0, 0}; },  // its frame moves
      // Conditions.
      [](PlanWriter& p) { p.conditions[0].column = kInt4; },
      [](PlanWriter& p) { p.conditions[0].column = kColumns + 2; },
      [](PlanWriter& p) { p.conditions[0].column = kColumns + 3; },
      [](PlanWriter& p) { p.conditions[0].flags = 8; },
      [](PlanWriter& p) { p.conditions[0].flags = TB_CONDITION_EQUAL | TB_CONDITION_STRICT; },
  };
  for (size_t i = 0; i < damages.size(); i++) {
    PlanWriter writer = full_plan();
    damages[i](writer);
    EXPECT_FALSE(valid(writer)) << "damage " << i;
  }
}

/* A range by offsets has one key behind those of the partition, and its offsets are
 * distances of the key's values. */
TEST(ResultPlan, RangesByOffsetsFitTheirKeys) {
  auto range = [](const std::vector<TbSortKey>& keys, uint32_t npartition, unsigned __int128 start,
                  unsigned __int128 end, uint8_t start_bound = TB_BOUND_PRECEDING) {
    PlanWriter writer(kColumns);
    writer.pass(keys, npartition, TB_FRAME_RANGE, start_bound, TB_BOUND_FOLLOWING, start, end);
    writer.function(TB_WINDOW_COUNT);
    return valid(writer);
  };
  const auto high = [](uint64_t value) { return static_cast<unsigned __int128>(value) << 64; };
  const auto bits = [](double value) { return std::bit_cast<uint64_t>(value); };
  EXPECT_TRUE(range({{kInt4, 0}}, 0, 3, UINT64_MAX));
  EXPECT_TRUE(range({{kText, 0}, {kInt4, 0}}, 1, 3, 4));
  EXPECT_TRUE(range({{kNum128, TB_SORT_DESCENDING}}, 0, 0, high(uint64_t{1} << 62)));
  EXPECT_FALSE(range({{kNum128, 0}}, 0, 0, high(uint64_t{1} << 63)));
  EXPECT_FALSE(range({{kInt8, 0}}, 0, ~static_cast<unsigned __int128>(0), 0));
  EXPECT_FALSE(range({}, 0, 1, 1));
  EXPECT_FALSE(range({{kInt4, 0}}, 1, 1, 1));
  EXPECT_FALSE(range({{kInt4, 0}, {kInt8, 0}}, 0, 1, 1));
  EXPECT_FALSE(range({{kBool, 0}}, 0, 1, 1));
  EXPECT_FALSE(range({{kText, 0}}, 0, 1, 1));
  EXPECT_TRUE(range({{kReal, 0}}, 0, bits(1.5), bits(INFINITY)));
  EXPECT_TRUE(range({{kReal, 0}}, 0, bits(0), bits(-0.0)));
  EXPECT_FALSE(range({{kReal, 0}}, 0, bits(-1.5), 0));
  EXPECT_FALSE(range({{kReal, 0}}, 0, 0, bits(NAN)));
  EXPECT_FALSE(range({{kReal, 0}}, 0, high(1), 0));
  EXPECT_FALSE(range({{kInt4, 0}}, 0, high(1), 1, TB_BOUND_CURRENT_ROW));
  for (const auto& [when, low, upper, right] : {std::tuple{TB_TYPE_DATE, uint64_t{1}, uint64_t{0}, true},
                                                {TB_TYPE_TIMESTAMP, uint64_t{INT64_MAX}, 0, true},
                                                {TB_TYPE_TIMESTAMPTZ, uint64_t{1} << 63, 0, false},
                                                {TB_TYPE_DATE, 0, 1, false}}) {
    ProgramWriter program_writer;
    program_writer.sink = TB_SINK_PROJECT;
    program_writer.outputs = {program_writer.column(static_cast<uint8_t>(when))};
    PlanWriter writer(1);
    writer.pass({{0, 0}}, 0, TB_FRAME_RANGE, TB_BOUND_PRECEDING, TB_BOUND_CURRENT_ROW, high(upper) | low);
    EXPECT_EQ(valid(writer, Program::parse(program_writer.blob())), right) << when << " " << low;
  }
}

TEST(ResultPlan, FloatSumsExcludeNothing) {
  for (uint32_t column : {kReal, kInt8})
    for (uint8_t exclusion : {TB_EXCLUDE_NONE, TB_EXCLUDE_CURRENT_ROW, TB_EXCLUDE_GROUP, TB_EXCLUDE_TIES}) {
      PlanWriter writer(kColumns);
      writer.pass({{kInt4, 0}}, 0).exclusion = exclusion;
      writer.function(TB_WINDOW_SUM, column);
      EXPECT_EQ(valid(writer), column == kInt8 || exclusion == TB_EXCLUDE_NONE);
    }
}

/* Of counts, whose sum is one as well. */
TEST(ResultPlan, SumsOfBigintsAreWideUnlessAskedFor) {
  for (int64_t n : {0, 1}) {
    PlanWriter writer(kColumns);
    writer.pass({{kInt4, 0}}, 1);
    writer.function(TB_WINDOW_SUM, kInt8, n);
    writer.function(TB_WINDOW_SUM, kNum64, n);
    const ResultPlan plan = ResultPlan::parse(writer.blob(), program());
    EXPECT_EQ(plan.columns()[kColumns].type, n == 1 ? TB_TYPE_INT8 : TB_TYPE_NUM128);
    EXPECT_EQ(plan.columns()[kColumns + 1].type, TB_TYPE_NUM128);
  }
}

/* (integer + bigint) / numeric > 3, by its absolute value; then bigint; then what may raise. */
PlanWriter estimating_plan() {
  const TbEstimateStep integer{TB_ESTIMATE_COLUMN, 0, 0, kInt4, -1, 1}, bigint{TB_ESTIMATE_COLUMN, 0, 0, kInt8, -1, 1};
  const TbEstimateStep numeric{TB_ESTIMATE_COLUMN, 0, 2, kNum64, -1, 1};
  PlanWriter writer(kColumns);
  writer.estimate(TB_ESTIMATE_OF_CONDITION, {{TB_ESTIMATE_CONSTANT, 0, 0, TB_NONE, 3, 3},
                                             integer,
                                             bigint,
                                             {TB_ESTIMATE_ADD, TB_DOMAIN_INTEGER, 0, TB_NONE, -100, 100},
                                             numeric,
                                             {TB_ESTIMATE_DIVIDE, 0, 0, TB_NONE, 0, 0},
                                             {TB_ESTIMATE_ABSOLUTE, 0, 0, TB_NONE, 0, 0},
                                             {TB_ESTIMATE_LESS, 0, 0, TB_NONE, 0, 0}});
  writer.estimate(TB_ESTIMATE_OF_KEY, {bigint}, TB_SORT_DESCENDING).estimate(TB_ESTIMATE_OF_ERRORS, {integer});
  return writer.limit(10);
}

TEST(ResultPlan, EveryViolationOfAnEstimateIsFound) {
  ASSERT_TRUE(valid(estimating_plan()));
  using Damage = std::function<void(PlanWriter&)>;
  const std::vector<Damage> damages = {
      [](PlanWriter& p) { p.estimates[0].nsteps--; },
      [](PlanWriter& p) { p.estimates[2].nsteps++; },
      [](PlanWriter& p) { p.estimates[1].first_step = 0; },
      [](PlanWriter& p) { p.estimates.pop_back(); },
      [](PlanWriter& p) { p.estimates[0].role = 0; },
      [](PlanWriter& p) { p.estimates[2].role = 4; },
      [](PlanWriter& p) { p.estimates[0].flags = TB_SORT_DESCENDING; },
      [](PlanWriter& p) { p.estimates[1].flags = 4; },
      [](PlanWriter& p) { std::swap(p.estimates[0].role, p.estimates[1].role); },
      [](PlanWriter& p) { p.steps[0].op = 0; },
      [](PlanWriter& p) { p.steps[0].op = TB_ESTIMATE_NOT_EQUAL + 1; },
      [](PlanWriter& p) { p.steps[0].op = TB_ESTIMATE_ADD; },
      [](PlanWriter& p) { p.steps[1].column = kText; },
      [](PlanWriter& p) { p.steps[1].column = kColumns; },
      [](PlanWriter& p) { p.steps[4].scale = TB_MAX_ESTIMATE_SCALE + 1; },
      [](PlanWriter& p) { p.steps[3].domain = TB_DOMAIN_FLOAT8 + 1; },
      [](PlanWriter& p) { p.steps[0].low = 4; },
      [](PlanWriter& p) { p.steps[0].high = NAN; },
      [](PlanWriter& p) { p.limit(10, true); },
      [](PlanWriter& p) { p.keys.push_back({kInt4, 0}); },
      [](PlanWriter& p) {
        for (int i = 0; i < TB_MAX_ESTIMATED_KEYS; i++) p.estimate(TB_ESTIMATE_OF_KEY, {p.steps[1]});
      },
      [](PlanWriter& p) {
        const TbEstimateStep sum = p.steps[3];
        std::vector<TbEstimateStep> steps(TB_MAX_ESTIMATE_DEPTH + 1, p.steps[1]);
        steps.insert(steps.end(), TB_MAX_ESTIMATE_DEPTH, sum);
        p.estimate(TB_ESTIMATE_OF_ERRORS, steps);
      },
  };
  for (size_t i = 0; i < damages.size(); i++) {
    PlanWriter writer = estimating_plan();
    damages[i](writer);
    EXPECT_FALSE(valid(writer)) << "damage " << i;
  }
}

/* Beside conditions alone. */
TEST(ResultPlan, AnOrderBesideEstimates) {
  const TbEstimateStep integer{TB_ESTIMATE_COLUMN, 0, 0, kInt4, -1, 1};
  PlanWriter writer(kColumns);
  writer.estimate(TB_ESTIMATE_OF_CONDITION, {integer}).order({{kText, 0}});
  EXPECT_TRUE(valid(writer));
  PlanWriter limited = writer;
  EXPECT_FALSE(valid(limited.limit(3)));
  PlanWriter distinct = writer;
  distinct.header.ndistinct = 1;
  EXPECT_FALSE(valid(distinct));
  writer.estimate(TB_ESTIMATE_OF_KEY, {integer});
  EXPECT_FALSE(valid(writer));
}

/* Sections are the header's to tell; wherever they point, nothing outside is read. */
TEST(ResultPlan, SectionsStayInside) {
  const std::vector<uint8_t> blob = full_plan().blob();
  const Program of = program();
  auto parses = [&](std::span<const uint8_t> bytes) {
    try {
      ResultPlan::parse(bytes, of);
      return true;
    } catch (const ProgramError&) {
      return false;
    }
  };
  for (size_t size = 0; size < blob.size(); size++)
    EXPECT_FALSE(parses(std::vector(blob.begin(), blob.begin() + static_cast<ptrdiff_t>(size))));
  for (size_t at = offsetof(TbResultPlan, keys); at < offsetof(TbResultPlan, steps); at += sizeof(TbSection))
    for (uint32_t offset : {1u, 4u, 8u, static_cast<uint32_t>(blob.size()), UINT32_MAX - 7}) {
      std::vector<uint8_t> bytes = blob;
      memcpy(&bytes[at + offsetof(TbSection, offset)], &offset, sizeof offset);
      EXPECT_FALSE(parses(bytes)) << at << " " << offset;
    }
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; i++) {
    std::vector<uint8_t> bytes = blob;
    for (uint64_t n = 1 + random() % 3; n > 0; n--)
      bytes[random() % bytes.size()] ^= static_cast<uint8_t>(1u << random() % 8);
    parses(bytes);  // what it accepts or not: it reads nothing that is not there
  }
}

}  // namespace
}  // namespace turbine
