/*
 * arithmetic.cc - what arithmetic, logic and comparisons do to one lane's values.
 *
 * Each operation is a function of C++ values and a row of a table. Floating point is rounded to nearest, and nothing is
 * contracted: the file is compiled with -ffp-contract=off. Results that PTX leaves undefined are fixed here.
 */
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>

#include "engine/device/cuda/testing/ptx/slot_values.h"

namespace turbine::ptx {

namespace {

using OperationTable = std::map<std::string, Operation>;
__extension__ using SignedWide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

/* Arithmetic that wraps: no narrower than 32 bits, since int would overflow. */
template <class T>
using Modular = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
constexpr T kBits = static_cast<T>(sizeof(T) * 8);

template <class T>
T divided(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return static_cast<T>(0 - static_cast<Modular<T>>(a));
  return static_cast<T>(a / b);
}
template <class T>
T remainder_of(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return static_cast<T>(a % b);
}
template <class T>
T high_product(T a, T b) {
  using Wide = std::conditional_t<std::is_signed_v<T>, SignedWide, UnsignedWide>;
  return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b) >> (sizeof(T) * 8));
}

/* Bits [at, at + count), extended by the sign if T has one: the last bit that there is. */
template <class T>
T bit_field(T value, uint32_t at, uint32_t count) {
  constexpr uint32_t bits = sizeof(T) * 8;
  at &= 0xff, count &= 0xff;
  if (count == 0) return 0;
  const bool negative = std::is_signed_v<T> && (value >> std::min(at + count - 1, bits - 1) & 1);
  uint64_t field = 0;
  if (at < bits) field = static_cast<uint64_t>(static_cast<std::make_unsigned_t<T>>(value)) >> at;
  const uint64_t mask = count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
  const uint64_t there = at < bits ? (bits - at >= 64 ? ~uint64_t{0} : (uint64_t{1} << (bits - at)) - 1) : 0;
  return static_cast<T>((field & mask) | (negative ? ~(mask & there) : 0));
}

template <class T>
T insert_bits(T from, T into, uint32_t at, uint32_t count) {
  at &= 0xff, count &= 0xff;
  if (at >= kBits<T> || count == 0) return into;
  const T mask = static_cast<T>((count >= kBits<T> ? ~T{0} : (T{1} << count) - 1) << at);
  return static_cast<T>((into & ~mask) | (static_cast<T>(from << at) & mask));
}

