/*
 * list_items.h - where the items of a list are, whatever kind of list it is.
 */
#pragma once

#include <arrow/array.h>

#include <cstdint>
#include <memory>

namespace turbine::file_reader {

struct ListItems {
  int64_t first;  // row of list_values()
  int64_t count;
};

/* Lists of fixed size, of 32-bit and 64-bit offsets, views of them, and maps. */
bool has_items(arrow::Type::type type);

std::shared_ptr<arrow::Array> list_values(const arrow::Array& lists);

ListItems list_items(const arrow::Array& lists, int64_t row);

}  // namespace turbine::file_reader
