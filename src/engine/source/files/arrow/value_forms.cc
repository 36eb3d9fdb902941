/*
 * value_forms.cc - see value_forms.h.
 *
 * Owns the table of what becomes what. An integer type becomes one that is at least as wide; other columns are left to
 * the slower reader, which converts as PostgreSQL does. Forms are chosen when a file is opened; take() and
 * append_text() are called for each text, or for each entry of a dictionary.
 */
#include "engine/source/files/arrow/value_forms.h"

#include <algorithm>
#include <cstring>

#include <arrow/type.h>
#include <arrow/util/utf8.h>

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

namespace {

/* PostgreSQL's own limit of a value. */
constexpr uint64_t kMostBytes = 1 << 30;

/* libarrow takes everything for valid until it is told to make its tables. */
bool is_utf8(std::string_view text) {
  static const bool ready = [] {
    arrow::util::InitializeUTF8();
    return true;
  }();
  return ready &&
         arrow::util::ValidateUTF8(reinterpret_cast<const uint8_t*>(text.data()), static_cast<int64_t>(text.size()));
}

/* Of valid UTF-8. */
size_t characters_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

const char* TextForm::take(std::string_view* text) const {
  if (is_padded_) *text = text->substr(0, text->find_last_not_of(' ') + 1);
  if (text->size() > kMostBytes) return kTextTooLong;
  if (!text->empty() && memchr(text->data(), 0, text->size())) return "a text with a zero byte";
  if (!is_utf8(*text)) return "invalid UTF-8";
  if (characters_ > 0 && text->size() > characters_ && characters_of(*text) > characters_)
    return "a text is longer than the column's type allows";
  return nullptr;
}

bool append_text(std::string_view text, std::vector<uint8_t>& bytes, TbTextView* view) {
  if (bytes.size() + text.size() > UINT32_MAX) return false;
  *view = {static_cast<uint32_t>(text.size()), 0, 0, static_cast<uint32_t>(bytes.size())};
  if (!text.empty()) memcpy(&view->prefix, text.data(), std::min(text.size(), sizeof view->prefix));
  bytes.insert(bytes.end(), text.begin(), text.end());
  return true;
}

}  // namespace turbine
