/*
 * column_values.cc - see column_values.h.
 *
 * A class for each way in which values are converted. Must never follow an offset or an index that it has not
 * checked: Array::Validate looks at sizes of buffers only.
 */
#include "engine/source/files/arrow/column_values.h"

#include <algorithm>
#include <cstring>

#include <arrow/array.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>

#include "engine/source/files/arrow/geometry_values.h"
#include "engine/source/files/arrow/value_forms.h"

namespace turbine {
namespace {

[[noreturn]] void fail(const WantedColumn& wanted, const std::string& what) {
  throw FileError("column \"" + wanted.name + "\": " + what);
}

template <class From, class To>
class Integers final : public ColumnValues {
 public:
  Integers(const IntegerForm& form, const WantedColumn& wanted) : form_(form), wanted_(wanted) {}
  void append(const arrow::Array& array, int64_t from, uint32_t count, ColumnRows& rows) const override {
    const auto* values = array.data()->GetValues<From>(1) + from;
    To* to = rows.append<To>(count);
    if (form_.identity() && form_.least == INT64_MIN) {
      std::copy(values, values + count, to);
      return mark_nulls(array, from, count, wanted_, rows);
    }
    bool in_range = true;
    for (uint32_t i = 0; i < count; i++) {
      int64_t value = 0;
      const bool fits = form_.convert(static_cast<int64_t>(values[i]), &value);
      to[i] = static_cast<To>(value);
      in_range &= fits;
    }
    if (!in_range) check(array, from, count);
    mark_nulls(array, from, count, wanted_, rows);
  }
  bool as_they_are() const override {
    return sizeof(From) == sizeof(To) && form_.identity() && form_.least == INT64_MIN;
  }

 private:
  /* What lies under a NULL may be anything. */
  void check(const arrow::Array& array, int64_t from, uint32_t count) const {
    const auto* values = array.data()->GetValues<From>(1) + from;
    int64_t value;
    for (uint32_t i = 0; i < count; i++)
      if (array.IsValid(from + i) && !form_.convert(static_cast<int64_t>(values[i]), &value))
        fail(wanted_, "value " + std::to_string(values[i]) + " is out of the type's range");
  }

  const IntegerForm form_;
  const WantedColumn wanted_;
};

class Booleans final : public ColumnValues {
 public:
  explicit Booleans(const WantedColumn& wanted) : wanted_(wanted) {}
  void append(const arrow::Array& array, int64_t from, uint32_t count, ColumnRows& rows) const override {
    const auto& values = static_cast<const arrow::BooleanArray&>(array);
    auto* to = rows.append<uint8_t>(count);
    for (uint32_t i = 0; i < count; i++) to[i] = values.Value(from + i);
    mark_nulls(array, from, count, wanted_, rows);
  }

 private:
  const WantedColumn wanted_;
};

/* Numbers in binary; `Get` reads one. */
template <class From, class To>
class Floats final : public ColumnValues {
 public:
  explicit Floats(const WantedColumn& wanted) : wanted_(wanted) {}
  void append(const arrow::Array& array, int64_t from, uint32_t count, ColumnRows& rows) const override {
    const auto* values = array.data()->GetValues<From>(1) + from;
    To* to = rows.append<To>(count);
    if constexpr (std::is_same_v<From, uint16_t>)
      for (uint32_t i = 0; i < count; i++)
        to[i] = static_cast<To>(arrow::util::Float16::FromBits(values[i]).ToDouble());
    else
      std::copy(values, values + count, to);
    mark_nulls(array, from, count, wanted_, rows);
  }
  bool as_they_are() const override { return std::is_same_v<From, To>; }

 private:
  const WantedColumn wanted_;
};

/* Decimals of 128 and 256 bits, to numerics of 64 or 128. */
template <class Decimal, class To>
class Decimals final : public ColumnValues {
 public:
  Decimals(const DecimalForm& form, const WantedColumn& wanted) : form_(form), wanted_(wanted) {}
  void append(const arrow::Array& array, int64_t from, uint32_t count, ColumnRows& rows) const override {
    constexpr size_t kWords = sizeof(Decimal) / 8;
    const auto* values = reinterpret_cast<const int64_t*>(
                             static_cast<const arrow::FixedSizeBinaryArray&>(array).raw_values()) +
                         from * static_cast<int64_t>(kWords);
    To* to = rows.append<To>(count);
    for (uint32_t i = 0; i < count; i++, values += kWords) {
      __int128 value = 0;
      if (convert<kWords>(values, &value) || array.IsNull(from + i))
        to[i] = static_cast<To>(value);
      else
        fail(wanted_, "a decimal of too many digits");
    }
    mark_nulls(array, from, count, wanted_, rows);
  }

