/* Geometry: serialized forms by hand, boxes, doubtful cases; spoilt bytes lie in exact allocations, so that ASAN sees
 * a byte read outside. What PostGIS answers, test/geometry.py asks. */
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "rt/geometry.h"
#include "turbine/functions.h"
#include "turbine/point_column.h"

extern "C" {
uint32_t rt_point_of_coordinates(uint32_t, double, double, double, double, char*);
void rt_geometry_point2(double, double, char*, const char**, uint32_t*);
void rt_geometry_point4(double, double, double, double, char*, const char**, uint32_t*);
void rt_geometry_set_srid(const char*, uint32_t, int32_t, char*, const char**, uint32_t*, uint32_t*);
void rt_geometry_snap(const char*, uint32_t, double, double, double, double, char*, const char**, uint32_t*, uint32_t*);
int32_t rt_geometry_srid(const char*, uint32_t);
double rt_geometry_x(const char*, uint32_t, bool*, uint32_t*);
double rt_geometry_z(const char*, uint32_t, bool*, uint32_t*);
double rt_geometry_m(const char*, uint32_t, bool*, uint32_t*);
double rt_geometry_area(const char*, uint32_t, uint32_t*);
double rt_geometry_length(const char*, uint32_t, uint32_t*);
bool rt_geometry_contains(const char*, uint32_t, const char*, uint32_t, uint32_t*);
bool rt_geometry_covers(const char*, uint32_t, const char*, uint32_t, uint32_t*);
bool rt_geometry_intersects(const char*, uint32_t, const char*, uint32_t, uint32_t*);
bool rt_geometry_disjoint(const char*, uint32_t, const char*, uint32_t, uint32_t*);
bool rt_geometry_meets_not(const char*, uint32_t, const char*, uint32_t, uint32_t*);
bool rt_geometry_equals(const char*, uint32_t, const char*, uint32_t, uint32_t*);
bool rt_geometry_boxes_overlap(const char*, uint32_t, const char*, uint32_t, uint32_t*);
bool rt_geometry_box_contains(const char*, uint32_t, const char*, uint32_t, uint32_t*);
double rt_geometry_distance(const char*, uint32_t, const char*, uint32_t, bool*, uint32_t*);
bool rt_geometry_dwithin(const char*, uint32_t, const char*, uint32_t, double, uint32_t*);
bool rt_geometry_dwithin_by_bounds(const char*, uint32_t, const char*, uint32_t, double, uint32_t*);
}

