/*
 * geometry_values.h - geometries of a file become values of geometry, or the coordinates of points.
 */
#pragma once

#include <memory>

#include <arrow/type_fwd.h>

#include "engine/source/files/arrow/column_values.h"

namespace turbine {

/* Of a wanted column that is a geometry, or a coordinate. Null if the file's column is none. Throws FileError for one
 * whose values are none of PostGIS's, or none of the declared type. */
std::unique_ptr<const ColumnValues> geometry_values(const arrow::DataType& type, const WantedColumn& wanted);

/* Whether the column is a coordinate that the file has as a number of its own, beside the others: in a struct. */
bool is_stored_coordinate(const WantedColumn& wanted, const arrow::DataType& type);

}  // namespace turbine
