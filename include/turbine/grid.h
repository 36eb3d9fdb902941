/*
 * grid.h - a grid of square cells that makes a spatial join an equality join: what
 * TB_EXPR_GRID computes.
 *
 * A point lies in one cell. A shape has each cell that its box overlaps, once the box is
 * enlarged by the join's radius. A cell's side is a power of two, so that divisions by it
 * are exact, and a point in the box always lies in one of the cells. Coordinates too far
 * away for 31 bits lie in the outermost cells.
 *
 * Geometries are bytes of PostGIS's serialized forms 1 and 2, without their varlena header.
 * They may be damaged: nothing outside them is read. The device library (src/rt/grid.cc)
 * and the planner (src/pg/planner/join/join_grid.c) include the same functions.
 *
 * OFFSET SIZE  FIELD
 *      0    3  SRID
 *      3    1  flags
 *      4  0, 8 more flags: form 2 with EXTENDED
 *           ?  box: with BOX, two floats a dimension, rounded outward
 *           4  type: TB_SHAPE_*
 *           4  number of points, rings or members; of a point 0 (empty) or 1
 *           ?  coordinates, doubles; or members, each from its type on
 */
#ifndef TURBINE_GRID_H
#define TURBINE_GRID_H

#include <stdint.h>

typedef enum TbGridKind
{
	TB_GRID_CELLS = 1, /* INT4: cells that a shape has; args: geometry, radius, size.
						* Raises if there are more than TB_MOST_GRID_CELLS, or the
						* geometry's box cannot be told */
	TB_GRID_CELL,	   /* INT8: one of them; args: geometry, radius, size, INT4 number */
	TB_GRID_POINT,	   /* INT8: the cell of a point, TB_NO_CELL of an empty one; args:
						* geometry, size. Raises if it is no point, or has a NaN */
	TB_GRID_EDGES,	   /* GEOMETRY: what decides a predicate for points of one cell
						* (src/rt/grid_edges.h); args: as of TB_GRID_CELL. Only an
						* output of BUILD, which writes the value itself */
	TB_GRID_FILLED, /* BOOL: whether some point of the cell may be in the shape, or on its
					 * edges; args: as of TB_GRID_CELL */
	/* BOOL: a predicate of a shape's edges in the cell of the point; args: edges, point.
	 * Raise where PostgreSQL decides. */
	TB_GRID_CONTAINS,
	TB_GRID_COVERS,
	TB_GRID_INTERSECTS,
	TB_GRID_WHOLE, /* BOOL: whether TB_GRID_EDGES, the arg, is the geometry as it was */
	TB_GRID_FIRST  /* BOOL: of two shapes, whether this cell is the first that both have;
					* args:  geometry of the outer side, of the inner one, radius, size, INT4
					* number of the  outer one's cell. Cells of the inner side are those of
					* the radius */
} TbGridKind;

static inline int
tb_grid_raises(uint32_t kind)
{
	return kind != TB_GRID_CELL && kind != TB_GRID_EDGES && kind != TB_GRID_FILLED &&
		kind != TB_GRID_WHOLE && kind != TB_GRID_FIRST;
}

static inline int
tb_grid_is_predicate(uint32_t kind)
{
	return kind >= TB_GRID_CONTAINS && kind <= TB_GRID_INTERSECTS;
}

/* Of one shape. */
#define TB_MOST_GRID_CELLS (1 << 16)

/* No shape has it. */
#define TB_NO_CELL INT64_MIN

/* Bytes that are enough to tell a box, of four dimensions. */
#define TB_GEOMETRY_HEAD 128

#define TB_GEOMETRY_Z 0x01
#define TB_GEOMETRY_M 0x02
#define TB_GEOMETRY_BOX 0x04
#define TB_GEOMETRY_GEODETIC 0x08
#define TB_GEOMETRY_EXTENDED 0x10
#define TB_GEOMETRY_FORM_2 0x40

#define TB_SHAPE_POINT 1
#define TB_SHAPE_LINE 2
#define TB_SHAPE_MULTIPOINT 4
#define TB_SHAPE_COLLECTION 7

