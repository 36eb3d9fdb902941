/*
 * heap_page.h - where things lie on PostgreSQL's heap pages and in its tuples.
 *
 * Page header (24 bytes), then line pointers (4 bytes each), free space, tuples:
 *   offset 8  pd_checksum, 2 bytes    12 pd_lower, 2    14 pd_upper, 2    16 pd_special, 2
 * Line pointer: 15 bits offset, 2 bits flags, 15 bits length.
 *
 * For the device library, emitted code that reads pages, and the check of pages. Constants only.
 */
#pragma once

#include <stdint.h>

namespace turbine {

inline constexpr uint32_t kPageChecksumOffset = 8;
inline constexpr uint32_t kPageLowerOffset = 12;
inline constexpr uint32_t kPageUpperOffset = 14;
inline constexpr uint32_t kPageHeader = 24;
inline constexpr uint32_t kLinePointer = 4;

/* Flags of a line pointer. */
inline constexpr uint32_t kFlagsShift = 15;
inline constexpr uint32_t kFlagsMask = 3;
inline constexpr uint32_t kNormal = 1;  // it has a tuple

inline constexpr uint32_t kPlainHeader = 24;  // bytes before the data of a tuple without a NULL bitmap
inline constexpr uint32_t kMaxAlign = 8;      // of tuples, and of what lies in them

}  // namespace turbine
