/*
 * geometry_predicates.cc - ST_Contains and its like, for a point and polygons.
 *
 * PostGIS decides a point against a polygon by winding numbers in plain double arithmetic, and
 * so do these bodies, operation by operation: no better arithmetic would have its answers. It
 * has two such procedures, and which one it takes depends on the calls before: the one for a
 * polygon that comes again keeps an index of segments. Where the two may differ, and for all
 * shapes that PostGIS gives to GEOS, the row goes to PostgreSQL. Called by generated code.
 */
#include "rt/geometry_ring.h"
#include "rt/grid_edges.h"

using namespace turbine::rt;
using namespace turbine::rt::geometry;

namespace {

/* Where the point is in the ring. */
RT_INLINE Place place_in_ring(const Points& ring, double x, double y, Doubt* doubt) {
  // A ring without a segment: PostGIS reads what is not there.
  if (ring.count < 2) {
    doubt->any = true;
    return kOutside;
  }
  RingCount count;
  double y2 = y_at(ring, 0);
  doubt->any |= y2 - y2 != 0;
  for (uint32_t i = 1; i < ring.count; i++) {
    const double y1 = y2;
    y2 = y_at(ring, i);
    // The index of edges loses others with one whose y is NaN; and versions differ about infinity.
    doubt->any |= y2 - y2 != 0;
    count.add(ring, i, y1, y2, x, y, doubt);
  }
  return count.place();
}

/* Where it is in the polygon; `next`: what follows the polygon, if that is not nullptr. */
RT_INLINE bool place_in_polygon(const Shape& polygon, bool alone, double x, double y, Doubt* doubt, Place* place,
                                uint64_t* next) {
  Rings rings;
  if (polygon.count == 0 || !open_rings(polygon, &rings)) return false;
  PolygonPlace so_far;
  for (uint32_t i = 0; i < polygon.count; i++) {
    Points ring;
    if (!take_ring(&rings, &ring)) return false;
    if (!so_far.decided) so_far.add(i == 0, place_in_ring(ring, x, y, doubt), alone, doubt);
  }
  *place = so_far.place;
  *next = rings.offset;
  return true;
}

/* Where the point is in a polygon or multipolygon; false: PostgreSQL decides. */
RT_INLINE bool place_of(const Shape& shape, double x, double y, Place* place) {
  Doubt doubt;
  uint64_t next;
  if (shape.type == kPolygon) return place_in_polygon(shape, true, x, y, &doubt, place, &next) && !doubt.any;
  *place = kOutside;
  uint64_t offset = kStart;
  for (uint32_t i = 0; i < shape.count; i++) {
    Shape part;
    if (offset > shape.length ||
        !open_shape(shape.bytes + offset, shape.length - (uint32_t)offset, shape.dims, &part) ||
        part.type != kPolygon || !place_in_polygon(part, false, x, y, &doubt, place, &next) || doubt.any)
      return false;
    if (*place != kOutside) return true;
    offset += next;
  }
  return true;
}

/* ---- Reduced polygons, of a grid's cell that the point lies in ---- */

/* Takes values from bytes; `ok` turns false at their end. */
struct Bytes {
  const char* at;
  uint64_t left;
  bool ok = true;

  RT_INLINE_MEMBER const char* skip(uint64_t count) {
    const char* from = at;
    ok &= count <= left;
    if (!ok) return from;
    at += count;
    left -= count;
    return from;
  }

