/*
 * geo_columns.h - which columns of a file are geometries, in which form, and of which SRID.
 *
 * GeoParquet says it in the file's metadata (key `geo`), GeoArrow in each field's (an extension type's name and
 * metadata, in Arrow files and in Parquet files that keep an Arrow schema). GeoParquet's word counts first. What either
 * says is not trusted: text that is no JSON, and forms that the field's type does not have, are problems, never a
 * crash.
 *
 * A coordinate reference system becomes an SRID if it is named by the authority EPSG, or is OGC:CRS84, which is
 * EPSG:4326 with the longitude first, as PostGIS has it. GeoParquet's default, if it names none, is OGC:CRS84. All
 * others have SRID 0, as PostGIS's values without one.
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

namespace turbine {

enum class GeoForm {
  kNone,
  kWkb,
  // GeoArrow's own: coordinates, in as many levels of lists as the shape has.
  kPoint,
  kLine,
  kPolygon,
  kMultiPoint,
  kMultiLine,
  kMultiPolygon
};

/* Number of z and m among x, y, z, m; and where each is in the bytes of a point. */
struct GeoDimensions {
  bool z = false, m = false;
  bool operator==(const GeoDimensions&) const = default;
  uint32_t count() const { return 2u + z + m; }
};

struct GeoColumn {
  GeoForm form = GeoForm::kNone;
  uint32_t srid = 0;           // 0: not known
  std::string problem;         // why its values are no geometries of PostGIS; empty: they are
  /* What all values are, if the file says so. */
  uint32_t shape = 0;          // number of a type in well-known binary, without dimensions; 0: any
  bool dimensions_known = false;
  GeoDimensions dimensions;
};

/* By field of the schema. */
std::vector<GeoColumn> geo_columns(const arrow::Schema& schema);

/* Levels of lists around the coordinates of a native form. */
int list_levels(GeoForm form);

/* The coordinates of a native form as its type has them: a struct of doubles that are called x, y, z, m, or a list of
 * fixed size of two to four. False: it has other ones. */
bool coordinate_dimensions(const arrow::DataType& coordinates, const std::string& item_name, GeoDimensions* dimensions);

/* The declared type for IMPORT FOREIGN SCHEMA: "(Point,4326)", "(GeometryZ)"; empty: none is needed. */
std::string geometry_typmod(const GeoColumn& column);

}  // namespace turbine
