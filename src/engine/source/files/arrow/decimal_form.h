/*
 * decimal_form.h - how a file's decimals become numerics.
 */
#pragma once

#include <arrow/type_fwd.h>

#include "engine/source/files/table_file.h"

namespace turbine {

/* The value is multiplied, and must then have no more digits than the column's type and the file's allow. */
struct DecimalForm {
  __int128 factor = 1;
  __int128 beyond = 1;  // every value is nearer to zero

  /* False: it has too many digits. */
  bool convert(__int128 value, __int128* result) const {
    return !__builtin_mul_overflow(value, factor, result) && *result < beyond && *result > -beyond;
  }
};

/* Whether decimals become values of the wanted type, NUM64 or NUM128, and how. */
bool decimal_form(const arrow::DecimalType& type, const WantedColumn& wanted, DecimalForm* form);

}  // namespace turbine