  template <class T>
  RT_INLINE_MEMBER T take() {
    const char* from = skip(sizeof(T));
    return ok ? load<T>(from) : T{};
  }
};

RT_INLINE Place place_in_reduced_ring(Bytes* bytes, double x, double y, Doubt* doubt) {
  const ReducedRing ring = bytes->take<ReducedRing>();
  RingCount count;
  count.winding = ring.winding;
  for (uint32_t i = 0; i < ring.items && bytes->ok; i++) {
    constexpr uint32_t kPair = 2 * sizeof(double);
    Points points = {nullptr, bytes->take<ReducedItem>().points, kPair};
    // A certain edge has one pair of numbers.
    points.bytes = bytes->skip((uint64_t)(points.count == 0 ? 1 : points.count) * kPair);
    if (!bytes->ok) break;
    if (points.count == 0) {
      count.winding += (x_at(points, 0) <= y ? 1 : 0) - (y_at(points, 0) <= y ? 1 : 0);
      continue;
    }
    double y2 = y_at(points, 0);
    for (uint32_t k = 1; k < points.count; k++) {
      const double y1 = y2;
      y2 = y_at(points, k);
      count.add(points, k, y1, y2, x, y, doubt);
    }
  }
  return count.place();
}

/* As place_of. */
RT_INLINE bool place_in_reduced(Bytes bytes, const ReducedHead& head, double x, double y, Place* place) {
  const bool alone = head.flags & kAlone;
  Doubt doubt;
  *place = kOutside;
  if (head.flags & kDoubtful) return false;
  for (uint32_t i = 0; i < head.polygons && *place == kOutside; i++) {
    const ReducedPolygon polygon = bytes.take<ReducedPolygon>();
    Bytes rings = {bytes.at, polygon.bytes};
    PolygonPlace so_far;
    bytes.skip(polygon.bytes);
    for (uint32_t k = 0; k < polygon.rings && bytes.ok && rings.ok && !so_far.decided; k++)
      so_far.add(k == 0, place_in_reduced_ring(&rings, x, y, &doubt), alone, &doubt);
    if (doubt.any || !bytes.ok || !rings.ok) return false;
    *place = so_far.place;
  }
  return true;
}

/* ---- What PostGIS gives to GEOS: a point against points and lines ---- */

/*
 * On which side of the line from (ax, ay) to (bx, by) is the point? GEOS takes the sign of a plain determinant if that
 * is certain, else it computes with pairs of doubles. Their answer is known here if all differences are exact: then the
 * products of these are, as pairs, and so is the comparison. False: it is not known.
 */
RT_INLINE bool side_of(double ax, double ay, double bx, double by, double x, double y, int* side) {
  const double left = (ax - x) * (by - y), right = (ay - y) * (bx - x);
  const double determinant = left - right;
  const double sum = left > 0 && right > 0 ? left + right : left < 0 && right < 0 ? -left - right : 0;
  constexpr double kSafe = 1e-15;
  *side = determinant > 0 ? 1 : determinant < 0 ? -1 : 0;
  if (left != 0 && ((left > 0) == (right > 0) && right != 0)) {
    if (determinant >= kSafe * sum || -determinant >= kSafe * sum) return true;
  } else if (left != 0 || right != 0) {
    return true;
  }
  // Exact differences of pairs that GEOS takes: b - a, and the point - b.
  const double dx1 = bx - ax, dy1 = by - ay, dx2 = x - bx, dy2 = y - by;
  auto is_exact = [](double a, double b, double difference) {
    const double part = a - difference;
    return (a - (part + difference)) + (part - b) == 0;
  };
  if (!is_exact(bx, ax, dx1) || !is_exact(by, ay, dy1) || !is_exact(x, bx, dx2) || !is_exact(y, by, dy2)) return false;
  const double p = dx1 * dy2, q = dy1 * dx2;
  // Smaller products may have lost bits below the least double.
  constexpr double kLeast = 1e-200, kMost = 1e200;
  auto is_safe = [&](double product, double a, double b) {
    return a == 0 || b == 0 || (__builtin_fabs(product) > kLeast && __builtin_fabs(product) < kMost);
  };
  if (!is_safe(p, dx1, dy2) || !is_safe(q, dy1, dx2)) return false;
  const double p_rest = __builtin_fma(dx1, dy2, -p), q_rest = __builtin_fma(dy1, dx2, -q);
  const double difference = p != q ? p - q : p_rest - q_rest;
  *side = difference > 0 ? 1 : difference < 0 ? -1 : 0;
  return true;
}

RT_INLINE bool is_finite(double value) { return value - value == 0; }

RT_INLINE double least(double a, double b) { return a < b ? a : b; }
RT_INLINE double greatest(double a, double b) { return a > b ? a : b; }

/* Whether the point is so near to the segment that an intersection with another one may be rounded to the point. */
RT_INLINE bool is_close(double ax, double ay, double bx, double by, double x, double y) {
  constexpr double kRounding = 1e-12;
  const double size = __builtin_fabs(ax) + __builtin_fabs(ay) + __builtin_fabs(bx) + __builtin_fabs(by);
  const double margin = kRounding * size;
  const double dx = bx - ax, dy = by - ay;
  return !(x < least(ax, bx) - margin || x > greatest(ax, bx) + margin || y < least(ay, by) - margin ||
           y > greatest(ay, by) + margin) &&
         !(__builtin_fabs(dx * (y - ay) - dy * (x - ax)) > margin * (__builtin_fabs(dx) + __builtin_fabs(dy)));
}

/* Where the point is relative to a line: kInside means between its ends. False: GEOS decides. It also finds points on
 * a line where the line crosses itself: at the intersection, as it is rounded. */
RT_INLINE bool place_on_line(const Shape& line, double x, double y, Place* place) {
  Points points;
  if (!points_of(line, &points) || points.count < 2) return false;
  const double x0 = x_at(points, 0), y0 = y_at(points, 0);
  double ax = x0, ay = y0;
  bool on = false, has_length = false;
  uint32_t close = 0;
  if (!is_finite(x0) || !is_finite(y0)) return false;
  for (uint32_t i = 1; i < points.count; i++) {
    const double bx = x_at(points, i), by = y_at(points, i);
    if (!is_finite(bx) || !is_finite(by)) return false;
    has_length |= ax != bx || ay != by;
    const bool near = x >= least(ax, bx) && x <= greatest(ax, bx) && y >= least(ay, by) && y <= greatest(ay, by);
    int side;
    close += is_close(ax, ay, bx, by, x, y) ? 1 : 0;
    if (near && !on) {
      if (!side_of(ax, ay, bx, by, x, y, &side)) return false;
      on = side == 0;
    }
    ax = bx;
    ay = by;
  }
  // A line that is a point is not valid.
  if (!has_length || (!on && close > 1)) return false;
  const bool is_end = (x == x0 && y == y0) || (x == ax && y == ay);
  const bool is_closed = x0 == ax && y0 == ay;
  *place = !on ? kOutside : is_end && !is_closed ? kBoundary : kInside;
  return true;
}

/* ---- Predicates ---- */

/* Both values, once what PostGIS checks first is done. */
struct Pair {
  Geometry a, b;
};

/* False: PostgreSQL decides, or raises. */
RT_INLINE bool open_pair(const char* a, uint32_t a_length, const char* b, uint32_t b_length, Pair* pair) {
  return open_geometry(a, a_length, &pair->a) && open_geometry(b, b_length, &pair->b) && pair->a.srid == pair->b.srid;
}

RT_INLINE bool is_polygonal(const Shape& shape) { return shape.type == kPolygon || shape.type == kMultiPolygon; }

/* Where the point is, relative to a shape; both are not empty. `with_geos`: PostGIS asks GEOS about polygons, which may
 * raise errors for those that are not valid. */
RT_INLINE bool place_in(const Shape& shape, const Shape& point, bool with_geos, Place* place) {
  Points points;
  if (point.type != kPoint || !points_of(point, &points)) return false;
  const double x = x_at(points, 0), y = y_at(points, 0);
  if (is_polygonal(shape)) return !with_geos && place_of(shape, x, y, place);
  if (!is_finite(x) || !is_finite(y)) return false;
  if (shape.type == kLine) return place_on_line(shape, x, y, place);
  if (shape.type != kPoint || !points_of(shape, &points)) return false;
  const double to_x = x_at(points, 0), to_y = y_at(points, 0);
  if (!is_finite(to_x) || !is_finite(to_y)) return false;
  *place = x == to_x && y == to_y ? kInside : kOutside;
  return true;
}

/* Whether all coordinates are less than the greatest float, in whose place boxes have infinity. */
RT_INLINE bool is_bounded(const Box& box) {
  constexpr auto kMost = (float)kMostFloat;
  return box.xmin > -kMost && box.ymin > -kMost && box.xmax < kMost && box.ymax < kMost;
}

/* What PostGIS looks at before any coordinate. */
enum class Early { kEmpty, kApart, kNear, kUnknown };

/* `contained`: b's box must be in a's; else they must overlap. */
RT_INLINE Early look_early(const Pair& pair, bool contained) {
  const Emptiness a = emptiness_of(pair.a.shape), b = emptiness_of(pair.b.shape);
  if (a == Emptiness::kEmpty || b == Emptiness::kEmpty) return Early::kEmpty;
  if (a == Emptiness::kUnknown || b == Emptiness::kUnknown) return Early::kUnknown;
  Box a_box, b_box;
  if (!box_of(pair.a, &a_box) || !box_of(pair.b, &b_box)) return Early::kUnknown;
  const bool near = contained ? box_contains(a_box, b_box) : boxes_overlap(a_box, b_box);
  if (!near) return Early::kApart;
  // Versions of PostGIS differ about shapes that reach to infinity.
  return is_bounded(a_box) && is_bounded(b_box) ? Early::kNear : Early::kUnknown;
}

/* Is b in a, its boundary included or not? *result is undefined if the answer is false: PostgreSQL decides. */
RT_INLINE bool contains(const Pair& pair, bool with_boundary, bool* result) {
  const Early early = look_early(pair, true);
  Place place = kOutside;
  *result = false;
  if (early != Early::kNear) return early != Early::kUnknown;
  if (!place_in(pair.a.shape, pair.b.shape, false, &place)) return false;
  *result = with_boundary ? place != kOutside : place == kInside;
  return true;
}

/* `disjoint`: it is asked for that, which PostGIS leaves to GEOS for polygons, too. */
RT_INLINE bool intersects(const Pair& pair, bool disjoint, bool* result) {
  const Early early = look_early(pair, false);
  Place place = kOutside;
  *result = false;
  if (early != Early::kNear) return early != Early::kUnknown;
  const bool point_first = pair.a.shape.type == kPoint;
  if (!place_in(point_first ? pair.b.shape : pair.a.shape, point_first ? pair.a.shape : pair.b.shape, disjoint, &place))
    return false;
  *result = place != kOutside;
  return true;
}

/* ST_Crosses, ST_Touches, ST_Overlaps: GEOS decides them for shapes whose boxes meet. */
RT_INLINE bool meets_not(const Pair& pair) {
  const Early early = look_early(pair, false);
  return early == Early::kEmpty || early == Early::kApart;
}

/* ST_Equals: two empty shapes are equal, and shapes whose boxes differ are not. PostGIS compares the greatest sides
 * only, so far; GEOS decides the rest. */
RT_INLINE bool equals(const Pair& pair, bool* result) {
  const Emptiness a = emptiness_of(pair.a.shape), b = emptiness_of(pair.b.shape);
  *result = a == Emptiness::kEmpty && b == Emptiness::kEmpty;
  if (*result) return true;
  Box a_box, b_box;
  if (a != Emptiness::kFilled || b != Emptiness::kFilled || !box_of(pair.a, &a_box) || !box_of(pair.b, &b_box))
    return false;
  return is_bounded(a_box) && is_bounded(b_box) && (a_box.xmax != b_box.xmax || a_box.ymax != b_box.ymax);
}

/* Of a shape in a cell of a grid, reduced or not, and a point of the cell. */
template <bool (*kWhole)(const Pair& pair, bool option, bool* result), bool kOption, bool kContained>
RT_INLINE bool holds_in_cell(const char* edges, uint32_t edges_length, const char* point, uint32_t point_length,
                             uint32_t* errors) {
  bool result = false, decided;
  if (edges_length < sizeof(ReducedHead) || !((uint8_t)edges[3] & kReduced)) {
    Pair pair;
    decided = open_pair(edges, edges_length, point, point_length, &pair) && kWhole(pair, kOption, &result);
    raise_if(!decided, TB_ERR_UNREPRESENTABLE, errors);
    return decided && result;
  }
  const ReducedHead head = load<ReducedHead>(edges);
  Geometry g;
  Box box;
  Points points;
  decided = open_geometry(point, point_length, &g) && g.srid == srid_of(edges) && g.shape.type == kPoint;
  // No empty point has a cell.
  decided = decided && g.shape.count == 1 && points_of(g.shape, &points) && box_of(g, &box);
  if (decided && (kContained ? box_contains(head.box, box) : boxes_overlap(head.box, box))) {
    Place place = kOutside;
    const Bytes polygons = {edges + sizeof head, edges_length - sizeof head};
    decided = place_in_reduced(polygons, head, x_at(points, 0), y_at(points, 0), &place);
    result = kContained && !kOption ? place == kInside : place != kOutside;
  }
  raise_if(!decided, TB_ERR_UNREPRESENTABLE, errors);
  return decided && result;
}

/* A box as operators compare it: there may be none, and one may be empty. */
enum class BoxKind { kNone, kEmpty, kThere, kUnknown };

RT_INLINE BoxKind open_box(const char* bytes, uint32_t length, Box* box) {
  Geometry g;
  if (!open_geometry(bytes, length, &g)) return BoxKind::kUnknown;
  if (g.box == nullptr) {
    const Emptiness emptiness = emptiness_of(g.shape);
    if (emptiness == Emptiness::kEmpty) return BoxKind::kNone;
    if (emptiness == Emptiness::kUnknown) return BoxKind::kUnknown;
  }
  if (!box_of(g, box)) return BoxKind::kUnknown;
  return box->xmin != box->xmin ? BoxKind::kEmpty : BoxKind::kThere;
}

/* a ~ b */
RT_INLINE bool box_operator_contains(const char* a, uint32_t a_length, const char* b, uint32_t b_length,
                                     uint32_t* errors) {
  Box a_box, b_box;
  const BoxKind a_kind = open_box(a, a_length, &a_box), b_kind = open_box(b, b_length, &b_box);
  raise_if(a_kind == BoxKind::kUnknown || b_kind == BoxKind::kUnknown, TB_ERR_UNREPRESENTABLE, errors);
  if (a_kind != BoxKind::kThere && a_kind != BoxKind::kEmpty) return false;
  if (b_kind != BoxKind::kThere && b_kind != BoxKind::kEmpty) return false;
  if (b_kind == BoxKind::kEmpty && a_kind == BoxKind::kThere) return true;
  return box_contains(a_box, b_box);
}

RT_INLINE bool decide(bool decided, bool result, uint32_t* errors) {
  raise_if(!decided, TB_ERR_UNREPRESENTABLE, errors);
  return decided && result;
}

}  // namespace

