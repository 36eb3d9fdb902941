/*
 * excluded_segments.cc - see excluded_segments.h.
 *
 * Called on device threads, before a task or a segment of it is begun.
 */
#include "engine/device/excluded_segments.h"

#include <algorithm>
#include <bit>

namespace turbine {

void note_excluded(const TakenSegment& taken, TaskOutcome& outcome) {
  outcome.segments_excluded++;
  outcome.blocks_excluded += static_cast<uint64_t>(std::popcount(taken.blocks));
}

std::shared_ptr<const SegmentMorsel> without_excluded(const std::shared_ptr<const SegmentMorsel>& morsel,
                                                      const RowLimit& limit, TaskOutcome& outcome) {
  const auto excluded = [&](const TakenSegment& taken) { return limit.excludes(*taken.segment, *morsel->columns); };
  // One that comes again is read as it was, or not at all: to tell a GPU of a part of it takes longer.
  if (morsel->lasting && !std::all_of(morsel->segments.begin(), morsel->segments.end(), excluded)) return morsel;
  const auto first = std::find_if(morsel->segments.begin(), morsel->segments.end(), excluded);
  if (first == morsel->segments.end()) return morsel;
  auto rest = std::make_shared<SegmentMorsel>();
  rest->columns = morsel->columns;
  rest->first_block = morsel->first_block;
  rest->segments.assign(morsel->segments.begin(), first);
  for (auto taken = first; taken != morsel->segments.end(); ++taken) {
    // What another thread has seen meanwhile may exclude more, and never less.
    if (excluded(*taken))
      note_excluded(*taken, outcome);
    else
      rest->segments.push_back(*taken);
  }
  return rest;
}

}  // namespace turbine
