/*
 * integer_form.cc - see integer_form.h.
 *
 * Owns the table of what becomes what. An integer type becomes one that is at least as wide; other
 * columns are left to the slower reader, which converts as PostgreSQL does.
 */
#include "engine/source/files/arrow/integer_form.h"

#include <algorithm>

#include <arrow/type.h>

namespace turbine {
namespace {

constexpr int kMostIntegerDigits = 18;

int64_t power_of_ten_64(int exponent) {
  int64_t power = 1;
  for (int i = 0; i < exponent; i++) power *= 10;
  return power;
}

/* Bytes of an integer type as PostgreSQL could hold it, 0 for others. */
int signed_bytes(arrow::Type::type id) {
  switch (id) {
    case arrow::Type::INT8:
    case arrow::Type::UINT8:
    case arrow::Type::INT16: return 2;
    case arrow::Type::UINT16:
    case arrow::Type::INT32: return 4;
    case arrow::Type::UINT32:
    case arrow::Type::INT64:
    case arrow::Type::UINT64: return 8;
    default: return 0;
  }
}

bool decimal_form(const arrow::DecimalType& type, const WantedColumn& wanted, IntegerForm* form) {
  // Of the file: it may be any integer.
  const int64_t shift = int64_t{wanted.scale} - type.scale();
  if (wanted.type != TB_TYPE_NUM64 || shift < 0 || shift > kMostIntegerDigits) return false;
  const int digits = wanted.digits > 0 ? static_cast<int>(wanted.digits) : kMostIntegerDigits;
  form->multiply = power_of_ten_64(static_cast<int>(shift));
  // Nor may the value have more digits than the file's own type.
  form->greatest = power_of_ten_64(static_cast<int>(std::min<int64_t>(digits, type.precision() + shift))) - 1;
  form->least = -form->greatest;
  return true;
}

bool is_timestamp(const arrow::TimestampType& type, const WantedColumn& wanted) {
  return wanted.type == (type.timezone().empty() ? TB_TYPE_TIMESTAMP : TB_TYPE_TIMESTAMPTZ);
}

bool plain_form(const arrow::DataType& type, const WantedColumn& wanted, IntegerForm* form) {
  const int bytes = signed_bytes(type.id());
  switch (wanted.type) {
    case TB_TYPE_INT2: return bytes == 2;
    case TB_TYPE_INT4: return bytes == 2 || bytes == 4;
    case TB_TYPE_INT8:
      // A bigint can not hold the upper half.
      if (type.id() == arrow::Type::UINT64) form->least = 0;
      return bytes != 0;
    default: return false;
  }
}

}  // namespace

bool integer_form(const arrow::DataType& type, const WantedColumn& wanted, IntegerForm* form) {
  *form = IntegerForm();
  switch (type.id()) {
    case arrow::Type::DATE32:
    case arrow::Type::DATE64: *form = date_form(type.id() == arrow::Type::DATE64); return wanted.type == TB_TYPE_DATE;
    case arrow::Type::TIMESTAMP:
      *form = timestamp_form(static_cast<const arrow::TimestampType&>(type).unit());
      return is_timestamp(static_cast<const arrow::TimestampType&>(type), wanted);
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256: return decimal_form(static_cast<const arrow::DecimalType&>(type), wanted, form);
    default: return plain_form(type, wanted, form);
  }
}

}  // namespace turbine