RT_EXPORT bool rt_geometry_contains(const char* a, uint32_t a_length, const char* b, uint32_t b_length,
                                    uint32_t* errors) {
  Pair pair;
  bool result = false;
  const bool decided = open_pair(a, a_length, b, b_length, &pair) && contains(pair, false, &result);
  return decide(decided, result, errors);
}

RT_EXPORT bool rt_geometry_within(const char* a, uint32_t a_length, const char* b, uint32_t b_length,
                                  uint32_t* errors) {
  Pair pair;
  bool result = false;
  const bool decided = open_pair(b, b_length, a, a_length, &pair) && contains(pair, false, &result);
  return decide(decided, result, errors);
}

RT_EXPORT bool rt_geometry_covers(const char* a, uint32_t a_length, const char* b, uint32_t b_length,
                                  uint32_t* errors) {
  Pair pair;
  bool result = false;
  const bool decided = open_pair(a, a_length, b, b_length, &pair) && contains(pair, true, &result);
  return decide(decided, result, errors);
}

RT_EXPORT bool rt_geometry_covered_by(const char* a, uint32_t a_length, const char* b, uint32_t b_length,
                                      uint32_t* errors) {
  Pair pair;
  bool result = false;
  const bool decided = open_pair(b, b_length, a, a_length, &pair) && contains(pair, true, &result);
  return decide(decided, result, errors);
}