typedef struct TbBox
{
	double xmin;
	double xmax;
	double ymin;
	double ymax;
} TbBox;

typedef enum TbExtent
{
	TB_EXTENT_UNKNOWN = 0, /* damaged, or stored without a box */
	TB_EXTENT_EMPTY,
	TB_EXTENT_POINT,
	TB_EXTENT_BOX
} TbExtent;

static inline uint32_t
tb_geometry_word(const uint8_t *bytes, uint32_t at)
{
	uint32_t word;

	__builtin_memcpy(&word, bytes + at, sizeof(word));
	return word;
}

static inline double
tb_geometry_float(const uint8_t *bytes, uint32_t at)
{
	float value;

	__builtin_memcpy(&value, bytes + at, sizeof(value));
	return value;
}

static inline double
tb_geometry_double(const uint8_t *bytes, uint32_t at)
{
	double value;

	__builtin_memcpy(&value, bytes + at, sizeof(value));
	return value;
}

/* Coordinates beyond the floats have the greatest float in a box: a greatest side is open
 * there. */
static inline double
tb_unclamped(double side)
{
	const double most = 0x1.fffffep127;

	return side >= most ? __builtin_inf() : side;
}

/* What follows has no box of its own: a point, a line of two points, or either as the only
 * member of a multi-geometry or a collection. `at`: of the type. */
static inline TbExtent
tb_extent_of_coordinates(const uint8_t *bytes, uint32_t length, uint32_t at,
						 uint32_t dimensions, TbBox *box)
{
	uint32_t type = tb_geometry_word(bytes, at);
	uint32_t count = tb_geometry_word(bytes, at + 4);
	uint32_t width = dimensions * 8;

	while (type >= TB_SHAPE_MULTIPOINT && type <= TB_SHAPE_COLLECTION && count == 1 &&
		   length - at >= 16)
	{
		at += 8;
		type = tb_geometry_word(bytes, at);
		count = tb_geometry_word(bytes, at + 4);
	}
	at += 8;
	if (count == 0)
		return TB_EXTENT_EMPTY;
	if (type == TB_SHAPE_POINT && count == 1 && length - at >= width)
	{
		box->xmin = box->xmax = tb_geometry_double(bytes, at);
		box->ymin = box->ymax = tb_geometry_double(bytes, at + 8);
		return TB_EXTENT_POINT;
	}
	if (type == TB_SHAPE_LINE && count == 2 && length - at >= 2 * width)
	{
		double x = tb_geometry_double(bytes, at);
		double y = tb_geometry_double(bytes, at + 8);
		double other_x = tb_geometry_double(bytes, at + width);
		double other_y = tb_geometry_double(bytes, at + width + 8);

		box->xmin = x < other_x ? x : other_x;
		box->xmax = x < other_x ? other_x : x;
		box->ymin = y < other_y ? y : other_y;
		box->ymax = y < other_y ? other_y : y;
		/* A comparison with NaN is false. */
		return x == x && y == y && other_x == other_x && other_y == other_y ?
			TB_EXTENT_BOX :
			TB_EXTENT_UNKNOWN;
	}
	return TB_EXTENT_UNKNOWN;
}

