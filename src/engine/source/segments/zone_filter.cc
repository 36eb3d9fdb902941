/*
 * zone_filter.cc - see zone_filter.h.
 *
 * Owns a few intervals. Called before a part's segments become tasks. Must never exclude a
 * segment of which one row might pass.
 */
#include "engine/source/segments/zone_filter.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/source/segments/early_filters.h"
#include "turbine/functions.h"
#include "turbine/mutant.h"

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
}

void ZoneFilter::add_comparison(const Program& program, const TbParamBlock* params, const TbExpr& call) {
  Comparison comparison = comparison_of(call.index);
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
