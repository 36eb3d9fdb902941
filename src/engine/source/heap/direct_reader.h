/*
 * direct_reader.h - reads runs of blocks from relation files into a slot.
 *
 * Knows nothing of visibility: the backend vouches for the blocks, before and
 * after. Any failure (short file, I/O error, bad checksum) is reported, never
 * repaired: the backend then reads those blocks through the buffer manager,
 * which raises PostgreSQL's own error if there is one.
 */
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/source/heap/relation_files.h"

namespace turbine {

/* Reads every run into `pages` (the slot's first page). Runs must have been
 * checked to lie within the slot. False: at least one could not be read. */
bool read_runs(const RelationFiles& files, std::span<const TbRun> runs, bool verify_checksums, uint8_t* pages);

enum class CachedRead {
  kDone,
  kNotCached,  // nobody has waited for a drive; what was read is undefined
  kFailed
};

/* The same of what the runs have within `count` pages from page `first` on, which
 * goes to the start of `pages`, as long as the operating system has them in memory.
 * (Of a file system that can not tell, such as tmpfs, everything is taken to be.) */
CachedRead read_cached(const RelationFiles& files, std::span<const TbRun> runs, uint32_t first, uint32_t count,
                       bool verify_checksums, uint8_t* pages);

/* The LSN in the header of a block's page, as its file has it; 0 if the operating system
 * does not have the page in memory, or there is none. */
uint64_t cached_page_lsn(const RelationFiles& files, uint32_t block);

/* The same runs in parts of at most `pages` pages (> 0), in order: so that
 * several threads can read one slot. */
std::vector<std::vector<TbRun>> split_runs(std::span<const TbRun> runs, uint32_t pages);

}  // namespace turbine
