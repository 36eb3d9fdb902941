/*
 * dictionary_choice.h - which columns of a Parquet file are worth a dictionary.
 */
#pragma once

#include <arrow/array/array_base.h>

namespace turbine::exporting {

/*
 * False if most values of the column differ: then a dictionary costs the time to look each
 * one up and, with its numbers, as many bytes as the values or more. From a sample of rows
 * all over the column. True of what has no values to compare: lists and the like.
 */
bool is_worth_dictionary(const std::shared_ptr<arrow::Array>& column);

}  // namespace turbine::exporting
