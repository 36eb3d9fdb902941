/*
 * read_path.cc - chooses the way of a query's reads.
 *
 * Called once a table and once a file. It looks at sizes only: what the page cache has is seen extent by extent, by
 * storage_reader.cc.
 */
#include "engine/storage/read_path.h"

namespace turbine {

ReadPath choose_read_path(StoragePath setting, double share, uint64_t bytes, uint64_t memory) {
  switch (setting) {
    case StoragePath::kDirect: return ReadPath::kDirect;
    case StoragePath::kPageCache: return ReadPath::kPageCache;
    case StoragePath::kAuto: break;
  }
  const bool large = memory > 0 && static_cast<double>(bytes) >= share * static_cast<double>(memory);
  return large ? ReadPath::kPastPageCache : ReadPath::kPageCache;
}

}  // namespace turbine
