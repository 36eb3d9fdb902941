/*
 * column_codes.h - values of a stored column in fewer bytes: each as its distance from a base.
 *
 * Types of 2, 4 and 8 bytes are encoded as integers. Floating-point types are, too, since only the bits have
 * to come back. A code has 0 (all values are the base), 1, 2 or 4 bytes. Base and width belong to one
 * segment, so an outlier widens 64 blocks and no more. Types of 16 bytes stay as they are. So do texts,
 * unless they have a dictionary: then the numbers of its entries are encoded. A column without NULLs keeps no
 * array for them.
 *
 * Called where segments are made (segment_merge.cc, source/files/) and where the host reads them.
 */
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <span>

#include "engine/store/column_piece.h"
#include "engine/store/segment.h"
#include "turbine/kernel.h"

namespace turbine {

/* Rows that a segment can have. */
inline constexpr uint32_t kMostSegmentRows = TB_SEGMENT_BLOCKS * TB_MAX_TUPLES_PER_PAGE;

/* Where a column of so many bytes is to be; null: in memory of its own. */
using ColumnMemory = std::function<std::shared_ptr<uint8_t>(uint64_t)>;

/* A column of `nrows` rows in its smallest form, with the least and greatest of its values; of any type but
 * text. Rows that no piece has are undefined. `memory`: none is its own, too. Throws bad_alloc. */
std::shared_ptr<const StoredColumn> encode_column(uint32_t type, bool nullable, uint32_t nrows,
                                                  std::span<const ColumnPiece> pieces, const ColumnMemory& memory = {});

/* The same of texts, whose values are INT4: their numbers in the dictionary. */
std::shared_ptr<const StoredColumn> encode_texts(std::shared_ptr<TextDictionary> dictionary, bool nullable,
                                                 uint32_t nrows, std::span<const ColumnPiece> pieces);

/* Numbers of texts in the column's dictionary, rows [first, end), at these places of `codes`. */
void decode_entries(const StoredColumn& column, uint32_t first, uint32_t end, int32_t* codes);

/* Is there a NULL among the pieces' rows? */
bool have_nulls(std::span<const ColumnPiece> pieces);

/* Copies which rows are NULL to a column that keeps it; else does nothing. */
void copy_valid(std::span<const ColumnPiece> pieces, const StoredColumn& column);

/* Of values of 2, 4 and 8 bytes, taken for integers. */
struct ValueRange {
  int64_t min = std::numeric_limits<int64_t>::max();
  int64_t max = std::numeric_limits<int64_t>::min();
  bool nulls = false;
  bool empty() const { return min > max; }
};

/* Is the type taken for integers? */
bool has_range(uint32_t type);

/* Makes the range cover the piece's values, of such a type. */
void extend_range(ValueRange& range, uint32_t type, const ColumnPiece& piece);

/* Writes the piece's values to the column, as the codes that it has, or as they are; what is NULL
 * becomes any code. */
void write_values(const ColumnPiece& piece, const StoredColumn& column);

/* Arrays with rows [first, end) of the column at these places: its own, or `values`, which
 * has room for all rows of a segment. */
TbColumnData decode_column(const StoredColumn& column, uint32_t first, uint32_t end, void* values);

/* The column as it is, and how its elements become values: of types that have codes. */
TbColumnData coded_column(const StoredColumn& column, TbColumnCodes* codes);

}  // namespace turbine
