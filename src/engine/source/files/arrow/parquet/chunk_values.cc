/*
 * chunk_values.cc - see chunk_values.h.
 *
 * A class for each way in which values are converted, as in column_values.cc, whose results are the same.
 */
#include "engine/source/files/arrow/parquet/chunk_values.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <parquet/schema.h>

#include "engine/source/files/arrow/parquet/value_loops.h"
#include "engine/source/files/arrow/value_forms.h"
#include "file_values/int96.h"

namespace turbine {
namespace {

static_assert(std::endian::native == std::endian::little);

void append_nulls(const ValueRun& run, const WantedColumn& wanted, ColumnRows& rows) {
  if (!run.valid) return;
  if (!wanted.nullable) throw FileError("a NULL, though the column is declared NOT NULL");
  rows.set_valid(run.rows, run.valid);
}

/* Integers that a page stores as `Stored`, of the file's type `From`: as wide, or narrower, which not all fit. */
template <class Stored, class From, class To>
class IntegerConversion {
 public:
  using Value = To;
  explicit IntegerConversion(const IntegerForm& form) : form_(form) {}
  void run(const uint8_t* from, uint32_t count, To* to) const {
    if (form_.identity() && form_.least == INT64_MIN) {
      if constexpr (std::is_same_v<Stored, From> && std::is_same_v<From, To>) {
        if (count > 0) memcpy(to, from, uint64_t{count} * sizeof(To));
        return;
      }
      bool all_fit = true;
      for (uint32_t i = 0; i < count; i++) {
        to[i] = static_cast<To>(static_cast<From>(stored_at(from, i)));
        all_fit &= fits(stored_at(from, i));
      }
      if (!all_fit) fail(from, count);
      return;
    }
    bool in_range = true;
    for (uint32_t i = 0; i < count; i++) {
      int64_t value = 0;
      in_range &= convert(stored_at(from, i), &value);
      to[i] = static_cast<To>(value);
    }
    if (!in_range) fail(from, count);
  }

 private:
  static Stored stored_at(const uint8_t* from, uint32_t place) {
    Stored value;
    memcpy(&value, from + uint64_t{place} * sizeof value, sizeof value);
    return value;
  }
  static bool fits(Stored value) { return sizeof(From) == sizeof(Stored) || std::in_range<From>(value); }
  bool convert(Stored value, int64_t* result) const {
    return fits(value) && form_.convert(static_cast<int64_t>(static_cast<From>(value)), result);
  }
  [[noreturn]] void fail(const uint8_t* from, uint32_t count) const {
    uint32_t place = 0;
    for (int64_t value; place + 1 < count && convert(stored_at(from, place), &value);) place++;
    throw FileError("value " + std::to_string(stored_at(from, place)) + " is out of the type's range");
  }

  const IntegerForm form_;
};

class Int96Conversion {
 public:
  using Value = int64_t;
  void run(const uint8_t* from, uint32_t count, int64_t* to) const {
    bool in_range = true;
    for (uint32_t i = 0; i < count; i++, from += kInt96Bytes) in_range &= int96_timestamp(from, to + i);
    if (!in_range) throw FileError("a timestamp is out of the type's range");
  }
};

template <class From, class To>
class FloatConversion {
 public:
  using Value = To;
  void run(const uint8_t* from, uint32_t count, To* to) const {
    for (uint32_t i = 0; i < count; i++) {
      From value;
      memcpy(&value, from + uint64_t{i} * sizeof value, sizeof value);
      to[i] = static_cast<To>(value);
    }
  }
};

/* Decimals of `width` bytes: the lowest first, or the highest. */
template <bool kHighestFirst, class To>
class DecimalConversion {
 public:
  using Value = To;
  DecimalConversion(uint32_t width, const DecimalForm& form) : width_(width), form_(form) {}
  void run(const uint8_t* from, uint32_t count, To* to) const {
    for (uint32_t i = 0; i < count; i++, from += width_) {
      __int128 value;
      if (!form_.convert(value_at(from), &value)) throw FileError("a decimal of too many digits");
      to[i] = static_cast<To>(value);
    }
  }