 private:
  template <size_t kWords>
  bool convert(const int64_t* words, __int128* result) const {
    const auto value = static_cast<__int128>(static_cast<unsigned __int128>(static_cast<uint64_t>(words[1])) << 64 |
                                             static_cast<uint64_t>(words[0]));
    for (size_t i = 2; i < kWords; i++)
      if (words[i] != (value < 0 ? -1 : 0)) return false;
    return form_.convert(value, result);
  }

  const DecimalForm form_;
  const WantedColumn wanted_;
};

/* Texts, whatever their layout: a callable gives each. */
class Texts : public ColumnValues {
 public:
  explicit Texts(const WantedColumn& wanted) : wanted_(wanted) {}

 protected:
  /* Checks a text, and appends it to the bytes. */
  TbTextView add(std::string_view text, std::vector<uint8_t>& bytes) const {
    if (const char* problem = form_.take(&text)) fail(wanted_, problem);
    TbTextView view;
    if (!append_text(text, bytes, &view)) fail(wanted_, kTextTooLong);
    return view;
  }

  const WantedColumn wanted_;

 private:
  const TextForm form_{wanted_};
};

/* Offsets within the buffer, each checked. */
template <class Array>
std::string_view checked_text(const Array& array, int64_t row, const WantedColumn& wanted) {
  if constexpr (std::is_same_v<Array, arrow::StringViewArray>) {
    return array.GetView(row);  // ValidateFull has been there
  } else {
    const auto* offsets = array.raw_value_offsets();
    const int64_t size = array.value_data() ? array.value_data()->size() : 0;
    const int64_t begin = offsets[row], end = offsets[row + 1];
    if (begin < 0 || end < begin || end > size) fail(wanted, "offsets of texts leave their buffer");
    if (end == begin) return {};
    return {reinterpret_cast<const char*>(array.value_data()->data()) + begin, static_cast<size_t>(end - begin)};
  }
}

template <class Array>
class PlainTexts final : public Texts {
 public:
  using Texts::Texts;
  void append(const arrow::Array& array, int64_t from, uint32_t count, ColumnRows& rows) const override {
    const auto& texts = static_cast<const Array&>(array);
    if constexpr (std::is_same_v<Array, arrow::StringViewArray>)
      if (!array.ValidateFull().ok()) fail(wanted_, "views of texts leave their buffers");
    auto* to = rows.append<TbTextView>(count);
    for (uint32_t i = 0; i < count; i++)
      to[i] = array.IsNull(from + i) ? TbTextView{} : add(checked_text(texts, from + i, wanted_), rows.bytes());
    mark_nulls(array, from, count, wanted_, rows);
  }
};

/* The dictionary's texts are checked and copied once for a run of rows, where it is not larger than the run. */
template <class Array>
class DictionaryTexts final : public Texts {
 public:
  using Texts::Texts;
  void append(const arrow::Array& array, int64_t from, uint32_t count, ColumnRows& rows) const override {
    const auto& codes = static_cast<const arrow::DictionaryArray&>(array);
    const auto& texts = static_cast<const Array&>(*codes.dictionary());
    if constexpr (std::is_same_v<Array, arrow::StringViewArray>)
      if (!texts.ValidateFull().ok()) fail(wanted_, "views of texts leave their buffers");
    auto* to = rows.append<TbTextView>(count);
    std::vector<TbTextView> views;
    if (texts.length() <= count) {
      views.resize(static_cast<size_t>(texts.length()));
      for (int64_t i = 0; i < texts.length(); i++)
        if (texts.IsValid(i)) views[static_cast<size_t>(i)] = add(checked_text(texts, i, wanted_), rows.bytes());
    }
    for (uint32_t i = 0; i < count; i++) {
      to[i] = {};
      if (codes.IsNull(from + i)) {
        set_null(count, i, rows);
        continue;
      }
      const int64_t code = codes.GetValueIndex(from + i);
      if (code < 0 || code >= texts.length()) fail(wanted_, "an index beyond its dictionary");
      if (texts.IsNull(code))
        set_null(count, i, rows);
      else
        to[i] = views.empty() ? add(checked_text(texts, code, wanted_), rows.bytes())
                              : views[static_cast<size_t>(code)];
    }
  }

