/*
 * numeric_decoders.cc - PostgreSQL's numeric to decimals, text or floats.
 *
 * Its binary form: int16 number of digits, weight of the first one, sign, display scale;
 * then digits of base 10,000. Digit i counts 10,000^(weight - i). Nothing is rounded:
 * a value that does not fit its column's form is refused.
 */
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_decimal.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>

#include "export/postgres/binary_reader.h"
#include "export/postgres/decoders.h"

namespace turbine::exporting {
namespace {

constexpr int kDigitWidth = 4; /* decimal digits of one digit of base 10,000 */
constexpr uint16_t kNegative = 0x4000, kNan = 0xC000, kInfinity = 0xD000, kNegativeInfinity = 0xF000;
constexpr std::array<int, kDigitWidth + 1> kPowers = {1, 10, 100, 1000, 10000};

struct Numeric {
  int count, weight, display_scale;
  uint16_t sign;
  const char* digits;

  Numeric(const char* data, int32_t length) {
    BinaryReader reader(data, length);
    count = reader.read<int16_t>();
    weight = reader.read<int16_t>();
    sign = reader.read<uint16_t>();
    display_scale = reader.read<int16_t>();
    digits = reader.bytes(int64_t{2} * count);
  }

  int digit(int i) const { return big_endian<int16_t>(digits + 2 * i); }
  /* What is no number; null for numbers. */
  const char* special() const {
    return sign == kNan ? "NaN" : sign == kInfinity ? "Infinity" : sign == kNegativeInfinity ? "-Infinity" : nullptr;
  }
};

/* Both widths of decimals: the unsigned integer that is gathered, and what Arrow takes. */
struct Wide128 {
  using Integer = unsigned __int128;
  using Decimal = arrow::Decimal128;
  using Builder = arrow::Decimal128Builder;
  static Decimal decimal(Integer value, bool negative) {
    const Decimal result(static_cast<int64_t>(value >> 64), static_cast<uint64_t>(value));
    return negative ? Decimal(-result) : result;
  }
};

struct Wide256 {
  using Integer = arrow::Decimal256;
  using Decimal = arrow::Decimal256;
  using Builder = arrow::Decimal256Builder;
  static Decimal decimal(Integer value, bool negative) { return negative ? Decimal(-value) : value; }
};

template <typename Wide>
class DecimalDecoder : public ColumnDecoder {
  using Builder = typename Wide::Builder;
  using Integer = typename Wide::Integer;

 public:
  DecimalDecoder(const std::shared_ptr<arrow::DataType>& type, int precision, int scale, InvalidValue invalid)
      : ColumnDecoder(std::make_shared<Builder>(type), invalid),
        builder_(static_cast<Builder*>(builder().get())),
        precision_(precision),
        scale_(scale) {}

 private:
  void append_value(const char* data, int32_t length) override {
    const Numeric numeric(data, length);
    if (const char* special = numeric.special()) return reject(std::string("the numeric ") + special);
    Integer value{0};
    if (!gather(numeric, value)) return reject("a numeric that does not fit its precision and scale");
    keep(builder_->Append(Wide::decimal(value, numeric.sign == kNegative)));
  }

  /* With a width: as integers of the column's scale. */
  void append_rows(const ColumnBytes& column) override {
    if constexpr (std::is_same_v<Wide, Wide128>) {
      if (column.width == arrow::Decimal128Type::kByteWidth) return append_integers(column);
    }
    ColumnDecoder::append_rows(column);
  }

  void append_integers(const ColumnBytes& column) {
    keep(builder_->Reserve(column.rows));
    for (int64_t row = 0; row < column.rows; row++) {
      if (column.valid != nullptr && column.valid[row] == 0) {
        builder_->UnsafeAppendNull();
        continue;
      }
      fail_at(row);
      std::array<uint64_t, 2> halves;
      std::memcpy(halves.data(), column.data + row * arrow::Decimal128Type::kByteWidth, sizeof(halves));
      const auto high = static_cast<int64_t>(halves[1]);
      const arrow::Decimal128 value(high, halves[0]);
      if (high == kDecimalNan) {
        reject("the numeric NaN");
      } else if (!value.FitsInPrecision(precision_)) {
        reject("a numeric that does not fit its precision and scale");
      } else {
        builder_->UnsafeAppend(value);
      }
    }
  }

