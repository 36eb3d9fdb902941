/*
 * storage_file.h - an open file as the storage reader sees it: its descriptor, a second one for O_DIRECT, and which of
 * its pages the page cache has.
 */
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/storage/storage_calls.h"

namespace turbine {

/* What O_DIRECT asks of offsets, sizes and addresses. Some drives ask for less; all take this. */
inline constexpr uint64_t kDirectAlignment = 4096;

/* The page cache has an extent, or not; and what one read of a drive brings. docs/decisions/direct-reads.md has the
 * measurements. */
inline constexpr uint64_t kExtentBytes = 1 << 20;

enum class CachedRead {
  kDone,
  kNotCached,  // nobody has waited for a drive; what was read is undefined
  kFailed
};

/* Any thread. */
class StorageFile {
 public:
  /* Borrows `fd`, which must outlive this. No system call yet. */
  explicit StorageFile(int fd, const StorageCalls& calls = system_storage_calls()) : fd_(fd), calls_(calls) {}
  ~StorageFile();
  StorageFile(const StorageFile&) = delete;

  int fd() const { return fd_; }

  /* The same file, opened again with O_DIRECT: `fd` shares its flags with the process that sent it. -1: the file system
   * or the container does not allow it. */
  int direct_fd() const;

  /* A read has shown that the file system does not take O_DIRECT after all. */
  void refuse_direct() const { direct_refused_ = true; }

  /* Does the page cache have all of it? Of somebody else's file the kernel says so in any case: then a read that must
   * not wait tells better. */
  bool in_page_cache(uint64_t offset, uint64_t size) const;

  /* Did it have all of these extents of kExtentBytes when this was first asked? A read of what is there makes the
   * kernel read ahead, so the page cache may have more each time, which would not save the drive a byte. */
  bool was_in_page_cache(uint64_t offset, uint64_t size) const;

  /* Reads what the page cache has. (Of a file system that can not tell, such as tmpfs, everything is taken to be
   * there.) A miss makes the kernel read ahead into the page cache. */
  CachedRead read_cached(uint64_t offset, uint64_t size, uint8_t* to) const;

 private:
  const int fd_;
  const StorageCalls& calls_;
  mutable std::once_flag open_once_, map_once_, look_once_;
  mutable std::atomic<bool> direct_refused_{false};
  mutable int direct_fd_ = -1;
  mutable void* map_ = nullptr;  // never looked into: mincore(2) asks for a mapping
  mutable uint64_t mapped_ = 0;
  mutable std::vector<bool> were_there_;  // by extent
};

}  // namespace turbine
