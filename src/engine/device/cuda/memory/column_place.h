/*
 * column_place.h - what a pipeline's kernels are told of a column: where its rows are, and how elements
 * become values (TbColumnPlace).
 *
 * Addresses are the device's.
 */
#pragma once

#include "engine/device/cuda/driver/driver_api.h"
#include "engine/store/segment.h"
#include "turbine/kernel.h"

namespace turbine::cuda {

/* Stretches that arrays of so many rows are. */
inline uint64_t stretches(uint64_t rows) { return (rows + TB_STRETCH_ROWS - 1) / TB_STRETCH_ROWS; }

/* Of a chunk's arrays, for rows from stretch * TB_STRETCH_ROWS on. */
TbColumnPlace place_of_array(uint32_t type, DevicePtr values, DevicePtr valid, uint64_t stretch);

/* A dictionary's copy. */
struct DeviceDictionary {
  DevicePtr views = 0, bytes = 0;
  bool operator==(const DeviceDictionary&) const = default;
};

/* TB_STRETCH_ROWS bytes and a word, of which the first is not 0: what is read where a segment has nothing to say of
 * a row. */
inline constexpr uint64_t kFillerSize = TB_STRETCH_ROWS + sizeof(uint64_t);

/* Of a stored column whose copy is at `address`. Texts are numbers in `dictionary`, or lie in the copy themselves. */
TbColumnPlace place_of_stored(const StoredColumn& column, DevicePtr address, const DeviceDictionary& dictionary,
                              DevicePtr filler);

}  // namespace turbine::cuda
