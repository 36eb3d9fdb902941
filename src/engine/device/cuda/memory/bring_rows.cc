/*
 * bring_rows.cc - see bring_rows.h.
 *
 * Owns the pinned memory that rows pass. Called by cuda_query.cc at a query's end, once.
 */
#include "engine/device/cuda/memory/bring_rows.h"

#include <algorithm>
#include <utility>

#include "engine/device/cuda/driver/stream.h"

namespace turbine::cuda {
namespace {

constexpr uint64_t kRowsAtOnce = 256 << 10;
constexpr uint64_t kAlignment = 64;

constexpr uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

uint64_t bring_to_host(const DeviceRows& from, ProjectedRows& to, const BringResources& r) {
  const KeptRowLayout& shape = from.shape();
  const uint64_t most = std::min(kRowsAtOnce, from.rows());
  uint64_t size = 0, bytes = 0;
  for (const KeptColumn& column : shape.columns) size += aligned(most * tb_type_width(column.type)) + aligned(most);
  const Block pinned = r.context.pinned_memory().allocate(r.driver, std::max<uint64_t>(size, 1), nullptr);
  const StreamWait wait(r.driver, r.stream);
  for (const DeviceRows::Part& part : from.parts())
    for (uint64_t first = 0; first < part.nrows; first += kRowsAtOnce) {
      StagedRows rows;
      rows.nrows = std::min(kRowsAtOnce, part.nrows - first);
      uint8_t* at = pinned.host();
      auto copy = [&](const void* array, uint64_t width) {
        const uint64_t n = rows.nrows * width;
        const DevicePtr address = reinterpret_cast<DevicePtr>(array) + first * width;
        r.driver.check(r.driver.memcpy_dtoh_async(at, address, static_cast<size_t>(n), r.stream));
        bytes += n;
        return std::exchange(at, at + aligned(n));
      };
      for (size_t i = 0; i < shape.columns.size(); i++) {
        StagedRows::Column& column = rows.columns.emplace_back();
        column.values = copy(part.columns[i].values, tb_type_width(shape.columns[i].type));
        column.valid = shape.columns[i].nullable ? copy(part.columns[i].valid, 1) : nullptr;
      }
      r.driver.check(r.driver.stream_synchronize(r.stream));
      to.append(rows);
    }
  return bytes;
}

}  // namespace turbine::cuda
