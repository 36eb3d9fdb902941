/*
 * value_ranges.cc - bounds of finished arrays, and their form in a field's metadata.
 *
 * Works on Arrow arrays, whatever they came from. Must never: state bounds that a value
 * lies beyond; where that is in doubt, they are null.
 */
#include "export/value_ranges.h"

#include <arrow/array/array_decimal.h>
#include <arrow/array/array_primitive.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>
#include <arrow/util/key_value_metadata.h>

#include <bit>
#include <cmath>
#include <type_traits>

#include "export/export_error.h"

namespace turbine::exporting {
namespace {

template <typename T>
std::string as_integer(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return std::to_string(std::bit_cast<int32_t>(value));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::to_string(std::bit_cast<int64_t>(value));
  } else {
    return std::to_string(value);
  }
}

template <typename T>
ValueRange range_of(const arrow::Array& array) {
  const T* values = array.data()->GetValues<T>(1);
  T least{}, greatest{};
  bool any = false;
  for (int64_t i = 0; i < array.length(); i++) {
    if (array.IsNull(i)) continue;
    const T value = values[i];
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value)) return {};
    }
    if (!any || value < least) least = value;
    if (!any || value > greatest) greatest = value;
    any = true;
  }
  return any ? ValueRange{as_integer(least), as_integer(greatest)} : ValueRange{};
}

ValueRange decimal_range(const arrow::Array& array) {
  const auto& decimals = static_cast<const arrow::Decimal128Array&>(array);
  arrow::Decimal128 least, greatest;
  bool any = false;
  for (int64_t i = 0; i < array.length(); i++) {
    if (array.IsNull(i)) continue;
    const arrow::Decimal128 value(decimals.GetValue(i));
    if (!any || value < least) least = value;
    if (!any || value > greatest) greatest = value;
    any = true;
  }
  return any ? ValueRange{least.ToIntegerString(), greatest.ToIntegerString()} : ValueRange{};
}

}  // namespace

bool has_value_range(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BOOL:
    case arrow::Type::HALF_FLOAT: return false;
    case arrow::Type::DECIMAL128:
    case arrow::Type::DATE32:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::DURATION: return true;
    default: return arrow::is_integer(type.id()) || arrow::is_floating(type.id());
  }
}

ValueRange value_range(const arrow::Array& array) {
  switch (array.type_id()) {
    case arrow::Type::INT8: return range_of<int8_t>(array);
    case arrow::Type::UINT8: return range_of<uint8_t>(array);
    case arrow::Type::INT16: return range_of<int16_t>(array);
    case arrow::Type::UINT16: return range_of<uint16_t>(array);
    case arrow::Type::INT32:
    case arrow::Type::DATE32: return range_of<int32_t>(array);
    case arrow::Type::UINT32: return range_of<uint32_t>(array);
    case arrow::Type::INT64:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::DURATION: return range_of<int64_t>(array);
    case arrow::Type::UINT64: return range_of<uint64_t>(array);
    case arrow::Type::FLOAT: return range_of<float>(array);
    case arrow::Type::DOUBLE: return range_of<double>(array);
    case arrow::Type::DECIMAL128: return decimal_range(array);
    default: return {};
  }
}

ValueRanges::ValueRanges(const arrow::Schema& schema, const std::set<std::string>& names)
    : columns_(static_cast<size_t>(schema.num_fields())) {
  for (const std::string& name : names) {
    const int index = schema.GetFieldIndex(name);
    if (index < 0) throw ExportError(ExitCode::kUsage, "--stat: there is no one column \"" + name + "\"");
    if (!has_value_range(*schema.field(index)->type())) {
      throw ExportError(ExitCode::kUsage, "--stat: column \"" + name + "\" is a " +
                                              schema.field(index)->type()->ToString() + ", which has no statistics");
    }
  }
  for (int i = 0; i < schema.num_fields(); i++) {
    const auto& field = schema.field(i);
    auto& column = columns_[static_cast<size_t>(i)];
    column.collected = has_value_range(*field->type()) && (names.empty() || names.count(field->name()) > 0);
    column.known = column.collected;
  }
}

void ValueRanges::take_over(const arrow::Schema& old, int batches) {
  columns_.resize(static_cast<size_t>(old.num_fields()));
  for (int i = 0; i < old.num_fields(); i++) {
    auto& column = columns_[static_cast<size_t>(i)];
    column.ranges.assign(static_cast<size_t>(batches), {});
    const auto& metadata = old.field(i)->metadata();
    if (metadata == nullptr) continue;
    const std::string all_least = metadata->Get(kMinValues).ValueOr("");
    const std::string all_greatest = metadata->Get(kMaxValues).ValueOr("");
    const auto least = listed_bounds(all_least), greatest = listed_bounds(all_greatest);
    if (least.size() != column.ranges.size() || greatest.size() != column.ranges.size()) continue;
    for (size_t k = 0; k < least.size(); k++) column.ranges[k] = {std::string(least[k]), std::string(greatest[k])};
    column.known = column.known || batches > 0;
  }
}

void ValueRanges::add(const arrow::RecordBatch& batch) {
  for (size_t i = 0; i < columns_.size(); i++) {
    columns_[i].ranges.push_back(columns_[i].collected ? value_range(*batch.column(static_cast<int>(i)))
                                                       : ValueRange{});
  }
}

std::shared_ptr<arrow::Schema> ValueRanges::describe(const arrow::Schema& schema) const {
  arrow::FieldVector fields = schema.fields();
  for (size_t i = 0; i < columns_.size(); i++) {
    if (!columns_[i].known) continue;
    std::string least, greatest;
    for (const ValueRange& range : columns_[i].ranges) {
      const char* comma = least.empty() ? "" : ",";
      least += comma + range.least;
      greatest += comma + range.greatest;
    }
    const auto old = fields[i]->metadata();
    auto metadata = old == nullptr ? std::make_shared<arrow::KeyValueMetadata>() : old->Copy();
    check(metadata->Set(kMinValues, least));
    check(metadata->Set(kMaxValues, greatest));
    fields[i] = fields[i]->WithMetadata(metadata);
  }
  return arrow::schema(fields, schema.metadata());
}

}  // namespace turbine::exporting
