/*
 * decimal_form.cc - see decimal_form.h.
 *
 * Owns nothing. Called when a file is opened, and for each batch of it.
 */
#include "engine/source/files/arrow/decimal_form.h"

#include <algorithm>

#include <arrow/type.h>

namespace turbine {
namespace {

constexpr int kNum64Digits = 18, kNum128Digits = 38;

__int128 power_of_ten(int exponent) {
  __int128 power = 1;
  for (int i = 0; i < exponent; i++) power *= 10;
  return power;
}

}  // namespace

bool decimal_form(const arrow::DecimalType& type, const WantedColumn& wanted, DecimalForm* form) {
  // Of the file: it may be any integer.
  const int64_t shift = int64_t{wanted.scale} - type.scale();
  if (shift < 0 || shift > kNum128Digits) return false;
  if (wanted.type != TB_TYPE_NUM64 && wanted.type != TB_TYPE_NUM128) return false;
  const int most = wanted.type == TB_TYPE_NUM128 ? kNum128Digits : kNum64Digits;
  form->factor = power_of_ten(static_cast<int>(shift));
  const int64_t digits = wanted.digits > 0 ? static_cast<int>(wanted.digits) : most;
  form->beyond = power_of_ten(static_cast<int>(std::min(digits, type.precision() + shift)));
  return true;
}

}  // namespace turbine
