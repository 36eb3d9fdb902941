/*
 * segment_homes.h - which of several GPUs the blocks of a large table belong to.
 *
 * A table is cut into ranges of blocks. Each range has a home, the GPU whose memory keeps the columns of its segments,
 * so that the GPUs' caches together hold each segment once. Neighbouring ranges have different homes, since queries
 * often read only neighbouring blocks. Ranges keep their places while a table grows by a few percent: most of what the
 * caches hold stays where it is. Stateless.
 */
#pragma once

#include <cstdint>

namespace turbine {

/* Blocks of each range of a table with so many blocks: whole segments. They do not depend on how many GPUs there are,
 * so tasks of one range are the same on 2 GPUs and on 8. */
uint32_t home_range_blocks(uint64_t nblocks);

/* The home of a range, as a place in the list of GPUs. It could follow the drives that hold the table's file, if that
 * is ever known: nothing else decides it. */
uint32_t home_of_range(uint32_t range, uint32_t gpus);

}  // namespace turbine
