/*
 * integer_form.h - how integers of a file become the integers that a column's type is stored as.
 *
 * Numerics are scaled, dates and timestamps count from another day and in another unit.
 */
#pragma once

#include <arrow/type_fwd.h>

#include "engine/source/files/table_file.h"
#include "file_values/integer_form.h"

namespace turbine {

/* Whether integers of the file's type (integers, decimals of at most 64 bits, dates, timestamps) become
 * values of the wanted type, and how. */
bool integer_form(const arrow::DataType& type, const WantedColumn& wanted, IntegerForm* form);

}  // namespace turbine