namespace {

namespace geo = turbine::rt::geometry;
using Coordinates = std::vector<std::pair<double, double>>;

template <class T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void append_all(std::string& bytes, const Coordinates& coordinates) {
  for (auto [x, y] : coordinates) {
    append(bytes, x);
    append(bytes, y);
  }
}

/* SRID, flags, and the box that PostGIS stores with all but small shapes. */
std::string serialized_head(int srid, uint8_t flags, const Coordinates* of_box) {
  std::string bytes{static_cast<char>(srid >> 16), static_cast<char>(srid >> 8), static_cast<char>(srid),
                    static_cast<char>(flags | (of_box ? geo::kHasBox : 0))};
  if (!of_box) return bytes;
  geo::Box box{INFINITY, -INFINITY, INFINITY, -INFINITY};
  for (auto [x, y] : *of_box) {
    box.xmin = std::min(box.xmin, geo::round_down(x));
    box.xmax = std::max(box.xmax, geo::round_up(x));
    box.ymin = std::min(box.ymin, geo::round_down(y));
    box.ymax = std::max(box.ymax, geo::round_up(y));
  }
  append(bytes, box);
  return bytes;
}

std::string serialized_point(double x, double y, int srid = 0, uint8_t form = geo::kForm2) {
  std::string bytes = serialized_head(srid, form, nullptr);
  append(bytes, uint32_t{geo::kPoint});
  append(bytes, uint32_t{1});
  append_all(bytes, {{x, y}});
  return bytes;
}

std::string serialized_line(const Coordinates& line) {
  std::string bytes = serialized_head(0, geo::kForm2, line.size() > 2 ? &line : nullptr);
  append(bytes, uint32_t{geo::kLine});
  append(bytes, static_cast<uint32_t>(line.size()));
  append_all(bytes, line);
  return bytes;
}

std::string serialized_polygon(const std::vector<Coordinates>& rings, int srid = 0, uint8_t form = geo::kForm2) {
  std::string bytes = serialized_head(srid, form, rings.data());
  append(bytes, uint32_t{geo::kPolygon});
  append(bytes, static_cast<uint32_t>(rings.size()));
  for (const Coordinates& ring : rings) append(bytes, static_cast<uint32_t>(ring.size()));
  if (rings.size() % 2) append(bytes, uint32_t{0});
  for (const Coordinates& ring : rings) append_all(bytes, ring);
  return bytes;
}

enum class Answer { kNo, kYes, kDoubt };

using Predicate = bool (*)(const char*, uint32_t, const char*, uint32_t, uint32_t*);

Answer ask(Predicate predicate, const std::string& a, const std::string& b) {
  uint32_t errors = 0;
  const bool result = predicate(a.data(), static_cast<uint32_t>(a.size()), b.data(), static_cast<uint32_t>(b.size()),
                                &errors);
  return errors ? Answer::kDoubt : result ? Answer::kYes : Answer::kNo;
}

const Coordinates kSquare = {{0, 0}, {4, 0}, {4, 4}, {0, 4}, {0, 0}};
const Coordinates kHole = {{1, 1}, {1, 2}, {2, 2}, {2, 1}, {1, 1}};

/* Boxes decide shapes that are apart; all that is near is PostgreSQL's. */
TEST(Geometry, PairsThatGeosDecides) {
  const std::string square = serialized_polygon({kSquare}),
                    other = serialized_polygon({{{5, 0}, {9, 0}, {9, 4}, {5, 0}}});
  const std::string touching = serialized_polygon({{{4, 0}, {9, 0}, {9, 4}, {4, 0}}});
  const std::string empty = serialized_polygon({}), elsewhere = serialized_polygon({kSquare}, 4326);
  const std::string nan = serialized_line({{0, 0}, {NAN, 1}}), far = serialized_line({{0, 0}, {1e39, 1}});
  EXPECT_EQ(ask(rt_geometry_meets_not, square, other), Answer::kNo);
  EXPECT_EQ(ask(rt_geometry_meets_not, square, touching), Answer::kDoubt);
  EXPECT_EQ(ask(rt_geometry_meets_not, square, square), Answer::kDoubt);
  EXPECT_EQ(ask(rt_geometry_meets_not, square, empty), Answer::kNo);
  EXPECT_EQ(ask(rt_geometry_meets_not, square, elsewhere), Answer::kDoubt);
  EXPECT_EQ(ask(rt_geometry_meets_not, square, nan), Answer::kDoubt);
  EXPECT_EQ(ask(rt_geometry_meets_not, other, far), Answer::kDoubt);
  EXPECT_EQ(ask(rt_geometry_equals, square, other), Answer::kNo);
  EXPECT_EQ(ask(rt_geometry_equals, square, square), Answer::kDoubt);
  EXPECT_EQ(ask(rt_geometry_equals, empty, empty), Answer::kYes);
  EXPECT_EQ(ask(rt_geometry_equals, square, empty), Answer::kDoubt);
  EXPECT_EQ(ask(rt_geometry_equals, square, elsewhere), Answer::kDoubt);
  EXPECT_EQ(ask(rt_geometry_equals, square, nan), Answer::kDoubt);
  // The least sides alone differ.
  EXPECT_EQ(ask(rt_geometry_equals, square, serialized_polygon({{{1, 0}, {4, 0}, {4, 4}, {1, 0}}})), Answer::kDoubt);
}

TEST(Geometry, PointsAreBuiltAsPostgisStoresThem) {
  alignas(8) char place[TB_BUILT_BYTES];
  const char* bytes;
  uint32_t length;
  rt_geometry_point2(1.5, -2, place, &bytes, &length);
  EXPECT_EQ(std::string(bytes, length), serialized_point(1.5, -2));
  rt_geometry_point4(1, 2, 3, 4, place, &bytes, &length);
  uint32_t errors = 0;
  bool null = false;
  EXPECT_EQ(rt_geometry_z(bytes, length, &null, &errors), 3);
  EXPECT_EQ(rt_geometry_m(bytes, length, &null, &errors), 4);
  EXPECT_FALSE(null || errors);
}

TEST(Geometry, PointsOfCoordinatesAreReadBack) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const uint32_t flags : {0, TB_GEOMETRY_Z, TB_GEOMETRY_M, TB_GEOMETRY_Z | TB_GEOMETRY_M}) {
    alignas(8) char place[TB_BUILT_BYTES];
    const uint32_t form = tb_point_form(999999, flags, 0);
    const double coordinates[] = {1.5, -0.0, nan, 4};
    const uint32_t length = rt_point_of_coordinates(form, 1.5, -0.0, nan, 4, place);
    EXPECT_EQ(length, TB_POINT_HEAD + 8 * tb_point_dimensions(form));
    EXPECT_EQ(rt_geometry_srid(place, length), 999999);
    for (uint32_t i = 0; i < tb_point_dimensions(form); i++) {
      double value;
      ASSERT_TRUE(tb_point_read(reinterpret_cast<uint8_t*>(place), length, tb_point_form(999999, flags, i), &value));
      EXPECT_EQ(std::bit_cast<uint64_t>(value), std::bit_cast<uint64_t>(coordinates[i]));
    }
    EXPECT_EQ(rt_point_of_coordinates(form, nan, nan, 0, 0, place), TB_POINT_HEAD) << "it is empty";
    double value = 0;
    EXPECT_TRUE(tb_point_read(reinterpret_cast<uint8_t*>(place), TB_POINT_HEAD, form, &value) && value != value);
  }
  // Other geometries are no such points.
  double value;
  const auto reads = [&](const std::string& bytes, uint32_t form) {
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[bytes.size()]);
    memcpy(exact.get(), bytes.data(), bytes.size());
    return tb_point_read(exact.get(), static_cast<uint32_t>(bytes.size()), form, &value) != 0;
  };
  const uint32_t form = tb_point_form(4326, 0, 1);
  const std::string point = serialized_point(7, 8, 4326);
  EXPECT_TRUE(reads(point, form) && value == 8);
  EXPECT_TRUE(reads(serialized_point(7, 8, 4326, 0), form)) << "form 1";
  EXPECT_FALSE(reads(serialized_point(7, 8, 3857), form));
  EXPECT_FALSE(reads(point, tb_point_form(4326, TB_GEOMETRY_Z, 1)));
  EXPECT_FALSE(reads(serialized_point(nan, nan, 4326), form)) << "it would come back empty";
  EXPECT_FALSE(reads(serialized_polygon({kSquare}, 4326), form));
  for (size_t length = 0; length < point.size(); length++) EXPECT_FALSE(reads(point.substr(0, length), form)) << length;
}

