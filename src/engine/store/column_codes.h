/*
 * column_codes.h - values of a stored column in fewer bytes: their distance from a base.
 *
 * Types of 2, 4 and 8 bytes are taken for integers, floating-point ones too: what counts is
 * that the bits come back. A code has 0 (all values are the base), 1, 2 or 4 bytes; base
 * and width are the segment's own, so one outlier widens 64 blocks and no more. Texts and
 * 16-byte types stay as they are. A column without NULLs keeps no array for them.
 */
#pragma once

#include <limits>
#include <memory>

#include "engine/store/segment.h"
#include "turbine/kernel.h"

namespace turbine {

/* Rows that a segment can have. */
inline constexpr uint32_t kMostSegmentRows = TB_SEGMENT_BLOCKS * TB_MAX_TUPLES_PER_PAGE;

/* The column in its smallest form, with the least and greatest of its values. `segment` says where the rows of `blocks`
 * are; only theirs come back. Throws bad_alloc. */
std::shared_ptr<const StoredColumn> encode_column(std::shared_ptr<StoredColumn> plain, const Segment& segment,
                                                  BlockMask blocks);

/* Of values of 2, 4 and 8 bytes, taken for integers. */
struct ValueRange {
  int64_t min = std::numeric_limits<int64_t>::max();
  int64_t max = std::numeric_limits<int64_t>::min();
  bool nulls = false;
  bool empty() const { return min > max; }
};

/* Is the type taken for integers? */
bool has_range(uint32_t type);

/* Makes the range cover values [first, end) of such a type; `valid` null: there are no NULLs. */
void extend_range(ValueRange& range, uint32_t type, const void* values, const uint8_t* valid, uint32_t first,
                  uint32_t end);

/* Codes of values [first, first + count) for the column's rows from `to` on; what is NULL gets any. */
void write_codes(uint32_t type, const void* values, uint32_t first, uint32_t count, const StoredColumn& column,
                 uint32_t to);

/* Arrays with rows [first, end) of the column at these places: its own, or `values`, which
 * has room for all rows of a segment. */
TbColumnData decode_column(const StoredColumn& column, uint32_t first, uint32_t end, void* values);

/* The column as it is, and how its elements become values: of types that have codes. */
TbColumnData coded_column(const StoredColumn& column, TbColumnCodes* codes);

}  // namespace turbine
