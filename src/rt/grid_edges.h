/*
 * grid_edges.h - reduced polygons: the edges that matter to points of one cell of a grid.
 *
 *   OFFSET  SIZE  FIELD
 *        0     3  SRID
 *        3     1  flags of the shape, and kReduced
 *        4     4  number of polygons
 *        8    16  box: least and greatest x, then y; floats
 *       24     4  kAlone, kDoubtful
 *       28     4  0
 *       32        polygons
 *
 *   Of each polygon:
 *        0     4  number of rings; the first is the outer one
 *        4     4  bytes of the rings
 *        8        rings
 *
 *   Of each ring:
 *        0     4  winding number that certain edges give all points of the cell
 *        4     4  number of items
 *        8        items: a certain edge {0, 0, first y, last y}, or a chain {points, 0, x, y, ...}
 *
 * A point of the cell has the same answer here as of the whole polygon, by the formula of
 * geometry_ring.h, to the last bit. Each edge is one of these, for all points (x, y) of the cell:
 *
 * - Without effect. The edge's y are all above y or all below: the formula passes over it. Or its x are all
 *   below x. Then |x - x1| >= |x2 - x1| and |y2 - y1| >= |y - y1| for an edge that spans y, and rounding keeps
 *   an order. So the second product is at least the first, and the side's sign is never the one that counts.
 * - Certain: its x are above x by a margin. Then the side has the sign that counts if the edge spans y: rounding
 *   errors are far below the margin, and nothing overflows or underflows. So the edge from a to b counts
 *   [a.y <= y] - [b.y <= y], and consecutive ones together count that of their first and last point. One that
 *   spans the whole cell, or none of it, counts the same for all its points.
 * - All others are kept, in chains of consecutive edges. So are tiny ones, which may make an answer doubtful.
 *
 * A ring that counts nothing has all points outside. A polygon whose outer ring is such is left out, and so are such
 * holes. Shapes that are not reduced, and those that would become longer, stay as they are, without the mark.
 */
#pragma once

#include "rt/geometry.h"

namespace turbine::rt::geometry {

/* PostGIS has no use for this bit of a geometry's flags. */
constexpr uint8_t kReduced = 0x80;

constexpr uint32_t kAlone = 1;     // a polygon, not a part of a multipolygon
constexpr uint32_t kDoubtful = 2;  // some coordinate is not finite, or some ring has no edge

struct ReducedHead {
  uint32_t head;
  uint32_t polygons;
  Box box;
  uint32_t flags;
  uint32_t reserved;
};
static_assert(sizeof(ReducedHead) == 32);

struct ReducedPolygon {
  uint32_t rings;
  uint32_t bytes;
};

struct ReducedRing {
  int32_t winding;
  uint32_t items;
};

struct ReducedItem {
  uint32_t points;  // 0: a certain edge, whose first and last y follow
  uint32_t reserved;
};

}  // namespace turbine::rt::geometry
