/*
 * geometry_distance.cc - ST_Distance and ST_DWithin of a point, ST_Area and ST_Length.
 *
 * The formulas are PostGIS's, operation by operation, in its order: of sums and of products the
 * order decides the last bit. A point is measured to points, lines and polygons, and to the
 * parts of a multipoint, multiline or multipolygon; all else goes to PostgreSQL. Called by
 * generated code.
 */
#include "rt/geometry.h"

using namespace turbine::rt;
using namespace turbine::rt::geometry;

namespace {

/* PostGIS's distance before anything was measured; a result that is not less is NULL. */
constexpr double kNoDistance = kMostFloat;
constexpr double kClosedRing = 1e-12;

RT_INLINE void measure_point(double x, double y, double to_x, double to_y, double* least) {
  const double dx = to_x - x, dy = to_y - y;
  const double distance = __builtin_sqrt(dx * dx + dy * dy);
  if (*least - distance > 0) *least = distance;
}

RT_INLINE void measure_segment(double x, double y, double ax, double ay, double bx, double by, double* least) {
  if (ax == bx && ay == by) return measure_point(x, y, ax, ay, least);
  // Where on the segment is the nearest point?
  const double r = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) * (bx - ax) + (by - ay) * (by - ay));
  if (r < 0) return measure_point(x, y, ax, ay, least);
  if (r >= 1) return measure_point(x, y, bx, by, least);
  if ((ay - y) * (bx - ax) == (ax - x) * (by - ay)) *least = 0;
  measure_point(x, y, ax + r * (bx - ax), ay + r * (by - ay), least);
}

/* To at least one point, and the segments between them. */
RT_INLINE void measure_points(double x, double y, const Points& points, double* least) {
  double ax = x_at(points, 0), ay = y_at(points, 0);
  measure_point(x, y, ax, ay, least);
  for (uint32_t i = 1; i < points.count; i++) {
    const double bx = x_at(points, i), by = y_at(points, i);
    measure_segment(x, y, ax, ay, bx, by, least);
    if (*least <= 0) return;
    ax = bx;
    ay = by;
  }
}

/* Is the point outside of the ring? It is not the procedure of ST_Contains. False: PostGIS raises. */
RT_INLINE bool is_outside(const Points& ring, double x, double y, bool* outside) {
  if (ring.count == 0) return false;
  double ax = x_at(ring, 0), ay = y_at(ring, 0);
  // PostGIS raises an error for a ring that is not closed.
  const double gap_x = __builtin_fabs(ax - x_at(ring, ring.count - 1));
  const double gap_y = __builtin_fabs(ay - y_at(ring, ring.count - 1));
  if (!(gap_x <= kClosedRing && gap_y <= kClosedRing)) return false;
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
RT_INLINE bool measure_polygon(double x, double y, const Shape& polygon, uint64_t* next, double* least) {
  Rings rings;
  if (!open_rings(polygon, &rings)) return false;
  bool measured = false;
  for (uint32_t i = 0; i < polygon.count; i++) {
    Points ring;
    bool outside = false;
    if (!take_ring(&rings, &ring)) return false;
    if (measured) continue;
    if (!is_outside(ring, x, y, &outside)) return false;
    // From outside to the outer ring, from within a hole to the hole.
    if (outside != (i == 0)) continue;
    measure_points(x, y, ring, least);
    measured = true;
  }
  if (!measured) *least = 0;
  *next = rings.offset;
  return true;
}

/* What there is behind an empty part is not measured, in PostGIS either. */
enum class Measured { kAll, kStop, kNot };

RT_INLINE Measured measure_simple(double x, double y, const Shape& shape, uint64_t* next, double* least) {
  Points points;
  if (shape.type == kPolygon) {
    if (shape.count == 0 || shape.length < kStart + 4 || load<uint32_t>(shape.bytes + kStart) == 0)
      return Measured::kStop;
    if (!measure_polygon(x, y, shape, next, least)) return Measured::kNot;
    return *least <= 0 ? Measured::kStop : Measured::kAll;
  }
  if (shape.type != kPoint && shape.type != kLine) return Measured::kNot;
  if (shape.count == 0) return Measured::kStop;
  if (!points_of(shape, &points)) return Measured::kNot;
  if (shape.type == kPoint)
    measure_point(x, y, x_at(points, 0), y_at(points, 0), least);
  else
    measure_points(x, y, points, least);
  *next = kStart + (uint64_t)points.count * points.stride;
  return *least <= 0 ? Measured::kStop : Measured::kAll;
}

/* The least distance; kNoDistance: none was measured. False: PostgreSQL decides. */
RT_INLINE bool measure(const Shape& point, const Shape& other, double* least) {
  Points points;
  *least = kNoDistance;
  if (point.count == 0) return true;
  if (!points_of(point, &points)) return false;
  const double x = x_at(points, 0), y = y_at(points, 0);
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
    if (measured != Measured::kAll) return measured == Measured::kStop;
    offset += next;
  }
  return true;
}

/* Of two values; false: PostgreSQL decides, or raises. */
RT_INLINE bool distance_of(const char* a, uint32_t a_length, const char* b, uint32_t b_length, double* least) {
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
  double least = 0;
  if (!distance_of(a, a_length, b, b_length, &least)) {
    *errors |= TB_ERR_UNREPRESENTABLE;
    return 0;
  }
  *null = !(least < kNoDistance);
  return least;
}

RT_EXPORT bool rt_geometry_dwithin(const char* a, uint32_t a_length, const char* b, uint32_t b_length, double tolerance,
                                   uint32_t* errors) {
  double least = 0;
  // Where nothing was measured, PostGIS compares with kNoDistance, but not for all empty shapes.
  if (tolerance < 0 || !distance_of(a, a_length, b, b_length, &least) ||
      (!(least < kNoDistance) && tolerance >= kNoDistance)) {
    *errors |= TB_ERR_UNREPRESENTABLE;
    return false;
  }
  return tolerance >= least;
}

RT_EXPORT double rt_geometry_area(const char* bytes, uint32_t length, uint32_t* errors) {
  return sum_of<kPolygon, polygon_area>(bytes, length, errors);
}

RT_EXPORT double rt_geometry_length(const char* bytes, uint32_t length, uint32_t* errors) {
  return sum_of<kLine, line_length>(bytes, length, errors);
}
