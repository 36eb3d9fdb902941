/*
 * grid_test.cc - cells of points and boxes: whatever a box holds shares a cell with it, and
 * damaged bytes raise or are empty.
 */
#include "turbine/grid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "turbine/kernel.h"

extern "C" {
int32_t rt_grid_cells(const char* geometry, uint32_t length, double radius, double size, uint32_t* errors);
int64_t rt_grid_cell(const char* geometry, uint32_t length, double radius, double size, int32_t number);
int64_t rt_grid_point(const char* geometry, uint32_t length, double size, uint32_t* errors);
bool rt_grid_first(const char* outer, uint32_t outer_length, const char* inner, uint32_t inner_length, double radius,
                   double size, int32_t number);
bool rt_grid_whole(const char* edges, uint32_t length);
}

namespace {

template <class T>
void append_value(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string head(uint8_t flags) { return {0, 0, 0, static_cast<char>(flags | TB_GEOMETRY_FORM_2)}; }

std::string grid_point(double x, double y, uint8_t flags = 0) {
  std::string bytes = head(flags);
  if (flags & TB_GEOMETRY_EXTENDED) append_value(bytes, uint64_t{1});
  append_value(bytes, uint32_t{TB_SHAPE_POINT});
  append_value(bytes, uint32_t{1});
  append_value(bytes, x);
  append_value(bytes, y);
  if (flags & TB_GEOMETRY_Z) append_value(bytes, 7.0);
  return bytes;
}

std::string grid_polygon(float xmin, float xmax, float ymin, float ymax) {
  std::string bytes = head(TB_GEOMETRY_BOX);
  for (float side : {xmin, xmax, ymin, ymax}) append_value(bytes, side);
  append_value(bytes, uint32_t{3});
  append_value(bytes, uint32_t{1});
  return bytes;
}

struct GridCells {
  std::set<int64_t> keys;
  uint32_t errors = 0;
};

GridCells grid_cells(const std::string& bytes, double radius, double size) {
  GridCells result;
  const auto length = static_cast<uint32_t>(bytes.size());
  const int32_t count = rt_grid_cells(bytes.data(), length, radius, size, &result.errors);
  for (int32_t i = 0; i < count; i++) result.keys.insert(rt_grid_cell(bytes.data(), length, radius, size, i));
  EXPECT_EQ(result.keys.size(), static_cast<size_t>(count));
  return result;
}

int64_t grid_key(const std::string& bytes, double size, uint32_t* errors) {
  return rt_grid_point(bytes.data(), static_cast<uint32_t>(bytes.size()), size, errors);
}

}  // namespace

TEST(GridTest, PointsOfABoxShareACell) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> place(-200, 200), part(0, 1);
  for (int i = 0; i < 20000; i++) {
    const double scale = std::ldexp(1.0, static_cast<int>(random() % 60) - 30);
    const double x = place(random) * scale, y = place(random) * scale;
    const double w = part(random) * scale * 20, h = part(random) * scale * 20;
    const double size = std::ldexp(scale, static_cast<int>(random() % 10) - 5 + 4);
    const double radius = i % 3 == 0 ? part(random) * scale : 0;
    // The edges, beyond them by the radius, and inside.
    const double at_x = random() % 2 ? x - radius : x + w * part(random);
    const double at_y = random() % 2 ? y + h + radius : y + h * part(random);
    const GridCells cells = grid_cells(grid_polygon(static_cast<float>(x), static_cast<float>(x + w),
                                                    static_cast<float>(y), static_cast<float>(y + h)),
                                       radius, size);
    uint32_t errors = 0;
    const int64_t key = grid_key(grid_point(at_x, at_y), size, &errors);
    ASSERT_EQ(errors | cells.errors, 0u);
    ASSERT_TRUE(cells.keys.contains(key)) << x << " " << y << " " << w << " " << h << " " << size;
  }
}

TEST(GridTest, PlacesArePostgresqlsOfAllForms) {
  uint32_t errors = 0;
  const int64_t key = grid_key(grid_point(10.5, -3.25), 1, &errors);
  EXPECT_EQ(key, tb_grid_key(10, -4));
  EXPECT_EQ(grid_key(grid_point(10.5, -3.25, TB_GEOMETRY_Z), 1, &errors), key);
  EXPECT_EQ(grid_key(grid_point(10.5, -3.25, TB_GEOMETRY_EXTENDED), 1, &errors), key);
  EXPECT_EQ(errors, 0u);
  // A point as the inner side, and as the only member of a collection.
  EXPECT_EQ(grid_cells(grid_point(10.5, -3.25), 0, 1).keys, std::set<int64_t>{key});
  std::string nested = head(0);
  append_value(nested, uint32_t{TB_SHAPE_MULTIPOINT});
  append_value(nested, uint32_t{1});
  nested += grid_point(10.5, -3.25).substr(4);
  EXPECT_EQ(grid_cells(nested, 0, 1).keys, std::set<int64_t>{key});
  // A line of two points, which has no box.
  std::string line = head(0);
  append_value(line, uint32_t{TB_SHAPE_LINE});
  append_value(line, uint32_t{2});
  for (double v : {3.5, 0.5, 1.5, 2.5}) append_value(line, v);
  EXPECT_EQ(grid_cells(line, 0, 1).keys.size(), 9u);
}

