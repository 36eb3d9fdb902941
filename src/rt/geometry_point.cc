/*
 * geometry_point.cc - points of geometry: made of coordinates, their coordinates, SRIDs.
 *
 * Called by generated code. What PostGIS raises an error for, or says a notice about, raises
 * here, so that PostgreSQL computes it.
 */
#include "rt/geometry.h"
#include "turbine/functions.h"
#include "turbine/point_column.h"

using namespace turbine::rt;
using namespace turbine::rt::geometry;

namespace {

/* Greater or negative ones PostGIS changes, with a notice. */
constexpr int32_t kGreatestSrid = 999999;

/* SRID and flags: a value's first four bytes. */
RT_INLINE uint32_t head_of(int32_t srid, uint8_t flags) {
  const uint32_t bits = (uint32_t)srid;
  return (bits >> 16 & 0xff) | (bits & 0xff00) | (bits & 0xff) << 16 | (uint32_t)flags << 24;
}

RT_INLINE void check_srid(int32_t srid, uint32_t* errors) {
  raise_if(srid < 0 || srid > kGreatestSrid, TB_ERR_DOMAIN, errors);
}

/* A point of form 2; `flags`: kHasZ and kHasM. */
template <int kDims>
RT_INLINE void build_point(const double (&coordinates)[kDims], uint8_t flags, int32_t srid, char* place,
                           const char** result, uint32_t* result_length) {
  const uint32_t head[3] = {head_of(srid, flags | kForm2), kPoint, 1};
  static_assert(sizeof(head) + sizeof(coordinates) <= TB_BUILT_BYTES);
  __builtin_memcpy(place, head, sizeof(head));
  __builtin_memcpy(place + sizeof(head), coordinates, sizeof(coordinates));
  *result = place;
  *result_length = sizeof(head) + sizeof(coordinates);
}

/* Coordinate number `which` of x, y, z, m. */
RT_INLINE double coordinate(const char* bytes, uint32_t length, uint32_t which, bool* null, uint32_t* errors) {
  Geometry g;
  Points points;
  if (!open_geometry(bytes, length, &g) || g.shape.type != kPoint || !points_of(g.shape, &points)) {
    *errors |= TB_ERR_DOMAIN;
    return 0;
  }
  const bool has_z = g.flags & kHasZ, has_m = g.flags & kHasM;
  *null = g.shape.count == 0 || (which == 2 && !has_z) || (which == 3 && !has_m);
  if (*null) return 0;
  return load<double>(points.bytes + 8 * (which == 3 && !has_z ? 2 : which));
}

}  // namespace

RT_EXPORT void rt_geometry_point2(double x, double y, char* place, const char** result, uint32_t* result_length) {
  build_point({x, y}, 0, 0, place, result, result_length);
}

RT_EXPORT void rt_geometry_point3(double x, double y, double z, char* place, const char** result,
                                  uint32_t* result_length) {
  build_point({x, y, z}, kHasZ, 0, place, result, result_length);
}

RT_EXPORT void rt_geometry_point3m(double x, double y, double m, char* place, const char** result,
                                   uint32_t* result_length) {
  build_point({x, y, m}, kHasM, 0, place, result, result_length);
}

RT_EXPORT void rt_geometry_point4(double x, double y, double z, double m, char* place, const char** result,
                                  uint32_t* result_length) {
  build_point({x, y, z, m}, kHasZ | kHasM, 0, place, result, result_length);
}

RT_EXPORT void rt_geometry_point2_srid(double x, double y, int32_t srid, char* place, const char** result,
                                       uint32_t* result_length, uint32_t* errors) {
  check_srid(srid, errors);
  build_point({x, y}, 0, srid, place, result, result_length);
}

RT_EXPORT void rt_geometry_point3_srid(double x, double y, double z, int32_t srid, char* place, const char** result,
                                       uint32_t* result_length, uint32_t* errors) {
  check_srid(srid, errors);
  build_point({x, y, z}, kHasZ, srid, place, result, result_length);
}