TEST(Geometry, BothFormsAreRead) {
  for (uint8_t form : {uint8_t{0}, geo::kForm2}) {
    const std::string point = serialized_point(7, 8, 4326, form);
    uint32_t errors = 0;
    bool null = false;
    EXPECT_EQ(rt_geometry_x(point.data(), static_cast<uint32_t>(point.size()), &null, &errors), 7);
    EXPECT_EQ(rt_geometry_srid(point.data(), static_cast<uint32_t>(point.size())), 4326);
    rt_geometry_z(point.data(), static_cast<uint32_t>(point.size()), &null, &errors);
    EXPECT_TRUE(null && !errors);
    EXPECT_EQ(ask(rt_geometry_contains, serialized_polygon({kSquare}, 4326, form), serialized_point(3, 3, 4326)),
              Answer::kYes);
  }
}

TEST(Geometry, BoxesAreRoundedOutwards) {
  const float above = std::nextafter(1.0f, 2.0f);
  EXPECT_EQ(geo::round_down(1 + 1e-12), 1.0f);
  EXPECT_EQ(geo::round_up(1 + 1e-12), above);
  EXPECT_EQ(geo::round_up(-1 - 1e-12), -1.0f);
  EXPECT_EQ(geo::round_down(-1 - 1e-12), -above);
  EXPECT_EQ(geo::round_down(-1e-300), -std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(geo::round_up(1e-300), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(geo::round_down(1e300), std::numeric_limits<float>::max());
  EXPECT_EQ(geo::round_up(-INFINITY), -std::numeric_limits<float>::max());
  EXPECT_TRUE(std::isnan(geo::round_down(NAN)) && std::isnan(geo::round_up(NAN)));
}

TEST(Geometry, BoundariesBelongToSomePredicates) {
  const std::string polygon = serialized_polygon({kSquare, kHole});
  const std::pair<std::pair<double, double>, std::pair<Answer, Answer>> cases[] = {
      {{3, 3}, {Answer::kYes, Answer::kYes}},   {{0, 2}, {Answer::kNo, Answer::kYes}},
      {{4, 4}, {Answer::kNo, Answer::kYes}},    {{1, 1.5}, {Answer::kNo, Answer::kYes}},
      {{1.5, 1.5}, {Answer::kNo, Answer::kNo}}, {{5, 5}, {Answer::kNo, Answer::kNo}}};
  for (const auto& [at, expected] : cases) {
    const std::string point = serialized_point(at.first, at.second);
    EXPECT_EQ(ask(rt_geometry_contains, polygon, point), expected.first);
    EXPECT_EQ(ask(rt_geometry_covers, polygon, point), expected.second);
    EXPECT_EQ(ask(rt_geometry_intersects, point, polygon), expected.second);
  }
}

TEST(Geometry, WhatPostgisAnswersInTwoWaysIsDoubtful) {
  const std::string point = serialized_point(2, 2);
  // Two SRIDs; a ring with a NaN, one of a point; a segment that an index does not know.
  EXPECT_EQ(ask(rt_geometry_contains, serialized_polygon({kSquare}, 1), point), Answer::kDoubt);
  EXPECT_EQ(ask(rt_geometry_contains, serialized_polygon({kSquare, {{1, 1}, {2, NAN}, {2, 1}, {1, 1}}}), point),
            Answer::kDoubt);
  EXPECT_EQ(ask(rt_geometry_contains, serialized_polygon({kSquare, {{2, 2}}}), point), Answer::kDoubt);
  EXPECT_EQ(
      ask(rt_geometry_contains, serialized_polygon({{{0, 0}, {4, 0}, {2, 2}, {2 + 1e-15, 2}, {0, 4}, {0, 0}}}), point),
      Answer::kDoubt);
  // GEOS raises errors for polygons that are not valid.
  EXPECT_EQ(ask(rt_geometry_disjoint, serialized_polygon({kSquare}), point), Answer::kDoubt);
  EXPECT_EQ(ask(rt_geometry_disjoint, serialized_polygon({kSquare}), serialized_point(9, 9)), Answer::kYes);
}

TEST(Geometry, PointsOnLines) {
  const std::string line = serialized_line({{0, 0}, {3, 1}, {6, 2}});
  EXPECT_EQ(ask(rt_geometry_contains, line, serialized_point(1.5, 0.5)), Answer::kYes);
  EXPECT_EQ(ask(rt_geometry_contains, line, serialized_point(0, 0)), Answer::kNo);
  EXPECT_EQ(ask(rt_geometry_covers, line, serialized_point(0, 0)), Answer::kYes);
  EXPECT_EQ(ask(rt_geometry_intersects, line, serialized_point(1, 1)), Answer::kNo);
  EXPECT_EQ(ask(rt_geometry_disjoint, line, serialized_point(4, 1)), Answer::kYes);
  // Where a line crosses itself, GEOS finds the rounded intersection on it.
  const std::string crossing = serialized_line({{0, 0}, {1, 0.1}, {1, 0}, {0, 0.3}});
  EXPECT_EQ(ask(rt_geometry_intersects, crossing, serialized_point(0.75, 0.075)), Answer::kDoubt);
}

TEST(Geometry, SnapsAndSetsSridsOfPoints) {
  alignas(8) char place[TB_BUILT_BYTES];
  const std::string point = serialized_point(1.26, -1.26);
  const char* bytes;
  uint32_t length, errors = 0;
  rt_geometry_snap(point.data(), static_cast<uint32_t>(point.size()), 0, 0, 0.5, 0, place, &bytes, &length, &errors);
  EXPECT_EQ(std::string(bytes, length), serialized_point(1.5, -1.26));
  rt_geometry_set_srid(point.data(), static_cast<uint32_t>(point.size()), 999999, place, &bytes, &length, &errors);
  EXPECT_EQ(rt_geometry_srid(bytes, length), 999999);
  EXPECT_EQ(errors, 0u);
  rt_geometry_set_srid(point.data(), static_cast<uint32_t>(point.size()), -1, place, &bytes, &length, &errors);
  EXPECT_NE(errors, 0u);
}

/* ---- ST_DWithin, as several versions of PostGIS have it ---- */

using Within = bool (*)(const char*, uint32_t, const char*, uint32_t, double, uint32_t*);

Answer ask(Within within, const std::string& a, const std::string& b, double tolerance) {
  uint32_t errors = 0;
  const bool result = within(a.data(), static_cast<uint32_t>(a.size()), b.data(), static_cast<uint32_t>(b.size()),
                             tolerance, &errors);
  return errors ? Answer::kDoubt : result ? Answer::kYes : Answer::kNo;
}

Answer ask_bounds(const std::string& a, const std::string& b, double tolerance) {
  const Answer answer = ask(rt_geometry_dwithin_by_bounds, a, b, tolerance);
  EXPECT_EQ(answer, ask(rt_geometry_dwithin_by_bounds, b, a, tolerance));
  return answer;
}

struct Position {
  double x, y;
};

/* A version's distance of a point and a line, written down once more. */
double distance_of_version(double version, Position p, const Coordinates& line) {
  const auto to = [&](double x, double y) { return std::sqrt((x - p.x) * (x - p.x) + (y - p.y) * (y - p.y)); };
  double least = to(line[0].first, line[0].second);
  for (size_t i = 1; i < line.size(); i++) {
    const auto [ax, ay] = line[i - 1];
    const auto [bx, by] = line[i];
    const double dx = bx - ax, dy = by - ay, square = dx * dx + dy * dy;
    const double r = ((p.x - ax) * dx + (p.y - ay) * dy) / square;
    double distance;
    if ((dx == 0 && dy == 0) || r < 0)
      distance = to(ax, ay);
    else if (r >= 1)
      distance = to(bx, by);
    else if ((ay - p.y) * dx == (ax - p.x) * dy)
      distance = 0;
    else if (version == 3.3 || (version == 3.6 && (dx == 0 || dy == 0)))
      distance = to(ax + r * dx, ay + r * dy);
    else
      distance = std::fabs(((ay - p.y) * dx - (ax - p.x) * dy) / square) * std::sqrt(square);
    if (distance < least) least = distance;
  }
  return least;
}

__extension__ using Quad = __float128;

Quad root_of(Quad square) {
  if (square == 0) return 0;
  Quad root = std::sqrt(static_cast<long double>(square));
  for (int i = 0; i < 2; i++) root = (root + square / root) / 2;
  return root;
}

/* The distance itself, to 100 bits. */
Quad true_distance(Position p, const Coordinates& line) {
  Quad least = 0;
  for (size_t i = 1; i < line.size(); i++) {
    const Quad ax = line[i - 1].first, ay = line[i - 1].second, dx = line[i].first - ax, dy = line[i].second - ay;
    const Quad x = p.x - ax, y = p.y - ay, square = dx * dx + dy * dy;
    Quad r = square == 0 ? Quad{0} : (x * dx + y * dy) / square;
    r = r < 0 ? Quad{0} : r > 1 ? Quad{1} : r;
    const Quad distance = (x - r * dx) * (x - r * dx) + (y - r * dy) * (y - r * dy);
    if (i == 1 || distance < least) least = distance;
  }
  return root_of(least);
}

/* Coordinates of one kind, as random_geometries.py has them. */
class Numbers {
 public:
  explicit Numbers(std::mt19937_64& random) : random_(random), kind_(random() % 5) {
    size_ = std::pow(10, static_cast<int>(random() % 61) - 30);
    offset_ = std::array{139.7, 35.6, 1e6, 1e-3}[random() % 4];
  }
  double next() {
    const double fraction = std::uniform_real_distribution<double>(-1, 1)(random_);
    const auto whole = [&](int most) { return static_cast<int>(random_() % (2 * most + 1)) - most; };
    switch (kind_) {
      case 0: return whole(9);
      case 1: return whole(50) * 0.1;
      case 2: return 180 * fraction;
      case 3: return size_ * fraction;
      default: return offset_ + whole(9) * std::pow(2, -static_cast<int>(random_() % 51));
    }
  }

 private:
  std::mt19937_64& random_;
  uint64_t kind_;
  double size_, offset_;
};

/* Near the distance, where versions differ, and elsewhere. */
double some_tolerance(std::mt19937_64& random, double distance) {
  switch (random() % 6) {
    case 0: return 0;
    case 1: return std::round(distance * 10) / 10;
    case 2: return distance * std::uniform_real_distribution<double>(0, 2)(random);
    default:
      double near = distance;
      for (int steps = static_cast<int>(random() % 9) - 4; steps != 0; steps += steps < 0 ? 1 : -1)
        near = std::nextafter(near, steps < 0 ? 0 : INFINITY);
      return near;
  }
}

/* What is decided is every version's answer; what is not lies within rounding of coordinates. */
TEST(Geometry, BoundsOfDistancesHoldForAllVersions) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200000; round++) {
    Numbers numbers(random);
    const Position p{numbers.next(), numbers.next()};
    Coordinates line(2 + random() % 3);
    double size = std::max(std::fabs(p.x), std::fabs(p.y));
    for (auto& [x, y] : line) {
      x = numbers.next();
      y = random() % 4 == 0 ? line[0].second : numbers.next();
      size = std::max({size, std::fabs(x), std::fabs(y)});
    }
    const std::array distances{distance_of_version(3.3, p, line), distance_of_version(3.5, p, line),
                               distance_of_version(3.6, p, line)};
    const double tolerance = some_tolerance(random, distances[random() % distances.size()]);
    const std::string point = serialized_point(p.x, p.y), shape = serialized_line(line);
    const Answer answer = ask_bounds(point, shape, tolerance);
    const Quad truth = true_distance(p, line), off = truth > tolerance ? truth - tolerance : tolerance - truth;
    if (answer == Answer::kDoubt) {
      EXPECT_LT(off, Quad{0x1p-48 * size}) << "round " << round;
      continue;
    }
    for (const double distance : distances)
      EXPECT_EQ(answer == Answer::kYes, tolerance >= distance) << "round " << round;
    EXPECT_EQ(answer, ask(rt_geometry_dwithin, point, shape, tolerance)) << "round " << round;
    EXPECT_TRUE(off <= 0x1p-48 * size || (answer == Answer::kYes) == (truth < tolerance)) << "round " << round;
  }
}

