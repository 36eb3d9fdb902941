/*
 * points.cc - table t: random points in a cube of side 1000, and a text.
 *
 * Of the classic scans over it, x BETWEEN y-2 AND y+2 keeps 0.4 % of the rows,
 * a sphere of radius 10 about 4 rows in a million, memo LIKE '%abcd%' 0.04 %.
 */
#include <charconv>

#include "md5.h"
#include "random.h"
#include "tables.h"

namespace turbine::datagen {

constexpr uint64_t kPointTable = 1;
constexpr double kSide = 1000.0;

int64_t point_units(const Scale& scale) { return static_cast<int64_t>(scale.points); }

void write_points(const Scale& scale, int64_t first, int64_t count, CopyWriter& out) {
  for (int64_t row = first; row < first + count; row++) {
    RowRandom random(scale.seed, kPointTable, static_cast<uint64_t>(row));
    char number[24], digest[32];
    char* end = std::to_chars(number, number + sizeof number, random.next()).ptr;
    md5_hex({number, static_cast<size_t>(end - number)}, digest);
    out.begin_row(5);
    out.int4(static_cast<int32_t>(row + 1));
    out.float8(random.unit() * kSide);
    out.float8(random.unit() * kSide);
    out.float8(random.unit() * kSide);
    out.text({digest, sizeof digest});
  }
}

}  // namespace turbine::datagen
