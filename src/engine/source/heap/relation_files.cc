/*
 * relation_files.cc - the open relation files of one relation.
 *
 * Owns the descriptors, and closes them with itself. Called by the session and by
 * heap_source.cc; it opens nothing by name.
 */
#include "engine/source/heap/relation_files.h"

#include <unistd.h>

namespace turbine {
namespace {

/* Of a relation with the most blocks that PostgreSQL can number. */
constexpr uint64_t kMaxSegments = (1ull << 32) / kFileBlocks;

}  // namespace

bool RelationFiles::add(uint32_t first_file, const std::vector<int>& fds) {
  bool ok = uint64_t{first_file} + fds.size() <= kMaxSegments;
  if (ok && fds_.size() < first_file + fds.size()) {
    fds_.resize(first_file + fds.size(), -1);
    storage_.resize(fds_.size());
  }
  for (size_t i = 0; i < fds.size(); i++) {
    if (ok && fds_[first_file + i] == -1) {
      fds_[first_file + i] = fds[i];
      storage_[first_file + i] = std::make_unique<StorageFile>(fds[i], *calls_);
    } else {
      ok = false;
      close(fds[i]);
    }
  }
  return ok;
}

void RelationFiles::close_all() {
  storage_.clear();
  for (int fd : fds_)
    if (fd >= 0) close(fd);
  fds_.clear();
}

}  // namespace turbine
