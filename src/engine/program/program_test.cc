/*
 * program_test.cc - what parse() and check_params() accept, and every way in
 * which they must refuse.
 */
#include "engine/program/program.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "engine/program/group_layout.h"
#include "engine/testing/program_blob.h"

namespace turbine {
namespace {

using testing::params_block;
using testing::ProgramBlob;

TbExpr node(uint8_t op, uint8_t type, uint32_t index = 0, uint8_t flags = 0) {
  TbExpr expr{};
  expr.op = op;
  expr.type = type;
  expr.index = index;
  expr.flags = flags;
  return expr;
}

/* SELECT a + p, count(*), sum(a), min(t) ... WHERE a < p AND a = ANY(q) GROUP BY a + p */
ProgramBlob sample() {
  ProgramBlob blob;
  blob.sink = TB_SINK_AGGREGATE;
  const uint32_t a = blob.add_column(TB_TYPE_INT4);
  const uint32_t t = blob.add_column(TB_TYPE_TEXT);
  blob.params = {{TB_TYPE_INT4, TB_PARAM_NULLABLE, 0}, {TB_TYPE_INT4, TB_PARAM_ARRAY, 0}, {TB_TYPE_TEXT, 0, 0}};
  const uint32_t p = blob.add_expr(node(TB_EXPR_PARAM, TB_TYPE_INT4, 0, TB_EX_NULLABLE), {});
  const uint32_t q = blob.add_expr(node(TB_EXPR_PARAM, TB_TYPE_INT4, 1), {});
  const uint32_t less = blob.add_expr(node(TB_EXPR_CALL, TB_TYPE_BOOL, TB_FN_INT4LT, TB_EX_NULLABLE), {a, p});
  const uint32_t any = blob.add_expr(node(TB_EXPR_ANY, TB_TYPE_BOOL, TB_FN_INT4EQ), {a, q});
  const uint32_t sum =
      blob.add_expr(node(TB_EXPR_CALL, TB_TYPE_INT4, TB_FN_INT4PL, TB_EX_NULLABLE | TB_EX_RAISES), {a, p});
  const uint32_t both = blob.add_expr(node(TB_EXPR_AND, TB_TYPE_BOOL, 0, TB_EX_NULLABLE), {less, any});
  const uint32_t choice =
      blob.add_expr(node(TB_EXPR_CASE, TB_TYPE_INT4, 0, TB_EX_NULLABLE | TB_EX_RAISES), {less, sum, a});
  blob.filters = {both};
  blob.keys = {sum};
  blob.add_agg(TB_AGG_COUNT, TB_NONE);
  blob.add_agg(TB_AGG_SUM_INT, choice);
  blob.add_agg(TB_AGG_MIN, t);
  blob.aggs[0].filter = less;
  return blob;
}

TEST(Program, ParsesWhatIsValid) {
  const Program program = Program::parse(sample().build());
  EXPECT_EQ(program.sink(), TB_SINK_AGGREGATE);
  EXPECT_EQ(program.columns().size(), 2u);
  EXPECT_EQ(program.args(program.expr(program.filters()[0])).size(), 2u);
  EXPECT_TRUE(program.grouped());
}

TEST(Program, RefusesEachDamage) {
  const std::vector<std::pair<const char*, std::function<void(ProgramBlob&)>>> damages = {
      {"sink", [](ProgramBlob& b) { b.sink = 9; }},
      {"rows sink with keys", [](ProgramBlob& b) { b.sink = TB_SINK_ROWS; }},
      {"attribute alignment", [](ProgramBlob& b) { b.attributes[0].align = 3; }},
      {"attribute length", [](ProgramBlob& b) { b.attributes[0].length = -3; }},
      {"attribute reserved", [](ProgramBlob& b) { b.attributes[0].reserved = 1; }},
      {"attnum 0", [](ProgramBlob& b) { b.columns[0].attnum = 0; }},
      {"attnum beyond", [](ProgramBlob& b) { b.columns[0].attnum = 3; }},
      {"column of dropped", [](ProgramBlob& b) { b.attributes[0].flags |= TB_ATT_DROPPED; }},
      {"column width", [](ProgramBlob& b) { b.attributes[0].length = 8; }},
      {"column missing", [](ProgramBlob& b) { b.columns[0].missing_param = 7; }},
      {"column missing is array", [](ProgramBlob& b) { b.columns[0].missing_param = 1; }},
      {"column missing type", [](ProgramBlob& b) { b.columns[0].missing_param = 2; }},
      {"column digits", [](ProgramBlob& b) { b.columns[0].digits = 5; }},
      {"column's display scale", [](ProgramBlob& b) { b.columns[0].flags |= TB_COL_DISPLAY_SCALE; }},
      {"time zone's shape", [](ProgramBlob& b) { b.params[0].flags = TB_PARAM_ZONE; }},
      {"GREATEST by no comparison", [](ProgramBlob& b) { b.exprs[4].op = TB_EXPR_GREATEST; }},
      {"column scale", [](ProgramBlob& b) { b.columns[0].scale = 2; }},
      {"parameter type", [](ProgramBlob& b) { b.params[0].type = 200; }},
      {"parameter flags", [](ProgramBlob& b) { b.params[0].flags = 0x80; }},
      {"expression op", [](ProgramBlob& b) { b.exprs[4].op = 99; }},
      {"expression type", [](ProgramBlob& b) { b.exprs[4].type = 0; }},
      {"operand list", [](ProgramBlob& b) { b.exprs[4].first_arg = 1000; }},
      {"operand list overflow", [](ProgramBlob& b) { b.exprs[4].first_arg = 0xffffffff; }},
      {"operand after user", [](ProgramBlob& b) { b.args[0] = 4; }},
      {"column index", [](ProgramBlob& b) { b.exprs[0].index = 2; }},
      {"column type", [](ProgramBlob& b) { b.exprs[0].type = TB_TYPE_INT8; }},
      {"parameter index", [](ProgramBlob& b) { b.exprs[2].index = 3; }},
      {"function index", [](ProgramBlob& b) { b.exprs[4].index = TB_FUNCTION_COUNT; }},
      {"function argument", [](ProgramBlob& b) { b.args[0] = 1; }},
      {"function result", [](ProgramBlob& b) { b.exprs[4].type = TB_TYPE_INT4; }},
      {"ANY without array", [](ProgramBlob& b) { b.args[3] = 2; }},
      {"array as a scalar", [](ProgramBlob& b) { b.args[1] = 3; }},
      {"AND of one", [](ProgramBlob& b) { b.exprs[7].nargs = 1; }},
      {"CASE of two", [](ProgramBlob& b) { b.exprs[8].nargs = 2; }},
      {"nullable unmarked", [](ProgramBlob& b) { b.exprs[4].flags = 0; }},
      {"nullable column unmarked", [](ProgramBlob& b) { b.columns[0].flags = TB_COL_NULLABLE; }},
      {"raising unmarked", [](ProgramBlob& b) { b.exprs[6].flags = TB_EX_NULLABLE; }},
      {"raising operand unmarked", [](ProgramBlob& b) { b.exprs[8].flags = TB_EX_NULLABLE; }},
      {"filter index", [](ProgramBlob& b) { b.filters[0] = 100; }},
      {"filter type", [](ProgramBlob& b) { b.filters[0] = 0; }},
      {"key index", [](ProgramBlob& b) { b.keys[0] = 100; }},
      {"key is array", [](ProgramBlob& b) { b.keys[0] = 3; }},
      {"aggregate kind", [](ProgramBlob& b) { b.aggs[0].kind = 77; }},
      {"aggregate without argument", [](ProgramBlob& b) { b.aggs[1].arg = TB_NONE; }},
      {"aggregate type", [](ProgramBlob& b) { b.aggs[1].type = TB_TYPE_INT2; }},
      {"sum of text", [](ProgramBlob& b) { b.aggs[2].kind = TB_AGG_SUM_INT; }},
      {"aggregate filter", [](ProgramBlob& b) { b.aggs[0].filter = 0; }},
      {"too many keys", [](ProgramBlob& b) { b.keys.assign(TB_MAX_KEYS + 1, b.keys[0]); }},
  };
  for (const auto& [name, damage] : damages) {
    ProgramBlob blob = sample();
    damage(blob);
    EXPECT_THROW(Program::parse(blob.build()), ProgramError) << name;
  }
}

TEST(Program, RefusesDamagedHeaders) {
  const std::vector<uint8_t> good = sample().build();
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
  EXPECT_THROW(Program::parse(with([](TbProgram& h) { h.reserved[1] = 1; })), ProgramError);
  EXPECT_THROW(Program::parse(with([](TbProgram& h) { h.exprs.offset += 4; })), ProgramError);
  EXPECT_THROW(Program::parse(with([](TbProgram& h) { h.exprs.offset = 0xfffffff8; })), ProgramError);
  EXPECT_THROW(Program::parse(with([](TbProgram& h) { h.exprs.offset = 0; })), ProgramError);
  EXPECT_THROW(Program::parse(with([](TbProgram& h) { h.aggs.count = 200; })), ProgramError);
  EXPECT_THROW(Program::parse(with([](TbProgram& h) { h.outputs.count = 1; })), ProgramError);
}

/* Whatever the bytes, parse() returns or throws; readers of what it returns
 * stay within the blob (run under ASAN for the full effect). */
TEST(Program, SurvivesRandomDamage) {
  const std::vector<uint8_t> good = sample().build();
  std::mt19937 random(1);
  int accepted = 0;
  for (int i = 0; i < 20000; i++) {
    std::vector<uint8_t> blob = good;
    for (int n = 1 + static_cast<int>(random() % 3); n > 0; n--) blob[random() % blob.size()] = static_cast<uint8_t>(random());
    try {
      const Program program = Program::parse(blob);
      accepted++;
      for (const TbExpr& expr : program.exprs())
        for (uint32_t arg : program.args(expr)) ASSERT_LT(arg, program.exprs().size());
      for (uint32_t filter : program.filters()) ASSERT_EQ(program.expr(filter).type, TB_TYPE_BOOL);
      ASSERT_GE(group_layout(program).row_size, 16u);
    } catch (const ProgramError&) {
    }
  }
  EXPECT_GT(accepted, 0);  // some bytes do not matter: costs, the encoding
}

std::span<const uint8_t> bytes_of(const std::string& s) { return {reinterpret_cast<const uint8_t*>(s.data()), s.size()}; }

class Params : public ::testing::Test {
 protected:
  const Program program_ = Program::parse(sample().build());
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

TEST_F(Params, ChecksViewsOfTextArrays) {
  ProgramBlob blob;
  blob.params = {{TB_TYPE_TEXT, TB_PARAM_ARRAY, 0}};
  const Program program = Program::parse(blob.build());
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
  bad.buffer = 1;
  EXPECT_THROW(check(bad), ProgramError);
}

}  // namespace
}  // namespace turbine
