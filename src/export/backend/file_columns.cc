/*
 * file_columns.cc - see file_columns.h.
 *
 * Decoders make the types that belong to PostgreSQL's; Arrow's checked casts make the file's of them. A cast to
 * a narrower floating-point type would round, so its result is cast back and compared.
 */
#include "export/backend/file_columns.h"

#include <arrow/array/array_nested.h>
#include <arrow/array/util.h>
#include <arrow/compute/cast.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include <algorithm>

#include "export/export_error.h"
#include "export/value_ranges.h"

namespace turbine::exporting {
namespace {

using arrow::Type;

constexpr int32_t kModifierHeader = 4; /* VARHDRSZ */
constexpr int kLongestInteger = 20;    /* digits */

/* What values of the type are stored as. */
std::shared_ptr<arrow::DataType> storage_of(const std::shared_ptr<arrow::DataType>& type) {
  return type->id() == Type::EXTENSION ? static_cast<const arrow::ExtensionType&>(*type).storage_type() : type;
}

bool is_text(Type::type type) {
  return type == Type::STRING || type == Type::LARGE_STRING || type == Type::STRING_VIEW;
}

bool is_bytes(Type::type type) {
  return type == Type::BINARY || type == Type::LARGE_BINARY || type == Type::BINARY_VIEW ||
         type == Type::FIXED_SIZE_BINARY;
}

void take_digits(PgType& type, int precision, int scale) {
  type.modifier = ((precision << 16) | (scale & 0x7ff)) + kModifierHeader;
}

/* Has decoders make decimals that can be cast without a loss. */
bool adapt_numeric(PgType& type, const arrow::DataType& target) {
  if (is_text(target.id())) {
    type.modifier = -1;
    return true;
  }
  if (arrow::is_integer(target.id())) {
    take_digits(type, kLongestInteger, 0);
    return true;
  }
  if (!arrow::is_decimal(target.id())) return false;
  const auto& decimal = static_cast<const arrow::DecimalType&>(target);
  if (decimal.scale() < 0 || decimal.scale() > decimal.precision()) return false;
  take_digits(type, decimal.precision(), decimal.scale());
  return true;
}

/* Whether values of the type have a form in the file's; `type` becomes what decoders have to make. */
bool adapt(PgType& type, const arrow::DataType& target) {
  const Type::type to = target.id();
  if (to == Type::NA) return true;
  switch (type.kind) {
    case PgKind::kBool: return to == Type::BOOL;
    case PgKind::kInt2:
    case PgKind::kInt4:
    case PgKind::kInt8:
    case PgKind::kOid: return arrow::is_integer(to);
    case PgKind::kFloat4:
    case PgKind::kFloat8: return arrow::is_floating(to);
    case PgKind::kNumeric: return adapt_numeric(type, target);
    case PgKind::kText: return is_text(to) || to == Type::FIXED_SIZE_BINARY;
    case PgKind::kJsonb:
    case PgKind::kEnum:
    case PgKind::kOther: return is_text(to);
    case PgKind::kBytes: return is_bytes(to);
    case PgKind::kUuid:
      return to == Type::FIXED_SIZE_BINARY && static_cast<const arrow::FixedSizeBinaryType&>(target).byte_width() == 16;
    case PgKind::kDate: return arrow::is_date(to);
    case PgKind::kTime: return arrow::is_time(to);
    case PgKind::kTimestamp:
      return to == Type::TIMESTAMP && static_cast<const arrow::TimestampType&>(target).timezone().empty();
    case PgKind::kTimestampTz:
      return to == Type::TIMESTAMP && !static_cast<const arrow::TimestampType&>(target).timezone().empty();
    case PgKind::kInterval: return to == Type::INTERVAL_MONTH_DAY_NANO;
    case PgKind::kArray:
      return (to == Type::LIST || to == Type::LARGE_LIST || to == Type::FIXED_SIZE_LIST) &&
             adapt(type.parts[0], *static_cast<const arrow::BaseListType&>(target).value_type());
    case PgKind::kComposite: break;
  }
  return false;
}

bool has_dictionary(const arrow::DataType& type) {
  return type.id() == Type::DICTIONARY || std::any_of(type.fields().begin(), type.fields().end(),
                                                      [](const auto& field) { return has_dictionary(*field->type()); });
}

/* Throws ValueError if NULLs lie where the file's type has none. */
void check_nulls(const arrow::Field& field, const arrow::Array& array) {
  if (!field.nullable() && array.null_count() > 0) throw ValueError("NULL, which the file's column does not take");
  if (array.type_id() == Type::LIST) {
    check_nulls(*field.type()->field(0), *static_cast<const arrow::ListArray&>(array).values());
  } else if (array.type_id() == Type::LARGE_LIST) {
    check_nulls(*field.type()->field(0), *static_cast<const arrow::LargeListArray&>(array).values());
  } else if (array.type_id() == Type::FIXED_SIZE_LIST) {
    check_nulls(*field.type()->field(0), *static_cast<const arrow::FixedSizeListArray&>(array).Flatten().ValueOrDie());
  }
}

std::shared_ptr<arrow::Array> cast(const std::shared_ptr<arrow::Array>& array,
                                   const std::shared_ptr<arrow::DataType>& type) {
  auto result = arrow::compute::Cast(*array, type, arrow::compute::CastOptions::Safe());
  if (!result.ok()) throw ValueError(result.status().message());
  return result.MoveValueUnsafe();
}

bool has_float(const arrow::DataType& type) {
  return arrow::is_floating(type.id()) || std::any_of(type.fields().begin(), type.fields().end(),
                                                      [](const auto& field) { return has_float(*field->type()); });
}

/* The first value that is not the same in both. */
void check_same(const std::shared_ptr<arrow::Array>& wanted, const std::shared_ptr<arrow::Array>& found) {
  const auto options = arrow::EqualOptions::Defaults().nans_equal(true);
  if (wanted->Equals(*found, options)) return;
  for (int64_t i = 0; i < wanted->length(); i++) {
    if (!wanted->RangeEquals(*found, i, i + 1, i, options)) {
      throw ValueError("the value " + value_of(wanted->GetScalar(i))->ToString() + " would be rounded");
    }
  }
}

std::shared_ptr<arrow::Array> convert_array(const std::shared_ptr<arrow::Array>& array, const arrow::Field& field) {
  const auto type = storage_of(field.type());
  std::shared_ptr<arrow::Array> result = array;
  if (type->id() == Type::NA) {
    if (array->null_count() < array->length()) throw ValueError("the file's column holds nothing but NULL");
    result = std::make_shared<arrow::NullArray>(array->length());
  } else if (!array->type()->Equals(*type)) {
    result = cast(array, type);
    if (has_float(*type)) check_same(array, cast(result, array->type()));
  }
  check_nulls(field, *result);
  return type == field.type() ? result : arrow::ExtensionType::WrapArray(field.type(), result);
}

}  // namespace

std::shared_ptr<arrow::Schema> addition_schema(const arrow::Schema& file) {
  arrow::FieldVector fields;
  for (auto field : file.fields()) {
    if (field->type()->id() == Type::DICTIONARY) {
      field = field->WithType(static_cast<const arrow::DictionaryType&>(*field->type()).value_type());
    }
    if (field->metadata() != nullptr) {
      const auto metadata = field->metadata()->Copy();
      for (const char* key : {kMinValues, kMaxValues}) (void)metadata->Delete(key);
      field = field->WithMetadata(metadata->size() > 0 ? metadata : nullptr);
    }
    fields.push_back(std::move(field));
  }
  return arrow::schema(fields, file.metadata());
}

FileColumns::FileColumns(const arrow::Schema& file, const std::vector<std::string>& names, std::vector<PgType>& types)
    : schema_(addition_schema(file)), sources_(static_cast<size_t>(file.num_fields()), -1) {
  for (size_t i = 0; i < names.size(); i++) {
    const int index = file.GetFieldIndex(names[i]);
    if (index < 0) {
      throw ExportError(ExitCode::kUsage, "the file has no column \"" + names[i] + "\", or more than one of that name");
    }
    if (!adapt(types[i], *storage_of(schema_->field(index)->type()))) {
      throw ExportError(ExitCode::kUsage, "column \"" + names[i] + "\" is of type " +
                                              file.field(index)->type()->ToString() +
                                              " in the file, in which values of the table's type have no form");
    }
    sources_[static_cast<size_t>(index)] = static_cast<int>(i);
  }
  for (int i = 0; i < schema_->num_fields(); i++) {
    const auto& field = schema_->field(i);
    if (has_dictionary(*field->type()) || field->type()->id() == Type::RUN_END_ENCODED) {
      throw ExportError(ExitCode::kUsage, "column \"" + field->name() + "\" is of type " + field->type()->ToString() +
                                              " in the file, which is only read");
    }
    if (sources_[static_cast<size_t>(i)] < 0 && !field->nullable()) {
      throw ExportError(ExitCode::kUsage,
                        "the table lacks column \"" + field->name() + "\", in which the file takes no NULL");
    }
  }
}

std::shared_ptr<arrow::RecordBatch> FileColumns::convert(const arrow::RecordBatch& rows) const {
  arrow::ArrayVector arrays;
  for (int i = 0; i < schema_->num_fields(); i++) {
    const auto& field = schema_->field(i);
    const int source = sources_[static_cast<size_t>(i)];
    try {
      arrays.push_back(source < 0 ? value_of(arrow::MakeArrayOfNull(field->type(), rows.num_rows()))
                                  : convert_array(rows.column(source), *field));
    } catch (const ValueError& error) {
      throw ExportError(ExitCode::kValue, "column \"" + field->name() + "\": " + error.what());
    }
  }
  return arrow::RecordBatch::Make(schema_, rows.num_rows(), std::move(arrays));
}

}  // namespace turbine::exporting
