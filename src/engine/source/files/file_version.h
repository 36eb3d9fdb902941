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

/*
 * Whether whoever writes to the file from now on makes another version of it. Times of files go on with the kernel's
 * clock, some milliseconds at a time: what is read of a file that has changed right now may be written over with the
 * version still the same, so it must not be kept.
 */
bool is_settled(const FileVersion& version);

/* Of an open file; throws FileError if it is none that can be read like one. */
FileVersion file_version(int fd);

}  // namespace turbine