TEST(GridTest, OutermostCells) {
  const double far = 1e300, infinite = std::numeric_limits<double>::infinity();
  uint32_t errors = 0;
  EXPECT_EQ(grid_key(grid_point(far, -infinite), 1, &errors), tb_grid_key(1 << 30, -(1 << 30)));
  EXPECT_EQ(errors, 0u);
  // Too many cells, the product of which would overflow 64 bits of a careless sum.
  EXPECT_EQ(grid_cells(grid_polygon(-3e38f, 3e38f, -3e38f, 3e38f), 0, 1).errors, uint32_t{TB_ERR_UNREPRESENTABLE});
  EXPECT_EQ(grid_cells(grid_polygon(0, 300, 0, 300), 0, 1).errors, uint32_t{TB_ERR_UNREPRESENTABLE});
  EXPECT_EQ(grid_cells(grid_polygon(0, 200, 0, 200), 0, 1).errors, 0u);
}

/* PostGIS clamps boxes to floats; whatever lies beyond them still finds its shape, or the shape is a verdict. */
TEST(GridTest, BeyondFloats) {
  const float most = std::numeric_limits<float>::max();
  const double size = std::ldexp(1.0, 98);
  uint32_t errors = 0;
  const int64_t key = grid_key(grid_point(1e150, 0), size, &errors);
  const GridCells cells = grid_cells(grid_polygon(most, most, 0, 1), 0, size);
  EXPECT_EQ(cells.errors | errors, 0u);
  EXPECT_TRUE(cells.keys.contains(key));
  EXPECT_NE(grid_cells(grid_polygon(0, most, 0, 1), 0, 1).errors, 0u);
  EXPECT_NE(grid_cells(grid_polygon(-most, 0, 0, 1), 0, size).errors, 0u);
}

TEST(GridTest, EmptyNanAndDamaged) {
  std::string empty = head(0);
  append_value(empty, uint32_t{TB_SHAPE_POINT});
  append_value(empty, uint32_t{0});
  uint32_t errors = 0;
  EXPECT_EQ(grid_key(empty, 1, &errors), TB_NO_CELL);
  EXPECT_EQ(errors, 0u);
  EXPECT_TRUE(grid_cells(empty, 0, 1).keys.empty());
  const double nan = std::nan("");
  for (const std::string& bytes : {grid_point(nan, 1), grid_point(1, nan)}) {
    errors = 0;
    grid_key(bytes, 1, &errors);
    EXPECT_EQ(errors, uint32_t{TB_ERR_UNREPRESENTABLE});
    EXPECT_NE(grid_cells(bytes, 0, 1).errors, 0u);
  }
  // A polygon is no point.
  errors = 0;
  grid_key(grid_polygon(0, 1, 0, 1), 1, &errors);
  EXPECT_NE(errors, 0u);
  // Whatever the bytes are, only they are read: in a block of their size, for the sanitizer.
  std::mt19937_64 random(2);
  for (int i = 0; i < 100000; i++) {
    std::vector<char> bytes(random() % 80);
    for (char& byte : bytes) byte = static_cast<char>(random() % 4 ? random() % 8 : random());
    const auto length = static_cast<uint32_t>(bytes.size());
    errors = 0;
    rt_grid_point(bytes.data(), length, 1, &errors);
    rt_grid_cells(bytes.data(), length, 0.5, 2, &errors);
    rt_grid_cell(bytes.data(), length, 0.5, 2, static_cast<int32_t>(random()));
  }
}

/* Two shapes meet in one cell: whatever number of cells they share, and in none if they share none. */
TEST(GridTest, ShapesMeetInOneCell) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<float> place(-20, 20), side(0, 9);
  int together = 0;
  for (int i = 0; i < 5000; i++) {
    const float x = place(random), y = place(random), to_x = place(random), to_y = place(random);
    const std::string outer = grid_polygon(x, x + side(random), y, y + side(random));
    const std::string inner = grid_polygon(to_x, to_x + side(random), to_y, to_y + side(random));
    const double radius = i % 3, size = std::ldexp(1.0, static_cast<int>(random() % 6) - 2);
    const GridCells of_outer = grid_cells(outer, 0, size), of_inner = grid_cells(inner, radius, size);
    uint32_t errors = 0;
    const int32_t count = rt_grid_cells(outer.data(), static_cast<uint32_t>(outer.size()), 0, size, &errors);
    int shared = 0, met = 0;
    for (int32_t n = 0; n < count; n++) {
      const int64_t key = rt_grid_cell(outer.data(), static_cast<uint32_t>(outer.size()), 0, size, n);
      if (of_inner.keys.count(key) == 0) continue;
      shared++;
      met += rt_grid_first(outer.data(), static_cast<uint32_t>(outer.size()), inner.data(),
                           static_cast<uint32_t>(inner.size()), radius, size, n);
    }
    ASSERT_EQ(met, shared > 0 ? 1 : 0) << i;
    together += shared > 1 ? 1 : 0;
  }
  EXPECT_GT(together, 200);
}

TEST(GridTest, ReducedShapesAreNotWhole) {
  std::string shape = grid_polygon(0, 1, 0, 1);
  EXPECT_TRUE(rt_grid_whole(shape.data(), static_cast<uint32_t>(shape.size())));
  shape[3] = static_cast<char>(shape[3] | 0x80);
  EXPECT_FALSE(rt_grid_whole(shape.data(), static_cast<uint32_t>(shape.size())));
  EXPECT_TRUE(rt_grid_whole(shape.data(), 0));
}
