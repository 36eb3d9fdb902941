/*
 * table_order.cc - see table_order.h.
 *
 * Called by the host's row sink. In doubt there is no order: the backend then reads the table itself.
 */
#include "engine/device/table_order.h"

#include <algorithm>

#include "engine/wire/device_error.h"

namespace turbine {
namespace {

[[noreturn]] void no_order() {
  throw DeviceError(TB_FALLBACK_VALUE, "a part of the table is cached: its rows' order is not known");
}

}  // namespace

void TableOrder::end_segment(unsigned worker, uint32_t first_block, uint32_t last_block) {
  Worker& own = workers_[worker];
  // Two versions of one segment may have been taken, for different blocks.
  if (own.segments && first_block <= own.last_block) own.descends = true;
  if (!own.segments) own.first_block = first_block;
  own.segments = true;
  own.last_block = last_block;
}

void TableOrder::end_chunk(unsigned worker, uint64_t sequence, uint64_t rows) {
  Worker& own = workers_[worker];
  if (own.descends) no_order();
  own.runs.push_back({sequence, worker, own.rows, rows - own.rows, own.segments, own.first_block, own.last_block});
  own.rows = rows;
  own.segments = false;
}

uint64_t TableOrder::finish() {
  for (Worker& worker : workers_) runs_.insert(runs_.end(), worker.runs.begin(), worker.runs.end());
  // Segments say themselves where they lie.
  const bool all_segments = std::all_of(runs_.begin(), runs_.end(), [](const Run& run) { return run.of_segments; });
  std::sort(runs_.begin(), runs_.end(), [all_segments](const Run& a, const Run& b) {
    return all_segments ? a.first_block < b.first_block : a.sequence < b.sequence;
  });
  uint64_t rows = 0;
  for (size_t i = 0; i < runs_.size(); i++) {
    Run& run = runs_[i];
    if (i > 0 && (run.of_segments != runs_[i - 1].of_segments ||
                  (run.of_segments && run.first_block <= runs_[i - 1].last_block)))
      no_order();
    run.number = rows;
    rows += run.count;
  }
  std::erase_if(runs_, [](const Run& run) { return run.count == 0; });
  return rows;
}

TableOrder::Part TableOrder::find(uint64_t first) const {
  const auto next = std::upper_bound(runs_.begin(), runs_.end(), first,
                                     [](uint64_t row, const Run& run) { return row < run.number; });
  const Run& run = *std::prev(next);
  return {run.worker, run.first + (first - run.number), run.count - (first - run.number)};
}

}  // namespace turbine
