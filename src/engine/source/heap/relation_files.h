/*
 * relation_files.h - the open relation files of one relation, for one query.
 *
 * The backend opened them and passed the descriptors; they are closed with
 * this object, because DROP TABLE and friends rely on everyone letting go. What
 * mapped_files.h keeps of them beyond the query goes when a file is removed.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/storage/storage_file.h"
#include "turbine/wire.h"

namespace turbine {

/* Blocks of one relation file (PostgreSQL's RELSEG_SIZE at 8 kB pages). */
constexpr uint32_t kFileBlocks = 131072;

/* Move-only. */
class RelationFiles {
 public:
  explicit RelationFiles(const StorageCalls& calls = system_storage_calls()) : calls_(&calls) {}
  ~RelationFiles() { close_all(); }
  RelationFiles(RelationFiles&& other) noexcept : calls_(other.calls_) { swap(other); }
  RelationFiles& operator=(RelationFiles&& other) noexcept {
    swap(other);
    return *this;
  }

  /* Takes the descriptors of files first, first + 1, ... even if it
   * refuses them. False: out of range, or a file is there already. */
  bool add(uint32_t first_file, const std::vector<int>& fds);

  void close_all();

  /* All descriptors, in the files' order; none is left. -1 where a file was not passed. */
  std::vector<int> take_all() {
    storage_.clear();
    return std::exchange(fds_, {});
  }

  /* The descriptor of a file, -1 if it was not passed. */
  int fd(uint32_t file) const { return file < fds_.size() ? fds_[file] : -1; }

  /* The file to be read; null if it was not passed. */
  const StorageFile* storage(uint32_t file) const { return file < storage_.size() ? storage_[file].get() : nullptr; }

 private:
  void swap(RelationFiles& other) noexcept {
    std::swap(calls_, other.calls_);
    fds_.swap(other.fds_);
    storage_.swap(other.storage_);
  }

  const StorageCalls* calls_;
  std::vector<int> fds_;
  std::vector<std::unique_ptr<StorageFile>> storage_;  // of fds_; goes before they are closed
};

}  // namespace turbine
