/*
 * conversions.cc - cvt between types.
 *
 * Floats that become integers are held to the integer's range, as PTX says; a NaN becomes 0, or the least 64-bit
 * number.
 */
#include <cmath>
#include <limits>

#include "engine/device/cuda/testing/ptx/slot_values.h"

namespace turbine::ptx {

namespace {

using ConversionTable = std::map<std::string, Operation>;

template <class Int, class Float>
Int held_to_range(Float value) {
  if (std::isnan(value)) {
    const bool zero = sizeof(Float) == 4 && sizeof(Int) < 8;
    return zero ? 0 : static_cast<Int>(uint64_t{1} << (sizeof(Int) * 8 - 1));
  }
  // 2^bits or 2^(bits-1): exact in each float.
  const Float end = std::ldexp(Float{1}, std::numeric_limits<Int>::digits);
  if (value >= end) return std::numeric_limits<Int>::max();
  const Float begin = std::is_signed_v<Int> ? -end : Float{0};
  if (value <= begin) return std::numeric_limits<Int>::min();
  return static_cast<Int>(value);
}

template <class Int, class Float>
void add_pair(ConversionTable& table, const std::string& integer, const std::string& floating) {
  table["cvt.rn." + floating + "." + integer] = operation_of<[](Int a) { return static_cast<Float>(a); }>();
  const std::string types = "." + integer + "." + floating;
  for (const std::string& saturating : {std::string(), std::string(".sat")}) {
    table["cvt.rzi" + saturating + types] = operation_of<[](Float a) { return held_to_range<Int>(std::trunc(a)); }>();
    table["cvt.rni" + saturating + types] =
        operation_of<[](Float a) { return held_to_range<Int>(std::nearbyint(a)); }>();
    table["cvt.rmi" + saturating + types] = operation_of<[](Float a) { return held_to_range<Int>(std::floor(a)); }>();
    table["cvt.rpi" + saturating + types] = operation_of<[](Float a) { return held_to_range<Int>(std::ceil(a)); }>();
  }
}

template <class Float>
void add_float(ConversionTable& table, const std::string& type) {
  add_pair<uint8_t, Float>(table, "u8", type);
  add_pair<int8_t, Float>(table, "s8", type);
  add_pair<uint16_t, Float>(table, "u16", type);
  add_pair<int16_t, Float>(table, "s16", type);
  add_pair<uint32_t, Float>(table, "u32", type);
  add_pair<int32_t, Float>(table, "s32", type);
  add_pair<uint64_t, Float>(table, "u64", type);
  add_pair<int64_t, Float>(table, "s64", type);
  const std::string both = "." + type + "." + type;
  table["cvt.rzi" + both] = operation_of<[](Float a) { return std::trunc(a); }>();
  table["cvt.rni" + both] = operation_of<[](Float a) { return std::nearbyint(a); }>();
  table["cvt.rmi" + both] = operation_of<[](Float a) { return std::floor(a); }>();
  table["cvt.rpi" + both] = operation_of<[](Float a) { return std::ceil(a); }>();
}

ConversionTable make_conversions() {
  ConversionTable table;
  add_float<float>(table, "f32");
  add_float<double>(table, "f64");
  table["cvt.f64.f32"] = operation_of<[](float a) { return static_cast<double>(a); }>();
  table["cvt.rn.f32.f64"] = operation_of<[](double a) { return static_cast<float>(a); }>();
  return table;
}

/* Cut to the source's bits, extended, cut to the result's bits, extended. */
template <bool kSignedSource, bool kSignedResult, class From, class To>
void run_integer(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const From* const a = warp.words<From>(instruction.a);
  To* const d = warp.words<To>(instruction.d);
  const uint32_t cut = 64u - instruction.narrow_bits, cut_out = 64u - instruction.narrow_bits_out;
  for_lanes(lanes, [&](uint32_t lane) {
    const uint64_t high = static_cast<uint64_t>(a[lane]) << cut;
    const uint64_t value = kSignedSource ? static_cast<uint64_t>(static_cast<int64_t>(high) >> cut) : high >> cut;
    const uint64_t out = value << cut_out;
    d[lane] = static_cast<To>(kSignedResult ? static_cast<uint64_t>(static_cast<int64_t>(out) >> cut_out)
                                            : out >> cut_out);
  });
}

template <bool kSignedSource, bool kSignedResult>
Run integer_of_widths(Width source, Width result) {
  if (source == '8')
    return result == '8' ? run_integer<kSignedSource, kSignedResult, uint64_t, uint64_t>
                         : run_integer<kSignedSource, kSignedResult, uint64_t, uint32_t>;
  return result == '8' ? run_integer<kSignedSource, kSignedResult, uint32_t, uint64_t>
                       : run_integer<kSignedSource, kSignedResult, uint32_t, uint32_t>;
}

}  // namespace

const Operation* find_conversion(const std::string& opcode) {
  static const ConversionTable kTable = make_conversions();
  const auto found = kTable.find(opcode);
  return found == kTable.end() ? nullptr : &found->second;
}

Run integer_conversion(bool signed_source, bool signed_result, Width source, Width result) {
  if (signed_source)
    return signed_result ? integer_of_widths<true, true>(source, result)
                         : integer_of_widths<true, false>(source, result);
  return signed_result ? integer_of_widths<false, true>(source, result)
                       : integer_of_widths<false, false>(source, result);
}

}  // namespace turbine::ptx
