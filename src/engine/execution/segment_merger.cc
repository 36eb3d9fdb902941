/*
 * segment_merger.cc - see segment_merger.h.
 *
 * Owns its thread. Called by query_execution.cc. Must never keep a query waiting.
 */
#include "engine/execution/segment_merger.h"

#include <sys/resource.h>

#include <new>

namespace turbine {
namespace {

constexpr int kLowestPriority = 19;

}  // namespace

void SegmentMerger::wake() {
  if (!store_.merges_wait() || awake_.exchange(true)) return;
  thread_.post([this](unsigned) { run(); });
}

/* What comes after the last look is the next wake()'s, or this one's again. */
void SegmentMerger::run() {
  setpriority(PRIO_PROCESS, 0, kLowestPriority);  // of Linux: of this thread
  try {
    do {
      awake_ = true;
      while (!stopping_ && store_.merge_next()) {
      }
      awake_ = false;
    } while (!stopping_ && store_.merges_wait());
  } catch (const std::bad_alloc&) {
    awake_ = false;  // it stays a delta until its segment changes again
  }
}

}  // namespace turbine
