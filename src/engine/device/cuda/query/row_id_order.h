/*
 * row_id_order.h - sorts the row ids of one chunk.
 *
 * Kernels append row ids in any order; output must be in tuple order.
 */
#pragma once

#include <cstdint>
#include <span>

namespace turbine::cuda {

/* Sorts ids made by TB_ROWID with pages below npages; some may be marked as undecided, which does not count for their
 * order. Returns false, with the
 * order undefined, if an id is out of range or occurs twice: the device's
 * answer is not to be trusted. */
bool sort_page_row_ids(std::span<uint32_t> ids, uint32_t npages);

/* The same for row numbers below nrows. */
bool sort_row_numbers(std::span<uint32_t> ids, uint32_t nrows);

}  // namespace turbine::cuda
