/*
 * relation_files.cc - the open segment files of one relation.
 */
#include "engine/source/heap/relation_files.h"

#include <unistd.h>

namespace turbine {
namespace {

/* Of a relation with the most blocks that PostgreSQL can number. */
constexpr uint64_t kMaxSegments = (1ull << 32) / kSegmentBlocks;

}  // namespace

bool RelationFiles::add(uint32_t first_segment, const std::vector<int>& fds) {
  bool ok = uint64_t{first_segment} + fds.size() <= kMaxSegments;
  if (ok && fds_.size() < first_segment + fds.size()) fds_.resize(first_segment + fds.size(), -1);
  for (size_t i = 0; i < fds.size(); i++) {
    if (ok && fds_[first_segment + i] == -1) {
      fds_[first_segment + i] = fds[i];
    } else {
      ok = false;
      close(fds[i]);
    }
  }
  return ok;
}

void RelationFiles::close_all() {
  for (int fd : fds_)
    if (fd >= 0) close(fd);
  fds_.clear();
}

}  // namespace turbine
