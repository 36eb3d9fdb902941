/*
 * wkb.h - well-known binary of a file: with an SRID, as PostGIS's serialized form, as a point's coordinates.
 *
 * PostGIS takes what the OGC's standard, ISO's and its own extension write. Here, too, except for shapes that need its
 * own look: rings that are not closed, lines of one point, curves, coordinates that are not finite. Functions return
 * what is wrong with such a value, and the caller leaves it to PostGIS, which takes it or raises the error. Bytes come
 * from files: nothing outside them is read.
 */
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "file_values/geo_columns.h"

namespace turbine {

/* Numbers of types, and the flags of PostGIS's extension. */
inline constexpr uint32_t kWkbPoint = 1, kWkbLine = 2, kWkbPolygon = 3, kWkbMultiPoint = 4, kWkbMultiLine = 5,
                          kWkbMultiPolygon = 6, kWkbCollection = 7;
inline constexpr uint32_t kWkbZ = 0x80000000, kWkbM = 0x40000000, kWkbSrid = 0x20000000;

/* What the column is declared as, and the SRID that its file gives it. */
struct GeometryTarget {
  uint32_t file_srid = 0;
  int32_t typmod = -1;  // PostGIS's
};

/* The value with the file's SRID, unless it has one of its own, in place of what `out` has: what geometry's receive
 * function takes. False: it is too short to be one. */
bool add_srid(std::string_view wkb, uint32_t srid, std::string& out);

/* The bytes behind the varlena header of the value that PostGIS makes of it, form 2, in place of what `out` has. */
const char* serialize_geometry(std::string_view wkb, const GeometryTarget& target, std::string& out);

/* Coordinates of a point of these dimensions and this SRID, or of a file without one; NaN of an empty one. */
const char* read_point(std::string_view wkb, const GeoDimensions& dimensions, uint32_t srid, uint32_t file_srid,
                       double (&coordinates)[4]);

}  // namespace turbine
