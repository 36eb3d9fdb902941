/*
 * excluded_segments.h - segments of a task that need not be read, since all their rows come after those that a
 * query's limit leaves.
 *
 * Asked as late as a device can, since what a limit leaves gets clear while rows come.
 */
#pragma once

#include "engine/device/device.h"

namespace turbine {

/* Counts a segment that is not read. */
void note_excluded(const TakenSegment& taken, TaskOutcome& outcome);

/* The segments of a morsel that have to be read: itself if all have. Counts the others. */
std::shared_ptr<const SegmentMorsel> without_excluded(const std::shared_ptr<const SegmentMorsel>& morsel,
                                                      const RowLimit& limit, TaskOutcome& outcome);

}  // namespace turbine
