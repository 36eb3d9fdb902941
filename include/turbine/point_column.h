/*
 * point_column.h - points of PostGIS as columns of their coordinates.
 *
 * A column declared geometry(Point...), or geography, holds points of one SRID and one
 * dimensionality. The engine reads it as a FLOAT8 column for each coordinate
 * (TB_COL_COORDINATE), and TB_EXPR_POINT makes the point of them again. An empty point has
 * the coordinates NaN, as well-known binary writes it. So a point that is not empty and has
 * NaN for x and y has no such form: whoever decodes it says so.
 *
 * A form is 32 bits:
 *
 * BITS   FIELD
 *  0-20  SRID, 0 to 999999
 * 21-22  TB_GEOMETRY_Z and TB_GEOMETRY_M: which coordinates there are besides x and y
 * 23-24  columns: number of the coordinate, in the order of the point's bytes
 *    25  TB_POINT_GEODETIC
 *
 * Included by planner, backend, engine, compiler and device library.
 */
#ifndef TURBINE_POINT_COLUMN_H
#define TURBINE_POINT_COLUMN_H

#include "turbine/grid.h"

#define TB_MOST_SRID 999999u
#define TB_MOST_COORDINATES 4u

/* Of a form: the points are geographies. */
#define TB_POINT_GEODETIC (1u << 25)

/* Bytes of a point before its coordinates: SRID, flags, type and count. */
#define TB_POINT_HEAD 12u

static inline uint32_t
tb_point_form(uint32_t srid, uint32_t flags, uint32_t coordinate)
{
	return srid | flags << 21 | coordinate << 23;
}

static inline uint32_t
tb_point_srid(uint32_t form)
{
	return form & 0x1fffff;
}

static inline uint32_t
tb_point_flags(uint32_t form)
{
	return form >> 21 & 3;
}

static inline uint32_t
tb_point_coordinate(uint32_t form)
{
	return form >> 23 & 3;
}

static inline uint32_t
tb_point_dimensions(uint32_t form)
{
	return 2 + (form >> 21 & 1) + (form >> 22 & 1);
}

/* Whether it is one: of a column, or with coordinate 0 of a point. */
static inline int
tb_point_form_is_valid(uint32_t form)
{
	return form >> 26 == 0 && tb_point_srid(form) <= TB_MOST_SRID &&
		tb_point_coordinate(form) < tb_point_dimensions(form);
}

/* The first four bytes of such a point: SRID and flags. */
static inline uint32_t
tb_point_word(uint32_t form)
{
	uint32_t srid = tb_point_srid(form);

	return (srid >> 16 & 0xff) | (srid & 0xff00) | (srid & 0xff) << 16 |
		(tb_point_flags(form) | (form & TB_POINT_GEODETIC ? TB_GEOMETRY_GEODETIC : 0) |
		 TB_GEOMETRY_FORM_2)
		<< 24;
}

/* Reads a column's coordinate of a geometry (bytes behind the varlena header); false: it is
 * no such point. */
static inline int
tb_point_read(const uint8_t *bytes, uint32_t length, uint32_t form, double *value)
{
	uint32_t word;
	uint32_t count;
	double	 x;
	double	 y;

	if (length < TB_POINT_HEAD)
		return 0;
	word = tb_geometry_word(bytes, 0);
	/* Values of form 1 differ in that flag alone. */
	if ((word | (uint32_t) TB_GEOMETRY_FORM_2 << 24) != tb_point_word(form) ||
		tb_geometry_word(bytes, 4) != TB_SHAPE_POINT)
		return 0;
	count = tb_geometry_word(bytes, 8);
	*value = __builtin_nan("");
	if (count == 0)
		return 1;
	if (count != 1 || length < TB_POINT_HEAD + 8 * tb_point_dimensions(form))
		return 0;
	x = tb_geometry_double(bytes, TB_POINT_HEAD);
	y = tb_geometry_double(bytes, TB_POINT_HEAD + 8);
	*value = tb_geometry_double(bytes, TB_POINT_HEAD + 8 * tb_point_coordinate(form));
	return x == x || y == y;
}

#endif
