/*
 * file_version.h - which file it is, and which state of it.
 */
#pragma once

#include <compare>
#include <cstdint>

namespace turbine {

/* Whoever writes to a file changes one of the times: that of the inode cannot be set back. */
struct FileVersion {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t changed_ns = 0;        // its content, as it says
  int64_t inode_changed_ns = 0;
  auto operator<=>(const FileVersion&) const = default;
};

/* Of an open file; throws FileError if it is none that can be read like one. */
FileVersion file_version(int fd);

}  // namespace turbine
