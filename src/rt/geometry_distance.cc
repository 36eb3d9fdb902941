/*
 * geometry_distance.cc - ST_Distance and ST_DWithin of a point, ST_Area and ST_Length.
 *
 * The formulas are PostGIS's, operation by operation, in its order: of sums and of products the
 * order decides the last bit. A point is measured to points, lines and polygons, and to the
 * parts of a multipoint, multiline or multipolygon; all else goes to PostgreSQL. Called by
 * generated code.
 *
 * Versions of PostGIS differ in one formula, the distance to a foot: the nearest point of an edge
 * that is neither of its ends. 3.3 computes the foot, and measures to it. 3.5 divides a cross
 * product by the edge's length. 3.6 does as 3.3 if the edge is parallel to an axis, else as 3.5.
 * They agree about all else: where a foot is, what lies on an edge or in a ring, and distances
 * between points. So there are two ways to measure:
 *
 *   Exact   3.3's least distance, bit by bit.
 *   Bounds  of both formulas the lesser and the greater for each foot, and the least of both over
 *           all edges. Each version's least distance lies between these two, whichever formula it
 *           takes for which edge. A tolerance that does not lie between them has one answer.
 *
 * A formula that yields NaN, as of coordinates whose squares are infinite, leaves the least
 * distance as it was, in all versions. Bounds take it for infinite.
 */
#include "rt/geometry.h"

using namespace turbine::rt;
using namespace turbine::rt::geometry;

namespace {

/* PostGIS's distance before anything was measured; a result that is not less is NULL. */
constexpr double kNoDistance = kMostFloat;

RT_INLINE double distance_between(double x, double y, double to_x, double to_y) {
  const double dx = to_x - x, dy = to_y - y;
  return __builtin_sqrt(dx * dx + dy * dy);
}

/* From (x, y) to the point at r of the edge from (ax, ay). */
RT_INLINE double distance_by_foot(double x, double y, double ax, double ay, double dx, double dy, double r) {
  return distance_between(x, y, ax + r * dx, ay + r * dy);
}

RT_INLINE double distance_by_area(double x, double y, double ax, double ay, double dx, double dy) {
  const double square = dx * dx + dy * dy;
  const double s = ((ay - y) * dx - (ax - x) * dy) / square;
  return __builtin_fabs(s) * __builtin_sqrt(square);
}

/* Of 3.3. */
struct Exact {
  static constexpr double kClosedRing = 1e-12;
  /* Parts behind an empty one are not measured. */
  static constexpr bool kEmptyPartEnds = true;
  double tolerance = 0;
  double least = kNoDistance;

  RT_INLINE_MEMBER bool takes_point(double, double) const { return true; }
  RT_INLINE_MEMBER void add(double distance) {
    if (least - distance > 0) least = distance;
  }
  RT_INLINE_MEMBER void add_foot(double x, double y, double ax, double ay, double dx, double dy, double r) {
    add(distance_by_foot(x, y, ax, ay, dx, dy, r));
  }
  /* PostGIS stops here, too, and sees no part behind. */
  RT_INLINE_MEMBER bool is_done() const { return least <= tolerance && least < kNoDistance; }
};

/* Of 3.3, 3.5 and 3.6. */
struct Bounds {
  static constexpr double kClosedRing = 0;
  /* Versions differ about the parts behind an empty one. */
  static constexpr bool kEmptyPartEnds = false;
  double tolerance;
  double low = kNoDistance, high = kNoDistance;

