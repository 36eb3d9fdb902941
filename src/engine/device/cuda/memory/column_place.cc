/*
 * column_place.cc - see column_place.h.
 *
 * Called by chunk_lane.cc and segment_batch.cc. Must never name memory that the column does not have.
 */
#include "engine/device/cuda/memory/column_place.h"

#include <bit>

namespace turbine::cuda {
namespace {

template <class T>
T* at(DevicePtr address) {
  return reinterpret_cast<T*>(address);
}

uint64_t lowest_bytes(uint32_t width) { return width >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * width) - 1; }

uint32_t shift_of(uint32_t width) { return static_cast<uint32_t>(std::countr_zero(width)); }

}  // namespace

TbColumnPlace place_of_array(uint32_t type, DevicePtr values, DevicePtr valid, uint64_t stretch) {
  const uint64_t first = stretch * TB_STRETCH_ROWS;
  const uint32_t width = tb_type_width(type);
  TbColumnPlace place{};
  place.data.values = at<void>(values + first * width);
  if (valid) place.data.valid = at<uint8_t>(valid + first);
  place.codes.valid_mask = ~uint32_t{0};
  if (tb_type_is_text(type)) {
    place.codes.views = at<const TbTextView>(values + first * width);
    place.codes.row_mask = ~uint64_t{0};
    return place;
  }
  place.codes.mask = ~uint64_t{0};
  place.codes.shift = shift_of(width);
  return place;
}

TbColumnPlace place_of_stored(const StoredColumn& column, DevicePtr address, const DeviceDictionary& dictionary,
                              DevicePtr filler) {
  const auto* host = static_cast<const uint8_t*>(column.values());
  const bool plain = column.width() == StoredColumn::kPlain;
  const uint32_t width = plain ? tb_type_width(column.type()) : column.width();
  TbColumnPlace place{};
  place.data.values = at<void>(width == 0 ? filler : address);
  place.data.bytes = at<const uint8_t>(dictionary.bytes);
  if (column.valid()) {
    place.data.valid = at<uint8_t>(address + static_cast<uint64_t>(column.valid() - host));
    place.codes.valid_mask = ~uint32_t{0};
  } else {
    place.data.valid = at<uint8_t>(filler);
  }
  if (tb_type_is_text(column.type())) {
    place.data.bytes = at<const uint8_t>(address + static_cast<uint64_t>(column.text() - host));
    place.codes.views = at<const TbTextView>(address);
    place.codes.row_mask = ~uint64_t{0};
    return place;
  }
  place.codes.base = plain ? 0 : column.base();
  place.codes.mask = width == 0 ? 0 : lowest_bytes(width);
  place.codes.shift = width == 0 ? 0 : shift_of(width);
  place.codes.views = at<const TbTextView>(dictionary.views);
  return place;
}

}  // namespace turbine::cuda
