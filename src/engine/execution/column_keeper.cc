/*
 * column_keeper.cc - see column_keeper.h.
 *
 * Owns the host's query that decodes. Called by query_input.cc when a chunk is released. Must never let a row go to the
 * device twice: pages that were kept are emptied in the slot.
 */
#include "engine/execution/column_keeper.h"

#include <cstddef>
#include <cstring>
#include <mutex>
#include <utility>

#include "engine/store/segment_fill.h"

namespace turbine {
namespace {

/* So many pages tell whether it is worth while. */
constexpr uint64_t kTrialPages = 2048;
/* Of them so many must be kept: one in that many. */
constexpr uint64_t kLeastKept = 4;

/* Behind all chunks, and behind the segments that were cached before: sums of floating-point numbers are folded in
 * this order. */
constexpr uint64_t kFirstSequence = uint64_t{1} << 41;

/* Leaves no line pointers. */
void empty_page(uint8_t* page) {
  constexpr uint16_t kNoLines = sizeof(TbFreshHeader);
  memcpy(page + offsetof(TbFreshHeader, bounds), &kNoLines, sizeof kNoLines);
}

void add(TaskOutcome& sum, const TaskOutcome& outcome) {
  sum.errors |= outcome.errors;
  sum.nrows += outcome.nrows;
  sum.ndeferred += outcome.ndeferred;
  sum.rows_in += outcome.rows_in;
  sum.rows_passed += outcome.rows_passed;
  for (size_t i = 0; i < TB_MAX_JOINS; i++) {
    sum.join_rows[i] += outcome.join_rows[i];
    sum.join_candidates[i] += outcome.join_candidates[i];
  }
  sum.cached_bytes += outcome.cached_bytes;
  sum.segments_excluded += outcome.segments_excluded;
  sum.blocks_excluded += outcome.blocks_excluded;
}

}  // namespace

/* A chunk as two tasks of the device: who is last, tells. */
struct ColumnKeeper::Parts {
  std::mutex mutex;
  int left = 2;
  TaskOutcome sum;
  std::exception_ptr error;
  DeviceQuery::Done done;

  void part_done(const TaskOutcome& outcome, std::exception_ptr failure) {
    {
      std::lock_guard lock(mutex);
      add(sum, outcome);
      if (failure && !error) error = std::move(failure);
      if (--left > 0) return;
    }
    done(sum, error);
  }
};

bool ColumnKeeper::suits(const Program& program) {
  return program.source() == TB_SOURCE_HEAP && program.sink() != TB_SINK_ROWS;
}

/* The code for other layouts is the device's. */
bool ColumnKeeper::takes(const Task& task) const {
  const auto* pages = task.as<PagesInput>();
  if (!pages || !pages->keep || pages->layout || pages->npages == 0) return false;
  const uint64_t seen = pages_.load(std::memory_order_relaxed);
  return seen < kTrialPages || kept_.load(std::memory_order_relaxed) * kLeastKept >= seen;
}

void ColumnKeeper::submit(const Task& task, DeviceQuery& device, DeviceQuery::Done done) {
  decoding_->submit(task, [this, task, &device, done = std::move(done)](const TaskOutcome&, std::exception_ptr) {
    // What has gone wrong goes wrong there as well, or does not.
    decoded(task, device, done);
  });
}

void ColumnKeeper::decoded(const Task& task, DeviceQuery& device, const DeviceQuery::Done& done) {
  const auto& pages = *task.as<PagesInput>();
  Task rest = task;
  rest.as<PagesInput>()->keep = nullptr;  // the store has what it takes
  pages_.fetch_add(pages.npages, std::memory_order_relaxed);
  std::shared_ptr<const SegmentMorsel> morsel;
  std::shared_ptr<Parts> parts;
  try {
    morsel = pages.keep->kept();
    if (morsel) parts = std::make_shared<Parts>();
  } catch (const std::bad_alloc&) {
    morsel = nullptr;
  }
  if (!morsel) return device.submit(rest, done);
  for (const uint32_t page : pages.keep->kept_pages()) empty_page(pages.pages + uint64_t{page} * TB_PAGE_SIZE);
  kept_.fetch_add(pages.keep->kept_pages().size(), std::memory_order_relaxed);
  const bool all = pages.keep->kept_pages().size() == pages.npages;
  parts->left = all ? 1 : 2;
  parts->done = done;
  const auto part_done = [parts](const TaskOutcome& outcome, std::exception_ptr error) {
    parts->part_done(outcome, std::move(error));
  };
  device.submit({.sequence = kFirstSequence + task.sequence, .input = SegmentsInput{std::move(morsel)}}, part_done);
  if (!all) device.submit(rest, part_done);
}

}  // namespace turbine