/* Squares and points on a grid, with whole steps as tolerance. How many pairs whose distance is the tolerance, beside
 * an edge and beside a corner, are left? */
TEST(Geometry, BoundsDecideRegularPairs) {
  for (const double step : {1.0, 0.25, 0.1, 0.01}) {
    int pairs = 0, beside_edge = 0, beside_corner = 0;
    for (int side = 2; side <= 500; side++)
      for (int reach = 1; reach <= 20; reach++) {
        const double edge = side * step;
        const std::string square = serialized_polygon({{{0, 0}, {edge, 0}, {edge, edge}, {0, edge}, {0, 0}}});
        const auto is_left = [&](int x, int y) {
          return ask_bounds(serialized_point(x * step, y * step), square, reach * step) == Answer::kDoubt;
        };
        pairs++;
        beside_edge += is_left(side / 2, -reach);
        beside_corner += is_left(-reach, 0) + is_left(-3 * reach, -4 * reach);
        EXPECT_FALSE(is_left(side / 2, -reach - 1) || is_left(side / 2, 1 - reach));
      }
    std::printf("step %g: of %d pairs beside an edge, %d are undecided\n", step, pairs, beside_edge);
    EXPECT_LT(beside_edge, pairs / 5);
    EXPECT_EQ(beside_corner, 0);
  }
}

