/*
 * rt.h - what every file of the device library starts from.
 *
 * Owns: the export macro, the sticky error flag and the few types that C++
 * lacks. Included by src/rt only; generated code sees no header but the
 * library's bitcode. Bodies must stay freestanding: no libc but the libm calls
 * declared in float_math.cc, no static constructor, no trap on any operand.
 *
 * Division of __int128 is forbidden here (a libgcc call on the host, a
 * bit-serial loop on NVPTX): use wide_division.h.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "turbine/kernel.h"

/* External linkage and an unmangled name: the compiler finds it by that. Its
 * visibility is the build's choice (CMakeLists.txt). */
#define RT_EXPORT extern "C"
#define RT_INLINE static inline __attribute__((always_inline))
#define RT_INLINE_MEMBER inline __attribute__((always_inline))

namespace turbine::rt {

using int128 = __int128;
using uint128 = unsigned __int128;

/* Sticky: or'ing a selected bit keeps loops free of branches, so that they
 * vectorise. */
RT_INLINE void raise_if(bool failed, uint32_t bits, uint32_t* errors) { *errors |= failed ? bits : 0u; }

}  // namespace turbine::rt
