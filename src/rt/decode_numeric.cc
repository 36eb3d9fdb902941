/*
 * decode_numeric.cc - numeric's on-disk form to a scaled integer.
 *
 * A value is a header word and base-10000 digits, most significant first; the
 * first digit counts 10000^weight:
 *
 *   10s.......wwwwww   short: sign, display scale, weight in 7 bits
 *   0s.............. + int16   long: sign, display scale; weight
 *   11..............   NaN, infinities
 *
 * The result is value * 10^scale, which must be an integer that fits: else
 * false, and the caller reports TB_ERR_UNREPRESENTABLE. (Of a column that is
 * declared numeric(p, s) only NaN gets there.) Called by generated tb_decode.
 */
#include "rt/varlena.h"
#include "turbine/program.h"

namespace turbine::rt {
namespace {

constexpr uint32_t kBase = 10000;
constexpr uint128 kNum64Limit = 999999999999999999;  // 18 digits, as the planner counts on

struct Digits {
  const uint8_t* bytes;
  int32_t count;
  int32_t weight;  // of the first digit
  bool negative;
};

RT_INLINE uint32_t digit(const Digits& digits, int32_t i) { return load_unaligned<uint16_t>(digits.bytes + 2 * i); }

RT_INLINE bool read_header(Payload numeric, Digits* digits) {
  if (numeric.length < 2) return false;
  const uint32_t header = load_unaligned<uint16_t>(numeric.bytes);
  const uint32_t kind = header & 0xc000;
  if (kind == 0xc000) return false;  // NaN, infinities
  uint32_t header_bytes = 2;
  if (kind == 0x8000) {
    digits->negative = header & 0x2000;
    digits->weight = static_cast<int32_t>((header & 0x3f) | (header & 0x40 ? ~0x3fu : 0u));
  } else {
    if (numeric.length < 4) return false;
    header_bytes = 4;
    digits->negative = kind == 0x4000;
    digits->weight = load_unaligned<int16_t>(numeric.bytes + 2);
  }
  digits->bytes = numeric.bytes + header_bytes;
  digits->count = static_cast<int32_t>((numeric.length - header_bytes) / 2);
  return true;
}

RT_INLINE uint32_t power_of_ten(int32_t exponent) {  // 0..4
  return exponent == 0 ? 1 : exponent == 1 ? 10 : exponent == 2 ? 100 : exponent == 3 ? 1000 : 10000;
}

/* The scale asks for `groups` whole digits after the point, of whose last
 * `cut` decimals do not count. Both are constants of the column. */
struct Target {
  int32_t groups;
  int32_t cut;
};

RT_INLINE Target target_of(int32_t scale) {
  const int32_t groups = (scale + 3) >> 2;
  return {groups, groups * 4 - scale};
}

/* Digits from `from` on must be zeros. */
RT_INLINE bool rest_is_zero(const Digits& digits, int32_t from) {
  uint32_t any = 0;
  for (int32_t i = from < 0 ? 0 : from; i < digits.count; i++) any |= digit(digits, i);
  return any == 0;
}

/* What may still be multiplied by 10^(4 - cut): quotients of constants, as wide
 * divisions are not to be had at run time. */
RT_INLINE uint128 room_for(int32_t cut) {
  constexpr uint128 most = ~static_cast<uint128>(0) >> 1;
  return cut == 0 ? most / 10000 : cut == 1 ? most / 1000 : cut == 2 ? most / 100 : most / 10;
}

/* Any magnitude up to `limit`. `count` digits are wanted, the last one cut. */
RT_INLINE bool accumulate_wide(const Digits& digits, int32_t count, int32_t cut, uint128 limit, uint128* magnitude) {
  uint128 sum = 0;
  for (int32_t i = 0; i < count - 1; i++) {
    const uint32_t d = i < digits.count ? digit(digits, i) : 0;
    if (d >= kBase || sum > room_for(0)) return false;
    sum = sum * kBase + d;
  }
  const uint32_t last = count - 1 < digits.count ? digit(digits, count - 1) : 0;
  const uint32_t divisor = power_of_ten(cut);
  if (last >= kBase || last % divisor != 0 || sum > room_for(cut)) return false;
  sum = sum * power_of_ten(4 - cut) + last / divisor;
  *magnitude = sum;
  return sum <= limit;
}

/* Up to four digits, of which the last `count` - `digits.count` are zeros that
 * are not stored: all at once. The load ends with the stored digits, so that it
 * reads bytes of the tuple only; what precedes them is shifted out. False where
 * a digit is none, or the last has decimals beyond the scale. */
RT_INLINE bool accumulate_narrow(const Digits& digits, int32_t count, int32_t cut, uint64_t* magnitude) {
  uint64_t lanes = load_unaligned<uint64_t>(digits.bytes + 2 * digits.count - 8);
  lanes = lanes >> (16 * (4 - digits.count)) << (16 * (4 - count));
  const uint64_t high_bits = 0x8000800080008000u;
  const uint64_t to_high_bit = 0x58f058f058f058f0u;  // 0x7fff - 9999 in each lane
  const uint64_t bad = (lanes | (lanes + to_high_bit)) & high_bits;
  const uint64_t unit = power_of_ten(4 - cut);
  const uint32_t last = static_cast<uint32_t>(lanes >> 48);
  const uint32_t divisor = power_of_ten(cut);
  *magnitude = (lanes & 0xffff) * (unit * kBase * kBase) + (lanes >> 16 & 0xffff) * (unit * kBase) +
               (lanes >> 32 & 0xffff) * unit + last / divisor;
  return bad == 0 && last % divisor == 0;
}

/* Everything but the common case; not inlined, for the size of the code. */
__attribute__((noinline, cold)) bool wide_value(Digits digits, int32_t scale, uint128 limit, uint128* value) {
  *value = 0;
  if (digits.count <= 0) return true;
  const Target target = target_of(scale);
  const int32_t count = digits.weight + 1 + target.groups;
  if (digits.count > count && !rest_is_zero(digits, count)) return false;
  if (count <= 0) return true;
  uint128 magnitude;
  if (!accumulate_wide(digits, count, target.cut, limit, &magnitude)) return false;
  *value = digits.negative ? 0 - magnitude : magnitude;
  return true;
}

/* The common case: a few digits, none beyond the scale. */
RT_INLINE bool is_narrow(const Digits& digits, int32_t count) {
  return digits.count >= 1 && digits.count <= count && count <= 4;
}

RT_INLINE int32_t wanted_digits(const Digits& digits, int32_t scale) {
  return digits.weight + 1 + target_of(scale).groups;
}

}  // namespace

#define RT_DECODE RT_EXPORT __attribute__((always_inline))

RT_DECODE bool rt_decode_num64(const uint8_t* varlena, int32_t scale, int64_t* out) {
  Digits digits;
  if (!read_header(payload_of(varlena), &digits)) return false;
  const int32_t count = wanted_digits(digits, scale);
  if (__builtin_expect(is_narrow(digits, count), 1)) {
    uint64_t magnitude;
    const bool fits = accumulate_narrow(digits, count, target_of(scale).cut, &magnitude);
    *out = static_cast<int64_t>(digits.negative ? 0 - magnitude : magnitude);
    return fits;
  }
  uint128 value;
  if (!wide_value(digits, scale, kNum64Limit, &value)) return false;
  *out = static_cast<int64_t>(value);
  return true;
}

/* `out`: low word, then high word. */
RT_DECODE bool rt_decode_num128(const uint8_t* varlena, int32_t scale, uint64_t* out) {
  Digits digits;
  if (!read_header(payload_of(varlena), &digits)) return false;
  const int32_t count = wanted_digits(digits, scale);
  if (__builtin_expect(is_narrow(digits, count), 1)) {
    uint64_t magnitude;
    const bool fits = accumulate_narrow(digits, count, target_of(scale).cut, &magnitude);
    out[0] = digits.negative ? 0 - magnitude : magnitude;
    out[1] = digits.negative && magnitude != 0 ? ~uint64_t{0} : 0;
    return fits;
  }
  uint128 value;
  if (!wide_value(digits, scale, ~static_cast<uint128>(0) >> 1, &value)) return false;
  out[0] = static_cast<uint64_t>(value);
  out[1] = static_cast<uint64_t>(value >> 64);
  return true;
}

/* The digits after the point that the value prints with. */
RT_DECODE bool rt_decode_display_scale(const uint8_t* varlena, int32_t* out) {
  const Payload numeric = payload_of(varlena);
  if (numeric.length < 2) return false;
  const uint32_t header = load_unaligned<uint16_t>(numeric.bytes);
  const uint32_t kind = header & 0xc000;
  *out = static_cast<int32_t>(kind == 0x8000 ? (header & 0x1f80) >> 7 : header & 0x3fff);
  return kind != 0xc000 && *out <= TB_MAX_DISPLAY_SCALE;
}

}  // namespace turbine::rt
