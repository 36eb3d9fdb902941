/*
 * mapped_files.h - relation files in our address space, for looks at the headers of their pages.
 *
 * Where a page has been looked at once, the next look is a load from memory, a twentieth of what the cheapest
 * system call costs. So mappings stay for queries to come, while other queries ask for them; a file that was
 * removed is let go of within seconds, since its space is free only then.
 *
 * Thread-safe. Nothing is ever read from a drive for a look.
 */
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

namespace turbine {

/* One relation file, up to the size that PostgreSQL gives them, whatever it has now. */
class MappedFile {
 public:
  /* Null: the file cannot be mapped. The descriptor stays the caller's. */
  static std::shared_ptr<MappedFile> map(int fd);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;

  /* The LSNs in the headers of these pages of the file, by ascending number; 0 where the operating system does not
   * have the page in memory, or there is none. Any thread. */
  void read_lsns(std::span<const uint32_t> pages, uint64_t* lsns);

 private:
  MappedFile(int fd, uint8_t* memory) : fd_(fd), memory_(memory) {}
  void read_some(std::span<const uint32_t> pages, uint64_t* lsns);
  friend class MappedFiles;

  const int fd_;  // our own
  uint8_t* const memory_;
  std::atomic<bool> damaged_{false};  // part of it shows the file no more
  int64_t last_asked_s_ = 0;          // under MappedFiles' lock
};

class MappedFiles {
 public:
  /* At most so many files; by default a quarter of the descriptors that the process may have. */
  explicit MappedFiles(size_t most = most_by_default()) : most_(most) {}

  /* The file's mapping, made if there is none; null if it cannot be, or there are too many. */
  std::shared_ptr<MappedFile> find(int fd);

  /* Lets go of files that were removed, and of those that nobody has asked for lately. To be called now and then. */
  void forget_unused();

  size_t size() const;

  /* Tests: as if so much time had passed. */
  void pass_time(int64_t seconds) { passed_s_ += seconds; }

 private:
  static size_t most_by_default();
  int64_t now_s() const;

  const size_t most_;
  std::atomic<int64_t> passed_s_{0};
  mutable std::mutex mutex_;  // protects files_
  std::map<std::pair<dev_t, ino_t>, std::shared_ptr<MappedFile>> files_;  // each keeps its inode from being used again
};

}  // namespace turbine
