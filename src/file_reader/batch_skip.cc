/*
 * batch_skip.cc - compares a batch's least and greatest value with a query's: see
 * batch_skip.h. Whatever is not understood may be satisfied.
 *
 * NaN is greater than all other numbers to PostgreSQL, and is left out of bounds by those
 * who write files. So a batch is never skipped for a condition that NaN satisfies.
 */
#include "file_reader/batch_skip.h"

#include <arrow/scalar.h>
#include <arrow/util/decimal.h>

#include <charconv>
#include <cmath>
#include <functional>

#include "file_values/integer_form.h"

namespace turbine::file_reader {

namespace {

/* Whether a value between least and greatest may compare so with one of the values. The
 * three are of one ordered type. */
template <typename T>
bool overlaps(TbReaderCompare compare, const T& least, const T& greatest, const T& value) {
  switch (compare) {
    case TB_COMPARE_LESS: return least < value;
    case TB_COMPARE_LESS_EQUAL: return least <= value;
    case TB_COMPARE_EQUAL: return least <= value && value <= greatest;
    case TB_COMPARE_GREATER_EQUAL: return greatest >= value;
    case TB_COMPARE_GREATER: return greatest > value;
  }
  return true;
}

template <typename T, typename Parse>
bool any_overlaps(const Bound& bound, const std::optional<T>& least, const std::optional<T>& greatest, Parse parse) {
  if (!least || !greatest) return true;
  for (const auto& text : bound.values) {
    const std::optional<T> value = parse(text);
    if (!value || overlaps(bound.compare, *least, *greatest, *value)) return true;
  }
  return false;
}

template <typename T>
std::optional<T> parse_number(const std::string& text) {
  T value;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

/* Nothing: the type lacks it, so values of the batch may be errors, which have to be raised. */
std::optional<int64_t> made(const IntegerForm& form, int64_t value) {
  int64_t result;
  if (!form.convert(value, &result)) return std::nullopt;
  return result;
}

/* A scalar as PostgreSQL's integer, days or microseconds. */
std::optional<int64_t> as_integer(const arrow::Scalar& scalar) {
  const auto get = [&](auto type_tag) -> int64_t {
    using ScalarType = typename decltype(type_tag)::type;
    return static_cast<int64_t>(static_cast<const ScalarType&>(scalar).value);
  };
  switch (scalar.type->id()) {
    case arrow::Type::INT8: return get(std::type_identity<arrow::Int8Scalar>{});
    case arrow::Type::INT16: return get(std::type_identity<arrow::Int16Scalar>{});
    case arrow::Type::INT32: return get(std::type_identity<arrow::Int32Scalar>{});
    case arrow::Type::INT64: return get(std::type_identity<arrow::Int64Scalar>{});
    case arrow::Type::UINT8: return get(std::type_identity<arrow::UInt8Scalar>{});
    case arrow::Type::UINT16: return get(std::type_identity<arrow::UInt16Scalar>{});
    case arrow::Type::UINT32: return get(std::type_identity<arrow::UInt32Scalar>{});
    case arrow::Type::DATE32: return made(date_form(false), get(std::type_identity<arrow::Date32Scalar>{}));
    case arrow::Type::DATE64: return made(date_form(true), get(std::type_identity<arrow::Date64Scalar>{}));
    case arrow::Type::TIME32:
      return made(time_form(static_cast<const arrow::Time32Type&>(*scalar.type).unit()),
                  get(std::type_identity<arrow::Time32Scalar>{}));
    case arrow::Type::TIME64:
      return made(time_form(static_cast<const arrow::Time64Type&>(*scalar.type).unit()),
                  get(std::type_identity<arrow::Time64Scalar>{}));
    case arrow::Type::TIMESTAMP:
      return made(timestamp_form(static_cast<const arrow::TimestampType&>(*scalar.type).unit()),
                  get(std::type_identity<arrow::TimestampScalar>{}));
    default: return std::nullopt;
  }
}

std::optional<double> as_double(const arrow::Scalar& scalar) {
  double value;
  if (scalar.type->id() == arrow::Type::DOUBLE)
    value = static_cast<const arrow::DoubleScalar&>(scalar).value;
  else if (scalar.type->id() == arrow::Type::FLOAT)
    value = static_cast<const arrow::FloatScalar&>(scalar).value;
  else
    return std::nullopt;
  if (std::isnan(value)) return std::nullopt;
  return value;
}

/* A decimal number that compares with others whatever their scales. */
struct Number {
  arrow::Decimal256 digits;
  int32_t scale;
};

std::optional<Number> as_number(const arrow::Scalar& scalar) {
  switch (scalar.type->id()) {
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256: {
      arrow::Decimal256 digits;
      int32_t precision, scale;
      if (!arrow::Decimal256::FromString(scalar.ToString(), &digits, &precision, &scale).ok()) return std::nullopt;
      return Number{digits, scale};
    }
    case arrow::Type::UINT64:
      return Number{arrow::Decimal256(arrow::Decimal128(0, static_cast<const arrow::UInt64Scalar&>(scalar).value)), 0};
    default: {
      const auto integer = as_integer(scalar);
      if (!integer) return std::nullopt;
      return Number{arrow::Decimal256(*integer), 0};
    }
  }
}

std::optional<Number> parse_decimal(const std::string& text) {
  Number number;
  int32_t precision;
  if (!arrow::Decimal256::FromString(text, &number.digits, &precision, &number.scale).ok()) return std::nullopt;
  return number;
}

bool number_may_satisfy(const BatchBounds& batch, const Bound& bound) {
  const auto least = as_number(*batch.least), greatest = as_number(*batch.greatest);
  if (!least || !greatest) return true;
  for (const auto& text : bound.values) {
    const auto value = parse_decimal(text);
    if (!value) return true;
    const int32_t scale = std::max({least->scale, greatest->scale, value->scale});
    const auto a = least->digits.Rescale(least->scale, scale), b = greatest->digits.Rescale(greatest->scale, scale),
               c = value->digits.Rescale(value->scale, scale);
    if (!a.ok() || !b.ok() || !c.ok() || overlaps(bound.compare, *a, *b, *c)) return true;
  }
  return false;
}

std::optional<std::string> as_text(const arrow::Scalar& scalar) {
  if (!arrow::is_base_binary_like(scalar.type->id()) || !scalar.is_valid) return std::nullopt;
  return static_cast<const arrow::BaseBinaryScalar&>(scalar).value->ToString();
}

}  // namespace

bool may_satisfy(const BatchBounds& batch, const Bound& bound, TbReaderTarget target) {
  if (!batch.least->is_valid || !batch.greatest->is_valid) return true;
  switch (target) {
    case TB_TARGET_INT2:
    case TB_TARGET_INT4:
    case TB_TARGET_INT8:
    case TB_TARGET_DATE:
    case TB_TARGET_TIME:
    case TB_TARGET_TIMESTAMP:
    case TB_TARGET_TIMESTAMPTZ:
      return any_overlaps(bound, as_integer(*batch.least), as_integer(*batch.greatest), parse_number<int64_t>);
    case TB_TARGET_FLOAT4:
    case TB_TARGET_FLOAT8:
      if (bound.compare == TB_COMPARE_GREATER || bound.compare == TB_COMPARE_GREATER_EQUAL) return true;
      return any_overlaps(bound, as_double(*batch.least), as_double(*batch.greatest), parse_number<double>);
    case TB_TARGET_NUMERIC: return number_may_satisfy(batch, bound);
    case TB_TARGET_TEXT:
      return any_overlaps(bound, as_text(*batch.least), as_text(*batch.greatest),
                          [](const std::string& text) { return std::optional(text); });
    default: return true;
  }
}

}  // namespace turbine::file_reader
