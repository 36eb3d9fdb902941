/*
 * read_path.h - by which way a query's bytes come from files: the page cache, or the drive past it.
 */
#pragma once

#include <cstdint>

namespace turbine {

/* What pg_turbine.storage_path says. */
enum class StoragePath { kAuto, kDirect, kPageCache };

/* What that means for one table. */
enum class ReadPath {
  kPageCache,     // all reads go through the page cache, and leave there what they have read
  kPastPageCache, // what the page cache has is taken from there, the rest with O_DIRECT
  kDirect         // everything is read with O_DIRECT
};

/* `share`: of the memory, from which on `auto` spares the page cache a table. `bytes`: of the table. `memory`: that
 * this process may use; 0: not known, so auto means the page cache. */
ReadPath choose_read_path(StoragePath setting, double share, uint64_t bytes, uint64_t memory);

}  // namespace turbine
