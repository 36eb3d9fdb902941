/*
 * page_lsns.h - the LSNs in the headers of many pages.
 *
 * A system call for each header costs more than the header: files are mapped (mapped_files.h), and their headers
 * are loads from memory. Where a file cannot be mapped, one call of io_uring reads up to kMostPageLsns; where the
 * kernel has none, or refuses it, each header is read by itself.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/source/heap/mapped_files.h"
#include "engine/source/heap/relation_files.h"

namespace turbine {

/* Of one call. */
inline constexpr size_t kMostPageLsns = TB_SEGMENT_BLOCKS;

/* Of one relation's blocks, for one query. */
class PageLsns {
 public:
  /* Borrows the files; `mapped` keeps their mappings for queries to come. */
  PageLsns(const RelationFiles& files, MappedFiles& mapped, uint32_t nblocks);

  /* Writes an LSN for each of up to kMostPageLsns blocks, by ascending number, as its page's file has it; 0 if the
   * operating system does not have the page in memory, or there is none. Any thread. */
  void read(std::span<const uint32_t> blocks, uint64_t* lsns) const;

 private:
  const RelationFiles& files_;
  std::vector<std::shared_ptr<MappedFile>> mapped_;  // by number; null: not to be had
};

/* The same for blocks in any order, past mappings. Any thread; each keeps a ring of its own until it ends. */
void read_page_lsns(const RelationFiles& files, std::span<const uint32_t> blocks, uint64_t* lsns);

}  // namespace turbine
