/*
 * selection.cc - byte masks to selection vectors.
 *
 * A filter writes one byte a row; this turns the bytes into the ascending
 * indexes of the rows that are not 0. Host only in purpose (tiles); it
 * compiles for every target. Eight rows a step: their mask bits index a table
 * of positions, stored as one full vector whatever the count; the next step
 * overwrites the excess. The full store is safe: after i rows at most i
 * indexes are out, and there are 8 more rows.
 * `selection` holds n entries, and must not overlap the mask.
 */
#include "rt/rt.h"

using namespace turbine::rt;

namespace {

/* Row b: the positions of b's bits, ascending. */
struct PositionTable {
  uint8_t positions[256][8];
  constexpr PositionTable() : positions() {
    for (int bits = 0; bits < 256; bits++) {
      int count = 0;
      for (int bit = 0; bit < 8; bit++)
        if (bits & 1 << bit) positions[bits][count++] = (uint8_t)bit;
    }
  }
};

constexpr PositionTable kPositions;

typedef uint8_t Bytes8 __attribute__((ext_vector_type(8)));
typedef bool Flags8 __attribute__((ext_vector_type(8)));
typedef uint32_t Words8 __attribute__((ext_vector_type(8)));

RT_INLINE uint32_t mask_bits(const uint8_t* mask) {
  Bytes8 bytes;
  __builtin_memcpy(&bytes, mask, sizeof bytes);
  Flags8 flags = __builtin_convertvector(bytes != (Bytes8)0, Flags8);
  return (uint8_t)__builtin_bit_cast(unsigned _BitInt(8), flags);
}

}  // namespace

RT_EXPORT uint32_t rt_mask_to_selection(const uint8_t* mask, uint32_t n, uint32_t* selection) {
  uint32_t count = 0;
  uint32_t row = 0;
  for (; n - row >= 8; row += 8) {
    uint32_t bits = mask_bits(mask + row);
    Bytes8 positions;
    __builtin_memcpy(&positions, kPositions.positions[bits], sizeof positions);
    Words8 rows = __builtin_convertvector(positions, Words8) + (Words8)row;
    __builtin_memcpy(selection + count, &rows, sizeof rows);
    count += (uint32_t)__builtin_popcount(bits);
  }
  for (; row < n; row++) {
    selection[count] = row;
    count += mask[row] != 0;
  }
  return count;
}

/* Those of n selected rows whose mask byte (by place in the selection, not by
 * row) is not 0. `out` may be `selection` itself. */
RT_EXPORT uint32_t rt_mask_to_selection_from(const uint8_t* mask, const uint32_t* selection, uint32_t n,
                                             uint32_t* out) {
  uint32_t count = 0;
  for (uint32_t place = 0; place < n; place++) {
    out[count] = selection[place];
    count += mask[place] != 0;
  }
  return count;
}
