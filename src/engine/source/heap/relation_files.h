/*
 * relation_files.h - the open segment files of one relation, for one query.
 *
 * The backend opened them and passed the descriptors; they are closed with
 * this object and never kept beyond the query, because DROP TABLE and friends
 * rely on everyone letting go.
 */
#pragma once

#include <cstdint>
#include <vector>

#include "turbine/wire.h"

namespace turbine {

/* Blocks of one segment file (PostgreSQL's RELSEG_SIZE at 8 kB pages). */
constexpr uint32_t kSegmentBlocks = 131072;

/* Move-only. */
class RelationFiles {
 public:
  RelationFiles() = default;
  ~RelationFiles() { close_all(); }
  RelationFiles(RelationFiles&& other) noexcept { fds_.swap(other.fds_); }
  RelationFiles& operator=(RelationFiles&& other) noexcept {
    fds_.swap(other.fds_);
    return *this;
  }

  /* Takes the descriptors of segments first, first + 1, ... even if it
   * refuses them. False: out of range, or a segment is there already. */
  bool add(uint32_t first_segment, const std::vector<int>& fds);

  void close_all();

  /* The descriptor of a segment, -1 if it was not passed. */
  int fd(uint32_t segment) const { return segment < fds_.size() ? fds_[segment] : -1; }

 private:
  std::vector<int> fds_;
};

}  // namespace turbine
