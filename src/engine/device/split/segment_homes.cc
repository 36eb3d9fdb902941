/*
 * segment_homes.cc - see segment_homes.h.
 *
 * Called by split_device.cc as segments are cut into tasks, and by split_query.cc for each task. The answer must depend
 * on nothing that differs between two queries of one table.
 */
#include "engine/device/split/segment_homes.h"

#include <algorithm>
#include <bit>

#include "engine/store/segment.h"

namespace turbine {
namespace {

/* Enough that 8 GPUs have the same share within an eighth, and few enough that each is a task whose kernels take longer
 * than their launch. */
constexpr uint64_t kRanges = 32;
/* A range is rounded up to one of so many sizes between two powers of two, so it changes with the eighth part of them.
 */
constexpr uint64_t kSizesOfPower = 8;

}  // namespace

uint32_t home_range_blocks(uint64_t nblocks) {
  const uint64_t wanted = std::max<uint64_t>((nblocks + kRanges - 1) / kRanges, 1);
  const uint64_t step = std::max<uint64_t>(std::bit_floor(wanted) / kSizesOfPower, TB_SEGMENT_BLOCKS);
  const uint64_t blocks = (wanted + step - 1) / step * step;
  return static_cast<uint32_t>(std::min<uint64_t>(blocks, uint64_t{1} << 31));
}

uint32_t home_of_range(uint32_t range, uint32_t gpus) { return range % std::max(gpus, 1u); }

}  // namespace turbine
