/*
 * grid_edges_test.cc - points have the same answer of the edges in their cell as of the whole
 * shape: on edges and corners, next to them, at heights of corners, near borders of cells.
 */
#include "rt/grid_edges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "turbine/grid.h"

extern "C" {
int32_t rt_grid_cells(const char*, uint32_t, double, double, uint32_t*);
int64_t rt_grid_cell(const char*, uint32_t, double, double, int32_t);
int64_t rt_grid_point(const char*, uint32_t, double, uint32_t*);
const char* rt_grid_edges(const char*, uint32_t, double, double, int32_t, uint32_t*);
void rt_grid_store_edges(TbTextView*, uint8_t*, uint64_t, const char*, uint32_t, double, double, int32_t);
bool rt_grid_contains(const char*, uint32_t, const char*, uint32_t, uint32_t*);
bool rt_grid_covers(const char*, uint32_t, const char*, uint32_t, uint32_t*);
bool rt_grid_intersects(const char*, uint32_t, const char*, uint32_t, uint32_t*);
bool rt_geometry_contains(const char*, uint32_t, const char*, uint32_t, uint32_t*);
bool rt_geometry_covers(const char*, uint32_t, const char*, uint32_t, uint32_t*);
bool rt_geometry_intersects(const char*, uint32_t, const char*, uint32_t, uint32_t*);
}

namespace {

namespace geo = turbine::rt::geometry;

using Corner = std::pair<double, double>;
using Ring = std::vector<Corner>;
using Rings = std::vector<Ring>;
using EdgePredicate = bool (*)(const char*, uint32_t, const char*, uint32_t, uint32_t*);

constexpr int kAnswerOfNone = 2;

template <class T>
void put_value(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string shape_head(const std::vector<Rings>& polygons) {
  geo::Box box{INFINITY, -INFINITY, INFINITY, -INFINITY};
  for (const Rings& rings : polygons)
    for (const Ring& ring : rings)
      for (auto [x, y] : ring) {
        if (x != x || y != y) continue;
        box.xmin = std::min(box.xmin, geo::round_down(x));
        box.xmax = std::max(box.xmax, geo::round_up(x));
        box.ymin = std::min(box.ymin, geo::round_down(y));
        box.ymax = std::max(box.ymax, geo::round_up(y));
      }
  std::string bytes{0, 0, 0, static_cast<char>(geo::kForm2 | geo::kHasBox)};
  put_value(bytes, box);
  return bytes;
}

void put_polygon(std::string& bytes, const Rings& rings) {
  put_value(bytes, uint32_t{geo::kPolygon});
  put_value(bytes, static_cast<uint32_t>(rings.size()));
  for (const Ring& ring : rings) put_value(bytes, static_cast<uint32_t>(ring.size()));
  if (rings.size() % 2) put_value(bytes, uint32_t{0});
  for (const Ring& ring : rings)
    for (auto [x, y] : ring) {
      put_value(bytes, x);
      put_value(bytes, y);
    }
}

std::string shape_of(const std::vector<Rings>& polygons) {
  std::string bytes = shape_head(polygons);
  if (polygons.size() > 1) {
    put_value(bytes, uint32_t{geo::kMultiPolygon});
    put_value(bytes, static_cast<uint32_t>(polygons.size()));
  }
  for (const Rings& rings : polygons) put_polygon(bytes, rings);
  return bytes;
}

std::string point_at(double x, double y) {
  std::string bytes{0, 0, 0, static_cast<char>(geo::kForm2)};
  put_value(bytes, uint32_t{geo::kPoint});
  put_value(bytes, uint32_t{1});
  put_value(bytes, x);
  put_value(bytes, y);
  return bytes;
}

/* 0, 1, or kAnswerOfNone. */
int answer_of(EdgePredicate predicate, const std::string& shape, const std::string& point) {
  uint32_t errors = 0;
  const bool result = predicate(shape.data(), static_cast<uint32_t>(shape.size()), point.data(),
                                static_cast<uint32_t>(point.size()), &errors);
  return errors ? kAnswerOfNone : result;
}

/* The edges of each cell of the shape. */
struct EdgesByCell {
  std::map<int64_t, std::string> values;
  int reduced = 0;
  size_t bytes = 0;

  EdgesByCell(const std::string& shape, double size) {
    uint32_t errors = 0;
    const auto length = static_cast<uint32_t>(shape.size());
    const int32_t count = rt_grid_cells(shape.data(), length, 0, size, &errors);
    EXPECT_EQ(errors, 0u);
    for (int32_t i = 0; i < count; i++) {
      uint32_t found = 0;
      const char* whole = rt_grid_edges(shape.data(), length, 0, size, i, &found);
      std::string& value = values[rt_grid_cell(shape.data(), length, 0, size, i)];
      bytes += found;
      if (whole != nullptr) {
        EXPECT_EQ(whole, shape.data());
        EXPECT_EQ(found, length);
        value = shape;
        continue;
      }
      reduced++;
      TbTextView view;
      // What follows the value in an arena is another row's.
      const auto arena = std::make_unique<uint8_t[]>(found + size_t{16});
      rt_grid_store_edges(&view, arena.get(), 0, shape.data(), length, 0, size, i);
      EXPECT_EQ(view.length, found);
      EXPECT_TRUE(std::all_of(arena.get() + found, arena.get() + found + 16, [](uint8_t byte) { return byte == 0; }));
      value.assign(reinterpret_cast<const char*>(arena.get()), found);
    }
  }
};

class EdgesTest : public testing::Test {
 protected:
  std::mt19937_64 random{7};

  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); }

