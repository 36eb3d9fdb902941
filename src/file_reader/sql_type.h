/*
 * sql_type.h - the PostgreSQL type that holds every value of an Arrow type.
 */
#pragma once

#include <arrow/type.h>

#include <string>

namespace turbine::file_reader {

/* Empty if there is none. */
std::string sql_type(const arrow::DataType& type);

}  // namespace turbine::file_reader