/* The least box around the geometry, or a little more; *is_point: its type is POINT. */
static inline TbExtent
tb_geometry_extent(const uint8_t *bytes, uint32_t length, int *is_point, TbBox *box)
{
	uint32_t at = 4;
	uint32_t flags;
	uint32_t dimensions;

	*is_point = 0;
	if (length < 12)
		return TB_EXTENT_UNKNOWN;
	flags = bytes[3];
	if (flags & TB_GEOMETRY_GEODETIC)
		return TB_EXTENT_UNKNOWN;
	dimensions = 2 + (flags & TB_GEOMETRY_Z ? 1 : 0) + (flags & TB_GEOMETRY_M ? 1 : 0);
	if ((flags & TB_GEOMETRY_FORM_2) && (flags & TB_GEOMETRY_EXTENDED))
		at += 8;
	if ((flags & TB_GEOMETRY_BOX) == 0)
	{
		if (length - 4 < at + 4)
			return TB_EXTENT_UNKNOWN;
		*is_point = tb_geometry_word(bytes, at) == TB_SHAPE_POINT;
		return tb_extent_of_coordinates(bytes, length, at, dimensions, box);
	}
	if (length < at + dimensions * 8 + 8)
		return TB_EXTENT_UNKNOWN;
	if (tb_geometry_word(bytes, at + dimensions * 8) == TB_SHAPE_POINT)
	{
		*is_point = 1;
		return tb_extent_of_coordinates(bytes, length, at + dimensions * 8, dimensions,
										box);
	}
	box->xmin = -tb_unclamped(-tb_geometry_float(bytes, at));
	box->xmax = tb_unclamped(tb_geometry_float(bytes, at + 4));
	box->ymin = -tb_unclamped(-tb_geometry_float(bytes, at + 8));
	box->ymax = tb_unclamped(tb_geometry_float(bytes, at + 12));
	return box->xmin <= box->xmax && box->ymin <= box->ymax ? TB_EXTENT_BOX :
															  TB_EXTENT_UNKNOWN;
}

/* ---- Cells ---- */

/* Cells of a box: from (x, y) on. */
typedef struct TbGridCells
{
	int32_t x;
	int32_t y;
	int64_t columns;
	int64_t rows;
} TbGridCells;

/* Of the outermost cells, which hold all that is farther away. */
#define TB_MOST_PLACE (1 << 30)

/* The place of a coordinate along an axis. */
static inline int32_t
tb_grid_place(double value, double size)
{
	const double most = TB_MOST_PLACE;
	double		 place = __builtin_floor(value / size);

	/* Of NaN the least, so that the conversion is defined. */
	place = place > -most ? place : -most;
	place = place < most ? place : most;
	return (int32_t) place;
}

/* The radius and a float's last place: PostGIS rounds boxes to floats, points' outward too.
 */
static inline double
tb_grid_margin(double value, double radius)
{
	double magnitude = value < 0 ? -value : value;

	return radius + (magnitude + radius) * 0x1.02p-23 + 0x1p-140;
}

static inline TbGridCells
tb_grid_cells(const TbBox *box, double radius, double size)
{
	TbGridCells cells;

	cells.x = tb_grid_place(box->xmin - tb_grid_margin(box->xmin, radius), size);
	cells.y = tb_grid_place(box->ymin - tb_grid_margin(box->ymin, radius), size);
	cells.columns = (int64_t) tb_grid_place(box->xmax + tb_grid_margin(box->xmax, radius),
											size) -
		cells.x + 1;
	cells.rows = (int64_t) tb_grid_place(box->ymax + tb_grid_margin(box->ymax, radius),
										 size) -
		cells.y + 1;
	return cells;
}

/* The place of cell number `n` of a box. */
static inline void
tb_grid_nth_cell(const TbGridCells *cells, uint32_t n, int32_t *x, int32_t *y)
{
	uint32_t columns = cells->columns < 1 ? 1 : (uint32_t) cells->columns;

	*x = (int32_t) ((uint32_t) cells->x + n % columns);
	*y = (int32_t) ((uint32_t) cells->y + n / columns);
}

/* Whether cell number `n` of `outer` is the one that two shapes meet in: the first in both
 * directions that both have. Exactly one is, if they share any. */
static inline int
tb_grid_is_first(const TbGridCells *outer, const TbGridCells *inner, uint32_t n)
{
	int32_t x;
	int32_t y;

	tb_grid_nth_cell(outer, n, &x, &y);
	return x == (outer->x > inner->x ? outer->x : inner->x) &&
		y == (outer->y > inner->y ? outer->y : inner->y);
}

static inline int64_t
tb_grid_key(int32_t x, int32_t y)
{
	return (int64_t) ((uint64_t) (uint32_t) x << 32 | (uint32_t) y);
}

#endif
