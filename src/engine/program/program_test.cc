/*
 * program_test.cc - what parse() and check_params() accept, and every way in
 * which they must refuse.
 */
#include "engine/program/program.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "engine/program/group_layout.h"
#include "engine/program/kept_row_layout.h"
#include "engine/program/testing/program_writer.h"
#include "turbine/point_column.h"
#include "turbine/model.h"

namespace turbine {
namespace {

using testing::params_block;
using testing::ProgramWriter;

/* SELECT a + p, count(*), sum(a), min(t) ... WHERE a < p AND a = ANY(q) GROUP BY a + p */
ProgramWriter sample() {
  ProgramWriter blob;
  blob.sink = TB_SINK_AGGREGATE;
  const uint32_t a = blob.column(TB_TYPE_INT4);
  const uint32_t t = blob.column(TB_TYPE_TEXT);
  blob.params = {{TB_TYPE_INT4, TB_PARAM_NULLABLE, 0}, {TB_TYPE_INT4, TB_PARAM_ARRAY, 0}, {TB_TYPE_TEXT, 0, 0}};
  const uint32_t p = blob.expr(TB_EXPR_PARAM, TB_TYPE_INT4, TB_EX_NULLABLE, 0, {});
  const uint32_t q = blob.expr(TB_EXPR_PARAM, TB_TYPE_INT4, 0, 1, {});
  const uint32_t less = blob.call(TB_FN_INT4LT, {a, p});
  const uint32_t any = blob.expr(TB_EXPR_ANY, TB_TYPE_BOOL, 0, TB_FN_INT4EQ, {a, q});
  const uint32_t sum = blob.call(TB_FN_INT4PL, {a, p});
  const uint32_t both = blob.expr(TB_EXPR_AND, TB_TYPE_BOOL, 0, 0, {less, any});
  const uint32_t choice = blob.expr(TB_EXPR_CASE, TB_TYPE_INT4, 0, 0, {less, sum, a});
  blob.filters = {both};
  blob.keys = {sum};
  blob.aggregate(TB_AGG_COUNT, TB_NONE);
  blob.aggregate(TB_AGG_SUM_INT, choice);
  blob.aggregate(TB_AGG_MIN, t);
  blob.aggs[0].filter = less;
  return blob;
}

TEST(Program, ParsesWhatIsValid) {
  const Program program = Program::parse(sample().blob());
  EXPECT_EQ(program.sink(), TB_SINK_AGGREGATE);
  EXPECT_EQ(program.columns().size(), 2u);
  EXPECT_EQ(program.args(program.expr(program.filters()[0])).size(), 2u);
  EXPECT_TRUE(program.grouped());
}

/* A numeric's value and what it prints with; digits of the value. */
TEST(Program, ParsesDisplayScales) {
  ProgramWriter blob;
  const uint32_t value = blob.column(TB_TYPE_NUM64, false, 4);
  blob.columns.push_back(blob.columns[0]);
  blob.columns[1].type = TB_TYPE_INT4;
  blob.columns[1].scale = 0;
  blob.columns[1].flags = TB_COL_DISPLAY_SCALE;
  blob.columns[0].digits = 18;
  blob.outputs = {value, blob.expr(TB_EXPR_COLUMN, TB_TYPE_INT4, 0, 1, {})};
  EXPECT_NO_THROW(Program::parse(blob.blob(TB_SINK_PROJECT)));
  blob.columns[0].digits = 19;
  EXPECT_THROW(Program::parse(blob.blob(TB_SINK_PROJECT)), ProgramError);
  blob.columns[0].digits = 0;
  blob.columns[1].digits = 1;
  EXPECT_THROW(Program::parse(blob.blob(TB_SINK_PROJECT)), ProgramError);
}

TEST(Program, ParsesTupleIds) {
  ProgramWriter w;
  const uint32_t key = w.column(TB_TYPE_INT4);
  TbColumn tid{};
  tid.type = TB_TYPE_INT8;
  tid.flags = TB_COL_TID;
  tid.missing_param = TB_NONE;
  w.columns.push_back(tid);
  w.outputs = {key, w.expr(TB_EXPR_COLUMN, TB_TYPE_INT8, 0, 1, {})};
  EXPECT_TRUE(Program::parse(w.blob(TB_SINK_PROJECT)).has_tids());
  w.columns[1].flags |= TB_COL_NULLABLE;
  EXPECT_THROW(Program::parse(w.blob()), ProgramError);
  w.columns[1].flags = TB_COL_TID;
  w.source = TB_SOURCE_FILES;
  EXPECT_THROW(Program::parse(w.blob()), ProgramError);
}

TEST(Program, ParsesExtremes) {
  ProgramWriter blob;
  const uint32_t a = blob.column(TB_TYPE_INT4);
  const uint32_t b = blob.column(TB_TYPE_INT4, true);
  const uint32_t t = blob.column(TB_TYPE_TEXT);
  blob.outputs = {blob.expr(TB_EXPR_GREATEST, TB_TYPE_INT4, 0, TB_FN_INT4LT, {a, b})};
  EXPECT_NO_THROW(Program::parse(blob.blob(TB_SINK_PROJECT)));
  ProgramWriter other = blob;
  other.exprs.back().index = TB_FN_INT4PL;
  EXPECT_THROW(Program::parse(other.blob(TB_SINK_PROJECT)), ProgramError);
  other = blob;
  other.args.back() = t;
  EXPECT_THROW(Program::parse(other.blob(TB_SINK_PROJECT)), ProgramError);
  other = blob;
  other.exprs.back().nargs = 0;
  EXPECT_THROW(Program::parse(other.blob(TB_SINK_PROJECT)), ProgramError);
}

/* The model, then a column each. */
TEST(Program, ParsesModels) {
  ProgramWriter blob;
  const uint32_t x = blob.column(TB_TYPE_FLOAT8), y = blob.column(TB_TYPE_FLOAT8), i = blob.column(TB_TYPE_INT4);
  const uint32_t model = blob.param(TB_TYPE_FLOAT8, 0, TB_PARAM_ARRAY);
  blob.outputs = {blob.expr(TB_EXPR_MODEL, TB_TYPE_FLOAT8, 0, TB_MODEL_LOGISTIC, {model, x, y})};
  EXPECT_NO_THROW(Program::parse(blob.blob(TB_SINK_PROJECT)));
  const auto refused = [&](auto&& damage) {
    ProgramWriter other = blob;
    damage(other);
    EXPECT_THROW(Program::parse(other.blob(TB_SINK_PROJECT)), ProgramError);
  };
  refused([](ProgramWriter& w) { w.exprs.back().index = TB_MODEL_PRODUCT + 1; });
  refused([](ProgramWriter& w) { w.exprs.back().index = TB_MODEL_PRODUCT; });  // of an array
  refused([](ProgramWriter& w) { w.exprs.back().index = 0; });
  refused([](ProgramWriter& w) { w.exprs.back().index = TB_MODEL_NEAREST; });  // an integer
  refused([](ProgramWriter& w) { w.exprs.back().nargs = 1; });
  refused([&](ProgramWriter& w) { w.args.back() = i; });
  refused([&](ProgramWriter& w) { w.args.back() = model; });
  refused([&](ProgramWriter& w) { w.args[w.args.size() - 3] = x; });
  refused([](ProgramWriter& w) { w.params[0].flags |= TB_PARAM_NULLABLE; });
}

/* i = 0; while (i < a) { a, i = i, i + a }; i: expressions 0 a, 1 p, 2 and 3 locals, 4 the condition, 5 the sum, 6 the
 * loop, 7 a local behind it, 8 the sequence. */
ProgramWriter looping() {
  ProgramWriter blob;
  const uint32_t a = blob.column(TB_TYPE_INT4), zero = blob.param(TB_TYPE_INT4);
  const uint32_t first = blob.expr(TB_EXPR_LOCAL, TB_TYPE_INT4, TB_EX_NULLABLE, 0, {});
  const uint32_t i = blob.expr(TB_EXPR_LOCAL, TB_TYPE_INT4, TB_EX_NULLABLE, 1, {});
  const uint32_t less = blob.call(TB_FN_INT4LT, {i, first}), sum = blob.call(TB_FN_INT4PL, {i, first});
  const uint32_t loop = blob.expr(TB_EXPR_LOOP, TB_TYPE_BOOL, TB_EX_RAISES, 0, {a, zero, less, less, i, sum});
  const uint32_t last = blob.expr(TB_EXPR_LOCAL, TB_TYPE_INT4, TB_EX_NULLABLE, 1, {});
  blob.outputs = {blob.expr(TB_EXPR_SEQUENCE, TB_TYPE_INT4, TB_EX_NULLABLE, 1, {loop, last})};
  return blob;
}

TEST(Program, ParsesLoops) {
  EXPECT_NO_THROW(Program::parse(looping().blob(TB_SINK_PROJECT)));
  const std::vector<std::pair<const char*, std::function<void(ProgramWriter&)>>> damages = {
      {"local's number", [](ProgramWriter& b) { b.exprs[2].index = TB_MAX_LOCALS; }},
      {"local that is never NULL", [](ProgramWriter& b) { b.exprs[2].flags = 0; }},
      {"local of two types", [](ProgramWriter& b) { b.exprs[7].type = TB_TYPE_INT8; }},
      {"local with operands", [](ProgramWriter& b) { b.exprs[2].nargs = 1; }},
      {"loop's first local", [](ProgramWriter& b) { b.exprs[6].index = TB_MAX_LOCALS - 1; }},
      {"loop's first local, overflow", [](ProgramWriter& b) { b.exprs[6].index = 0xffffffff; }},
      {"loop's type", [](ProgramWriter& b) { b.exprs[6].type = TB_TYPE_INT4; }},
      {"loop that cannot raise", [](ProgramWriter& b) { b.exprs[6].flags = TB_EX_NULLABLE; }},
      {"loop of an odd number", [](ProgramWriter& b) { b.exprs[6].nargs = 5; }},
      {"loop of one operand less", [](ProgramWriter& b) { b.exprs[6].nargs = 4; }},
      {"loop without operands", [](ProgramWriter& b) { b.exprs[6].nargs = 0; }},
      {"condition that is no boolean", [](ProgramWriter& b) { b.args[b.exprs[6].first_arg + 2] = 0; }},
      {"next value of another type", [](ProgramWriter& b) { b.args[b.exprs[6].first_arg + 5] = 4; }},
      {"empty sequence", [](ProgramWriter& b) { b.exprs[8].nargs = 0; }},
      {"sequence's kind", [](ProgramWriter& b) { b.exprs[8].index = 2; }},
      {"sequence's type", [](ProgramWriter& b) { b.exprs[8].type = TB_TYPE_BOOL; }},
      {"sequence that is never NULL", [](ProgramWriter& b) { b.exprs[8].flags = TB_EX_RAISES; }},
  };
  for (const auto& [name, damage] : damages) {
    ProgramWriter blob = looping();
    damage(blob);
    EXPECT_THROW(Program::parse(blob.blob(TB_SINK_PROJECT)), ProgramError) << name;
  }
}

TEST(Program, RefusesEachDamage) {
  const std::vector<std::pair<const char*, std::function<void(ProgramWriter&)>>> damages = {
      {"sink", [](ProgramWriter& b) { b.sink = 9; }},
      {"rows sink with keys", [](ProgramWriter& b) { b.sink = TB_SINK_ROWS; }},
      {"attribute alignment", [](ProgramWriter& b) { b.attributes[0].align = 3; }},
      {"attribute length", [](ProgramWriter& b) { b.attributes[0].length = -3; }},
      {"attribute reserved", [](ProgramWriter& b) { b.attributes[0].reserved = 1; }},
      {"attnum 0", [](ProgramWriter& b) { b.columns[0].attnum = 0; }},
      {"attnum beyond", [](ProgramWriter& b) { b.columns[0].attnum = 3; }},
      {"column of dropped", [](ProgramWriter& b) { b.attributes[0].flags |= TB_ATT_DROPPED; }},
      {"column width", [](ProgramWriter& b) { b.attributes[0].length = 8; }},
      {"column missing", [](ProgramWriter& b) { b.columns[0].missing_param = 7; }},
      {"column missing is array", [](ProgramWriter& b) { b.columns[0].missing_param = 1; }},
      {"column missing type", [](ProgramWriter& b) { b.columns[0].missing_param = 2; }},
      {"column scale", [](ProgramWriter& b) { b.columns[0].scale = 2; }},
      {"display scale of a fixed-width attribute", [](ProgramWriter& b) { b.columns[0].flags = TB_COL_DISPLAY_SCALE; }},
      {"display scale's type", [](ProgramWriter& b) { b.columns[1].flags = TB_COL_DISPLAY_SCALE; }},
      {"digits of no numeric", [](ProgramWriter& b) { b.columns[0].digits = 5; }},
      {"coordinate's type", [](ProgramWriter& b) { b.columns[0].flags = TB_COL_COORDINATE; }},
      {"coordinate of a fixed-width attribute",
       [](ProgramWriter& b) {
         b.columns[0].flags = TB_COL_COORDINATE;
         b.columns[0].type = TB_TYPE_FLOAT8;
         b.attributes[0].length = 8;
       }},
      {"coordinate that points have not",
       [](ProgramWriter& b) {
         b.columns[0].flags = TB_COL_COORDINATE;
         b.columns[0].type = TB_TYPE_FLOAT8;
         b.attributes[0].length = -1;
         b.columns[0].digits = tb_point_form(4326, 0, 2);
       }},
      {"tuple ids with an attribute", [](ProgramWriter& b) { b.columns[0].flags = TB_COL_TID; }},
      {"tuple ids of a narrow type",
       [](ProgramWriter& b) {
         b.columns[0].flags = TB_COL_TID;
         b.columns[0].attnum = 0;
       }},
      {"time zone's type", [](ProgramWriter& b) { b.params[0].flags = TB_PARAM_ZONE; }},
      {"time zone's flags", [](ProgramWriter& b) { b.params[2].flags = TB_PARAM_ZONE | TB_PARAM_NULLABLE; }},
      {"GREATEST by no comparison", [](ProgramWriter& b) { b.exprs[4].op = TB_EXPR_GREATEST; }},
      {"parameter type", [](ProgramWriter& b) { b.params[0].type = 200; }},
      {"parameter flags", [](ProgramWriter& b) { b.params[0].flags = 0x80; }},
      {"expression op", [](ProgramWriter& b) { b.exprs[4].op = 99; }},
      {"expression type", [](ProgramWriter& b) { b.exprs[4].type = 0; }},
      {"operand list", [](ProgramWriter& b) { b.exprs[4].first_arg = 1000; }},
      {"operand list overflow", [](ProgramWriter& b) { b.exprs[4].first_arg = 0xffffffff; }},
      {"operand after user", [](ProgramWriter& b) { b.args[0] = 4; }},
      {"column index", [](ProgramWriter& b) { b.exprs[0].index = 2; }},
      {"column type", [](ProgramWriter& b) { b.exprs[0].type = TB_TYPE_INT8; }},
      {"parameter index", [](ProgramWriter& b) { b.exprs[2].index = 3; }},
      {"function index", [](ProgramWriter& b) { b.exprs[4].index = TB_FUNCTION_COUNT; }},
      {"function argument", [](ProgramWriter& b) { b.args[0] = 1; }},
      {"function result", [](ProgramWriter& b) { b.exprs[4].type = TB_TYPE_INT4; }},
      {"ANY without array", [](ProgramWriter& b) { b.args[3] = 2; }},
      {"array as a scalar", [](ProgramWriter& b) { b.args[1] = 3; }},
      {"AND of one", [](ProgramWriter& b) { b.exprs[7].nargs = 1; }},
      {"CASE of two", [](ProgramWriter& b) { b.exprs[8].nargs = 2; }},
      {"nullable unmarked", [](ProgramWriter& b) { b.exprs[4].flags = 0; }},
      {"nullable column unmarked", [](ProgramWriter& b) { b.columns[0].flags = TB_COL_NULLABLE; }},
      {"raising unmarked", [](ProgramWriter& b) { b.exprs[6].flags = TB_EX_NULLABLE; }},
      {"raising operand unmarked", [](ProgramWriter& b) { b.exprs[8].flags = TB_EX_NULLABLE; }},
      {"filter index", [](ProgramWriter& b) { b.filters[0] = 100; }},
      {"filter type", [](ProgramWriter& b) { b.filters[0] = 0; }},
      {"key index", [](ProgramWriter& b) { b.keys[0] = 100; }},
      {"key is array", [](ProgramWriter& b) { b.keys[0] = 3; }},
      {"aggregate kind", [](ProgramWriter& b) { b.aggs[0].kind = 77; }},
      {"aggregate without argument", [](ProgramWriter& b) { b.aggs[1].arg = TB_NONE; }},
      {"aggregate type", [](ProgramWriter& b) { b.aggs[1].type = TB_TYPE_INT2; }},
      {"sum of text", [](ProgramWriter& b) { b.aggs[2].kind = TB_AGG_SUM_INT; }},
      {"aggregate filter", [](ProgramWriter& b) { b.aggs[0].filter = 0; }},
      {"rows as the source of attributes", [](ProgramWriter& b) { b.source = TB_SOURCE_ROWS; }},
      {"source", [](ProgramWriter& b) { b.source = 4; }},
      {"outputs of an aggregation", [](ProgramWriter& b) { b.outputs = {0}; }},
      {"a joined column's flag", [](ProgramWriter& b) { b.columns[0].flags = TB_COL_STORED_NULLABLE; }},
      {"too many keys", [](ProgramWriter& b) { b.keys.assign(TB_MAX_KEYS + 1, b.keys[0]); }},
  };
  for (const auto& [name, damage] : damages) {
    ProgramWriter blob = sample();
    damage(blob);
    EXPECT_THROW(Program::parse(blob.blob()), ProgramError) << name;
  }
}

/* Files of columns: attributes as of a heap table, but no row ids. */
TEST(Program, ParsesFiles) {
  ProgramWriter blob = sample();
  blob.source = TB_SOURCE_FILES;
  EXPECT_EQ(Program::parse(blob.blob()).source(), TB_SOURCE_FILES);
  ProgramWriter rows;
  rows.source = TB_SOURCE_FILES;
  rows.sink = TB_SINK_ROWS;
  EXPECT_THROW(Program::parse(rows.blob()), ProgramError);
}

TEST(Program, RefusesDamagedHeaders) {
  const std::vector<uint8_t> good = sample().blob();
  for (size_t size : {size_t{0}, size_t{8}, sizeof(TbProgram) - 1, good.size() - 1}) {
    EXPECT_THROW(Program::parse(std::span(good).first(size)), ProgramError) << size;
  }
  auto with = [&good](const std::function<void(TbProgram&)>& change) {
    std::vector<uint8_t> blob = good;
    TbProgram header;
    memcpy(&header, blob.data(), sizeof header);
    change(header);
    memcpy(blob.data(), &header, sizeof header);
    return blob;
  };
  EXPECT_THROW(Program::parse(with([](TbProgram& h) { h.magic ^= 1; })), ProgramError);
  EXPECT_THROW(Program::parse(with([](TbProgram& h) { h.version++; })), ProgramError);
  EXPECT_THROW(Program::parse(with([](TbProgram& h) { h.exprs.offset += 4; })), ProgramError);
  EXPECT_THROW(Program::parse(with([](TbProgram& h) { h.exprs.offset = 0xfffffff8; })), ProgramError);
  EXPECT_THROW(Program::parse(with([](TbProgram& h) { h.exprs.offset = 0; })), ProgramError);
  EXPECT_THROW(Program::parse(with([](TbProgram& h) { h.aggs.count = 200; })), ProgramError);
  EXPECT_THROW(Program::parse(with([](TbProgram& h) { h.outputs.count = 1; })), ProgramError);
  EXPECT_THROW(Program::parse(with([](TbProgram& h) { h.joins.count = 1; })), ProgramError);
  EXPECT_THROW(Program::parse(with([](TbProgram& h) { h.joins.count = 17; })), ProgramError);
}

/* SELECT a, x, y FROM s JOIN t ON a = t.k AND x < a LEFT JOIN u ON x = u.k WHERE EXISTS (v: k = a AND z < a)
 * Columns: 0 a, 1 x (of t), 2 y (of u), 3 z (of v); expressions the same. */
ProgramWriter joined() {
  ProgramWriter blob;
  blob.sink = TB_SINK_PROJECT;
  const uint32_t a = blob.column(TB_TYPE_INT4);
  blob.join(TB_JOIN_INNER, {a}, 0);
  const uint32_t x = blob.payload(0, 1, TB_TYPE_INT4);
  blob.join(TB_JOIN_LEFT, {x}, 1, TB_JOIN_UNIQUE);
  const uint32_t y = blob.payload(1, 1, TB_TYPE_INT4);
  blob.join(TB_JOIN_SEMI, {a}, 2);
  const uint32_t z = blob.payload(2, 2, TB_TYPE_INT4, true);
  blob.joins[0].residual = blob.call(TB_FN_INT4LT, {x, a});
  blob.joins[2].residual = blob.call(TB_FN_INT4LT, {z, a});
  blob.filters = {blob.call(TB_FN_INT4LT, {y, a})};
  blob.outputs = {a, x, y};
  return blob;
}

TEST(Program, ParsesJoins) {
  const Program program = Program::parse(joined().blob());
  EXPECT_EQ(program.joins().size(), 3u);
  EXPECT_EQ(program.source_columns(), 1u);
  EXPECT_EQ(program.join_keys(program.joins()[1])[0], 1u);

  ProgramWriter build = joined();
  build.sink = TB_SINK_BUILD;
  build.keys = {2};
  EXPECT_EQ(Program::parse(build.blob()).keys().size(), 1u);
  build.outputs.clear();  // a table for SEMI joins
  EXPECT_NO_THROW(Program::parse(build.blob()));
  ProgramWriter aggregate = joined();
  aggregate.sink = TB_SINK_AGGREGATE;
  aggregate.outputs.clear();
  aggregate.aggregate(TB_AGG_MAX, 2);
  EXPECT_NO_THROW(Program::parse(aggregate.blob()));
}

TEST(Program, ParsesRowsOfOtherPlans) {
  ProgramWriter blob;
  blob.source = TB_SOURCE_ROWS;
  blob.sink = TB_SINK_BUILD;
  blob.keys = {blob.column(TB_TYPE_INT8)};
  blob.outputs = {blob.column(TB_TYPE_TEXT, true)};
  EXPECT_EQ(Program::parse(blob.blob()).source(), TB_SOURCE_ROWS);
  std::swap(blob.columns[0].attnum, blob.columns[1].attnum);
  EXPECT_THROW(Program::parse(blob.blob()), ProgramError);
  std::swap(blob.columns[0].attnum, blob.columns[1].attnum);
  blob.params = {{TB_TYPE_INT8, 0, 0}};
  blob.columns[0].missing_param = 0;
  EXPECT_THROW(Program::parse(blob.blob()), ProgramError);
}

/* a INNER x FULL y: a, x and y may be NULL; one filter before the FULL join, one after. */
ProgramWriter fully_joined() {
  ProgramWriter blob;
  blob.sink = TB_SINK_PROJECT;
  blob.full_joins_end = 2;
  const uint32_t a = blob.column(TB_TYPE_INT4, true);
  blob.join(TB_JOIN_INNER, {a}, 0);
  const uint32_t x = blob.payload(0, 1, TB_TYPE_INT4);
  blob.join(TB_JOIN_FULL, {x}, 1);
  const uint32_t y = blob.payload(1, 1, TB_TYPE_INT4);
  blob.filters = {blob.call(TB_FN_INT4LT, {x, a}), blob.call(TB_FN_INT4LT, {y, a})};
  blob.joins[1].nfilters = 1;
  blob.outputs = {a, x, y};
  return blob;
}

TEST(Program, ParsesFullJoins) {
  const Program program = Program::parse(fully_joined().blob());
  EXPECT_EQ(program.full_joins_end(), 2u);
  EXPECT_TRUE(program.may_lack_match(0));
  EXPECT_FALSE(program.keeps_null_keys());
  EXPECT_EQ(Program::parse(joined().blob()).full_joins_end(), 0u);

  ProgramWriter build;
  build.keys = {build.column(TB_TYPE_INT4, true)};
  build.flags = TB_PROGRAM_KEEPS_NULL_KEYS;
  const Program table = Program::parse(build.blob(TB_SINK_BUILD));
  EXPECT_TRUE(kept_row_layout(table).columns[0].nullable);
  build.flags = 0;
  EXPECT_FALSE(kept_row_layout(Program::parse(build.blob(TB_SINK_BUILD))).columns[0].nullable);
}

TEST(Program, RefusesEachDamageOfFullJoins) {
  const std::vector<std::pair<const char*, std::function<void(ProgramWriter&)>>> damages = {
      {"kind beyond", [](ProgramWriter& b) { b.joins[1].kind = 6; }},
      {"more filters before it than there are", [](ProgramWriter& b) { b.joins[1].nfilters = 3; }},
      {"a filter before it that needs it", [](ProgramWriter& b) { b.joins[1].nfilters = 2; }},
      {"a column of the source that is not nullable", [](ProgramWriter& b) { b.columns[0].flags = 0; }},
      {"an earlier join's column that is not nullable", [](ProgramWriter& b) { b.columns[1].flags = 0; }},
      {"its own column that is not nullable", [](ProgramWriter& b) { b.columns[2].flags = 0; }},
      {"flags of a projection", [](ProgramWriter& b) { b.flags = TB_PROGRAM_KEEPS_NULL_KEYS; }},
      {"unknown flags", [](ProgramWriter& b) { b.flags = 2; }},
      {"fewer filters before a later one",
       [](ProgramWriter& b) {
         b.joins[0].kind = TB_JOIN_FULL;
         b.joins[0].nfilters = 2;
       }},
  };
  for (const auto& [name, damage] : damages) {
    ProgramWriter blob = fully_joined();
    damage(blob);
    EXPECT_THROW(Program::parse(blob.blob()), ProgramError) << name;
  }
}

TEST(Program, RefusesEachDamageOfJoins) {
  const std::vector<std::pair<const char*, std::function<void(ProgramWriter&)>>> damages = {
      {"kind", [](ProgramWriter& b) { b.joins[0].kind = 0; }},
      {"kind beyond", [](ProgramWriter& b) { b.joins[0].kind = 6; }},
      {"flags", [](ProgramWriter& b) { b.joins[0].flags = 2; }},
      {"reserved", [](ProgramWriter& b) { b.joins[0].reserved[2] = 1; }},
      {"filters before a join that is not FULL", [](ProgramWriter& b) { b.joins[0].nfilters = 1; }},
      {"a FULL join over columns that are not nullable", [](ProgramWriter& b) { b.joins[0].kind = TB_JOIN_FULL; }},
      {"table", [](ProgramWriter& b) { b.joins[0].join_table = 64; }},
      {"keys out of bounds", [](ProgramWriter& b) { b.joins[0].first_key = 100; }},
      {"keys that wrap around", [](ProgramWriter& b) { b.joins[0].first_key = 0xffffffff; }},
      {"number of keys", [](ProgramWriter& b) { b.joins[0].nkeys = 100; }},
      {"key's expression", [](ProgramWriter& b) { b.args[b.joins[0].first_key] = 100; }},
      {"key of its own join", [](ProgramWriter& b) { b.args[b.joins[0].first_key] = 1; }},
      {"key of a later join", [](ProgramWriter& b) { b.args[b.joins[1].first_key] = 2; }},
      {"residual's expression", [](ProgramWriter& b) { b.joins[1].residual = 1000; }},
      {"residual's type", [](ProgramWriter& b) { b.joins[1].residual = 0; }},
      {"residual of a later join", [](ProgramWriter& b) { b.joins[0].residual = b.filters[0]; }},
      {"filter on a SEMI join", [](ProgramWriter& b) { b.filters[0] = b.joins[2].residual; }},
      {"output of a SEMI join", [](ProgramWriter& b) { b.outputs[1] = 3; }},
      {"key of a SEMI join",
       [](ProgramWriter& b) {
         b.sink = TB_SINK_BUILD;
         b.keys = {3};
       }},
      {"residual on an earlier SEMI join",
       [](ProgramWriter& b) {
         b.joins[1].kind = TB_JOIN_ANTI;
         b.columns[2].flags = 0;
         b.exprs[2].flags = 0;
         b.joins[2].residual = b.filters[0];
         b.filters.clear();
         b.outputs = {0};
       }},
      {"output's expression", [](ProgramWriter& b) { b.outputs[0] = 1000; }},
      {"rows sink",
       [](ProgramWriter& b) {
         b.sink = TB_SINK_ROWS;
         b.outputs.clear();
       }},
      {"keys of a projection", [](ProgramWriter& b) { b.keys = {0}; }},
      {"aggregates of a projection", [](ProgramWriter& b) { b.aggregate(TB_AGG_COUNT); }},
      {"aggregates of a table",
       [](ProgramWriter& b) {
         b.sink = TB_SINK_BUILD;
         b.aggregate(TB_AGG_COUNT);
       }},
      {"payload before the source", [](ProgramWriter& b) { std::swap(b.columns[0], b.columns[1]); }},
      {"payload out of order", [](ProgramWriter& b) { std::swap(b.columns[1], b.columns[2]); }},
      {"payload's join", [](ProgramWriter& b) { b.columns[3].join = 4; }},
      {"payload's output", [](ProgramWriter& b) { b.columns[3].attnum = 0; }},
      {"payload's output beyond", [](ProgramWriter& b) { b.columns[3].attnum = TB_MAX_OUTPUTS + 1; }},
      {"payload's missing value",
       [](ProgramWriter& b) {
         b.params = {{TB_TYPE_INT4, 0, 0}};
         b.columns[1].missing_param = 0;
       }},
      {"payload's display scale", [](ProgramWriter& b) { b.columns[1].flags = TB_COL_DISPLAY_SCALE; }},
      {"payload's digits", [](ProgramWriter& b) { b.columns[1].digits = 5; }},
      {"INNER's nullable", [](ProgramWriter& b) { b.columns[1].flags = TB_COL_NULLABLE; }},
      {"INNER's stored nullable", [](ProgramWriter& b) { b.columns[1].flags = TB_COL_STORED_NULLABLE; }},
      {"LEFT without nullable", [](ProgramWriter& b) { b.columns[2].flags = 0; }},
      {"too many outputs", [](ProgramWriter& b) { b.outputs.assign(TB_MAX_OUTPUTS + 1, 0); }},
      {"too many joins", [](ProgramWriter& b) { b.joins.resize(TB_MAX_JOINS + 1, b.joins[2]); }},
  };
  for (const auto& [name, damage] : damages) {
    ProgramWriter blob = joined();
    damage(blob);
    EXPECT_THROW(Program::parse(blob.blob()), ProgramError) << name;
  }
}

/* Whatever the bytes, parse() returns or throws; readers of what it returns
 * stay within the blob (run under ASAN for the full effect). */
TEST(Program, SurvivesRandomDamage) {
  const std::vector<uint8_t> samples[] = {sample().blob(), joined().blob(), fully_joined().blob()};
  std::mt19937 random(1);
  int accepted = 0;
  for (int i = 0; i < 40000; i++) {
    std::vector<uint8_t> blob = samples[i % 3];
    for (int n = 1 + static_cast<int>(random() % 3); n > 0; n--)
      blob[random() % blob.size()] = static_cast<uint8_t>(random());
    try {
      const Program program = Program::parse(blob);
      accepted++;
      for (const TbExpr& expr : program.exprs())
        for (uint32_t arg : program.args(expr)) ASSERT_LT(arg, program.exprs().size());
      for (uint32_t filter : program.filters()) ASSERT_EQ(program.expr(filter).type, TB_TYPE_BOOL);
      for (const TbJoin& join : program.joins())
        for (uint32_t key : program.join_keys(join)) ASSERT_LT(key, program.exprs().size());
      for (const TbColumn& column : program.columns()) ASSERT_LE(column.join, program.joins().size());
      ASSERT_GE(group_layout(program).row_size, 16u);
    } catch (const ProgramError&) {
    }
  }
  EXPECT_GT(accepted, 0);  // some bytes do not matter: costs, the encoding
}

std::span<const uint8_t> bytes_of(const std::string& s) {
  return {reinterpret_cast<const uint8_t*>(s.data()), s.size()};
}

class Params : public ::testing::Test {
 protected:
  const Program program_ = Program::parse(sample().blob());
  /* The values of sample()'s parameters: 5, [1, NULL], 'abc'. */
  std::vector<TbParam> values_;
  std::string bytes_;