  RT_INLINE_MEMBER bool takes_point(double x, double y) const { return x - x == 0 && y - y == 0; }
  RT_INLINE_MEMBER void add(double distance) {
    if (distance < low) low = distance;
    if (distance < high) high = distance;
  }
  RT_INLINE_MEMBER void add_foot(double x, double y, double ax, double ay, double dx, double dy, double r) {
    const double by_foot = distance_by_foot(x, y, ax, ay, dx, dy, r);
    const double by_area = distance_by_area(x, y, ax, ay, dx, dy);
    if (by_foot < low) low = by_foot;
    if (by_area < low) low = by_area;
    if (by_foot < high && by_area < high) high = by_foot > by_area ? by_foot : by_area;
  }
  /* All versions stop here. */
  RT_INLINE_MEMBER bool is_done() const { return high <= tolerance && high < kNoDistance; }
};

template <class Least>
RT_INLINE void measure_point(double x, double y, double to_x, double to_y, Least* least) {
  least->add(distance_between(x, y, to_x, to_y));
}

template <class Least>
RT_INLINE void measure_segment(double x, double y, double ax, double ay, double bx, double by, Least* least) {
  if (ax == bx && ay == by) return measure_point(x, y, ax, ay, least);
  // Where on the segment is the nearest point?
  const double r = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) * (bx - ax) + (by - ay) * (by - ay));
  if (r < 0) return measure_point(x, y, ax, ay, least);
  if (r >= 1) return measure_point(x, y, bx, by, least);
  if ((ay - y) * (bx - ax) == (ax - x) * (by - ay)) least->add(0);
  least->add_foot(x, y, ax, ay, bx - ax, by - ay, r);
}

/* To at least one point, and the segments between them. */
template <class Least>
RT_INLINE void measure_points(double x, double y, const Points& points, Least* least) {
  double ax = x_at(points, 0), ay = y_at(points, 0);
  measure_point(x, y, ax, ay, least);
  for (uint32_t i = 1; i < points.count; i++) {
    const double bx = x_at(points, i), by = y_at(points, i);
    measure_segment(x, y, ax, ay, bx, by, least);
    if (least->is_done()) return;
    ax = bx;
    ay = by;
  }
}

/* Is the point outside of the ring? It is not the procedure of ST_Contains. False: PostGIS raises. */
RT_INLINE bool is_outside(const Points& ring, double x, double y, double closed, bool* outside) {
  if (ring.count == 0) return false;
  double ax = x_at(ring, 0), ay = y_at(ring, 0);
  // PostGIS raises an error for a ring that is not closed.
  const double gap_x = __builtin_fabs(ax - x_at(ring, ring.count - 1));
  const double gap_y = __builtin_fabs(ay - y_at(ring, ring.count - 1));
  if (!(gap_x <= closed && gap_y <= closed)) return false;
  int winding = 0;
  *outside = false;
  for (uint32_t i = 1; i < ring.count; i++) {
    const double bx = x_at(ring, i), by = y_at(ring, i);
    const double least_y = ay < by ? ay : by, greatest_y = ay > by ? ay : by;
    const bool counts = !(ax == bx && ay == by) && !(y > greatest_y || y < least_y);
    const double side = (x - ax) * (by - ay) - (bx - ax) * (y - ay);
    const bool within_x = (ax <= x && x < bx) || (ax >= x && x > bx);
    const bool within_y = (ay <= y && y < by) || (ay >= y && y > by);
    // A NaN is on no side, which PostGIS takes for being on the segment's line.
    const bool on_line = !(side > 0) && !(side < 0);
    if (counts && on_line && (within_x || within_y)) return true;
    if (counts && side < 0 && ay <= y && y < by)
      winding++;
    else if (counts && side > 0 && by <= y && y < ay)
      winding--;
    ax = bx;
    ay = by;
  }
  *outside = winding == 0;
  return true;
}

/* False: PostGIS raises. */
template <class Least>
RT_INLINE bool measure_polygon(double x, double y, const Shape& polygon, uint64_t* next, Least* least) {
  Rings rings;
  if (!open_rings(polygon, &rings)) return false;
  bool measured = false;
  for (uint32_t i = 0; i < polygon.count; i++) {
    Points ring;
    bool outside = false;
    if (!take_ring(&rings, &ring)) return false;
    if (measured) continue;
    if (!is_outside(ring, x, y, Least::kClosedRing, &outside)) return false;
    // From outside to the outer ring, from within a hole to the hole.
    if (outside != (i == 0)) continue;
    measure_points(x, y, ring, least);
    measured = true;
  }
  if (!measured) least->add(0);
  *next = rings.offset;
  return true;
}

