/*
 * memory_file.h - a file that is in no file system: readers take it by its descriptor.
 */
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace turbine::file_mutations {

/* A new inode each time, so that no reader takes it for one that it has seen before. */
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& content) : fd_(memfd_create("spoilt", MFD_CLOEXEC)) {
    if (fd_ < 0) throw std::runtime_error("memfd_create failed");
    size_t written = 0;
    while (written < content.size()) {
      const ssize_t count = write(fd_, content.data() + written, content.size() - written);
      if (count <= 0) throw std::runtime_error("a memory file cannot be written");
      written += static_cast<size_t>(count);
    }
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

}  // namespace turbine::file_mutations
