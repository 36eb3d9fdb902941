/*
 * geometry.h - PostGIS's serialized geometries, forms 1 and 2, as they are read here.
 *
 *   OFFSET        SIZE      FIELD
 *        0           3      SRID, high byte first: 21 bits with sign
 *        3           1      flags: what follows, and the form
 *        4           8      more flags, in form 2 with the flag kExtended
 *        .     8 * dims     with kHasBox: floats, least and greatest x, then y, z, m; with
 *                           kGeodetic always 24, of x, y and z in space
 *        .           4      type
 *        .           4      count: coordinates of a point or line, rings, or parts
 *        .                  polygons: the rings' counts, padded to 8 bytes
 *        .                  coordinates, dims doubles each; parts begin at "type"
 *
 * Offsets count behind the varlena header, so nothing is aligned. Bytes may be spoilt: nothing
 * outside the value is read, and a value that is not understood is left to PostgreSQL.
 */
#pragma once

#include "rt/rt.h"

namespace turbine::rt::geometry {

constexpr uint8_t kHasZ = 0x01;
constexpr uint8_t kHasM = 0x02;
constexpr uint8_t kHasBox = 0x04;
constexpr uint8_t kGeodetic = 0x08;
constexpr uint8_t kExtended = 0x10;
constexpr uint8_t kForm2 = 0x40;
constexpr uint32_t kHeader = 4;

enum Type : uint32_t {
  kPoint = 1,
  kLine = 2,
  kPolygon = 3,
  kMultiPoint = 4,
  kMultiLine = 5,
  kMultiPolygon = 6,
  kCollection = 7
};

template <class T>
RT_INLINE T load(const char* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof(T));
  return value;
}

/* A part of a value: from its type to the value's end. */
struct Shape {
  const char* bytes;
  uint32_t length;
  uint32_t type;
  uint32_t count;
  uint32_t dims;
};

/* What follows type and count begins here. */
constexpr uint32_t kStart = 8;

struct Geometry {
  int32_t srid;
  uint8_t flags;
  const char* box;  // nullptr: none is stored
  Shape shape;
};

RT_INLINE uint32_t dims_of(uint8_t flags) { return 2 + (flags & kHasZ ? 1 : 0) + (flags & kHasM ? 1 : 0); }

RT_INLINE bool open_shape(const char* bytes, uint32_t length, uint32_t dims, Shape* shape) {
  if (length < kStart) return false;
  *shape = {bytes, length, load<uint32_t>(bytes), load<uint32_t>(bytes + 4), dims};
  return true;
}

/* Of a value that has a header. */
RT_INLINE int32_t srid_of(const char* bytes) {
  auto byte = [&](uint32_t i) { return (uint32_t)(uint8_t)bytes[i]; };
  return (int32_t)((byte(0) << 16 | byte(1) << 8 | byte(2)) << 11) >> 11;
}

/* Of either type. False: the value is spoilt, or of a kind that is left to PostgreSQL. */
RT_INLINE bool open_value(const char* bytes, uint32_t length, Geometry* g) {
  if (length < kHeader + kStart) return false;
  g->srid = srid_of(bytes);
  g->flags = (uint8_t)bytes[3];
  const uint32_t dims = dims_of(g->flags);
  uint32_t at = kHeader;
  if ((g->flags & kForm2) && (g->flags & kExtended)) at += 8;
  g->box = nullptr;
  if (g->flags & kHasBox) {
    // A geography's box has the three dimensions of space.
    const uint32_t sides = g->flags & kGeodetic ? 3 : dims;
    if (length < at + 8 * sides) return false;
    g->box = bytes + at;
    at += 8 * sides;
  }
  return at <= length && open_shape(bytes + at, length - at, dims, &g->shape);
}

RT_INLINE bool open_geometry(const char* bytes, uint32_t length, Geometry* g) {
  return open_value(bytes, length, g) && (g->flags & kGeodetic) == 0;
}

RT_INLINE bool open_geography(const char* bytes, uint32_t length, Geometry* g) {
  return open_value(bytes, length, g) && (g->flags & kGeodetic) != 0;
}

/* Consecutive coordinates. */
struct Points {
  const char* bytes;
  uint32_t count;
  uint32_t stride;
};

RT_INLINE double x_at(const Points& points, uint32_t i) {
  return load<double>(points.bytes + (uint64_t)i * points.stride);
}

RT_INLINE double y_at(const Points& points, uint32_t i) {
  return load<double>(points.bytes + (uint64_t)i * points.stride + 8);
}

/* `count` coordinates at `offset` of the shape; false if they are not all there. */
RT_INLINE bool points_at(const Shape& shape, uint64_t offset, uint32_t count, Points* points) {
  const uint32_t stride = 8 * shape.dims;
  if (offset + (uint64_t)count * stride > shape.length) return false;
  *points = {shape.bytes + offset, count, stride};
  return true;
}

