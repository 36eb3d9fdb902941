/*
 * json_encoder.cc - any value as JSON: structs and maps as objects, lists as arrays,
 * numbers that JSON has as numbers, all else as strings.
 */
#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/scalar.h>
#include <arrow/util/float16.h>
#include <arrow/util/string.h>

#include <charconv>
#include <cmath>

#include "file_reader/list_items.h"
#include "file_reader/stored_types.h"
#include "file_reader/value_encoder.h"
#include "file_values/int96.h"

namespace turbine::file_reader {

namespace {

void write_json(const arrow::Array& array, int64_t row, std::string& out);

void write_string(std::string_view text, std::string& out) {
  static constexpr char hex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    if (c == '\0') throw ReaderError(sqlstate::bad_text, "text contains a NUL byte");
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += hex[c >> 4];
      out += hex[c & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

void write_bytes(std::string_view bytes, std::string& out) {
  static constexpr char hex[] = "0123456789abcdef";
  out += "\"\\\\x";
  for (const char c : bytes) {
    out += hex[static_cast<unsigned char>(c) >> 4];
    out += hex[c & 15];
  }
  out += '"';
}

[[noreturn]] void raise_time(const std::string& value, const arrow::DataType& type) {
  throw ReaderError(sqlstate::time_out_of_range, "value " + value + " of type " + type.ToString() + " is out of range");
}

void write_int96(const arrow::ExtensionArray& array, int64_t row, std::string& out) {
  int64_t moment;
  const auto& bytes = static_cast<const arrow::FixedSizeBinaryArray&>(*array.storage());
  /* libarrow counts from 1970. */
  if (!int96_timestamp(bytes.GetValue(row), &moment) ||
      __builtin_add_overflow(moment, kEpochDays * kMicrosecondsPerDay, &moment))
    raise_time("with the bytes " + arrow::HexEncode(bytes.GetView(row)), *array.type());
  const std::string text = arrow::TimestampScalar(moment, arrow::TimeUnit::MICRO).ToString();
  if (text.starts_with('<')) raise_time(text, *array.type());
  write_string(text, out);
}

/* A value that libarrow writes as text. */
void write_scalar(const arrow::Array& array, int64_t row, std::string& out) {
  const auto scalar = check(array.GetScalar(row));
  const auto type = array.type_id();
  if (type == arrow::Type::DATE64) {
    const int64_t value = static_cast<const arrow::Date64Array&>(array).Value(row);
    if (value % kMillisecondsPerDay != 0) raise_time(std::to_string(value), *array.type());
  }
  /* What has no text gets one that says so. */
  if (arrow::is_temporal(type) && scalar->ToString().starts_with('<')) raise_time(scalar->ToString(), *array.type());
  const bool number = arrow::is_integer(type) || arrow::is_decimal(type) || type == arrow::Type::BOOL;
  if (number)
    out += scalar->ToString();
  else
    write_string(scalar->ToString(), out);
}

/* The shortest number that reads back as the same one. */
template <typename Float>
void write_float(Float value, std::string& out) {
  char text[40];
  if (!std::isfinite(value)) {
    out += std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    return;
  }
  out.append(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

void write_list(const arrow::Array& array, int64_t row, std::string& out) {
  const ListItems items = list_items(array, row);
  const auto values = list_values(array);
  out += '[';
  for (int64_t item = 0; item < items.count; item++) {
    if (item > 0) out += ',';
    write_json(*values, items.first + item, out);
  }
  out += ']';
}

void write_key(const arrow::Array& keys, int64_t row, std::string& out) {
  std::string key;
  write_json(keys, row, key);
  if (key.starts_with('"'))
    out += key;
  else
    write_string(key, out);
}

void write_map(const arrow::MapArray& array, int64_t row, std::string& out) {
  out += '{';
  for (int64_t item = array.value_offset(row); item < array.value_offset(row) + array.value_length(row); item++) {
    if (item > array.value_offset(row)) out += ',';
    write_key(*array.keys(), item, out);
    out += ':';
    write_json(*array.items(), item, out);
  }
  out += '}';
}

void write_struct(const arrow::StructArray& array, int64_t row, std::string& out) {
  const auto& type = static_cast<const arrow::StructType&>(*array.type());
  out += '{';
  for (int field = 0; field < type.num_fields(); field++) {
    if (field > 0) out += ',';
    write_string(type.field(field)->name(), out);
    out += ':';
    write_json(*array.field(field), row, out);
  }
  out += '}';
}

void write_json(const arrow::Array& array, int64_t row, std::string& out) {
  const auto type = array.type_id();
  if (type == arrow::Type::NA || array.IsNull(row)) {
    out += "null";
    return;
  }
  switch (type) {
    case arrow::Type::HALF_FLOAT: {
      const auto bits = static_cast<const arrow::HalfFloatArray&>(array).Value(row);
      return write_float(arrow::util::Float16::FromBits(bits).ToFloat(), out);
    }
    case arrow::Type::FLOAT: return write_float(static_cast<const arrow::FloatArray&>(array).Value(row), out);
    case arrow::Type::DOUBLE: return write_float(static_cast<const arrow::DoubleArray&>(array).Value(row), out);
    case arrow::Type::STRING: return write_string(static_cast<const arrow::StringArray&>(array).GetView(row), out);
    case arrow::Type::LARGE_STRING:
      return write_string(static_cast<const arrow::LargeStringArray&>(array).GetView(row), out);
    case arrow::Type::STRING_VIEW:
      return write_string(static_cast<const arrow::StringViewArray&>(array).GetView(row), out);
    case arrow::Type::BINARY: return write_bytes(static_cast<const arrow::BinaryArray&>(array).GetView(row), out);
    case arrow::Type::LARGE_BINARY:
      return write_bytes(static_cast<const arrow::LargeBinaryArray&>(array).GetView(row), out);
    case arrow::Type::BINARY_VIEW:
      return write_bytes(static_cast<const arrow::BinaryViewArray&>(array).GetView(row), out);
    case arrow::Type::FIXED_SIZE_BINARY:
      return write_bytes(static_cast<const arrow::FixedSizeBinaryArray&>(array).GetView(row), out);
    case arrow::Type::MAP: return write_map(static_cast<const arrow::MapArray&>(array), row, out);
    case arrow::Type::STRUCT: return write_struct(static_cast<const arrow::StructArray&>(array), row, out);
    case arrow::Type::DICTIONARY: {
      const auto& dictionary = static_cast<const arrow::DictionaryArray&>(array);
      return write_json(*dictionary.dictionary(), dictionary.GetValueIndex(row), out);
    }
    case arrow::Type::EXTENSION:
      if (is_int96(*array.type())) return write_int96(static_cast<const arrow::ExtensionArray&>(array), row, out);
      return write_json(*static_cast<const arrow::ExtensionArray&>(array).storage(), row, out);
    default: break;
  }
  if (has_items(type)) return write_list(array, row, out);
  write_scalar(array, row, out);
}

/* A text column is JSON already. */
bool is_text(const arrow::DataType& type) {
  if (type.id() == arrow::Type::DICTIONARY)
    return is_text(*static_cast<const arrow::DictionaryType&>(type).value_type());
  if (type.id() == arrow::Type::EXTENSION)
    return is_text(*static_cast<const arrow::ExtensionType&>(type).storage_type());
  return type.id() == arrow::Type::STRING || type.id() == arrow::Type::LARGE_STRING ||
         type.id() == arrow::Type::STRING_VIEW;
}

bool has_json(const arrow::DataType& type) {
  if (type.id() == arrow::Type::DICTIONARY) {
    const auto& dictionary = static_cast<const arrow::DictionaryType&>(type);
    return has_json(*dictionary.value_type());
  }
  switch (type.id()) {
    case arrow::Type::DENSE_UNION:
    case arrow::Type::SPARSE_UNION:
    case arrow::Type::RUN_END_ENCODED: return false;
    default: break;
  }
  for (const auto& field : type.fields()) {
    if (!has_json(*field->type())) return false;
  }
  return true;
}

class JsonEncoder final : public ArrayEncoder<arrow::Array> {
  void value(int64_t row, ByteBuffer& out) override {
    text_.clear();
    write_json(*array_, row, text_);
    out.field(std::string_view(text_));
  }

  std::string text_;
};

}  // namespace

EncoderPtr make_json_encoder(const arrow::DataType& type) {
  if (type.id() == arrow::Type::NA) return nullptr;
  if (is_text(type)) return make_encoder(type, Target{TB_TARGET_TEXT, {}, {}});
  if (!has_json(type)) return nullptr;
  return std::make_unique<JsonEncoder>();
}

}  // namespace turbine::file_reader
