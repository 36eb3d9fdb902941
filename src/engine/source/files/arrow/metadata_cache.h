/*
 * metadata_cache.h - what files say about themselves, kept while they stay as they are.
 *
 * A footer takes milliseconds to read and check, which a warm query must not spend. Any thread.
 */
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "engine/source/files/file_version.h"

namespace turbine {

class MetadataCache {
 public:
  /* Null: not kept. */
  std::shared_ptr<const void> find(const FileVersion& version);
  /* Unless the version may stay the same though the file changes (is_settled). */
  void add(const FileVersion& version, std::shared_ptr<const void> metadata);

 private:
  static constexpr size_t kMostFiles = 4096;
  struct Kept {
    std::shared_ptr<const void> metadata;
    uint64_t used;
  };
  std::mutex mutex_;
  std::map<FileVersion, Kept> kept_;
  uint64_t clock_ = 0;
};

/* One for the process. */
MetadataCache& metadata_cache();

}  // namespace turbine