/* Four bytes of a and b: each nibble of `selection` names one, its highest bit asks for the byte's sign. */
uint32_t permute(uint32_t a, uint32_t b, uint32_t selection) {
  const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  uint32_t result = 0;
  for (uint32_t i = 0; i < 4; i++) {
    const uint32_t which = selection >> i * 4 & 15;
    const uint8_t byte = static_cast<uint8_t>(bytes >> (which & 7) * 8);
    result |= static_cast<uint32_t>(which & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << i * 8;
  }
  return result;
}

template <class T>
T reversed(T value) {
  T result = 0;
  for (uint32_t i = 0; i < sizeof(T) * 8; i++, value >>= 1) result = static_cast<T>(result << 1 | (value & 1));
  return result;
}

/* Of two numbers the less, 0 above -0; of a number and a NaN the number. */
template <class T>
T least(T a, T b) {
  if (a == b) return std::signbit(a) ? a : b;
  return std::fmin(a, b);
}
template <class T>
T greatest(T a, T b) {
  if (a == b) return std::signbit(a) ? b : a;
  return std::fmax(a, b);
}

template <class T>
void add_integer_operations(OperationTable& table, const std::string& type) {
  using M = Modular<T>;
  table["add." + type] = operation_of<[](T a, T b) { return static_cast<T>(static_cast<M>(a) + static_cast<M>(b)); }>();
  table["sub." + type] = operation_of<[](T a, T b) { return static_cast<T>(static_cast<M>(a) - static_cast<M>(b)); }>();
  table["mul.lo." + type] =
      operation_of<[](T a, T b) { return static_cast<T>(static_cast<M>(a) * static_cast<M>(b)); }>();
  table["mad.lo." + type] = operation_of<[](T a, T b, T c) {
    return static_cast<T>(static_cast<M>(a) * static_cast<M>(b) + static_cast<M>(c));
  }>();
  table["mul.hi." + type] = operation_of<high_product<T>>();
  table["mad.hi." + type] = operation_of<[](T a, T b, T c) {
    return static_cast<T>(static_cast<M>(high_product(a, b)) + static_cast<M>(c));
  }>();
  table["div." + type] = operation_of<divided<T>>();
  table["rem." + type] = operation_of<remainder_of<T>>();
  table["min." + type] = operation_of<[](T a, T b) { return a < b ? a : b; }>();
  table["max." + type] = operation_of<[](T a, T b) { return b < a ? a : b; }>();
  table["neg." + type] = operation_of<[](T a) { return static_cast<T>(M{0} - static_cast<M>(a)); }>();
  table["abs." + type] = operation_of<[](T a) { return a < 0 ? static_cast<T>(M{0} - static_cast<M>(a)) : a; }>();
  table["shr." + type] = operation_of<[](T a, uint32_t by) {
    return static_cast<T>(by < sizeof(T) * 8 ? a >> by : std::is_signed_v<T> && a < 0 ? -1 : 0);
  }>();
  table["setp.eq." + type] = operation_of<[](T a, T b) { return a == b; }>();
  table["setp.ne." + type] = operation_of<[](T a, T b) { return a != b; }>();
  for (const char* less : {"setp.lt.", "setp.lo."}) table[less + type] = operation_of<[](T a, T b) { return a < b; }>();
  for (const char* less : {"setp.le.", "setp.ls."})
    table[less + type] = operation_of<[](T a, T b) { return a <= b; }>();
  for (const char* more : {"setp.gt.", "setp.hi."}) table[more + type] = operation_of<[](T a, T b) { return b < a; }>();
  for (const char* more : {"setp.ge.", "setp.hs."})
    table[more + type] = operation_of<[](T a, T b) { return a >= b; }>();
  if constexpr (sizeof(T) >= 4) table["bfe." + type] = operation_of<bit_field<T>>();
  if constexpr (sizeof(T) <= 4) {
    using Double = std::conditional_t<std::is_signed_v<T>, std::conditional_t<sizeof(T) == 4, int64_t, int32_t>,
                                      std::conditional_t<sizeof(T) == 4, uint64_t, uint32_t>>;
    table["mul.wide." + type] =
        operation_of<[](T a, T b) { return static_cast<Double>(static_cast<Double>(a) * static_cast<Double>(b)); }>();
    table["mad.wide." + type] = operation_of<[](T a, T b, Double c) {
      return static_cast<Double>(
          static_cast<std::make_unsigned_t<Double>>(static_cast<Double>(a) * static_cast<Double>(b)) +
          static_cast<std::make_unsigned_t<Double>>(c));
    }>();
  }
}

template <class T>
void add_bit_operations(OperationTable& table, const std::string& bits) {
  for (const char sign : {'b', 'u', 's', 'f'}) {
    const std::string type = sign + bits;
    table["selp." + type] = operation_of<[](T a, T b, bool which) { return which ? a : b; }>();
    table["mov." + type] = operation_of<[](T a) { return a; }>();
  }
  const std::string type = "b" + bits;
  table["and." + type] = operation_of<[](T a, T b) { return static_cast<T>(a & b); }>();
  table["or." + type] = operation_of<[](T a, T b) { return static_cast<T>(a | b); }>();
  table["xor." + type] = operation_of<[](T a, T b) { return static_cast<T>(a ^ b); }>();
  table["not." + type] = operation_of<[](T a) { return static_cast<T>(~a); }>();
  table["shl." + type] =
      operation_of<[](T a, uint32_t by) { return static_cast<T>(by < kBits<T> ? Modular<T>{a} << by : 0); }>();
  table["shr." + type] = operation_of<[](T a, uint32_t by) { return static_cast<T>(by < kBits<T> ? a >> by : 0); }>();
  table["setp.eq." + type] = operation_of<[](T a, T b) { return a == b; }>();
  table["setp.ne." + type] = operation_of<[](T a, T b) { return a != b; }>();
  if constexpr (sizeof(T) >= 4) {
    table["popc." + type] = operation_of<[](T a) { return static_cast<uint32_t>(std::popcount(a)); }>();
    table["clz." + type] = operation_of<[](T a) { return static_cast<uint32_t>(std::countl_zero(a)); }>();
    table["brev." + type] = operation_of<reversed<T>>();
    table["bfi." + type] = operation_of<insert_bits<T>>();
  }
}

template <class T>
void add_float_operations(OperationTable& table, const std::string& type) {
  for (const std::string& rounding : {std::string(), std::string("rn.")}) {
    table["add." + rounding + type] = operation_of<[](T a, T b) { return a + b; }>();
    table["sub." + rounding + type] = operation_of<[](T a, T b) { return a - b; }>();
    table["mul." + rounding + type] = operation_of<[](T a, T b) { return a * b; }>();
  }
  table["div.rn." + type] = operation_of<[](T a, T b) { return a / b; }>();
  table["rcp.rn." + type] = operation_of<[](T a) { return T{1} / a; }>();
  table["sqrt.rn." + type] = operation_of<[](T a) { return std::sqrt(a); }>();
  table["fma.rn." + type] = operation_of<[](T a, T b, T c) { return std::fma(a, b, c); }>();
  table["min." + type] = operation_of<least<T>>();
  table["max." + type] = operation_of<greatest<T>>();
  table["neg." + type] = operation_of<[](T a) { return -a; }>();
  table["abs." + type] = operation_of<[](T a) { return std::fabs(a); }>();
  table["copysign." + type] = operation_of<[](T sign, T a) { return std::copysign(a, sign); }>();
  table["testp.finite." + type] = operation_of<[](T a) { return std::isfinite(a); }>();
  table["testp.infinite." + type] = operation_of<[](T a) { return std::isinf(a); }>();
  table["testp.number." + type] = operation_of<[](T a) { return !std::isnan(a); }>();
  table["testp.notanumber." + type] = operation_of<[](T a) { return std::isnan(a); }>();
  table["setp.eq." + type] = operation_of<[](T a, T b) { return a == b; }>();
  table["setp.ne." + type] = operation_of<[](T a, T b) { return a < b || b < a; }>();
  table["setp.lt." + type] = operation_of<[](T a, T b) { return a < b; }>();
  table["setp.le." + type] = operation_of<[](T a, T b) { return a <= b; }>();
  table["setp.gt." + type] = operation_of<[](T a, T b) { return b < a; }>();
  table["setp.ge." + type] = operation_of<[](T a, T b) { return a >= b; }>();
  // With u they are true of NaNs too.
  table["setp.equ." + type] = operation_of<[](T a, T b) { return !(a < b || b < a); }>();
  table["setp.neu." + type] = operation_of<[](T a, T b) { return a != b; }>();
  table["setp.ltu." + type] = operation_of<[](T a, T b) { return !(a >= b); }>();
  table["setp.leu." + type] = operation_of<[](T a, T b) { return !(b < a); }>();
  table["setp.gtu." + type] = operation_of<[](T a, T b) { return !(a <= b); }>();
  table["setp.geu." + type] = operation_of<[](T a, T b) { return !(a < b); }>();
  table["setp.num." + type] = operation_of<[](T a, T b) { return !std::isnan(a) && !std::isnan(b); }>();
  table["setp.nan." + type] = operation_of<[](T a, T b) { return std::isnan(a) || std::isnan(b); }>();
}

/* Sums with a carry, which the warp keeps for each lane. */
template <class T, bool kSubtract, bool kTake, bool kGive>
void run_carry(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const T *const a = warp.words<T>(instruction.a), *const b = warp.words<T>(instruction.b);
  T* const d = warp.words<T>(instruction.d);
  uint32_t carried = 0;
  for_lanes(lanes, [&](uint32_t lane) {
    const T carry = kTake ? warp.carry >> lane & 1 : 0;
    T first, result;
    bool over;
    if constexpr (kSubtract) {
      over = __builtin_sub_overflow(a[lane], b[lane], &first);
      over |= __builtin_sub_overflow(first, carry, &result);
    } else {
      over = __builtin_add_overflow(a[lane], b[lane], &first);
      over |= __builtin_add_overflow(first, carry, &result);
    }
    d[lane] = result;
    carried |= uint32_t{over} << lane;
  });
  if (kGive) warp.carry = (warp.carry & ~lanes) | carried;
}

template <class T>
void add_carry_operations(OperationTable& table, const std::string& bits) {
  const Width width = width_of<T>();
  const std::string both(2, width);
  for (const char sign : {'u', 's', 'b'}) {
    const std::string type = sign + bits;
    table["add.cc." + type] = {run_carry<T, false, false, true>, width, both};
    table["addc." + type] = {run_carry<T, false, true, false>, width, both};
    table["addc.cc." + type] = {run_carry<T, false, true, true>, width, both};
    table["sub.cc." + type] = {run_carry<T, true, false, true>, width, both};
    table["subc." + type] = {run_carry<T, true, true, false>, width, both};
    table["subc.cc." + type] = {run_carry<T, true, true, true>, width, both};
  }
}

OperationTable make_arithmetic() {
  OperationTable table;
  add_bit_operations<uint16_t>(table, "16");
  add_bit_operations<uint32_t>(table, "32");
  add_bit_operations<uint64_t>(table, "64");
  add_integer_operations<uint16_t>(table, "u16");
  add_integer_operations<int16_t>(table, "s16");
  add_integer_operations<uint32_t>(table, "u32");
  add_integer_operations<int32_t>(table, "s32");
  add_integer_operations<uint64_t>(table, "u64");
  add_integer_operations<int64_t>(table, "s64");
  add_float_operations<float>(table, "f32");
  add_float_operations<double>(table, "f64");
  add_carry_operations<uint32_t>(table, "32");
  add_carry_operations<uint64_t>(table, "64");
  table["prmt.b32"] = operation_of<permute>();
  table["shf.l.wrap.b32"] = operation_of<[](uint32_t a, uint32_t b, uint32_t by) {
    return static_cast<uint32_t>((static_cast<uint64_t>(b) << 32 | a) << (by & 31) >> 32);
  }>();
  table["shf.r.wrap.b32"] = operation_of<[](uint32_t a, uint32_t b, uint32_t by) {
    return static_cast<uint32_t>((static_cast<uint64_t>(b) << 32 | a) >> (by & 31));
  }>();
  table["shf.l.clamp.b32"] = operation_of<[](uint32_t a, uint32_t b, uint32_t by) {
    return static_cast<uint32_t>((static_cast<uint64_t>(b) << 32 | a) << std::min(by, 32u) >> 32);
  }>();
  table["shf.r.clamp.b32"] = operation_of<[](uint32_t a, uint32_t b, uint32_t by) {
    return static_cast<uint32_t>((static_cast<uint64_t>(b) << 32 | a) >> std::min(by, 32u));
  }>();
  return table;
}

template <class Function>
void combine(Warp& warp, const Instruction& instruction, uint32_t lanes, Function function) {
  warp.set_predicate(instruction.d, lanes, function(warp.predicate(instruction.a), warp.predicate(instruction.b)));
}

}  // namespace

