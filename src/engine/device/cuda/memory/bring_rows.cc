/*
 * bring_rows.cc - see bring_rows.h.
 *
 * Owns the pinned memory that rows pass. Called by cuda_query.cc at a query's end, once.
 */
#include "engine/device/cuda/memory/bring_rows.h"

#include <algorithm>
#include <utility>

#include "engine/device/cuda/driver/stream.h"
#include "engine/memory/alignment.h"

namespace turbine::cuda {
namespace {

constexpr uint64_t kRowsAtOnce = 256 << 10;

/* Views count from the text of all of their part, so that such a part comes as a whole. */
uint64_t rows_at_once(const DeviceRows::Part& part) { return part.text_size ? part.nrows : kRowsAtOnce; }

uint64_t staged_bytes(const KeptRowLayout& shape, const DeviceRows::Part& part) {
  const uint64_t rows = std::min(rows_at_once(part), part.nrows);
  uint64_t size = host_aligned(part.text_size);
  for (const KeptColumn& column : shape.columns)
    size += host_aligned(rows * tb_type_width(column.type)) + host_aligned(rows);
  return size;
}

}  // namespace

uint64_t bring_to_host(const DeviceRows& from, ProjectedRows& to, const BringResources& r) {
  const KeptRowLayout& shape = from.shape();
  uint64_t size = 1, bytes = 0;
  for (const DeviceRows::Part& part : from.parts()) size = std::max(size, staged_bytes(shape, part));
  const Block pinned = r.context.pinned_memory().allocate(r.driver, size, nullptr);
  const StreamWait wait(r.driver, r.stream);
  for (const DeviceRows::Part& part : from.parts())
    for (uint64_t first = 0; first < part.nrows; first += rows_at_once(part)) {
      StagedRows rows;
      rows.nrows = std::min(rows_at_once(part), part.nrows - first);
      uint8_t* at = pinned.host();
      auto copy = [&](DevicePtr address, uint64_t n) {
        if (n) r.driver.check(r.driver.memcpy_dtoh_async(at, address, static_cast<size_t>(n), r.stream));
        bytes += n;
        return std::exchange(at, at + host_aligned(n));
      };
      auto copy_rows = [&](const void* array, uint64_t width) {
        return copy(reinterpret_cast<DevicePtr>(array) + first * width, rows.nrows * width);
      };
      for (size_t i = 0; i < shape.columns.size(); i++) {
        StagedRows::Column& column = rows.columns.emplace_back();
        column.values = copy_rows(part.columns[i].values, tb_type_width(shape.columns[i].type));
        column.valid = shape.columns[i].nullable ? copy_rows(part.columns[i].valid, 1) : nullptr;
      }
      rows.text = copy(part.text, part.text_size);
      rows.text_size = part.text_size;
      r.driver.check(r.driver.stream_synchronize(r.stream));
      to.append(rows);
    }
  return bytes;
}

}  // namespace turbine::cuda