 private:
  /* With the sign's bits before it. */
  __int128 value_at(const uint8_t* from) const {
    unsigned __int128 value = 0;
    for (uint32_t i = 0; i < width_; i++) value = value << 8 | from[kHighestFirst ? i : width_ - 1 - i];
    const uint32_t unused = 8 * (sizeof value - width_);
    return static_cast<__int128>(value << unused) >> unused;
  }

  const uint32_t width_;
  const DecimalForm form_;
};

/* Values of a fixed width. */
template <class Conversion>
class FixedValues final : public ChunkValues {
  using Value = typename Conversion::Value;

 public:
  FixedValues(const Conversion& conversion, const WantedColumn& wanted) : conversion_(conversion), wanted_(wanted) {}
  void take_dictionary(const DictionaryEntries& dictionary) override {
    entries_.resize(dictionary.count);
    conversion_.run(dictionary.plain, dictionary.count, entries_.data());
  }
  void append(const ValueRun& run, ColumnRows& rows) override {
    auto* to = rows.append<Value>(run.rows);
    if (run.form == ValueRun::kIndexes)
      take_entries(entries_.data(), run.numbers, run.values, to);
    else
      conversion_.run(run.plain, run.values, to);
    if (run.valid) spread(to, run.values, run.valid, run.rows);
    append_nulls(run, wanted_, rows);
  }

 private:
  const Conversion conversion_;
  const WantedColumn wanted_;
  std::vector<Value> entries_;
};

class FlagValues final : public ChunkValues {
 public:
  explicit FlagValues(const WantedColumn& wanted) : wanted_(wanted) {}
  void append(const ValueRun& run, ColumnRows& rows) override {
    auto* to = rows.append<uint8_t>(run.rows);
    std::copy(run.numbers, run.numbers + run.values, to);
    if (run.valid) spread(to, run.values, run.valid, run.rows);
    append_nulls(run, wanted_, rows);
  }

 private:
  const WantedColumn wanted_;
};

/* Entries are checked once. If all of them have numbers in the rows' own dictionary, rows are those; else they are
 * copied once for the rows that are read at a time. */
class TextValues final : public ChunkValues {
 public:
  explicit TextValues(const WantedColumn& wanted) : form_(wanted), wanted_(wanted) {}
  void take_dictionary(const DictionaryEntries& dictionary) override {
    entries_.resize(dictionary.count);
    entry_bytes_.reserve(1);  // empty texts are somewhere, too
    for (uint32_t i = 0; i < dictionary.count; i++) entries_[i].view = copy(checked(dictionary.texts[i]), entry_bytes_);
  }
  void append(const ValueRun& run, ColumnRows& rows) override {
    const bool has_codes = run.form == ValueRun::kIndexes && (has_codes_ || find_codes(rows.dictionary().get()));
    int32_t* const codes = has_codes ? rows.append_codes(run.rows) : nullptr;
    if (codes)
      append_codes(run, codes);
    else
      append_views(run, rows);
    append_nulls(run, wanted_, rows);
  }

 private:
  struct Entry {
    TbTextView view;    // of entry_bytes_
    uint32_t turn = 0;  // in which it was copied
    TbTextView copied = {};
  };

