/*
 * slot_values.h - values of C++ types in slots, and operations made from functions of such values.
 */
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "engine/device/cuda/testing/ptx/operations.h"
#include "engine/device/cuda/testing/ptx/warp.h"

namespace turbine::ptx {

/* What a slot of type T consists of. */
template <class T>
using WordOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
constexpr Width width_of() {
  return std::is_same_v<T, bool> ? 'p' : sizeof(T) == 8 ? '8' : '4';
}

template <class T>
inline T value_of(WordOf<T> word) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<T>(word);
  else
    return static_cast<T>(word);
}
template <class T>
inline WordOf<T> word_of(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<WordOf<T>>(value);
  else
    return static_cast<WordOf<T>>(static_cast<std::make_unsigned_t<T>>(value));
}

/* A source of an instruction: words, or the bits of a predicate. */
template <class T>
struct Source {
  Source(const Warp& warp, Slot slot) : words(warp.words<WordOf<T>>(slot)) {}
  T operator[](uint32_t lane) const { return value_of<T>(words[lane]); }
  const WordOf<T>* words;
};
template <>
struct Source<bool> {
  Source(const Warp& warp, Slot slot) : bits(warp.predicate(slot)) {}
  bool operator[](uint32_t lane) const { return (bits >> lane & 1) != 0; }
  uint32_t bits;
};

/* The bits of 32 flags that are 0 or 1. */
inline uint32_t bits_of(const uint8_t* flags) {
  uint32_t bits = 0;
  for (uint32_t i = 0; i < kLanes; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, flags + i, 8);
    bits |= static_cast<uint32_t>(eight * 0x0102040810204080u >> 56) << i;
  }
  return bits;
}

/* Makes a Run of a function of values. Sources are a, b, c and e. */
template <auto F, class R, class... Args, size_t... I>
inline void apply_function(Warp& warp, const Instruction& instruction, uint32_t lanes, R (*)(Args...),
                           std::index_sequence<I...>) {
  const Slot slots[] = {instruction.a, instruction.b, instruction.c, instruction.e};
  const std::tuple<Source<Args>...> sources{Source<Args>(warp, slots[I])...};
  if constexpr (std::is_same_v<R, bool>) {
    uint8_t flags[kLanes] = {};
    for_lanes(lanes, [&](uint32_t lane) { flags[lane] = F(std::get<I>(sources)[lane]...); });
    warp.set_predicate(instruction.d, lanes, bits_of(flags));
  } else {
    WordOf<R>* const result = warp.words<WordOf<R>>(instruction.d);
    for_lanes(lanes, [&](uint32_t lane) { result[lane] = word_of<R>(F(std::get<I>(sources)[lane]...)); });
  }
}

template <auto F>
void run_function(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const auto pointer = +F;
  [&]<class R, class... Args>(R (*function)(Args...)) {
    apply_function<F>(warp, instruction, lanes, function, std::index_sequence_for<Args...>{});
  }(pointer);
}

template <auto F>
Operation operation_of() {
  return []<class R, class... Args>(R (*)(Args...)) {
    return Operation{run_function<F>, width_of<R>(), std::string{width_of<Args>()...}};
  }(+F);
}

}  // namespace turbine::ptx