 private:
  void set_null(uint32_t count, uint32_t place, ColumnRows& rows) const {
    if (!wanted_.nullable) fail(wanted_, "a NULL, though the column is declared NOT NULL");
    rows.set_null(count, place);
  }
};

/* Digits after the point that a decimal column prints: as many as its type has, but for NULLs. */
class DisplayScale final : public ColumnValues {
 public:
  DisplayScale(int32_t scale, const WantedColumn& wanted) : scale_(scale), wanted_(wanted) {}
  void append(const arrow::Array& array, int64_t from, uint32_t count, ColumnRows& rows) const override {
    auto* to = rows.append<int32_t>(count);
    std::fill(to, to + count, scale_);
    mark_nulls(array, from, count, wanted_, rows);
  }

 private:
  const int32_t scale_;
  const WantedColumn wanted_;
};

class Nulls final : public ColumnValues {
 public:
  explicit Nulls(const WantedColumn& wanted) : wanted_(wanted) {}
  void append(const arrow::Array&, int64_t, uint32_t count, ColumnRows& rows) const override {
    WantedColumn null = wanted_;
    null.is_null = true;
    append_constant(null, count, rows);
  }

 private:
  const WantedColumn wanted_;
};

template <class To>
std::unique_ptr<const ColumnValues> integers_to(const arrow::DataType& type, const IntegerForm& form,
                                                const WantedColumn& wanted) {
  switch (type.id()) {
    case arrow::Type::INT8: return std::make_unique<Integers<int8_t, To>>(form, wanted);
    case arrow::Type::UINT8: return std::make_unique<Integers<uint8_t, To>>(form, wanted);
    case arrow::Type::INT16: return std::make_unique<Integers<int16_t, To>>(form, wanted);
    case arrow::Type::UINT16: return std::make_unique<Integers<uint16_t, To>>(form, wanted);
    case arrow::Type::UINT32: return std::make_unique<Integers<uint32_t, To>>(form, wanted);
    case arrow::Type::INT32:
    case arrow::Type::DATE32:
    case arrow::Type::DECIMAL32: return std::make_unique<Integers<int32_t, To>>(form, wanted);
    default: return std::make_unique<Integers<int64_t, To>>(form, wanted);
  }
}

std::unique_ptr<const ColumnValues> integers(const arrow::DataType& type, const IntegerForm& form,
                                             const WantedColumn& wanted) {
  switch (tb_type_width(wanted.type)) {
    case 2: return integers_to<int16_t>(type, form, wanted);
    case 4: return integers_to<int32_t>(type, form, wanted);
    default: return integers_to<int64_t>(type, form, wanted);
  }
}

std::unique_ptr<const ColumnValues> decimals(const arrow::DecimalType& type, const WantedColumn& wanted) {
  DecimalForm form;
  if (!decimal_form(type, wanted, &form)) return nullptr;
  const bool wide = type.id() == arrow::Type::DECIMAL256;
  if (wanted.type == TB_TYPE_NUM64) {
    if (wide) return std::make_unique<Decimals<arrow::Decimal256, int64_t>>(form, wanted);
    return std::make_unique<Decimals<arrow::Decimal128, int64_t>>(form, wanted);
  }
  if (wide) return std::make_unique<Decimals<arrow::Decimal256, __int128>>(form, wanted);
  return std::make_unique<Decimals<arrow::Decimal128, __int128>>(form, wanted);
}

template <class To>
std::unique_ptr<const ColumnValues> floats(const arrow::DataType& type, const WantedColumn& wanted) {
  switch (type.id()) {
    case arrow::Type::HALF_FLOAT: return std::make_unique<Floats<uint16_t, To>>(wanted);
    case arrow::Type::FLOAT: return std::make_unique<Floats<float, To>>(wanted);
    case arrow::Type::DOUBLE:
      if constexpr (std::is_same_v<To, double>) return std::make_unique<Floats<double, To>>(wanted);
      return nullptr;
    default: return nullptr;
  }
}

std::unique_ptr<const ColumnValues> texts(const arrow::DataType& type, const WantedColumn& wanted) {
  switch (type.id()) {
    case arrow::Type::STRING: return std::make_unique<PlainTexts<arrow::StringArray>>(wanted);
    case arrow::Type::LARGE_STRING: return std::make_unique<PlainTexts<arrow::LargeStringArray>>(wanted);
    case arrow::Type::STRING_VIEW: return std::make_unique<PlainTexts<arrow::StringViewArray>>(wanted);
    case arrow::Type::DICTIONARY: break;
    default: return nullptr;
  }
  switch (static_cast<const arrow::DictionaryType&>(type).value_type()->id()) {
    case arrow::Type::STRING: return std::make_unique<DictionaryTexts<arrow::StringArray>>(wanted);
    case arrow::Type::LARGE_STRING: return std::make_unique<DictionaryTexts<arrow::LargeStringArray>>(wanted);
    case arrow::Type::STRING_VIEW: return std::make_unique<DictionaryTexts<arrow::StringViewArray>>(wanted);
    default: return nullptr;
  }
}

std::unique_ptr<const ColumnValues> find_values(const arrow::DataType& type, const WantedColumn& wanted) {
  if (type.id() == arrow::Type::NA) return std::make_unique<Nulls>(wanted);
  if (wanted.is_coordinate || wanted.type == TB_TYPE_GEOMETRY) return geometry_values(type, wanted);
  if (wanted.display_scale) {
    if (!arrow::is_decimal(type.id())) return nullptr;
    const int scale = static_cast<const arrow::DecimalType&>(type).scale();
    return scale < 0 ? nullptr : std::make_unique<DisplayScale>(scale, wanted);
  }
  if (wanted.type == TB_TYPE_BOOL) return type.id() == arrow::Type::BOOL ? std::make_unique<Booleans>(wanted) : nullptr;
  if (wanted.type == TB_TYPE_FLOAT4) return floats<float>(type, wanted);
  if (wanted.type == TB_TYPE_FLOAT8) return floats<double>(type, wanted);
  if (tb_type_is_text(wanted.type)) return texts(type, wanted);
  if (type.id() == arrow::Type::DECIMAL128 || type.id() == arrow::Type::DECIMAL256)
    return decimals(static_cast<const arrow::DecimalType&>(type), wanted);
  IntegerForm form;
  return integer_form(type, wanted, &form) ? integers(type, form, wanted) : nullptr;
}

}  // namespace

void mark_nulls(const arrow::Array& array, int64_t from, uint32_t count, const WantedColumn& wanted, ColumnRows& rows) {
  if (array.null_count() == 0) return;
  for (uint32_t i = 0; i < count; i++) {
    if (array.IsValid(from + i)) continue;
    if (!wanted.nullable) fail(wanted, "a NULL, though the column is declared NOT NULL");
    rows.set_null(count, i);
  }
}

std::unique_ptr<const ColumnValues> column_values(const arrow::DataType& type, const WantedColumn& wanted) {
  auto values = find_values(type, wanted);
  if (!values)
    fail(wanted, "values of type " + type.ToString() + " do not become " + tb_type_name(wanted.type) + " as they are");
  return values;
}

void append_constant(const WantedColumn& constant, uint32_t count, ColumnRows& rows) {
  const uint32_t width = tb_type_width(constant.type);
  auto* to = rows.append<uint8_t>(count);
  uint8_t value[16] = {};
  if (tb_type_is_text(constant.type) && !constant.is_null) {
    TbTextView view;
    if (!append_text(constant.text, rows.bytes(), &view)) fail(constant, kTextTooLong);
    memcpy(value, &view, sizeof view);
  } else {
    memcpy(value, constant.value.data(), sizeof value);
  }
  for (uint32_t i = 0; i < count; i++) memcpy(to + uint64_t{i} * width, value, width);
  if (!constant.is_null) return;
  if (!constant.nullable) fail(constant, "a NULL, though the column is declared NOT NULL");
  for (uint32_t i = 0; i < count; i++) rows.set_null(count, i);
}

}  // namespace turbine
