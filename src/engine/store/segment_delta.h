/*
 * segment_delta.h - a few blocks of a segment that were decoded anew, kept beside the version that has the rest.
 *
 * To put four blocks into a segment copies the columns of all 64. A query that finds many segments with some changed
 * blocks each would spend most of its time on that, and needs nothing of it. So the blocks are a version of their own,
 * the delta, until someone has time to merge it into the main one.
 */
#pragma once

#include <memory>

#include "engine/store/segment.h"
#include "engine/store/segment_merge.h"

namespace turbine {

/* Whether decoded blocks are to be kept in the delta, which may be null, rather than merged at once: they are few, and
 * none is there with the same rows in the main version, to which it would add columns. */
bool goes_to_delta(const Segment& main, const Segment* delta, const DecodedBlocks& decoded);

/* Both as one version: of the blocks that the delta has, its rows. Either may be of a newer LSN; the other's blocks
 * are doubtful then. Throws bad_alloc. */
std::shared_ptr<const Segment> merge_delta(const std::shared_ptr<const Segment>& main, const Segment& delta);

}  // namespace turbine