RT_EXPORT void rt_geometry_point3m_srid(double x, double y, double m, int32_t srid, char* place, const char** result,
                                        uint32_t* result_length, uint32_t* errors) {
  check_srid(srid, errors);
  build_point({x, y, m}, kHasM, srid, place, result, result_length);
}

/* What TB_EXPR_POINT calls: the point's bytes at `place`, and how many they are. */
RT_EXPORT uint32_t rt_point_of_coordinates(uint32_t form, double c0, double c1, double c2, double c3, char* place) {
  const bool is_empty = c0 != c0 && c1 != c1;
  const uint32_t head[3] = {tb_point_word(form), kPoint, is_empty ? 0u : 1u};
  const double coordinates[TB_MOST_COORDINATES] = {c0, c1, c2, c3};
  static_assert(sizeof(head) == TB_POINT_HEAD && sizeof(head) + sizeof(coordinates) <= TB_BUILT_BYTES);
  __builtin_memcpy(place, head, sizeof(head));
  __builtin_memcpy(place + sizeof(head), coordinates, sizeof(coordinates));
  return TB_POINT_HEAD + (is_empty ? 0 : 8 * tb_point_dimensions(form));
}

RT_EXPORT double rt_geometry_x(const char* bytes, uint32_t length, bool* null, uint32_t* errors) {
  return coordinate(bytes, length, 0, null, errors);
}

RT_EXPORT double rt_geometry_y(const char* bytes, uint32_t length, bool* null, uint32_t* errors) {
  return coordinate(bytes, length, 1, null, errors);
}

RT_EXPORT double rt_geometry_z(const char* bytes, uint32_t length, bool* null, uint32_t* errors) {
  return coordinate(bytes, length, 2, null, errors);
}

RT_EXPORT double rt_geometry_m(const char* bytes, uint32_t length, bool* null, uint32_t* errors) {
  return coordinate(bytes, length, 3, null, errors);
}

RT_EXPORT int32_t rt_geometry_srid(const char* bytes, uint32_t length) { return length < kHeader ? 0 : srid_of(bytes); }

/* The value with another SRID. There is room for points only. */
RT_EXPORT void rt_geometry_set_srid(const char* bytes, uint32_t length, int32_t srid, char* place, const char** result,
                                    uint32_t* result_length, uint32_t* errors) {
  check_srid(srid, errors);
  *result = bytes;
  *result_length = length;
  if (length < kHeader || srid_of(bytes) == srid) return;
  if (length > TB_BUILT_BYTES) {
    *errors |= TB_ERR_UNREPRESENTABLE;
    return;
  }
  __builtin_memcpy(place, bytes, length);
  const uint32_t head = head_of(srid, (uint8_t)bytes[3]);
  __builtin_memcpy(place, &head, sizeof(head));
  *result = place;
}

/* A point's coordinates rounded to multiples of the sizes from the offsets; only positive sizes round. */
RT_EXPORT void rt_geometry_snap(const char* bytes, uint32_t length, double x_offset, double y_offset, double x_size,
                                double y_size, char* place, const char** result, uint32_t* result_length,
                                uint32_t* errors) {
  Geometry g;
  Points points;
  *result = bytes;
  *result_length = length;
  const bool is_plain = open_geometry(bytes, length, &g) && g.shape.type == kPoint && points_of(g.shape, &points) &&
                        (g.flags & ~(kHasZ | kHasM)) == kForm2 && length <= TB_BUILT_BYTES;
  raise_if(!is_plain, TB_ERR_UNREPRESENTABLE, errors);
  if (!is_plain || g.shape.count == 0 || (x_size == 0 && y_size == 0)) return;
  double x = x_at(points, 0), y = y_at(points, 0);
  if (x_size > 0) x = __builtin_rint((x - x_offset) / x_size) * x_size + x_offset;
  if (y_size > 0) y = __builtin_rint((y - y_offset) / y_size) * y_size + y_offset;
  __builtin_memcpy(place, bytes, length);
  __builtin_memcpy(place + (points.bytes - bytes), &x, sizeof(x));
  __builtin_memcpy(place + (points.bytes - bytes) + sizeof(x), &y, sizeof(y));
  *result = place;
}