  /* Once a chunk. */
  bool find_codes(TextDictionary* dictionary) {
    if (!dictionary || looked_for_codes_) return false;
    looked_for_codes_ = true;
    std::vector<TbTextView> views;
    for (const Entry& entry : entries_) views.push_back(entry.view);
    const ColumnOrigin origin{reinterpret_cast<const uint8_t*>(views.data()), nullptr, entry_bytes_.data()};
    codes_.resize(entries_.size());
    has_codes_ = dictionary->encode({&origin, 0, static_cast<uint32_t>(views.size()), 0}, codes_.data());
    return has_codes_;
  }
  void append_codes(const ValueRun& run, int32_t* to) const {
    take_entries(codes_.data(), run.numbers, run.values, to);
    if (!run.valid) return;
    spread(to, run.values, run.valid, run.rows);
    for (uint32_t i = 0; i < run.rows; i++) to[i] = run.valid[i] ? to[i] : 0;
  }
  void append_views(const ValueRun& run, ColumnRows& rows) {
    rows.decode();
    if (rows.rows() == 0) turn_++;
    auto* to = rows.append<TbTextView>(run.rows);
    if (run.form == ValueRun::kIndexes)
      for (uint32_t i = 0; i < run.values; i++) to[i] = entry(run.numbers[i], rows);
    else
      for (uint32_t i = 0; i < run.values; i++) to[i] = copy(checked(run.texts[i]), rows.bytes());
    if (!run.valid) return;
    spread(to, run.values, run.valid, run.rows);
    for (uint32_t i = 0; i < run.rows; i++)
      if (!run.valid[i]) to[i] = {};
  }
  const TbTextView& entry(uint32_t number, ColumnRows& rows) {
    Entry& entry = entries_[number];
    if (entry.turn != turn_) {
      const auto* text = reinterpret_cast<const char*>(entry_bytes_.data()) + entry.view.offset;
      entry.copied = copy({text, entry.view.length}, rows.bytes());
      entry.turn = turn_;
    }
    return entry.copied;
  }
  std::string_view checked(std::string_view text) const {
    if (const char* problem = form_.take(&text)) throw FileError(problem);
    return text;
  }
  static TbTextView copy(std::string_view text, std::vector<uint8_t>& bytes) {
    TbTextView view;
    if (!append_text(text, bytes, &view)) throw FileError(kTextTooLong);
    return view;
  }

  const TextForm form_;
  const WantedColumn wanted_;
  std::vector<uint8_t> entry_bytes_;
  std::vector<Entry> entries_;
  bool looked_for_codes_ = false, has_codes_ = false;
  std::vector<int32_t> codes_;  // by entry
  uint32_t turn_ = 0;
};

/* Digits after the point that a decimal column prints. */
class ScaleValues final : public ChunkValues {
 public:
  ScaleValues(int32_t scale, const WantedColumn& wanted) : scale_(scale), wanted_(wanted) {}
  void append(const ValueRun& run, ColumnRows& rows) override {
    auto* to = rows.append<int32_t>(run.rows);
    std::fill(to, to + run.rows, scale_);
    append_nulls(run, wanted_, rows);
  }

