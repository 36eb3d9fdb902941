/*
 * segment_columns.cc - see segment_columns.h.
 *
 * Used by host_query.cc on the thread that runs the segments. Looks two segments ahead: the
 * headers of the one after the next, the values of the next.
 */
#include "engine/device/host/segment_columns.h"

#include <algorithm>

namespace turbine {

namespace {

constexpr uint64_t kCacheLine = 64;

/* What is wide stays where it is: it would push the rest out. */
constexpr uint64_t kMostCopiedBytes = 64 << 10;

/* The column's place in the segment. `place`: where it was in another one, which is likely to have the same columns. */
size_t place_of(const Segment& segment, uint32_t number, size_t place) {
  const std::vector<Segment::Column>& columns = segment.columns;
  if (place < columns.size() && columns[place].number == number) return place;
  return static_cast<size_t>(segment.find(number) - columns.data());
}

}  // namespace

SegmentColumns::SegmentColumns(const SegmentMorsel& morsel, size_t count)
    : morsel_(morsel), places_(count), now_(count), next_(count), after_(count) {
  look_up(next_);
  look_up(after_);
}

void SegmentColumns::advance() {
  now_.swap(next_);
  next_.swap(after_);
  prefetch();
  look_up(after_);
}

/* Null where there is no segment any more. */
void SegmentColumns::look_up(Columns& columns) {
  if (looked_up_ >= morsel_.segments.size()) {
    std::fill(columns.begin(), columns.end(), nullptr);
    return;
  }
  const Segment& segment = *morsel_.segments[looked_up_++].segment;
  for (size_t i = 0; i < columns.size(); i++) {
    places_[i] = place_of(segment, (*morsel_.columns)[i], places_[i]);
    columns[i] = segment.columns[places_[i]].data.get();
    __builtin_prefetch(columns[i]);
  }
}

void SegmentColumns::prefetch() const {
  for (const StoredColumn* column : next_) {
    // Texts are read in order if at all, so that hardware prefetches them.
    if (!column || column->text() || column->bytes() > kMostCopiedBytes) continue;
    const auto* values = static_cast<const uint8_t*>(column->values());
    for (uint64_t at = 0; at < column->bytes(); at += kCacheLine) __builtin_prefetch(values + at, 0, 2);
  }
}

}  // namespace turbine
