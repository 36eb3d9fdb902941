/*
 * device_row_sort.h - sorts rows by the device on which their query has run, if it has a sort
 * and the rows are so many that it pays.
 *
 * The host packs keys as it does for its own sort, and takes the order.
 */
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/device/device_window.h"
#include "engine/device/key_sort.h"
#include "engine/result/order/key_packing.h"
#include "engine/result/order/sorted_rows.h"
#include "engine/wire/device_error.h"

namespace turbine {

/* Where a query's results are sorted, and where they have been. */
struct SortPlace {
  KeySort* device = nullptr;       // null: the host
  DeviceWindow* window = nullptr;  // likewise, of window functions
  uint64_t rows_on_device = 0;     // sorted there so far, by all orders
  uint64_t windows_on_device = 0;  // functions computed there
  TbFallback failure = TB_FALLBACK_NONE;  // why the host sorted in the device's place, the first time
  std::string message;

  /* The host is to do what the device has failed to do. False: the error would meet the host as well. */
  bool note_failure(const DeviceError& error);
};

/* Keys that a device sorts: exact ones, of few words. */
bool fits_device(const KeyPacking& packing);
unsigned packed_device_words(const KeyPacking& packing);

/* Rows' packed keys with what neighbours agree in. All must outlive what is returned, which points into
 * `key_of_bit`, too. */
KeySortInput packed_keys(const ResultRows& rows, const RowRef* list, uint64_t count, const KeyPacking& packing,
                         std::vector<uint8_t>& key_of_bit);

/* The same of rows that the device packs. */
KeySortInput words_and_bits(uint64_t count, const KeyPacking& packing, std::vector<uint8_t>& key_of_bit);

/* References of rows that are known by their numbers. */
void refs_of_numbers(const ResultRows& rows, const uint32_t* numbers, uint64_t n, RowRef* refs);

/* The rows of sort_rows() in their order, or nothing: the host is to sort them, since it is no slower or
 * since the device has failed. Takes 8 bytes a row that stay, and one for `agree`. Throws DeviceError:
 * out of the host's memory, closed. */
std::optional<SortedRows> sort_rows_on_device(const ResultRows& rows, const RowRef* list, uint64_t count,
                                              const KeyPacking& packing, bool agree, ParallelWork& work,
                                              SortPlace& place);

}  // namespace turbine
