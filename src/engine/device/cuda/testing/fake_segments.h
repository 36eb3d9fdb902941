/*
 * fake_segments.h - segments of one int4 column, as fake_kernels.h reads them; for tests only.
 */
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/store/column_codes.h"
#include "engine/store/segment.h"

namespace turbine::cuda::testing {

inline constexpr uint32_t kRowsABlock = 50;

/* Column 0 has these values, `kRowsABlock` a block. */
inline std::shared_ptr<Segment> segment_of(const std::vector<int32_t>& values) {
  auto segment = std::make_shared<Segment>();
  const auto nrows = static_cast<uint32_t>(values.size());
  for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++) {
    segment->row_start[i + 1] = std::min(nrows, (i + 1) * kRowsABlock);
    if (segment->rows_of(i) > 0) segment->blocks |= BlockMask{1} << i;
  }
  const ColumnOrigin origin{reinterpret_cast<const uint8_t*>(values.data()), nullptr, nullptr};
  const ColumnPiece piece{&origin, 0, nrows, 0};
  segment->columns.emplace_back(0, segment->blocks, encode_column(TB_TYPE_INT4, false, nrows, {&piece, 1}));
  return segment;
}

}  // namespace turbine::cuda::testing
