/*
 * geography.cc - ST_DWithin of two points on the spheroid, or on its sphere.
 *
 * PostGIS computes geodesics, whose bits no other formula has. But a filter only asks on
 * which side of a distance a pair lies, and bounds tell that for nearly all pairs. PostgreSQL
 * decides the others: pairs whose distance is within the bounds' error of the wanted one.
 *
 * a and b are the axes. The radii of curvature of the spheroid lie between kLeastRadius, b²/a,
 * and kGreatestRadius, a²/b. With s the length of the geodesic, c the straight line (chord)
 * between its ends, and theta the angle between them on a sphere with the same latitudes and
 * longitudes:
 *
 *   1. kLeastRadius * |difference of latitudes| <= s: no way is shorter than its part along
 *      the meridians.
 *   2. kLeastRadius * theta <= s <= kGreatestRadius * theta: so do the lengths of any way on
 *      both surfaces compare, since they compare so along meridians and along parallels.
 *   3. s <= 2 r asin(c / 2r) with r = kLeastRadius: an arc with less curvature than a circle's
 *      has a longer chord (Schur's theorem).
 *   4. s >= 2 r asin(c / 2r) with r = kGreatestRadius, a millionth longer. The geodesic's
 *      tangent turns by at least its length divided by kGreatestRadius, except for its torsion,
 *      which is at most (a/b² - 1/a) / 2: a turn over t loses the part (torsion * t)² / 6, less
 *      than 2e-7 over kFar. And the chord is an integral over cosines of these turns.
 *
 * 3 and 4 differ by less than 1e-9 of 1 km, 2e-5 of 100 km. Beyond kFar only 2 counts. On the
 * sphere 3 and 4 are equations, with its one radius. kRounding is far above what rounding does
 * to chords here, and above 1e-12 radians, within which PostGIS takes points for equal.
 * test/geography.py compares with PostGIS. Called by generated code.
 */
#include "rt/float_math.h"
#include "rt/geometry.h"

using namespace turbine::rt;
using namespace turbine::rt::geometry;

namespace {

/* WGS 84, in metres. */
constexpr int32_t kWgs84 = 4326;
constexpr double kA = 6378137.0;
constexpr double kB = 6356752.314245179498;
constexpr double kSquaredEccentricity = 1 - kB * kB / (kA * kA);
constexpr double kLeastRadius = kB * kB / kA;
constexpr double kGreatestRadius = kA * kA / kB;
constexpr double kSphereRadius = (2 * kA + kB) / 3;
constexpr double kRadian = 3.14159265358979323846 / 180;

constexpr double kFar = 2e6;
constexpr double kTorsion = 1e-6;
constexpr double kRounding = 2e-5;      // metres
constexpr double kUnitRounding = 1e-11; // of chords of the unit sphere

enum class Decision { kNo, kYes, kUnknown };

struct Position {
  double lon, lat;  // degrees
};

struct Vector {
  double x, y, z;
};

/* On the unit sphere. */
RT_INLINE Vector unit_vector(Position p) {
  const double lon = p.lon * kRadian, lat = p.lat * kRadian;
  const double across = rt_device_cos(lat);
  return {across * rt_device_cos(lon), across * rt_device_sin(lon), rt_device_sin(lat)};
}

/* On the spheroid, in metres: from the unit vector of the same latitude and longitude. */
RT_INLINE Vector on_spheroid(Vector unit) {
  const double radius = kA / __builtin_sqrt(1 - kSquaredEccentricity * unit.z * unit.z);
  return {radius * unit.x, radius * unit.y, radius * (1 - kSquaredEccentricity) * unit.z};
}

RT_INLINE double chord_between(Vector a, Vector b) {
  const double x = a.x - b.x, y = a.y - b.y, z = a.z - b.z;
  return __builtin_sqrt(x * x + y * y + z * z);
}

/* Bounds of 2 r sin(arc / 2r), by Taylor's series, up to kFar. */
RT_INLINE double chord_at_most(double arc, double radius) {
  const double half = arc / (2 * radius), square = half * half;
  return 2 * radius * half * (1 - square / 6 * (1 - square / 20));
}

RT_INLINE double chord_at_least(double arc, double radius) {
  const double half = arc / (2 * radius), square = half * half;
  return 2 * radius * half * (1 - square / 6 * (1 - square / 20 * (1 - square / 42)));
}

RT_INLINE Decision decide(double chord, double surely, double surely_not) {
  return chord <= surely ? Decision::kYes : chord >= surely_not ? Decision::kNo : Decision::kUnknown;
}

/* By the angle, whose chord on the unit sphere this is: at most `yes` radians, or at least `no`. */
RT_INLINE Decision decide_by_angle(double chord, double yes, double no) {
  constexpr double kHalfTurn = 3.14159;
  const double surely = 2 * rt_device_sin((yes < kHalfTurn ? yes : kHalfTurn) / 2) - kUnitRounding;
  // Of half a turn and more: no chord is that long.
  const double surely_not = no < kHalfTurn ? 2 * rt_device_sin(no / 2) + kUnitRounding : 3;
  return decide(chord, surely, surely_not);
}

RT_INLINE Decision is_within(Position a, Position b, double distance, bool on_sphere) {
  const double least_radius = on_sphere ? kSphereRadius : kLeastRadius;
  const double greatest_radius = on_sphere ? kSphereRadius : kGreatestRadius;
  if (distance < 0) return Decision::kNo;
  if (a.lon == b.lon && a.lat == b.lat) return Decision::kYes;
  if (least_radius * kRadian * __builtin_fabs(a.lat - b.lat) > distance * (1 + 1e-12) + kRounding) return Decision::kNo;
  const Vector unit_a = unit_vector(a), unit_b = unit_vector(b);
  if (distance > kFar)
    return decide_by_angle(chord_between(unit_a, unit_b), distance / greatest_radius, distance / least_radius);
  const double chord = on_sphere ? kSphereRadius * chord_between(unit_a, unit_b)
                                 : chord_between(on_spheroid(unit_a), on_spheroid(unit_b));
  const double longer = on_sphere ? greatest_radius : greatest_radius * (1 + kTorsion);
  return decide(chord, chord_at_least(distance, least_radius) - kRounding, chord_at_most(distance, longer) + kRounding);
}

/* Of a point that is not empty. False: it is something else, or its position needs a look of PostGIS. */
RT_INLINE bool position_of(const Shape& shape, Position* position) {
  Points points;
  if (shape.type != kPoint || shape.count != 1 || !points_of(shape, &points)) return false;
  *position = {x_at(points, 0), y_at(points, 0)};
  return __builtin_fabs(position->lon) <= 180 && __builtin_fabs(position->lat) <= 90;
}

}  // namespace

RT_EXPORT bool rt_geography_dwithin(const char* a, uint32_t a_length, const char* b, uint32_t b_length, double distance,
                                    bool on_spheroid, uint32_t* errors) {
  Geometry first, second;
  Position from, to;
  Decision decision = Decision::kUnknown;
  if (open_geography(a, a_length, &first) && open_geography(b, b_length, &second) && first.srid == kWgs84 &&
      second.srid == kWgs84) {
    if (emptiness_of(first.shape) == Emptiness::kEmpty || emptiness_of(second.shape) == Emptiness::kEmpty) return false;
    if (position_of(first.shape, &from) && position_of(second.shape, &to) && distance == distance)
      decision = is_within(from, to, distance, !on_spheroid);
  }
  raise_if(decision == Decision::kUnknown, TB_ERR_DOMAIN, errors);
  return decision == Decision::kYes;
}