RT_EXPORT bool rt_geometry_intersects(const char* a, uint32_t a_length, const char* b, uint32_t b_length,
                                      uint32_t* errors) {
  Pair pair;
  bool result = false;
  const bool decided = open_pair(a, a_length, b, b_length, &pair) && intersects(pair, false, &result);
  return decide(decided, result, errors);
}

RT_EXPORT bool rt_geometry_disjoint(const char* a, uint32_t a_length, const char* b, uint32_t b_length,
                                    uint32_t* errors) {
  Pair pair;
  bool result = false;
  const bool decided = open_pair(a, a_length, b, b_length, &pair) && intersects(pair, true, &result);
  return decide(decided, !result, errors);
}

RT_EXPORT bool rt_geometry_meets_not(const char* a, uint32_t a_length, const char* b, uint32_t b_length,
                                     uint32_t* errors) {
  Pair pair;
  raise_if(!open_pair(a, a_length, b, b_length, &pair) || !meets_not(pair), TB_ERR_UNREPRESENTABLE, errors);
  return false;
}

RT_EXPORT bool rt_geometry_equals(const char* a, uint32_t a_length, const char* b, uint32_t b_length,
                                  uint32_t* errors) {
  Pair pair;
  bool result = false;
  const bool decided = open_pair(a, a_length, b, b_length, &pair) && equals(pair, &result);
  return decide(decided, result, errors);
}

