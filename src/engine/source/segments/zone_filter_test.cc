/* zone_filter_test.cc - no segment is excluded of which a row passes; and those that should be are. */
#include "engine/source/segments/zone_filter.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "engine/program/testing/program_writer.h"
#include "turbine/point_column.h"

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

/* A zone as the store makes it of these values. */
Segment::Column doubles(uint32_t number, const std::vector<double>& values) {
  int64_t least = std::numeric_limits<int64_t>::max(), greatest = std::numeric_limits<int64_t>::min();
  for (const double value : values) {
    least = std::min(least, std::bit_cast<int64_t>(value));
    greatest = std::max(greatest, std::bit_cast<int64_t>(value));
  }
  return column(number, TB_TYPE_FLOAT8, least, greatest);
}

TEST(ZoneFilter, FloatsOfOneSignAreCompared) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto misses = [](uint32_t function, double constant, const std::vector<double>& values) {
    ProgramWriter w;
    const uint32_t c = w.column(TB_TYPE_FLOAT8), p = w.param(TB_TYPE_FLOAT8);
    w.filters.push_back(w.call(function, {c, p}));
    return excludes(w, {std::bit_cast<int64_t>(constant)}, {doubles(7, values)});
  };
  EXPECT_TRUE(misses(TB_FN_FLOAT8LT, 1, {2, 5}));
  EXPECT_TRUE(misses(TB_FN_FLOAT8GT, 6, {2, 5}));
  EXPECT_TRUE(misses(TB_FN_FLOAT8EQ, -1, {-7, -2}));
  EXPECT_TRUE(misses(TB_FN_FLOAT8GE, -1, {-7, -2}));
  EXPECT_TRUE(misses(TB_FN_FLOAT8LE, -8, {-7, -2}));
  EXPECT_FALSE(misses(TB_FN_FLOAT8LE, -7, {-7, -2}));
  EXPECT_FALSE(misses(TB_FN_FLOAT8EQ, 0, {-0.0}));
  EXPECT_FALSE(misses(TB_FN_FLOAT8GT, 6, {2, 5, nan})) << "NaN is greater than all";
  EXPECT_FALSE(misses(TB_FN_FLOAT8GT, 6, {2, 5, -nan}));
  EXPECT_FALSE(misses(TB_FN_FLOAT8GT, 6, {-2, -nan}));
  EXPECT_FALSE(misses(TB_FN_FLOAT8LT, nan, {2, 5}));
  EXPECT_FALSE(misses(TB_FN_FLOAT8EQ, nan, {2, nan}));
}

/* A polygon's box, without the polygon: nothing else of it is looked at. */
std::string shape_with_box(uint32_t srid, float xmin, float xmax, float ymin, float ymax) {
  const float box[] = {xmin, xmax, ymin, ymax};
  const uint32_t words[] = {3, 0};
  std::string bytes = {static_cast<char>(srid >> 16), static_cast<char>(srid >> 8), static_cast<char>(srid), 0x44};
  return bytes.append(reinterpret_cast<const char*>(box), sizeof box)
      .append(reinterpret_cast<const char*>(words), sizeof words);
}

bool box_excludes(uint32_t function, uint32_t srid, const std::string& shape, std::vector<Segment::Column> columns,
                  double radius = 0, bool raising_before = false) {
  ProgramWriter w;
  const uint32_t form = tb_point_form(srid, 0, 0);
  const uint32_t x = w.column(TB_TYPE_FLOAT8), y = w.column(TB_TYPE_FLOAT8);
  const uint32_t point = w.expr(TB_EXPR_POINT, TB_TYPE_GEOMETRY, 0, form, {x, y});
  const uint32_t p = w.param(TB_TYPE_GEOMETRY), r = w.param(TB_TYPE_FLOAT8);
  if (raising_before) {
    const uint32_t q = w.param(TB_TYPE_INT4);
    const uint32_t raises = w.call(TB_FN_INT4EQ, {w.call(TB_FN_INT4DIV, {q, q}), q});
    w.exprs[raises].flags |= TB_EX_RAISES;
    w.filters.push_back(raises);
  }
  const bool with_radius = function == TB_FN_ST_DWITHIN || function == TB_FN_ST_DWITHIN_BOUNDS;
  w.filters.push_back(with_radius ? w.call(function, {point, p, r}) : w.call(function, {p, point}));
  const Program program = Program::parse(w.blob(TB_SINK_AGGREGATE));
  std::string params = params_of({0, std::bit_cast<int64_t>(radius), 1});
  auto* param = reinterpret_cast<TbParam*>(params.data() + sizeof(TbParamBlock));
  param->offset = static_cast<decltype(param->offset)>(params.size());
  param->length = static_cast<uint32_t>(shape.size());
  params += shape;
  const ZoneFilter filter(program, reinterpret_cast<const TbParamBlock*>(params.data()));
  Segment segment;
  segment.columns = std::move(columns);
  return filter.excludes(segment, {7, 8});
}

TEST(ZoneFilter, BoxesOfConstantsLeaveOutPoints) {
  const std::string shape = shape_with_box(4326, 10, 20, 30, 40);
  const auto points = [](std::vector<double> x, std::vector<double> y) {
    return std::vector{doubles(7, x), doubles(8, y)};
  };
  for (const uint32_t function : {TB_FN_GEOMETRY_OVERLAPS, TB_FN_ST_CONTAINS, TB_FN_ST_INTERSECTS, TB_FN_ST_COVERS}) {
    EXPECT_TRUE(box_excludes(function, 4326, shape, points({1, 9.9}, {30, 40})));
    EXPECT_TRUE(box_excludes(function, 4326, shape, points({10, 20}, {40.1, 50})));
    EXPECT_FALSE(box_excludes(function, 4326, shape, points({1, 10}, {1, 30})));
    EXPECT_FALSE(box_excludes(function, 4326, shape, points({20.0000001, 21}, {30, 40})))
        << "the box of floats may meet";
    EXPECT_FALSE(box_excludes(function, 3857, shape, points({1, 9}, {30, 40}))) << "two SRIDs are an error";
    EXPECT_FALSE(box_excludes(function, 4326, shape, points({1, 9, std::nan("")}, {30, 40}))) << "NaN meets every box";
    EXPECT_FALSE(box_excludes(function, 4326, shape, points({1, 9}, {30, 40}), 0, true))
        << "PostgreSQL would have raised first";
  }
  for (const uint32_t function : {TB_FN_ST_DWITHIN, TB_FN_ST_DWITHIN_BOUNDS}) {
    EXPECT_TRUE(box_excludes(function, 4326, shape, points({1, 9}, {30, 40}), 0.9));
    EXPECT_FALSE(box_excludes(function, 4326, shape, points({1, 9}, {30, 40}), 1));
    EXPECT_FALSE(box_excludes(function, 4326, shape, points({1, 9}, {30, 40}), -1)) << "an error";
  }
  EXPECT_FALSE(box_excludes(TB_FN_ST_DISJOINT, 4326, shape, points({1, 9}, {30, 40})));
  const float most = std::numeric_limits<float>::max();
  EXPECT_FALSE(
      box_excludes(TB_FN_ST_CONTAINS, 4326, shape_with_box(4326, 10, most, 30, 40), points({1e300}, {30, 40})));
}

}  // namespace
}  // namespace turbine