/* Of a point or a line. */
RT_INLINE bool points_of(const Shape& shape, Points* points) { return points_at(shape, kStart, shape.count, points); }

/* A polygon's rings, one after the other. */
struct Rings {
  Shape polygon;
  uint32_t next;
  uint64_t offset;  // of its coordinates
};

RT_INLINE bool open_rings(const Shape& polygon, Rings* rings) {
  *rings = {polygon, 0, kStart + ((uint64_t)polygon.count + (polygon.count & 1)) * 4};
  return rings->offset <= polygon.length;
}

/* Of a polygon that has a next one. */
RT_INLINE bool take_ring(Rings* rings, Points* ring) {
  const uint32_t count = load<uint32_t>(rings->polygon.bytes + kStart + (uint64_t)rings->next++ * 4);
  if (!points_at(rings->polygon, rings->offset, count, ring)) return false;
  rings->offset += (uint64_t)count * ring->stride;
  return true;
}

/* ---- Boxes ---- */

/* Least and greatest x and y, as the floats that PostGIS keeps. */
struct Box {
  float xmin, xmax, ymin, ymax;
};

constexpr double kMostFloat = 3.40282346638528859811704183484516925e+38;

/* The next float towards minus infinity; of a NaN it is one. */
RT_INLINE float float_below(float value) {
  uint32_t bits = __builtin_bit_cast(uint32_t, value);
  if (value != value) return value;
  if (value == 0) return __builtin_bit_cast(float, 0x80000001u);
  bits = bits & 0x80000000u ? bits + 1 : bits - 1;
  return __builtin_bit_cast(float, bits);
}

/* The greatest float that is not above, but no infinity. */
RT_INLINE float round_down(double value) {
  if (value > kMostFloat) return (float)kMostFloat;
  if (value <= -kMostFloat) return (float)-kMostFloat;
  const float nearest = (float)value;
  return (double)nearest <= value ? nearest : float_below(nearest);
}

/* The least float that is not below, but no infinity. */
RT_INLINE float round_up(double value) {
  if (value >= kMostFloat) return (float)kMostFloat;
  if (value < -kMostFloat) return (float)-kMostFloat;
  const float nearest = (float)value;
  return (double)nearest >= value ? nearest : -float_below(-nearest);
}

/* The box that PostGIS compares: the stored one, else that of a point or of a line of two points. False: PostGIS
 * would go through the coordinates. */
RT_INLINE bool box_of(const Geometry& g, Box* box) {
  if (g.box != nullptr) {
    *box = {load<float>(g.box), load<float>(g.box + 4), load<float>(g.box + 8), load<float>(g.box + 12)};
    return true;
  }
  Shape shape = g.shape;
  if ((shape.type == kMultiPoint || shape.type == kMultiLine) && shape.count == 1) {
    const uint32_t wanted = shape.type == kMultiPoint ? kPoint : kLine;
    if (!open_shape(shape.bytes + kStart, shape.length - kStart, shape.dims, &shape) || shape.type != wanted)
      return false;
  }
  Points points;
  if (!points_of(shape, &points)) return false;
  if (shape.type == kPoint && shape.count == 1) {
    const double x = x_at(points, 0), y = y_at(points, 0);
    *box = {round_down(x), round_up(x), round_down(y), round_up(y)};
    return true;
  }
  if (shape.type != kLine || shape.count != 2) return false;
  const double x0 = x_at(points, 0), x1 = x_at(points, 1), y0 = y_at(points, 0), y1 = y_at(points, 1);
  *box = {round_down(x0 < x1 ? x0 : x1), round_up(x0 > x1 ? x0 : x1), round_down(y0 < y1 ? y0 : y1),
          round_up(y0 > y1 ? y0 : y1)};
  return true;
}

RT_INLINE bool box_contains(const Box& a, const Box& b) {
  return !(b.xmin < a.xmin || b.xmax > a.xmax || b.ymin < a.ymin || b.ymax > a.ymax);
}

RT_INLINE bool boxes_overlap(const Box& a, const Box& b) {
  return !(a.xmax < b.xmin || a.ymax < b.ymin || a.xmin > b.xmax || a.ymin > b.ymax);
}

/* ---- Empty shapes ---- */

enum class Emptiness { kEmpty, kFilled, kUnknown };

/* Collections are gone through, but not those in collections. */
RT_INLINE Emptiness emptiness_of(const Shape& shape) {
  if (shape.count == 0) return Emptiness::kEmpty;
  if (shape.type >= kPoint && shape.type <= kPolygon) return Emptiness::kFilled;
  if (shape.type < kMultiPoint || shape.type > kCollection) return Emptiness::kUnknown;
  Shape first;
  if (!open_shape(shape.bytes + kStart, shape.length - kStart, shape.dims, &first)) return Emptiness::kUnknown;
  // An empty first part says nothing of the others.
  return first.count != 0 && first.type <= kPolygon ? Emptiness::kFilled : Emptiness::kUnknown;
}

}  // namespace turbine::rt::geometry
