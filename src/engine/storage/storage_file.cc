/*
 * storage_file.cc - see storage_file.h.
 *
 * Owns the second descriptor and a mapping that nobody reads. Called by storage_reader.cc on all threads that read. It
 * must never set flags of the descriptor that it was given, since the backend reads through the same.
 */
#include "engine/storage/storage_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace turbine {
namespace {

constexpr uint64_t kMincorePage = 4096;

/* Pages that one look at the page cache covers. */
constexpr uint64_t kPagesPerLook = 1024;

}  // namespace

StorageFile::~StorageFile() {
  if (direct_fd_ >= 0) close(direct_fd_);
  if (map_) munmap(map_, mapped_);
}

int StorageFile::direct_fd() const {
  std::call_once(open_once_, [this] {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd_);
    if (fd_ >= 0) direct_fd_ = calls_.open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
  });
  return direct_refused_ ? -1 : direct_fd_;
}

bool StorageFile::in_page_cache(uint64_t offset, uint64_t size) const {
  // A page that the kernel counts differently from us would need other arithmetic.
  static const bool pages_fit = sysconf(_SC_PAGESIZE) == static_cast<long>(kMincorePage);
  std::call_once(map_once_, [this] {
    struct stat file;
    if (!pages_fit || fstat(fd_, &file) != 0 || file.st_size <= 0) return;
    void* map = mmap(nullptr, static_cast<size_t>(file.st_size), PROT_NONE, MAP_SHARED, fd_, 0);
    if (map == MAP_FAILED) return;
    map_ = map;
    mapped_ = static_cast<uint64_t>(file.st_size);
  });
  if (size == 0 || offset + size > mapped_) return false;

  uint64_t page = offset / kMincorePage;
  const uint64_t end = (offset + size + kMincorePage - 1) / kMincorePage;
  while (page < end) {
    unsigned char there[kPagesPerLook];
    const uint64_t count = std::min(end - page, kPagesPerLook);
    auto* const at = static_cast<uint8_t*>(map_) + page * kMincorePage;
    if (calls_.mincore(at, count * kMincorePage, there) != 0) return false;
    if (!std::all_of(there, there + count, [](unsigned char flags) { return flags & 1; })) return false;
    page += count;
  }
  return true;
}

bool StorageFile::was_in_page_cache(uint64_t offset, uint64_t size) const {
  std::call_once(look_once_, [this] {
    struct stat file;
    if (fstat(fd_, &file) != 0) return;
    const auto bytes = static_cast<uint64_t>(std::max<off_t>(file.st_size, 0));
    for (uint64_t at = 0; at < bytes; at += kExtentBytes)
      were_there_.push_back(in_page_cache(at, std::min(kExtentBytes, bytes - at)));
  });
  if (size == 0) return false;
  for (uint64_t extent = offset / kExtentBytes; extent <= (offset + size - 1) / kExtentBytes; extent++)
    if (extent >= were_there_.size() || !were_there_[extent]) return false;
  return true;
}

CachedRead StorageFile::read_cached(uint64_t offset, uint64_t size, uint8_t* to) const {
  int flags = RWF_NOWAIT;
  while (size > 0) {
    const iovec part{to, size};
    const ssize_t n = calls_.preadv2(fd_, &part, static_cast<off_t>(offset), flags);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && flags != 0 && errno == EAGAIN) return CachedRead::kNotCached;
    if (n < 0 && flags != 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL)) {
      flags = 0;
      continue;
    }
    if (n <= 0) return CachedRead::kFailed;
    to += n;
    size -= static_cast<uint64_t>(n);
    offset += static_cast<uint64_t>(n);
  }
  return CachedRead::kDone;
}

}  // namespace turbine