  /* The digits as an integer of the column's scale; false if some would be lost. The number
   * of decimal digits is looked at first, so that no step overflows. */
  bool gather(const Numeric& numeric, Integer& value) const {
    if (numeric.count == 0) return true;
    int leading = 1;
    while (leading < kDigitWidth && numeric.digit(0) >= kPowers[static_cast<size_t>(leading)]) leading++;
    if (numeric.weight * kDigitWidth + leading + scale_ > precision_) return false;
    for (int i = 0; i < numeric.count; i++) {
      /* The decimal places of the column's scale from this digit on. */
      const int places = (numeric.weight - i) * kDigitWidth + scale_;
      const int digit = numeric.digit(i);
      if (places >= 0) {
        value = value * Integer(10000) + Integer(digit);
      } else if (places > -kDigitWidth) {
        const int lost = kPowers[static_cast<size_t>(-places)];
        if (digit % lost != 0) return false;
        value = value * Integer(10000 / lost) + Integer(digit / lost);
      } else if (digit != 0) {
        return false;
      }
    }
    /* Zeros that are not stored. */
    for (int places = (numeric.weight - numeric.count + 1) * kDigitWidth + scale_; places > 0;) {
      const int step = places < kDigitWidth ? places : kDigitWidth;
      value = value * Integer(kPowers[static_cast<size_t>(step)]);
      places -= step;
    }
    return true;
  }

  Builder* builder_;
  int precision_, scale_;
};

/* As numeric_out writes it. */
std::string text_of(const Numeric& numeric) {
  if (const char* special = numeric.special()) return special;
  std::string text = numeric.sign == kNegative ? "-" : "";
  const auto digit = [&](int i) { return i >= 0 && i < numeric.count ? numeric.digit(i) : 0; };
  const auto add = [&](int value, bool padded) {
    const std::string digits = std::to_string(value);
    if (padded) text.append(kDigitWidth - digits.size(), '0');
    text += digits;
  };
  if (numeric.weight < 0) text += '0';
  for (int i = 0; i <= numeric.weight; i++) add(digit(i), i > 0);
  if (numeric.display_scale > 0) {
    text += '.';
    const size_t end = text.size() + static_cast<size_t>(numeric.display_scale);
    for (int i = numeric.weight + 1; text.size() < end; i++) add(digit(i), true);
    text.resize(end);
  }
  return text;
}

class NumericTextDecoder : public ColumnDecoder {
 public:
  explicit NumericTextDecoder(InvalidValue invalid)
      : ColumnDecoder(std::make_shared<arrow::StringBuilder>(), invalid) {}

 private:
  void append_value(const char* data, int32_t length) override {
    keep(static_cast<arrow::StringBuilder&>(*builder()).Append(text_of(Numeric(data, length))));
  }
};

class NumericFloatDecoder : public ColumnDecoder {
 public:
  explicit NumericFloatDecoder(InvalidValue invalid)
      : ColumnDecoder(std::make_shared<arrow::DoubleBuilder>(), invalid) {}

 private:
  void append_value(const char* data, int32_t length) override {
    const Numeric numeric(data, length);
    const double value = strtod(text_of(numeric).c_str(), nullptr);
    if (std::isinf(value) && numeric.special() == nullptr) return reject("a numeric that is out of range for float8");
    keep(static_cast<arrow::DoubleBuilder&>(*builder()).Append(value));
  }
};

}  // namespace

std::unique_ptr<ColumnDecoder> make_numeric_decoder(const PgType& type, const DecoderOptions& options) {
  int precision = 0, scale = 0;
  if (type.numeric_form(precision, scale) && precision <= arrow::Decimal256Type::kMaxPrecision) {
    if (precision <= arrow::Decimal128Type::kMaxPrecision) {
      return std::make_unique<DecimalDecoder<Wide128>>(arrow::decimal128(precision, scale), precision, scale,
                                                       options.invalid);
    }
    return std::make_unique<DecimalDecoder<Wide256>>(arrow::decimal256(precision, scale), precision, scale,
                                                     options.invalid);
  }
  if (options.numeric == NumericAs::kFloat8) return std::make_unique<NumericFloatDecoder>(options.invalid);
  return std::make_unique<NumericTextDecoder>(options.invalid);
}

}  // namespace turbine::exporting