enum class Measured { kAll, kDone, kEmpty, kNot };

template <class Least>
RT_INLINE Measured measure_simple(double x, double y, const Shape& shape, uint64_t* next, Least* least) {
  Points points;
  if (shape.type == kPolygon) {
    if (shape.count == 0 || shape.length < kStart + 4 || load<uint32_t>(shape.bytes + kStart) == 0)
      return Measured::kEmpty;
    if (!measure_polygon(x, y, shape, next, least)) return Measured::kNot;
    return least->is_done() ? Measured::kDone : Measured::kAll;
  }
  if (shape.type != kPoint && shape.type != kLine) return Measured::kNot;
  if (shape.count == 0) return Measured::kEmpty;
  if (!points_of(shape, &points)) return Measured::kNot;
  if (shape.type == kPoint)
    measure_point(x, y, x_at(points, 0), y_at(points, 0), least);
  else
    measure_points(x, y, points, least);
  *next = kStart + (uint64_t)points.count * points.stride;
  return least->is_done() ? Measured::kDone : Measured::kAll;
}

/* The least distance; kNoDistance: none was measured. False: PostgreSQL decides. */
template <class Least>
RT_INLINE bool measure(const Shape& point, const Shape& other, Least* least) {
  Points points;
  if (point.count == 0) return true;
  if (!points_of(point, &points)) return false;
  const double x = x_at(points, 0), y = y_at(points, 0);
  if (!least->takes_point(x, y)) return false;
  uint64_t next;
  const bool has_parts = other.type >= kMultiPoint && other.type <= kMultiPolygon;
  if (!has_parts) return measure_simple(x, y, other, &next, least) != Measured::kNot;
  uint64_t offset = kStart;
  for (uint32_t i = 0; i < other.count; i++) {
    Shape part;
    if (offset > other.length ||
        !open_shape(other.bytes + offset, other.length - (uint32_t)offset, other.dims, &part) ||
        part.type != other.type - kMultiPoint + kPoint)
      return false;
    const Measured measured = measure_simple(x, y, part, &next, least);
    if (measured == Measured::kEmpty) return Least::kEmptyPartEnds;
    if (measured != Measured::kAll) return measured == Measured::kDone;
    offset += next;
  }
  return true;
}

/* Of two values; false: PostgreSQL decides, or raises. */
template <class Least>
RT_INLINE bool distance_of(const char* a, uint32_t a_length, const char* b, uint32_t b_length, Least* least) {
  Geometry first, second;
  if (!open_geometry(a, a_length, &first) || !open_geometry(b, b_length, &second) || first.srid != second.srid)
    return false;
  if (first.shape.type == kPoint) return measure(first.shape, second.shape, least);
  return second.shape.type == kPoint && measure(second.shape, first.shape, least);
}

RT_INLINE double ring_area(const Points& ring) {
  if (ring.count < 3) return 0;
  double sum = 0;
  const double x0 = x_at(ring, 0);
  for (uint32_t i = 2; i < ring.count; i++) sum += (x_at(ring, i - 1) - x0) * (y_at(ring, i - 2) - y_at(ring, i));
  return __builtin_fabs(sum / 2.0);
}

RT_INLINE bool polygon_area(const Shape& polygon, uint64_t* next, double* area) {
  Rings rings;
  if (!open_rings(polygon, &rings)) return false;
  *area = 0;
  for (uint32_t i = 0; i < polygon.count; i++) {
    Points ring;
    if (!take_ring(&rings, &ring)) return false;
    if (ring.count < 3) continue;
    if (i == 0)
      *area += ring_area(ring);
    else
      *area -= ring_area(ring);
  }
  *next = rings.offset;
  return true;
}