RT_EXPORT bool rt_grid_contains(const char* edges, uint32_t edges_length, const char* point, uint32_t point_length,
                                uint32_t* errors) {
  return holds_in_cell<contains, false, true>(edges, edges_length, point, point_length, errors);
}

RT_EXPORT bool rt_grid_covers(const char* edges, uint32_t edges_length, const char* point, uint32_t point_length,
                              uint32_t* errors) {
  return holds_in_cell<contains, true, true>(edges, edges_length, point, point_length, errors);
}

RT_EXPORT bool rt_grid_intersects(const char* edges, uint32_t edges_length, const char* point, uint32_t point_length,
                                  uint32_t* errors) {
  return holds_in_cell<intersects, false, false>(edges, edges_length, point, point_length, errors);
}

RT_EXPORT bool rt_geometry_boxes_overlap(const char* a, uint32_t a_length, const char* b, uint32_t b_length,
                                         uint32_t* errors) {
  Box a_box, b_box;
  const BoxKind a_kind = open_box(a, a_length, &a_box), b_kind = open_box(b, b_length, &b_box);
  raise_if(a_kind == BoxKind::kUnknown || b_kind == BoxKind::kUnknown, TB_ERR_UNREPRESENTABLE, errors);
  return a_kind == BoxKind::kThere && b_kind == BoxKind::kThere && boxes_overlap(a_box, b_box);
}

RT_EXPORT bool rt_geometry_box_contains(const char* a, uint32_t a_length, const char* b, uint32_t b_length,
                                        uint32_t* errors) {
  return box_operator_contains(a, a_length, b, b_length, errors);
}

RT_EXPORT bool rt_geometry_box_within(const char* a, uint32_t a_length, const char* b, uint32_t b_length,
                                      uint32_t* errors) {
  return box_operator_contains(b, b_length, a, a_length, errors);
}
