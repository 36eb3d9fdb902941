/*
 * zone_filter.h - which segments a query's filters exclude as a whole: no value between the least
 * and the greatest of a column can pass.
 *
 * Takes comparisons of a column of integers, dates, timestamps, numerics or float8 with a
 * parameter, ANDed, of the filters that may leave rows out (early_filters.h); and the box of a
 * geometry that is a parameter, where a predicate holds of no point outside of it.
 */
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/program.h"
#include "engine/store/segment.h"
#include "turbine/params.h"

namespace turbine {

class ZoneFilter {
 public:
  /* `params`: checked against the program. */
  ZoneFilter(const Program& program, const TbParamBlock* params);

  /* Whether no row of the segment passes. `columns`: numbers in the store, by the program's
   * source column; the segment has them. */
  bool excludes(const Segment& segment, const std::vector<uint32_t>& columns) const;
  /* The same of zones by source column. */
  bool excludes(const StoredColumn::Zone* zones) const;
  /* Sets the flag of each source column that it looks at. */
  void mark_columns(std::vector<uint8_t>& flags) const;

 private:
  /* What passes of a column: values from `least` to `greatest`; of a float8 those from `low` to `high`, and NaN if that
   * is infinity. */
  struct Interval {
    size_t column;
    int64_t least, greatest;
    bool is_float = false;
    double low = 0, high = 0;
    bool misses(const StoredColumn::Zone& zone) const;
  };
  void add_comparison(const Program& program, const TbParamBlock* params, const TbExpr& call);
  void add_float(size_t column, double low, double high);
  void add_box(const Program& program, const TbParamBlock* params, const TbExpr& call);

  std::vector<Interval> intervals_;
};

}  // namespace turbine