  Ring star(double x, double y, double radius, int corners) {
    Ring ring;
    for (int i = 0; i < corners; i++) {
      const double angle = 2 * M_PI * i / corners, far = radius * uniform(0.3, 1);
      ring.emplace_back(x + far * std::cos(angle), y + far * std::sin(angle));
    }
    if (random() % 4 == 0) std::reverse(ring.begin(), ring.end());
    // On whole numbers edges are level or upright more often, and cross themselves.
    if (random() % 3 == 0)
      for (auto& [at_x, at_y] : ring) at_x = std::round(at_x), at_y = std::round(at_y);
    // Tiny edges, and some without length.
    if (random() % 4 == 0) ring.insert(ring.begin() + 1, {ring[0].first + uniform(0, 2e-12), ring[0].second});
    if (random() % 4 == 0) ring.insert(ring.begin() + 1, ring[1]);
    ring.push_back(ring[0]);
    return ring;
  }

  Rings polygon(double x, double y, double radius) {
    Rings rings = {star(x, y, radius, 3 + static_cast<int>(random() % 60))};
    for (uint64_t holes = random() % 3; holes > 0; holes--)
      rings.push_back(star(x + uniform(-0.3, 0.3) * radius, y + uniform(-0.3, 0.3) * radius, radius * 0.3,
                           3 + static_cast<int>(random() % 9)));
    return rings;
  }

  /* Points of interest of the shape, and next to them. */
  std::vector<Corner> points_of(const std::vector<Rings>& polygons, double size) {
    std::vector<Corner> points;
    for (const Rings& rings : polygons)
      for (const Ring& ring : rings)
        for (size_t i = 1; i < ring.size(); i++) {
          const auto [ax, ay] = ring[i - 1];
          const auto [bx, by] = ring[i];
          const double part = uniform(0, 1), x = ax + part * (bx - ax), y = ay + part * (by - ay);
          points.insert(points.end(), {{ax, ay},
                                       {(ax + bx) / 2, (ay + by) / 2},
                                       {x, y},
                                       {ax + uniform(-3, 3), ay},
                                       {ax, ay + uniform(-3, 3)},
                                       {std::floor(x / size) * size, y},
                                       {x, std::ceil(y / size) * size}});
        }
    const size_t count = points.size();
    for (size_t i = 0; i < count; i += 2) {
      const double towards = random() % 2 ? INFINITY : -INFINITY;
      points.emplace_back(std::nextafter(points[i].first, towards), points[i].second);
      points.emplace_back(points[i].first, std::nextafter(points[i].second, towards));
    }
    return points;
  }

  struct Counts {
    int asked = 0, held = 0, doubtful = 0;
  };

  void compare(const std::vector<Rings>& polygons, double size, Counts* counts) {
    static constexpr std::pair<EdgePredicate, EdgePredicate> kPredicates[] = {
        {rt_grid_contains, rt_geometry_contains},
        {rt_grid_covers, rt_geometry_covers},
        {rt_grid_intersects, rt_geometry_intersects}};
    const std::string shape = shape_of(polygons);
    const EdgesByCell edges(shape, size);
    for (auto [x, y] : points_of(polygons, size)) {
      const std::string point = point_at(x, y);
      uint32_t errors = 0;
      const auto found = edges.values.find(
          rt_grid_point(point.data(), static_cast<uint32_t>(point.size()), size, &errors));
      for (auto [of_cell, of_whole] : kPredicates) {
        const int wanted = answer_of(of_whole, shape, point);
        if (found == edges.values.end()) {
          ASSERT_EQ(wanted, 0);
          continue;
        }
        ASSERT_EQ(answer_of(of_cell, found->second, point), wanted)
            << std::hexfloat << x << " " << y << " of cells of " << size;
        counts->asked++;
        counts->held += wanted == 1;
        counts->doubtful += wanted == kAnswerOfNone;
      }
    }
  }
};

}  // namespace

TEST_F(EdgesTest, AnswersAreThoseOfWholeShapes) {
  Counts counts;
  for (int i = 0; i < 1500 && !HasFatalFailure(); i++) {
    std::vector<Rings> polygons;
    const double x = uniform(-20, 20), y = uniform(-20, 20);
    for (uint64_t parts = random() % 4 == 0 ? 3 : 1; parts > 0; parts--)
      polygons.push_back(polygon(x + uniform(-8, 8), y + uniform(-8, 8), uniform(1, 8)));
    compare(polygons, std::ldexp(1.0, static_cast<int>(random() % 7) - 2), &counts);
  }
  EXPECT_GT(counts.asked, 1000000);
  EXPECT_GT(counts.held, counts.asked / 5);
  EXPECT_GT(counts.doubtful, 0);
}

