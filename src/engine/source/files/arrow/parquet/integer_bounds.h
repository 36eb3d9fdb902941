/*
 * integer_bounds.h - least and greatest values that a Parquet file tells of a chunk or of a page, as the integers of
 * the file's type.
 */
#pragma once

#include <cstdint>
#include <string>

#include <arrow/type_fwd.h>

#include "engine/source/files/arrow/value_forms.h"
#include "engine/store/segment.h"

namespace parquet {
class ColumnDescriptor;
}

namespace turbine {

/* What the column's `type` has in the file, and what it becomes. */
struct BoundsForm {
  const parquet::ColumnDescriptor* column;
  const arrow::DataType* type;
  IntegerForm form;
};

/* Of values in the PLAIN encoding; not known if one is none of the column. */
StoredColumn::Zone integer_zone(const BoundsForm& form, const std::string& least, const std::string& greatest);

}  // namespace turbine
