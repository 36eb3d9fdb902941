/*
 * zone_filter.cc - see zone_filter.h.
 *
 * Owns a few intervals. Called before a part's segments become tasks. Must never exclude a
 * segment of which one row might pass.
 */
#include "engine/source/segments/zone_filter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/source/segments/early_filters.h"
#include "turbine/functions.h"
#include "turbine/mutant.h"
#include "turbine/point_column.h"

namespace turbine {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();

enum class Comparison { kNone, kLess, kLessOrEqual, kEqual, kGreaterOrEqual, kGreater };

/* Functions that compare values whose order is that of the integers that they are kept as. */
Comparison comparison_of(uint32_t function) {
#define TB_COMPARISONS(type)                                 \
  case TB_FN_##type##LT: return Comparison::kLess;           \
  case TB_FN_##type##LE: return Comparison::kLessOrEqual;    \
  case TB_FN_##type##EQ: return Comparison::kEqual;          \
  case TB_FN_##type##GE: return Comparison::kGreaterOrEqual; \
  case TB_FN_##type##GT: return Comparison::kGreater
  switch (function) {
    TB_COMPARISONS(INT2);
    TB_COMPARISONS(INT4);
    TB_COMPARISONS(INT8);
    TB_COMPARISONS(INT24);
    TB_COMPARISONS(INT42);
    TB_COMPARISONS(INT28);
    TB_COMPARISONS(INT82);
    TB_COMPARISONS(INT48);
    TB_COMPARISONS(INT84);
    TB_COMPARISONS(NUM64);
    TB_COMPARISONS(DATE_);
    TB_COMPARISONS(TIMESTAMP_);
    TB_COMPARISONS(TIMESTAMPTZ_);
    default: return Comparison::kNone;
  }
#undef TB_COMPARISONS
}

Comparison float_comparison_of(uint32_t function) {
  switch (function) {
    case TB_FN_FLOAT8LT: return Comparison::kLess;
    case TB_FN_FLOAT8LE: return Comparison::kLessOrEqual;
    case TB_FN_FLOAT8EQ: return Comparison::kEqual;
    case TB_FN_FLOAT8GE: return Comparison::kGreaterOrEqual;
    case TB_FN_FLOAT8GT: return Comparison::kGreater;
    default: return Comparison::kNone;
  }
}

/* Predicates of two geometries that hold only if their boxes meet, the distance of the third argument apart. */
bool needs_boxes_to_meet(uint32_t function) {
  switch (function) {
    case TB_FN_GEOMETRY_OVERLAPS:
    case TB_FN_GEOMETRY_CONTAINS:
    case TB_FN_GEOMETRY_WITHIN:
    case TB_FN_ST_CONTAINS:
    case TB_FN_ST_WITHIN:
    case TB_FN_ST_COVERS:
    case TB_FN_ST_COVEREDBY:
    case TB_FN_ST_INTERSECTS:
    case TB_FN_ST_DWITHIN:
    case TB_FN_ST_DWITHIN_BOUNDS: return true;
    default: return false;
  }
}

/* Values between the least and the greatest of a column of float8, whose zone has them as integers. Integers have the
 * order of the numbers above 0, and the opposite one below. With NaN among them, or with both signs, where a negative
 * NaN would not show, there may be any value. */
struct FloatRange {
  double low, high;
};
FloatRange float_range(const StoredColumn::Zone& zone) {
  constexpr FloatRange kAny{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  if ((zone.least < 0) != (zone.greatest < 0)) return kAny;
  const auto least = std::bit_cast<double>(zone.least), greatest = std::bit_cast<double>(zone.greatest);
  if (std::isnan(greatest)) return kAny;
  return zone.least < 0 ? FloatRange{greatest, least} : FloatRange{least, greatest};
}

/* a op b is b flipped(op) a. */
Comparison flipped(Comparison comparison) {
  switch (comparison) {
    case Comparison::kLess: return Comparison::kGreater;
    case Comparison::kLessOrEqual: return Comparison::kGreaterOrEqual;
    case Comparison::kGreaterOrEqual: return Comparison::kLessOrEqual;
    case Comparison::kGreater: return Comparison::kLess;
    default: return comparison;
  }
}

/* A parameter of an integer type, whose value is in the low bytes. */
int64_t integer_of(const TbParam& param, uint32_t type) {
  switch (tb_type_width(type)) {
    case 2: return static_cast<int16_t>(param.value[0]);
    case 4: return static_cast<int32_t>(param.value[0]);
    default: return static_cast<int64_t>(param.value[0]);
  }
}

}  // namespace

ZoneFilter::ZoneFilter(const Program& program, const TbParamBlock* params) {
  visit_early_filters(program, [&](const TbExpr& filter) {
    if (filter.op == TB_EXPR_CALL) add_comparison(program, params, filter);
  });
  // A predicate that may raise raises nothing where the boxes are apart.
  const TbExpr* raising = first_raising_condition(program);
  if (raising && raising->op == TB_EXPR_CALL && needs_boxes_to_meet(raising->index)) add_box(program, params, *raising);
}

/* What passes lies in this range; its ends are never too narrow. */
void ZoneFilter::add_float(size_t column, double low, double high) {
  intervals_.push_back(
      {.column = column, .least = kLeast, .greatest = kGreatest, .is_float = true, .low = low, .high = high});
}

void ZoneFilter::add_box(const Program& program, const TbParamBlock* params, const TbExpr& call) {
  // A point of stored coordinates, and a constant.
  const auto args = program.args(call);
  const TbExpr* point = &program.expr(args[0]);
  const TbExpr* shape = &program.expr(args[1]);
  if (shape->op == TB_EXPR_POINT) std::swap(point, shape);
  if (point->op != TB_EXPR_POINT || shape->op != TB_EXPR_PARAM) return;
  const auto coordinates = program.args(*point);
  const TbExpr &x = program.expr(coordinates[0]), &y = program.expr(coordinates[1]);
  if (x.op != TB_EXPR_COLUMN || y.op != TB_EXPR_COLUMN || std::max(x.index, y.index) >= program.source_columns())
    return;
  double radius = 0;
  if (args.size() > 2) {
    const TbExpr& third = program.expr(args[2]);
    if (third.op != TB_EXPR_PARAM || tb_param(params, third.index)->is_null) return;
    radius = std::bit_cast<double>(tb_param(params, third.index)->value[0]);
    if (!(radius >= 0)) return;
  }
  const TbParam* param = tb_param(params, shape->index);
  if (param->is_null) return;
  const auto* bytes = reinterpret_cast<const uint8_t*>(params) + param->offset;
  // Two SRIDs are an error, wherever the point is.
  constexpr uint32_t kSrid = 0xffffff;
  if (param->length < TB_POINT_HEAD || ((tb_geometry_word(bytes, 0) ^ tb_point_word(point->index)) & kSrid) != 0)
    return;
  TbBox box;
  int is_point;
  const TbExtent extent = tb_geometry_extent(bytes, param->length, &is_point, &box);
  if (extent != TB_EXTENT_POINT && extent != TB_EXTENT_BOX) return;
  // Boxes are compared as floats, rounded outward, and distances are rounded.
  const double infinity = std::numeric_limits<double>::infinity();
  const auto wider = [&](double side, double towards) {
    const double far = side + std::copysign(radius * 1.0000001, towards);
    if (std::isnan(far) || std::abs(far) >= std::numeric_limits<float>::max()) return towards;
    return far + std::copysign(std::abs(far) * 0x1p-20 + 0x1p-140, towards);
  };
  add_float(x.index, wider(box.xmin, -infinity), wider(box.xmax, infinity));
  add_float(y.index, wider(box.ymin, -infinity), wider(box.ymax, infinity));
}

void ZoneFilter::add_comparison(const Program& program, const TbParamBlock* params, const TbExpr& call) {
  const bool is_float = float_comparison_of(call.index) != Comparison::kNone;
  Comparison comparison = is_float ? float_comparison_of(call.index) : comparison_of(call.index);
  if (comparison == Comparison::kNone) return;
  const TbExpr* left = &program.expr(program.args(call)[0]);
  const TbExpr* right = &program.expr(program.args(call)[1]);
  if (left->op == TB_EXPR_PARAM) {
    std::swap(left, right);
    comparison = flipped(comparison);
  }
  if (left->op != TB_EXPR_COLUMN || right->op != TB_EXPR_PARAM || left->index >= program.source_columns()) return;
  const TbParam* param = tb_param(params, right->index);
  if (param->is_null) return;
  if (is_float) {
    // NaN is the greatest, and equal to itself.
    const auto number = std::bit_cast<double>(param->value[0]);
    const double infinity = std::numeric_limits<double>::infinity();
    const bool below = comparison == Comparison::kLess || comparison == Comparison::kLessOrEqual;
    const bool above = comparison == Comparison::kGreater || comparison == Comparison::kGreaterOrEqual;
    if (!std::isnan(number) && (below || above || !std::isinf(number)))
      add_float(left->index, below ? -infinity : number, above ? infinity : number);
    return;
  }
  const int64_t value = integer_of(*param, right->type);
  Interval interval{left->index, kLeast, kGreatest};
  switch (comparison) {
    case Comparison::kLess:
      if (value == kLeast) return;
      interval.greatest = value - 1;
      break;
    case Comparison::kLessOrEqual: interval.greatest = value; break;
    case Comparison::kEqual: interval.least = interval.greatest = value; break;
    case Comparison::kGreaterOrEqual: interval.least = value; break;
    default:
      if (value == kGreatest) return;
      interval.least = value + 1;
  }
  intervals_.push_back(interval);
}

bool ZoneFilter::Interval::misses(const StoredColumn::Zone& zone) const {
  if (is_float) {
    if (!zone.known || zone.least > zone.greatest) return zone.known;
    const FloatRange range = float_range(zone);
    return range.high < low || range.low > high;
  }
  if (TB_MUTANT(zone_too_narrow)) return zone.known && (zone.greatest <= least || zone.least > greatest);
  return zone.known && (zone.greatest < least || zone.least > greatest);
}

void ZoneFilter::mark_columns(std::vector<uint8_t>& flags) const {
  for (const Interval& interval : intervals_) flags[interval.column] = 1;
}

bool ZoneFilter::excludes(const Segment& segment, const std::vector<uint32_t>& columns) const {
  return std::any_of(intervals_.begin(), intervals_.end(), [&](const Interval& interval) {
    return interval.misses(segment.find(columns[interval.column])->zone);
  });
}

bool ZoneFilter::excludes(const StoredColumn::Zone* zones) const {
  return std::any_of(intervals_.begin(), intervals_.end(),
                     [&](const Interval& interval) { return interval.misses(zones[interval.column]); });
}

}  // namespace turbine
