/* zone_filter_test.cc - no segment is excluded of which a row passes; and those that should be are. */
#include "engine/source/segments/zone_filter.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "engine/program/testing/program_writer.h"

namespace turbine {
namespace {

using testing::ProgramWriter;

std::string params_of(const std::vector<int64_t>& values, bool null = false) {
  std::string block(sizeof(TbParamBlock) + values.size() * sizeof(TbParam), '\0');
  auto* head = reinterpret_cast<TbParamBlock*>(block.data());
  head->count = static_cast<uint32_t>(values.size());
  for (size_t i = 0; i < values.size(); i++) {
    TbParam& param = reinterpret_cast<TbParam*>(head + 1)[i];
    param.is_null = null;
    param.value[0] = static_cast<uint64_t>(values[i]);
    param.value[1] = values[i] < 0 ? ~uint64_t{0} : 0;
  }
  return block;
}

/* A column with values between these; least > greatest: NULLs alone. */
Segment::Column column(uint32_t number, uint32_t type, int64_t least, int64_t greatest) {
  StoredColumn::Shape shape{type, false, false};
  shape.zone = {true, least, greatest};
  return {number, 1, std::make_shared<StoredColumn>(shape, 1)};
}

/* The columns of a program have the numbers 7, 8, ... in the store. */
bool excludes(ProgramWriter& w, const std::vector<int64_t>& constants, std::vector<Segment::Column> columns,
              bool null = false) {
  const Program program = Program::parse(w.blob(TB_SINK_AGGREGATE));
  const std::string params = params_of(constants, null);
  const ZoneFilter filter(program, reinterpret_cast<const TbParamBlock*>(params.data()));
  Segment segment;
  segment.columns = std::move(columns);
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < segment.columns.size(); i++) numbers.push_back(7 + i);
  return filter.excludes(segment, numbers);
}

struct Operator {
  uint32_t function;
  std::function<bool(int64_t, int64_t)> passes;
};
const Operator kOperators[] = {
    {TB_FN_INT4LT, [](int64_t a, int64_t b) { return a < b; }},
    {TB_FN_INT4LE, [](int64_t a, int64_t b) { return a <= b; }},
    {TB_FN_INT4EQ, [](int64_t a, int64_t b) { return a == b; }},
    {TB_FN_INT4GE, [](int64_t a, int64_t b) { return a >= b; }},
    {TB_FN_INT4GT, [](int64_t a, int64_t b) { return a > b; }},
    {TB_FN_INT4NE, [](int64_t, int64_t) { return true; }},  // excludes nothing
};

TEST(ZoneFilter, ExcludesWhatCannotPassAndNothingElse) {
  for (const Operator& op : kOperators)
    for (const bool constant_first : {false, true})
      for (int64_t least = -3; least <= 3; least++)
        for (int64_t greatest = least; greatest <= 3; greatest++)
          for (int64_t constant = -5; constant <= 5; constant++) {
            ProgramWriter w;
            const uint32_t c = w.column(TB_TYPE_INT4), p = w.param(TB_TYPE_INT4);
            w.filters.push_back(constant_first ? w.call(op.function, {p, c}) : w.call(op.function, {c, p}));
            bool some = false;
            for (int64_t value = least; value <= greatest; value++)
              some |= constant_first ? op.passes(constant, value) : op.passes(value, constant);
            ASSERT_EQ(excludes(w, {constant}, {column(7, TB_TYPE_INT4, least, greatest)}), !some)
                << op.function << " " << constant_first << " " << least << ".." << greatest << " " << constant;
          }
}

TEST(ZoneFilter, EndsOfTheRangeDoNotOverflow) {
  const int64_t least = std::numeric_limits<int64_t>::min(), greatest = std::numeric_limits<int64_t>::max();
  for (const uint32_t function : {TB_FN_INT8LT, TB_FN_INT8GT}) {
    ProgramWriter w;
    const uint32_t c = w.column(TB_TYPE_INT8), p = w.param(TB_TYPE_INT8);
    w.filters.push_back(w.call(function, {c, p}));
    for (const int64_t constant : {least, greatest})
      EXPECT_FALSE(excludes(w, {constant}, {column(7, TB_TYPE_INT8, least, greatest)}));
  }
}

TEST(ZoneFilter, LooksIntoANDsAndAtEveryColumn) {
  ProgramWriter w;
  const uint32_t a = w.column(TB_TYPE_DATE), b = w.column(TB_TYPE_INT8, true);
  const uint32_t p = w.param(TB_TYPE_DATE), q = w.param(TB_TYPE_INT2);
  const uint32_t first = w.call(TB_FN_DATE_GE, {a, p}), second = w.call(TB_FN_INT82LT, {b, q});
  w.filters.push_back(w.expr(TB_EXPR_AND, TB_TYPE_BOOL, TB_EX_NULLABLE, 0, {first, second}));
  const auto zones = [](int64_t date, int64_t number) {
    return std::vector{column(7, TB_TYPE_DATE, date, date + 10), column(8, TB_TYPE_INT8, number, number + 10)};
  };
  EXPECT_FALSE(excludes(w, {105, -3}, zones(100, -10)));
  EXPECT_TRUE(excludes(w, {111, -3}, zones(100, -10)));
  EXPECT_TRUE(excludes(w, {105, -3}, zones(100, -3)));
  EXPECT_FALSE(excludes(w, {111, -3}, zones(100, -3), true)) << "a NULL is left to the filter";
  auto nulls = zones(100, -10);
  nulls[1] = column(8, TB_TYPE_INT8, 1, 0);
  EXPECT_TRUE(excludes(w, {105, -3}, nulls)) << "NULLs alone never pass";
}

TEST(ZoneFilter, OrsAndWhatMayRaiseArePassedBy) {
  ProgramWriter either;
  const uint32_t c = either.column(TB_TYPE_INT4), p = either.param(TB_TYPE_INT4);
  const uint32_t less = either.call(TB_FN_INT4LT, {c, p});
  either.filters.push_back(either.expr(TB_EXPR_OR, TB_TYPE_BOOL, 0, 0, {less, less}));
  EXPECT_FALSE(excludes(either, {0}, {column(7, TB_TYPE_INT4, 5, 9)}));

  for (const bool raising_first : {false, true}) {
    ProgramWriter w;
    const uint32_t v = w.column(TB_TYPE_INT4), q = w.param(TB_TYPE_INT4);
    const uint32_t raises = w.call(TB_FN_INT4EQ, {w.call(TB_FN_INT4DIV, {v, q}), q});
    w.exprs[raises].flags |= TB_EX_RAISES;
    const uint32_t plain = w.call(TB_FN_INT4LT, {v, q});
    w.filters = raising_first ? std::vector{raises, plain} : std::vector{plain, raises};
    EXPECT_EQ(excludes(w, {0}, {column(7, TB_TYPE_INT4, 5, 9)}), !raising_first)
        << "PostgreSQL would have raised first";
  }
}

}  // namespace
}  // namespace turbine
