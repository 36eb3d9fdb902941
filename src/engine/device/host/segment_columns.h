/*
 * segment_columns.h - the columns of a morsel's segments, one segment after the other.
 *
 * While a thread is at one segment, the next one's columns are on their way to its L2 cache:
 * hardware prefetches too late for arrays of a few pages, and not at all where a pipeline
 * leaves rows out.
 */
#pragma once

#include <vector>

#include "engine/store/segment.h"

namespace turbine {

class SegmentColumns {
 public:
  /* The first `count` columns of the morsel, before its first segment. The morsel outlives this. */
  SegmentColumns(const SegmentMorsel& morsel, size_t count);

  /* To the next segment, which exists. */
  void advance();
  const StoredColumn& operator[](size_t i) const { return *now_[i]; }

 private:
  using Columns = std::vector<const StoredColumn*>;
  void look_up(Columns& columns);
  void prefetch() const;

  const SegmentMorsel& morsel_;
  size_t looked_up_ = 0;         // segments
  std::vector<size_t> places_;  // of the columns in the segment that was looked up last
  Columns now_, next_, after_;
};

}  // namespace turbine