RT_INLINE bool line_length(const Shape& line, uint64_t* next, double* length) {
  Points points;
  if (!points_of(line, &points)) return false;
  *length = 0;
  for (uint32_t i = 1; i < points.count; i++) {
    const double dx = x_at(points, i - 1) - x_at(points, i), dy = y_at(points, i - 1) - y_at(points, i);
    *length += __builtin_sqrt(dx * dx + dy * dy);
  }
  *next = kStart + (uint64_t)points.count * points.stride;
  return true;
}

/* The sum over a shape, or over the parts of a multiple one; 0 for shapes that have none of it. */
template <uint32_t kType, bool (*kOne)(const Shape&, uint64_t*, double*)>
RT_INLINE double sum_of(const char* bytes, uint32_t length, uint32_t* errors) {
  Geometry g;
  uint64_t next = 0;
  double sum = 0;
  bool ok = open_geometry(bytes, length, &g) && g.shape.type >= kPoint && g.shape.type < kCollection;
  if (ok && g.shape.type == kType) {
    ok = kOne(g.shape, &next, &sum);
  } else if (ok && g.shape.type == kType + kMultiPoint - kPoint) {
    uint64_t offset = kStart;
    for (uint32_t i = 0; ok && i < g.shape.count; i++) {
      Shape part;
      double one = 0;
      ok = offset <= g.shape.length &&
           open_shape(g.shape.bytes + offset, g.shape.length - (uint32_t)offset, g.shape.dims, &part) &&
           part.type == kType && kOne(part, &next, &one);
      sum += one;
      offset += next;
    }
  }
  raise_if(!ok, TB_ERR_UNREPRESENTABLE, errors);
  return ok ? sum : 0;
}

}  // namespace

RT_EXPORT double rt_geometry_distance(const char* a, uint32_t a_length, const char* b, uint32_t b_length, bool* null,
                                      uint32_t* errors) {
  Exact distance;
  if (!distance_of(a, a_length, b, b_length, &distance)) {
    *errors |= TB_ERR_UNREPRESENTABLE;
    return 0;
  }
  *null = !(distance.least < kNoDistance);
  return distance.least;
}

RT_EXPORT bool rt_geometry_dwithin(const char* a, uint32_t a_length, const char* b, uint32_t b_length, double tolerance,
                                   uint32_t* errors) {
  Exact distance{tolerance};
  // Where nothing was measured, PostGIS compares with kNoDistance, but not for all empty shapes.
  if (tolerance < 0 || !distance_of(a, a_length, b, b_length, &distance) ||
      (!(distance.least < kNoDistance) && tolerance >= kNoDistance)) {
    *errors |= TB_ERR_UNREPRESENTABLE;
    return false;
  }
  return tolerance >= distance.least;
}

/* As rt_geometry_dwithin, where all known versions of PostGIS have the same answer. */
RT_EXPORT bool rt_geometry_dwithin_by_bounds(const char* a, uint32_t a_length, const char* b, uint32_t b_length,
                                             double tolerance, uint32_t* errors) {
  Bounds distance{tolerance};
  if (!(tolerance >= 0) || !distance_of(a, a_length, b, b_length, &distance) ||
      (tolerance >= distance.low && tolerance < distance.high) ||
      (!(distance.high < kNoDistance) && tolerance >= kNoDistance)) {
    *errors |= TB_ERR_UNREPRESENTABLE;
    return false;
  }
  return tolerance >= distance.high;
}

RT_EXPORT double rt_geometry_area(const char* bytes, uint32_t length, uint32_t* errors) {
  return sum_of<kPolygon, polygon_area>(bytes, length, errors);
}

RT_EXPORT double rt_geometry_length(const char* bytes, uint32_t length, uint32_t* errors) {
  return sum_of<kLine, line_length>(bytes, length, errors);
}
