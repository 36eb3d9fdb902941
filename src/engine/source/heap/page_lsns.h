/*
 * page_lsns.h - the LSNs in the headers of many pages.
 *
 * A system call for each header costs more than the header: where the kernel has io_uring, one call
 * reads up to kMostPageLsns. Where it has none, or refuses it, each header is read by itself.
 */
#pragma once

#include <cstdint>
#include <span>

#include "engine/source/heap/relation_files.h"

namespace turbine {

/* Of one call. */
inline constexpr size_t kMostPageLsns = TB_SEGMENT_BLOCKS;

/* Writes an LSN for each block, as its page's file has it; 0 if the operating system does not have the page in
 * memory, or there is none. Any thread; each keeps a ring of its own until it ends. */
void read_page_lsns(const RelationFiles& files, std::span<const uint32_t> blocks, uint64_t* lsns);

}  // namespace turbine
