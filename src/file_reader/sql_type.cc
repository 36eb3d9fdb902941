/*
 * sql_type.cc - types for IMPORT FOREIGN SCHEMA: see sql_type.h. Structs and maps become
 * jsonb, since their composite types would have to be created first.
 */
#include "file_reader/sql_type.h"

#include <arrow/extension_type.h>

#include "file_reader/list_items.h"
#include "file_reader/stored_types.h"
#include "file_reader/value_encoder.h"

namespace turbine::file_reader {

namespace {

std::string list_type(const arrow::DataType& type) {
  const std::string item = sql_type(*type.field(0)->type());
  if (item.empty() || item == "jsonb") return item;
  return item.ends_with("[]") ? "jsonb" : item + "[]";
}

std::string extension_type(const arrow::ExtensionType& type) {
  if (is_int96(type)) return "timestamp";
  if (type.extension_name() == "arrow.uuid") return "uuid";
  if (type.extension_name() == "arrow.json") return "jsonb";
  return sql_type(*type.storage_type());
}

}  // namespace

std::string sql_type(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::NA: return "text";
    case arrow::Type::BOOL: return "boolean";
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::UINT8: return "smallint";
    case arrow::Type::INT32:
    case arrow::Type::UINT16: return "integer";
    case arrow::Type::INT64:
    case arrow::Type::UINT32: return "bigint";
    case arrow::Type::UINT64: return "numeric(20,0)";
    case arrow::Type::HALF_FLOAT:
    case arrow::Type::FLOAT: return "real";
    case arrow::Type::DOUBLE: return "double precision";
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW: return "text";
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::BINARY_VIEW:
    case arrow::Type::FIXED_SIZE_BINARY: return "bytea";
    case arrow::Type::DATE32:
    case arrow::Type::DATE64: return "date";
    case arrow::Type::TIME32:
    case arrow::Type::TIME64: return "time";
    case arrow::Type::TIMESTAMP:
      return static_cast<const arrow::TimestampType&>(type).timezone().empty() ? "timestamp" : "timestamptz";
    case arrow::Type::DURATION:
    case arrow::Type::INTERVAL_MONTHS:
    case arrow::Type::INTERVAL_DAY_TIME:
    case arrow::Type::INTERVAL_MONTH_DAY_NANO: return "interval";
    case arrow::Type::DICTIONARY: return sql_type(*static_cast<const arrow::DictionaryType&>(type).value_type());
    case arrow::Type::RUN_END_ENCODED:
      return sql_type(*static_cast<const arrow::RunEndEncodedType&>(type).value_type());
    case arrow::Type::EXTENSION: return extension_type(static_cast<const arrow::ExtensionType&>(type));
    default: break;
  }
  if (arrow::is_decimal(type.id())) {
    const auto& decimal = static_cast<const arrow::DecimalType&>(type);
    return "numeric(" + std::to_string(decimal.precision()) + "," + std::to_string(decimal.scale()) + ")";
  }
  if (has_items(type.id()) && type.id() != arrow::Type::MAP) return list_type(type);
  return make_json_encoder(type) ? "jsonb" : "";
}

}  // namespace turbine::file_reader
