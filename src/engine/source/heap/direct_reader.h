/*
 * direct_reader.h - runs of blocks as extents of relation files.
 *
 * Knows nothing of visibility: the backend vouches for the blocks, before and
 * after. Any failure (short file, I/O error, bad checksum) is reported, never
 * repaired: the backend then reads those blocks through the buffer manager,
 * which raises PostgreSQL's own error if there is one.
 */
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/source/heap/relation_files.h"
#include "engine/storage/storage_reader.h"

namespace turbine {

/* What to read so that every run comes to its place after `pages` (the slot's first page). Runs must have been
 * checked to lie within the slot. Nothing if a file was not passed. */
std::optional<std::vector<FileExtent>> extents_of(const RelationFiles& files, std::span<const TbRun> runs,
                                                  uint8_t* pages);

/* Do the pages have the checksums that PostgreSQL gave them? After they were read. */
bool checksums_ok(std::span<const TbRun> runs, const uint8_t* pages);

/* Did the page cache have all of the runs when their files were first looked at? */
bool were_in_page_cache(const RelationFiles& files, std::span<const TbRun> runs);

/* Reads what the runs have within `count` pages from page `first` on, which goes to the start of `pages`, as long as
 * the operating system has them in memory. */
CachedRead read_cached(const RelationFiles& files, std::span<const TbRun> runs, uint32_t first, uint32_t count,
                       bool verify_checksums, uint8_t* pages);

/* The LSN in the header of a block's page, as its file has it; 0 if the operating system
 * does not have the page in memory, or there is none. */
uint64_t cached_page_lsn(const RelationFiles& files, uint32_t block);

}  // namespace turbine
