/*
 * geometry_ring.h - where a point is relative to a ring: PostGIS's formula, an edge at a time.
 *
 * The sums and products are PostGIS's, in its order. Included by what decides points against
 * whole polygons, and by what decides them against reduced ones.
 */
#pragma once

#include "rt/geometry.h"

namespace turbine::rt::geometry {

enum Place { kOutside = -1, kBoundary = 0, kInside = 1 };

/* What PostGIS's two procedures disagree about, or may: the row is doubtful. */
struct Doubt {
  bool any = false;
};

/* With an index of edges PostGIS passes over tiny ones. */
RT_INLINE bool is_tiny(double x1, double y1, double x2, double y2) {
  return (x2 - x1) * (x2 - x1) + (y2 - y1) * (y2 - y1) < 1e-12 * 1e-12;
}

/* What the edges so far say of the point. */
struct RingCount {
  int winding = 0;
  bool boundary = false;

  /* Edge i of the points, from height y1 to y2. */
  RT_INLINE_MEMBER void add(const Points& points, uint32_t i, double y1, double y2, double x, double y, Doubt* doubt) {
    // Most edges lie above the point or below it.
    if ((y1 > y && y2 > y) || (y1 < y && y2 < y)) return;
    const double x1 = x_at(points, i - 1), x2 = x_at(points, i);
    doubt->any |= x1 - x1 != 0 || x2 - x2 != 0;
    const double side = (x2 - x1) * (y - y1) - (x - x1) * (y2 - y1);
    // Edges without length do not count; with an index, nor do tiny ones.
    if (x1 == x2 && y1 == y2) return;
    const double greatest_x = x1 > x2 ? x1 : x2, least_x = x1 > x2 ? x2 : x1;
    const double greatest_y = y1 > y2 ? y1 : y2, least_y = y1 > y2 ? y2 : y1;
    const bool on = side == 0.0 && !(greatest_x < x || least_x > x || greatest_y < y || least_y > y);
    const bool rising = y1 <= y && y < y2 && side > 0;
    const bool falling = y2 <= y && y < y1 && side < 0;
    if (!on && !rising && !falling) return;
    doubt->any |= is_tiny(x1, y1, x2, y2);
    boundary |= on;
    if (!on) winding += rising ? 1 : -1;
  }

  RT_INLINE_MEMBER Place place() const { return boundary ? kBoundary : winding == 0 ? kOutside : kInside; }
};

/* What the rings so far say of the point: the outer one first, then the holes. */
struct PolygonPlace {
  Place place = kOutside;
  bool decided = false;
  bool on_outer = false;

  RT_INLINE_MEMBER void add(bool is_outer, Place in_ring, bool alone, Doubt* doubt) {
    if (is_outer) {
      place = in_ring;
      // Without an index, a point on the outer ring of a polygon may still be in a hole.
      on_outer = in_ring == kBoundary;
      decided = in_ring == kOutside || (on_outer && !alone);
    } else if (in_ring != kOutside) {
      doubt->any |= on_outer && in_ring == kInside;
      place = in_ring == kInside ? kOutside : kBoundary;
      decided = true;
    }
  }
};

}  // namespace turbine::rt::geometry