const Operation* find_arithmetic(const std::string& opcode) {
  static const OperationTable kTable = make_arithmetic();
  const auto found = kTable.find(opcode);
  return found == kTable.end() ? nullptr : &found->second;
}

Run predicate_operation(std::string_view name) {
  if (name == "and")
    return [](Warp& warp, const Instruction& i, uint32_t lanes) {
      combine(warp, i, lanes, [](uint32_t a, uint32_t b) { return a & b; });
    };
  if (name == "or")
    return [](Warp& warp, const Instruction& i, uint32_t lanes) {
      combine(warp, i, lanes, [](uint32_t a, uint32_t b) { return a | b; });
    };
  if (name == "xor")
    return [](Warp& warp, const Instruction& i, uint32_t lanes) {
      combine(warp, i, lanes, [](uint32_t a, uint32_t b) { return a ^ b; });
    };
  if (name == "not")
    return
        [](Warp& warp, const Instruction& i, uint32_t lanes) { warp.set_predicate(i.d, lanes, ~warp.predicate(i.a)); };
  if (name == "mov")
    return
        [](Warp& warp, const Instruction& i, uint32_t lanes) { warp.set_predicate(i.d, lanes, warp.predicate(i.a)); };
  return nullptr;
}

}  // namespace turbine::ptx
