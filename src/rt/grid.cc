/*
 * grid.cc - what generated code calls for TB_EXPR_GRID (turbine/grid.h).
 *
 * A row of a join's inner side calls rt_grid_cells once, then rt_grid_cell for each number
 * below it. A row of the outer side calls rt_grid_point once. What a grid cannot place is a
 * verdict, never a row that is passed over.
 */
#include "turbine/grid.h"

#include "rt/grid_edges.h"
#include "rt/rt.h"

using turbine::rt::geometry::kReduced;

namespace {

RT_INLINE TbExtent extent_of(const char* geometry, uint32_t length, TbBox* box) {
  int is_point;
  return tb_geometry_extent(reinterpret_cast<const uint8_t*>(geometry), length, &is_point, box);
}

}  // namespace

RT_EXPORT int32_t rt_grid_cells(const char* geometry, uint32_t length, double radius, double size, uint32_t* errors) {
  TbBox box = {0, 0, 0, 0};
  const TbExtent extent = extent_of(geometry, length, &box);
  const bool is_nan = box.xmin != box.xmin || box.ymin != box.ymin;
  // No geometry of PostGIS has the mark of reduced ones.
  const bool is_marked = length >= 4 && (geometry[3] & kReduced) != 0;
  if (extent == TB_EXTENT_UNKNOWN || is_nan || is_marked) {
    *errors |= TB_ERR_UNREPRESENTABLE;
    return 0;
  }
  if (extent == TB_EXTENT_EMPTY) return 0;
  const TbGridCells cells = tb_grid_cells(&box, radius, size);
  // Each is less than 2^32: the product cannot overflow.
  const bool too_many = cells.columns > TB_MOST_GRID_CELLS || cells.rows > TB_MOST_GRID_CELLS ||
                        cells.columns * cells.rows > TB_MOST_GRID_CELLS;
  turbine::rt::raise_if(too_many, TB_ERR_UNREPRESENTABLE, errors);
  return too_many ? 0 : static_cast<int32_t>(cells.columns * cells.rows);
}

RT_EXPORT int64_t rt_grid_cell(const char* geometry, uint32_t length, double radius, double size, int32_t number) {
  TbBox box = {0, 0, 0, 0};
  extent_of(geometry, length, &box);
  const TbGridCells cells = tb_grid_cells(&box, radius, size);
  int32_t x, y;
  tb_grid_nth_cell(&cells, static_cast<uint32_t>(number), &x, &y);
  return tb_grid_key(x, y);
}

RT_EXPORT bool rt_grid_whole(const char* edges, uint32_t length) {
  return length < 4 || !(static_cast<uint8_t>(edges[3]) & kReduced);
}

RT_EXPORT bool rt_grid_first(const char* outer, uint32_t outer_length, const char* inner, uint32_t inner_length,
                             double radius, double size, int32_t number) {
  TbBox outer_box = {0, 0, 0, 0}, inner_box = {0, 0, 0, 0};
  extent_of(outer, outer_length, &outer_box);
  extent_of(inner, inner_length, &inner_box);
  const TbGridCells outer_cells = tb_grid_cells(&outer_box, 0, size);
  const TbGridCells inner_cells = tb_grid_cells(&inner_box, radius, size);
  return tb_grid_is_first(&outer_cells, &inner_cells, static_cast<uint32_t>(number));
}

RT_EXPORT int64_t rt_grid_point(const char* geometry, uint32_t length, double size, uint32_t* errors) {
  TbBox box = {0, 0, 0, 0};
  int is_point;
  const TbExtent extent = tb_geometry_extent(reinterpret_cast<const uint8_t*>(geometry), length, &is_point, &box);
  if (is_point && extent == TB_EXTENT_EMPTY) return TB_NO_CELL;
  const bool is_nan = box.xmin != box.xmin || box.ymin != box.ymin;
  if (!is_point || extent != TB_EXTENT_POINT || is_nan) {
    *errors |= TB_ERR_UNREPRESENTABLE;
    return TB_NO_CELL;
  }
  return tb_grid_key(tb_grid_place(box.xmin, size), tb_grid_place(box.ymin, size));
}
