/* equality_filter_test.cc - which conditions name all values that a row can pass with. */
#include "engine/source/segments/equality_filter.h"

#include <gtest/gtest.h>

#include "engine/program/testing/program_writer.h"

namespace turbine {
namespace {

using testing::ProgramWriter;

/* Integers, and lists of them: what a parameter block has of each. */
class Params {
 public:
  void add(int64_t value, bool is_null = false) {
    TbParam param{};
    param.is_null = is_null;
    param.value[0] = static_cast<uint64_t>(value);
    params_.push_back(param);
  }
  /* Of INT4; the last one may be NULL. */
  void add_list(const std::vector<int32_t>& values, bool last_is_null = false) {
    TbParam param{};
    param.length = static_cast<uint32_t>(values.size());
    param.offset = static_cast<uint32_t>(area_.size());
    params_.push_back(param);
    area_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int32_t));
    area_.append(values.size(), '\0');
    if (last_is_null) area_.back() = 1;
  }
  void add_text(const std::string& text) {
    TbParam param{};
    param.length = static_cast<uint32_t>(text.size());
    param.offset = static_cast<uint32_t>(area_.size());
    params_.push_back(param);
    area_ += text;
  }
  std::string block() const {
    TbParamBlock head{};
    head.count = static_cast<uint32_t>(params_.size());
    std::vector<TbParam> params = params_;
    const size_t before = sizeof head + params.size() * sizeof(TbParam);
    for (TbParam& param : params) param.offset += static_cast<uint32_t>(before);
    std::string block(reinterpret_cast<const char*>(&head), sizeof head);
    block.append(reinterpret_cast<const char*>(params.data()), params.size() * sizeof(TbParam));
    return block + area_;
  }

 private:
  std::vector<TbParam> params_;
  std::string area_;
};

std::vector<ColumnEquality> equalities(ProgramWriter& w, const Params& params) {
  const Program program = Program::parse(w.blob(TB_SINK_AGGREGATE));
  const std::string block = params.block();
  return EqualityFilter(program, reinterpret_cast<const TbParamBlock*>(block.data())).equalities();
}

using Integers = std::vector<int64_t>;

TEST(EqualityFilter, TakesComparisonsEitherWayRound) {
  ProgramWriter w;
  const uint32_t c = w.column(TB_TYPE_INT4), d = w.column(TB_TYPE_DATE), p = w.param(TB_TYPE_INT4),
                 q = w.param(TB_TYPE_DATE);
  const uint32_t first = w.call(TB_FN_INT4EQ, {c, p}), second = w.call(TB_FN_DATE_EQ, {q, d});
  w.filters.push_back(w.expr(TB_EXPR_AND, TB_TYPE_BOOL, 0, 0, {first, second}));
  Params params;
  params.add(-7);
  params.add(100);
  const auto found = equalities(w, params);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].column, 0u);
  EXPECT_EQ(found[0].integers, Integers{-7});
  EXPECT_EQ(found[1].column, 1u);
  EXPECT_EQ(found[1].integers, Integers{100});
}

TEST(EqualityFilter, TakesTexts) {
  ProgramWriter w;
  const uint32_t c = w.column(TB_TYPE_TEXT), p = w.param(TB_TYPE_TEXT);
  w.filters.push_back(w.call(TB_FN_TEXTEQ, {c, p}));
  Params params;
  params.add_text("some text");
  const auto found = equalities(w, params);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].integers.empty());
  EXPECT_EQ(found[0].texts, std::vector<std::string>{"some text"});
}

TEST(EqualityFilter, TakesListsWithoutTheirNulls) {
  for (const bool last_is_null : {false, true}) {
    ProgramWriter w;
    const uint32_t c = w.column(TB_TYPE_INT4), p = w.param(TB_TYPE_INT4, 0, TB_PARAM_ARRAY);
    w.filters.push_back(w.expr(TB_EXPR_ANY, TB_TYPE_BOOL, TB_EX_NULLABLE, TB_FN_INT4EQ, {c, p}));
    Params params;
    params.add_list({-3, 5, 8}, last_is_null);
    const auto found = equalities(w, params);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].integers, last_is_null ? Integers({-3, 5}) : Integers({-3, 5, 8}));
  }
}

TEST(EqualityFilter, TakesOrsOfOneColumnAlone) {
  for (const bool one_column : {false, true}) {
    ProgramWriter w;
    const uint32_t a = w.column(TB_TYPE_INT4), b = w.column(TB_TYPE_INT4);
    const uint32_t p = w.param(TB_TYPE_INT4), q = w.param(TB_TYPE_INT4);
    const uint32_t first = w.call(TB_FN_INT4EQ, {a, p}), second = w.call(TB_FN_INT4EQ, {one_column ? a : b, q});
    w.filters.push_back(w.expr(TB_EXPR_OR, TB_TYPE_BOOL, 0, 0, {first, second}));
    Params params;
    params.add(1);
    params.add(2);
    const auto found = equalities(w, params);
    ASSERT_EQ(found.size(), one_column ? 1u : 0u);
    if (one_column) {
      EXPECT_EQ(found[0].integers, Integers({1, 2}));
    }
  }
}

TEST(EqualityFilter, PassesByWhatIsNoEquality) {
  for (const uint32_t function : {TB_FN_INT4LT, TB_FN_INT4NE, TB_FN_INT4EQ}) {
    ProgramWriter w;
    const uint32_t a = w.column(TB_TYPE_INT4), p = w.param(TB_TYPE_INT4);
    const uint32_t condition = w.call(function, {a, p}), equality = w.call(TB_FN_INT4EQ, {a, p});
    w.filters.push_back(w.expr(TB_EXPR_OR, TB_TYPE_BOOL, 0, 0, {equality, condition}));
    Params params;
    params.add(1, function == TB_FN_INT4EQ);
    EXPECT_TRUE(equalities(w, params).empty()) << function;
  }
}

TEST(EqualityFilter, StopsAtWhatMayRaise) {
  for (const bool raising_first : {false, true}) {
    ProgramWriter w;
    const uint32_t a = w.column(TB_TYPE_INT4), p = w.param(TB_TYPE_INT4);
    const uint32_t raises = w.call(TB_FN_INT4LT, {w.call(TB_FN_INT4DIV, {a, p}), p});
    const uint32_t plain = w.call(TB_FN_INT4EQ, {a, p});
    w.filters = raising_first ? std::vector{raises, plain} : std::vector{plain, raises};
    Params params;
    params.add(3);
    EXPECT_EQ(equalities(w, params).size(), raising_first ? 0u : 1u);
  }
}

}  // namespace
}  // namespace turbine