  void SetUp() override {
    const uint64_t first = sizeof(TbParamBlock) + 3 * sizeof(TbParam);
    values_.resize(3, TbParam{});
    values_[0].value[0] = 5;
    values_[1].length = 2;
    values_[1].offset = first;
    bytes_ = std::string("\1\0\0\0\0\0\0\0\0\1", 10) + std::string(6, '\0');
    values_[2].length = 3;
    values_[2].offset = first + bytes_.size();
    bytes_ += "abc";
  }
  bool accepted() const {
    try {
      check_params(program_, bytes_of(params_block(values_, bytes_)));
      return true;
    } catch (const ProgramError&) {
      return false;
    }
  }
};

TEST_F(Params, AcceptsWhatIsValid) {
  EXPECT_TRUE(accepted());
  values_[0].is_null = 1;
  EXPECT_TRUE(accepted());
}

TEST_F(Params, RefusesNullWhereTheShapeSaysNever) {
  values_[2].is_null = 1;
  EXPECT_FALSE(accepted());
}

TEST_F(Params, RefusesTextBeyondTheBlock) {
  values_[2].length = 4;
  EXPECT_FALSE(accepted());
}

TEST_F(Params, RefusesTextInsideTheHeader) {
  values_[2].offset = 0;
  EXPECT_FALSE(accepted());
}

TEST_F(Params, RefusesOffsetsThatWrapAround) {
  values_[2].offset = UINT64_MAX - 1;
  EXPECT_FALSE(accepted());
}

TEST_F(Params, RefusesArraysBeyondTheBlock) {
  values_[1].length = 0x40000000;
  EXPECT_FALSE(accepted());
}

TEST_F(Params, RefusesArraysOutOfAlignment) {
  values_[1].offset += 4;
  values_[1].length = 1;
  EXPECT_FALSE(accepted());
}

TEST_F(Params, RefusesNullFlagsThatAreNeither) {
  bytes_[9] = 2;
  EXPECT_FALSE(accepted());
}

TEST_F(Params, RefusesAnotherNumberOfValues) {
  values_.pop_back();
  EXPECT_FALSE(accepted());
}

/* Code reads as much of a model as the columns need. */
TEST_F(Params, ChecksLengthsOfModels) {
  for (const uint32_t kind : {TB_MODEL_LINEAR, TB_MODEL_NEAREST}) {
    ProgramWriter blob;
    const uint32_t x = blob.column(TB_TYPE_FLOAT8), y = blob.column(TB_TYPE_FLOAT8);
    const uint32_t model = blob.param(TB_TYPE_FLOAT8, 0, TB_PARAM_ARRAY);
    blob.outputs = {
        blob.expr(TB_EXPR_MODEL, kind == TB_MODEL_LINEAR ? TB_TYPE_FLOAT8 : TB_TYPE_INT4, 0, kind, {model, x, y})};
    const Program program = Program::parse(blob.blob(TB_SINK_PROJECT));
    for (uint32_t length = 0; length <= 32; length++) {
      TbParam value{};
      value.length = length;
      value.offset = sizeof(TbParamBlock) + sizeof(TbParam);
      const std::string bytes(length * 9, '\0');
      const bool whole = kind == TB_MODEL_LINEAR ? length == 3 : length == 16 || length == 32;
      if (whole)
        EXPECT_NO_THROW(check_params(program, bytes_of(params_block({value}, bytes)))) << length;
      else
        EXPECT_THROW(check_params(program, bytes_of(params_block({value}, bytes))), ProgramError) << length;
    }
  }
}

TEST_F(Params, ChecksViewsOfTextArrays) {
  ProgramWriter blob;
  blob.params = {{TB_TYPE_TEXT, TB_PARAM_ARRAY, 0}};
  const Program program = Program::parse(blob.blob());
  TbParam value{};
  value.length = 1;
  value.offset = sizeof(TbParamBlock) + sizeof(TbParam);
  TbTextView view{3, 0, 0, static_cast<uint32_t>(value.offset + sizeof(TbTextView) + 1)};
  memcpy(&view.prefix, "xyz", 3);
  auto check = [&](const TbTextView& v) {
    const std::string bytes = std::string(reinterpret_cast<const char*>(&v), sizeof v) + std::string(1, '\0') + "xyz";
    check_params(program, bytes_of(params_block({value}, bytes)));
  };
  EXPECT_NO_THROW(check(view));
  TbTextView bad = view;
  bad.length = 4;
  EXPECT_THROW(check(bad), ProgramError);
  bad = view;
  bad.prefix++;
  EXPECT_THROW(check(bad), ProgramError);
  bad = view;
  bad.id = 1;
  EXPECT_THROW(check(bad), ProgramError);
}

}  // namespace
}  // namespace turbine