TEST(Geometry, WhatBoundsLeaveToPostgis) {
  const std::string square = serialized_polygon({kSquare}), holed = serialized_polygon({kSquare, kHole});
  const std::string line = serialized_line({{0, 0}, {4, 0}, {4, 4}});
  // Within, on the edge, on a corner, in a hole.
  EXPECT_EQ(ask_bounds(serialized_point(3, 3), square, 0), Answer::kYes);
  EXPECT_EQ(ask_bounds(serialized_point(4, 1), square, 0), Answer::kYes);
  EXPECT_EQ(ask_bounds(serialized_point(4, 4), square, 0), Answer::kYes);
  EXPECT_EQ(ask_bounds(serialized_point(5, 4), square, 0), Answer::kNo);
  EXPECT_EQ(ask_bounds(serialized_point(1.5, 1.5), holed, 0.25), Answer::kNo);
  EXPECT_EQ(ask_bounds(serialized_point(1.5, 1.5), holed, 0.5), Answer::kYes);
  EXPECT_EQ(ask_bounds(serialized_point(7, 8), square, 5), Answer::kYes);
  EXPECT_EQ(ask_bounds(serialized_point(7, 8), square, std::nextafter(5, 0)), Answer::kNo);
  EXPECT_EQ(ask_bounds(serialized_point(1, 1), line, 1), Answer::kYes);
  // 1 / 49 * 49 is less than 1 in 3.5.
  const std::string wide = serialized_line({{0, 0}, {49, 0}});
  EXPECT_EQ(ask_bounds(serialized_point(7, 1), wide, 1), Answer::kYes);
  EXPECT_EQ(ask_bounds(serialized_point(7, 1), wide, std::nextafter(1, 0)), Answer::kDoubt);
  EXPECT_EQ(ask_bounds(serialized_point(7, 1), wide, 0.9999999999999997), Answer::kNo);
  // Tolerances
  EXPECT_EQ(ask_bounds(serialized_point(5, 5), square, -1), Answer::kDoubt) << "an error";
  EXPECT_EQ(ask_bounds(serialized_point(5, 5), square, NAN), Answer::kDoubt);
  EXPECT_EQ(ask_bounds(serialized_point(5, 5), square, INFINITY), Answer::kYes);
  // Nothing to measure
  const std::string none = serialized_polygon({});
  EXPECT_EQ(ask_bounds(serialized_point(5, 5), none, 1e30), Answer::kNo);
  EXPECT_EQ(ask_bounds(serialized_point(5, 5), none, INFINITY), Answer::kDoubt);
  EXPECT_EQ(ask_bounds(serialized_point(NAN, 5), square, 1), Answer::kDoubt);
  EXPECT_EQ(ask_bounds(serialized_point(5, -INFINITY), square, 1), Answer::kDoubt);
  EXPECT_EQ(ask_bounds(serialized_point(5, 5, 4326), square, 1), Answer::kDoubt) << "an error";
  EXPECT_EQ(ask_bounds(serialized_point(9, 9), serialized_polygon({{{0, 0}, {4, 0}, {4, 4}, {0, 1e-13}}}), 1),
            Answer::kDoubt)
      << "versions differ about rings that are nearly closed";
  EXPECT_EQ(ask_bounds(square, square, 1), Answer::kDoubt);
  // Squares that have no number: PostGIS finds no distance.
  EXPECT_EQ(ask_bounds(serialized_point(1e300, 1), serialized_line({{-1e300, 0}, {1e300, 0}}), 1), Answer::kNo);
  EXPECT_EQ(ask_bounds(serialized_point(5e-324, 0), serialized_line({{0, 0}, {1e-170, 0}}), 1), Answer::kYes);
  // Parts behind an empty one
  std::string parts = serialized_head(0, geo::kForm2, &kSquare);
  append(parts, uint32_t{geo::kMultiPoint});
  append(parts, uint32_t{3});
  parts += serialized_point(9, 9).substr(geo::kHeader);
  append(parts, uint32_t{geo::kPoint});
  append(parts, uint32_t{0});
  parts += serialized_point(1, 1).substr(geo::kHeader);
  EXPECT_EQ(ask_bounds(serialized_point(9, 8), parts, 1), Answer::kYes);
  EXPECT_EQ(ask_bounds(serialized_point(1, 2), parts, 1), Answer::kDoubt);
}