 private:
  const int32_t scale_;
  const WantedColumn wanted_;
};

template <class Conversion>
std::unique_ptr<ChunkValues> fixed(const Conversion& conversion, const WantedColumn& wanted) {
  return std::make_unique<FixedValues<Conversion>>(conversion, wanted);
}

template <class Stored, class From>
std::unique_ptr<ChunkValues> integers_to(const IntegerForm& form, const WantedColumn& wanted) {
  switch (tb_type_width(wanted.type)) {
    case 2: return fixed(IntegerConversion<Stored, From, int16_t>(form), wanted);
    case 4: return fixed(IntegerConversion<Stored, From, int32_t>(form), wanted);
    default: return fixed(IntegerConversion<Stored, From, int64_t>(form), wanted);
  }
}

std::unique_ptr<ChunkValues> integers(parquet::Type::type stored, const arrow::DataType& type, const IntegerForm& form,
                                      const WantedColumn& wanted) {
  if (stored == parquet::Type::INT64) {
    switch (type.id()) {
      case arrow::Type::INT64:
      case arrow::Type::UINT64:
      case arrow::Type::TIMESTAMP: return integers_to<int64_t, int64_t>(form, wanted);
      default: return nullptr;
    }
  }
  if (stored != parquet::Type::INT32) return nullptr;
  switch (type.id()) {
    case arrow::Type::INT8: return integers_to<int32_t, int8_t>(form, wanted);
    case arrow::Type::UINT8: return integers_to<int32_t, uint8_t>(form, wanted);
    case arrow::Type::INT16: return integers_to<int32_t, int16_t>(form, wanted);
    case arrow::Type::UINT16: return integers_to<int32_t, uint16_t>(form, wanted);
    case arrow::Type::UINT32: return integers_to<int32_t, uint32_t>(form, wanted);
    case arrow::Type::INT32:
    case arrow::Type::DATE32: return integers_to<int32_t, int32_t>(form, wanted);
    default: return nullptr;
  }
}

template <class To>
std::unique_ptr<ChunkValues> decimals_to(const parquet::ColumnDescriptor& column, const DecimalForm& form,
                                         const WantedColumn& wanted) {
  switch (column.physical_type()) {
    case parquet::Type::INT32: return fixed(DecimalConversion<false, To>(4, form), wanted);
    case parquet::Type::INT64: return fixed(DecimalConversion<false, To>(8, form), wanted);
    case parquet::Type::FIXED_LEN_BYTE_ARRAY: {
      const int width = column.type_length();
      if (width < 1 || width > static_cast<int>(sizeof(__int128))) return nullptr;
      return fixed(DecimalConversion<true, To>(static_cast<uint32_t>(width), form), wanted);
    }
    default: return nullptr;
  }
}

std::unique_ptr<ChunkValues> decimals(const parquet::ColumnDescriptor& column, const arrow::DataType& type,
                                      const WantedColumn& wanted) {
  DecimalForm form;
  if (!decimal_form(static_cast<const arrow::DecimalType&>(type), wanted, &form)) return nullptr;
  if (wanted.type == TB_TYPE_NUM64) return decimals_to<int64_t>(column, form, wanted);
  return decimals_to<__int128>(column, form, wanted);
}

std::unique_ptr<ChunkValues> floats(parquet::Type::type stored, const arrow::DataType& type,
                                    const WantedColumn& wanted) {
  const bool is_double = wanted.type == TB_TYPE_FLOAT8;
  if (stored == parquet::Type::FLOAT && type.id() == arrow::Type::FLOAT) {
    if (is_double) return fixed(FloatConversion<float, double>(), wanted);
    return fixed(FloatConversion<float, float>(), wanted);
  }
  if (stored == parquet::Type::DOUBLE && type.id() == arrow::Type::DOUBLE && is_double)
    return fixed(FloatConversion<double, double>(), wanted);
  return nullptr;
}

/* Or a dictionary of texts, if the file was written of one. */
bool is_text(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW: return true;
    case arrow::Type::DICTIONARY: return is_text(*static_cast<const arrow::DictionaryType&>(type).value_type());
    default: return false;
  }
}

}  // namespace

std::unique_ptr<ChunkValues> chunk_values(const parquet::ColumnDescriptor& column, const arrow::DataType& type,
                                          const WantedColumn& wanted) {
  const parquet::Type::type stored = column.physical_type();
  const bool is_decimal = type.id() == arrow::Type::DECIMAL128;
  // libparquet reads geometries.
  if (wanted.is_coordinate || wanted.type == TB_TYPE_GEOMETRY) return nullptr;
  if (wanted.display_scale) {
    const int scale = is_decimal ? static_cast<const arrow::DecimalType&>(type).scale() : -1;
    return scale < 0 ? nullptr : std::make_unique<ScaleValues>(scale, wanted);
  }
  if (wanted.type == TB_TYPE_BOOL) {
    if (stored != parquet::Type::BOOLEAN || type.id() != arrow::Type::BOOL) return nullptr;
    return std::make_unique<FlagValues>(wanted);
  }
  if (wanted.type == TB_TYPE_FLOAT4 || wanted.type == TB_TYPE_FLOAT8) return floats(stored, type, wanted);
  if (tb_type_is_text(wanted.type)) {
    if (stored != parquet::Type::BYTE_ARRAY || !is_text(type)) return nullptr;
    return std::make_unique<TextValues>(wanted);
  }
  if (is_decimal) return decimals(column, type, wanted);
  if (stored == parquet::Type::INT96 && wanted.type == TB_TYPE_TIMESTAMP) return fixed(Int96Conversion(), wanted);
  IntegerForm form;
  return integer_form(type, wanted, &form) ? integers(stored, type, form, wanted) : nullptr;
}

}  // namespace turbine
