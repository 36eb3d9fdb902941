/*
 * numeric_field.cc - from decimal digits to numeric's digits of base 10,000: see
 * numeric_field.h.
 */
#include "file_reader/numeric_field.h"

#include <algorithm>
#include <string>

namespace turbine::file_reader {

namespace {

constexpr int kDigitsOfBase = 4;
constexpr int kMaxScale = 16383;  // PostgreSQL's
constexpr uint16_t kNegative = 0x4000;

int16_t base_digit(const char* digits) {
  return static_cast<int16_t>((digits[0] - '0') * 1000 + (digits[1] - '0') * 100 + (digits[2] - '0') * 10 +
                              (digits[3] - '0'));
}

}  // namespace

void append_numeric(bool negative, std::string_view digits, int scale, ByteBuffer& out) {
  if (scale > kMaxScale || scale < -kMaxScale)
    throw ReaderError(sqlstate::out_of_range, "scale is out of range for numeric");
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));

  /* Both sides of the point, padded to whole digits of the base. */
  static std::string padded;  // one thread; its memory is used again
  padded.clear();
  const int length = static_cast<int>(digits.size());
  const int integer_length = digits.empty() ? 0 : std::max(length - scale, 0);
  const int lead = (kDigitsOfBase - integer_length % kDigitsOfBase) % kDigitsOfBase;
  padded.append(static_cast<size_t>(lead), '0');
  if (!digits.empty()) {
    if (scale > length) padded.append(static_cast<size_t>(scale - length), '0');
    padded += digits;
    if (scale < 0) padded.append(static_cast<size_t>(-scale), '0');
  }
  padded.append((kDigitsOfBase - padded.size() % kDigitsOfBase) % kDigitsOfBase, '0');

  int first = 0, last = static_cast<int>(padded.size()) / kDigitsOfBase;
  while (first < last && base_digit(&padded[static_cast<size_t>(first * kDigitsOfBase)]) == 0) first++;
  while (last > first && base_digit(&padded[static_cast<size_t>((last - 1) * kDigitsOfBase)]) == 0) last--;
  const int integer_groups = (integer_length + lead) / kDigitsOfBase;

  const size_t begin = out.begin_field();
  out.network(static_cast<int16_t>(last - first));
  out.network(static_cast<int16_t>(first == last ? 0 : integer_groups - 1 - first));
  out.network(static_cast<uint16_t>(negative && first < last ? kNegative : 0));
  out.network(static_cast<uint16_t>(std::max(scale, 0)));
  for (int group = first; group < last; group++)
    out.network(base_digit(&padded[static_cast<size_t>(group * kDigitsOfBase)]));
  out.end_field(begin);
}

}  // namespace turbine::file_reader
