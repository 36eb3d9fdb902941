/*
 * equality_filter.h - values of which a column must have one, or else no row passes.
 *
 * Takes `column = parameter`, several of one column ORed, and `column = ANY (parameter)` of integers, dates,
 * timestamps, numerics and texts, ANDed, of the filters that may leave rows out (early_filters.h). Bloom filters are
 * asked for them.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/program/program.h"
#include "turbine/params.h"

namespace turbine {

/* One of the lists is empty. */
struct ColumnEquality {
  size_t column = 0;              // of the source
  std::vector<int64_t> integers;  // as the column's type stores them
  std::vector<std::string> texts;
};

class EqualityFilter {
 public:
  /* `params`: checked against the program. */
  EqualityFilter(const Program& program, const TbParamBlock* params);
  /* A row passes only if each holds. */
  const std::vector<ColumnEquality>& equalities() const { return equalities_; }

 private:
  std::vector<ColumnEquality> equalities_;
};

}  // namespace turbine
