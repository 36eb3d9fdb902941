/*
 * file_version.cc - see file_version.h.
 *
 * Called when a file is opened, and before anything that was read of it is kept.
 */
#include "engine/source/files/file_version.h"

#include <sys/stat.h>
#include <time.h>

#include "engine/source/files/table_file.h"

namespace turbine {
namespace {

int64_t nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec; }

/* Two ticks of the slowest clock that kernels are built with. */
constexpr int64_t kSettlesNs = 20'000'000;

}  // namespace

bool is_settled(const FileVersion& version) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now) - version.inode_changed_ns > kSettlesNs;
}

FileVersion file_version(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) throw FileError("it is no regular file");
  return {status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size), nanoseconds(status.st_mtim),
          nanoseconds(status.st_ctim)};
}

}  // namespace turbine