/* Sizes at which rounding matters: large offsets, and coordinates near the ends of doubles. */
TEST_F(EdgesTest, AnyScale) {
  Counts counts;
  for (int exponent : {-90, -30, -8, 8, 40, 90})
    for (double offset : {0.0, 1e3, -1e6})
      for (int i = 0; i < 40 && !HasFatalFailure(); i++) {
        const double scale = std::ldexp(1.0, exponent);
        Rings rings = polygon(0, 0, 5);
        for (Ring& ring : rings)
          for (auto& [x, y] : ring) x = (x + offset) * scale, y = (y - offset) * scale;
        compare({rings}, scale, &counts);
      }
  EXPECT_GT(counts.held, counts.asked / 5);
}

/* The point is beside an edge's lower end, and the heights differ by a denormal number. */
TEST_F(EdgesTest, HeightsThatUnderflow) {
  const double least = std::numeric_limits<double>::denorm_min();
  Counts counts;
  for (double height : {least, 3 * least, std::ldexp(1.0, -1000), std::ldexp(1.0, -499)})
    compare({{{{-3, 0}, {3, 0}, {3 + 1e-3, height}, {3, 2 * height}, {-3, 2 * height}, {-3, 0}}}}, 1, &counts);
  EXPECT_GT(counts.asked, 0);
}

TEST_F(EdgesTest, FewEdgesAreLeft) {
  Ring circle;
  for (int i = 0; i <= 1000; i++)
    circle.emplace_back(8 * std::cos(2 * M_PI * (i % 1000) / 1000), 8 * std::sin(2 * M_PI * (i % 1000) / 1000));
  const std::string shape = shape_of({{circle}});
  const EdgesByCell edges(shape, 1);
  EXPECT_EQ(edges.reduced, static_cast<int>(edges.values.size()));
  // 1000 edges in 324 cells: each edge is in one or two, and what is left of it there is a head.
  EXPECT_LT(edges.bytes, size_t{1000} * 2 * 16 + edges.values.size() * 72);
  // Wholly inside: a ring that counts once, of no edges.
  const std::string& inside = edges.values.at(tb_grid_key(1, 1));
  EXPECT_EQ(inside.size(), sizeof(geo::ReducedHead) + sizeof(geo::ReducedPolygon) + sizeof(geo::ReducedRing));
  EXPECT_EQ(answer_of(rt_grid_contains, inside, point_at(1.5, 1.5)), 1);
  // Wholly outside, in a corner of the box.
  EXPECT_EQ(edges.values.at(tb_grid_key(7, 7)).size(), sizeof(geo::ReducedHead));
}

/* What is not reduced stays as it is, and what is spoilt reads nothing outside. */
TEST_F(EdgesTest, WholeAndSpoilt) {
  const Ring square = {{0, 0}, {4, 0}, {4, 4}, {0, 4}, {0, 0}};
  const std::string small = shape_of({{square}});
  EXPECT_EQ(EdgesByCell(point_at(1, 1), 1).reduced, 0);
  std::string marked = small;
  marked[3] = static_cast<char>(marked[3] | geo::kReduced);
  uint32_t errors = 0;
  rt_grid_cells(marked.data(), static_cast<uint32_t>(marked.size()), 0, 1, &errors);
  EXPECT_NE(errors, 0u);
  // NaN, and a ring of one point: PostGIS decides.
  Ring holed = square;
  holed.insert(holed.begin() + 2, {NAN, 2});
  for (const Rings& rings : {Rings{holed}, Rings{star(2, 2, 2, 30), {{1, 1}}}}) {
    const EdgesByCell edges(shape_of({rings}), 1);
    const auto found = edges.values.find(tb_grid_key(2, 2));
    ASSERT_NE(found, edges.values.end());
    EXPECT_EQ(answer_of(rt_grid_contains, found->second, point_at(2.1, 2.1)), kAnswerOfNone);
  }
  // Any bytes with the mark, in an exact allocation.
  const std::string point = point_at(1.5, 1.5);
  const std::string of_cell = EdgesByCell(shape_of({{star(2, 2, 2, 40)}}), 1).values.at(tb_grid_key(1, 1));
  for (int i = 0; i < 20000; i++) {
    std::string bytes = of_cell.substr(0, random() % (of_cell.size() + 1));
    for (uint64_t k = random() % 4; k > 0 && bytes.size() > 24; k--)
      bytes[24 + random() % (bytes.size() - 24)] = static_cast<char>(random());
    const auto exact = std::make_unique<char[]>(bytes.size());
    std::memcpy(exact.get(), bytes.data(), bytes.size());
    rt_grid_contains(exact.get(), static_cast<uint32_t>(bytes.size()), point.data(),
                     static_cast<uint32_t>(point.size()), &errors);
  }
}
