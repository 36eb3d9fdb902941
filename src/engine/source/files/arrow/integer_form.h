/*
 * integer_form.h - how integers of a file become the integers that a column's type is stored as.
 *
 * Numerics are scaled, dates and timestamps count from another day and in another unit. Values and
 * the least and greatest of a batch go the same way, so that what a file says of a batch and what
 * is read of it agree.
 */
#pragma once

#include <cstdint>
#include <string>

#include <arrow/type_fwd.h>

#include "engine/source/files/table_file.h"

namespace turbine {

struct IntegerForm {
  /* value / divide (rounded down) * multiply + add; one of the first two is 1. */
  int64_t divide = 1, multiply = 1, add = 0;
  /* What the result must be within. */
  int64_t least = INT64_MIN, greatest = INT64_MAX;
  /* The same everywhere: nothing is to be computed. */
  bool identity() const { return divide == 1 && multiply == 1 && add == 0; }

  /* False: it is out of range. */
  bool convert(int64_t value, int64_t* result) const {
    if (divide != 1) value = value / divide - (value % divide < 0 ? 1 : 0);
    return !__builtin_mul_overflow(value, multiply, &value) && !__builtin_add_overflow(value, add, result) &&
           *result >= least && *result <= greatest;
  }
};

/* Whether integers of the file's type (integers, decimals of at most 64 bits, dates, timestamps) become
 * values of the wanted type, and how. */
bool integer_form(const arrow::DataType& type, const WantedColumn& wanted, IntegerForm* form);

}  // namespace turbine