/* All bodies over one pair. */
void call_all(const std::string& a, const std::string& b) {
  const std::unique_ptr<char[]> left(new char[a.size()]), right(new char[b.size()]);
  memcpy(left.get(), a.data(), a.size());
  memcpy(right.get(), b.data(), b.size());
  const auto left_size = static_cast<uint32_t>(a.size()), right_size = static_cast<uint32_t>(b.size());
  alignas(8) char place[TB_BUILT_BYTES];
  const char* bytes;
  uint32_t length, errors = 0;
  bool null = false;
  for (Predicate predicate : {rt_geometry_contains, rt_geometry_covers, rt_geometry_intersects, rt_geometry_disjoint,
                              rt_geometry_boxes_overlap, rt_geometry_box_contains}) {
    predicate(left.get(), left_size, right.get(), right_size, &errors);
    predicate(right.get(), right_size, left.get(), left_size, &errors);
  }
  rt_geometry_distance(left.get(), left_size, right.get(), right_size, &null, &errors);
  rt_geometry_dwithin(right.get(), right_size, left.get(), left_size, 1, &errors);
  rt_geometry_dwithin_by_bounds(right.get(), right_size, left.get(), left_size, 1, &errors);
  rt_geometry_area(left.get(), left_size, &errors);
  rt_geometry_length(left.get(), left_size, &errors);
  rt_geometry_x(right.get(), right_size, &null, &errors);
  rt_geometry_m(right.get(), right_size, &null, &errors);
  rt_geometry_srid(left.get(), left_size);
  rt_geometry_set_srid(left.get(), left_size, 7, place, &bytes, &length, &errors);
  EXPECT_LE(length, left_size);
  rt_geometry_snap(right.get(), right_size, 0, 0, 1, 1, place, &bytes, &length, &errors);
  EXPECT_LE(length, right_size);
}

TEST(Geometry, SpoiltBytesAreReadWithinTheirBounds) {
  std::mt19937_64 random(7);
  const std::string line = serialized_line({{0, 0}, {3, 1}, {6, 2}});
  std::string several = serialized_head(0, geo::kForm2, &kSquare);
  append(several, uint32_t{geo::kMultiPolygon});
  append(several, uint32_t{2});
  for (int i = 0; i < 2; i++) several += serialized_polygon({kSquare, kHole}).substr(geo::kHeader + sizeof(geo::Box));
  const std::string shapes[] = {serialized_polygon({kSquare, kHole}), line, several, serialized_point(2, 2)};
  for (int round = 0; round < 40000; round++) {
    std::string a = shapes[random() % std::size(shapes)], b = serialized_point(2, 2);
    std::string& spoilt = random() % 4 ? a : b;
    if (random() % 2) spoilt.resize(random() % (spoilt.size() + 1));
    for (uint64_t n = random() % 4; n > 0 && !spoilt.empty(); n--) {
      // Headers and counts are at the front.
      const size_t at = random() % (random() % 2 ? spoilt.size() : std::min<size_t>(spoilt.size(), 48));
      spoilt[at] = static_cast<char>(random() % 3 ? random() % 9 : random());
    }
    call_all(a, b);
  }
}

}  // namespace
