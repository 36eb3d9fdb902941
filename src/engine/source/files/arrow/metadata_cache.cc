/*
 * metadata_cache.cc - see metadata_cache.h.
 *
 * Owns references to metadata, of either format: a file has one.
 */
#include "engine/source/files/arrow/metadata_cache.h"

#include <algorithm>

namespace turbine {

std::shared_ptr<const void> MetadataCache::find(const FileVersion& version) {
  std::lock_guard lock(mutex_);
  const auto found = kept_.find(version);
  if (found == kept_.end()) return nullptr;
  found->second.used = ++clock_;
  return found->second.metadata;
}

void MetadataCache::add(const FileVersion& version, std::shared_ptr<const void> metadata) {
  if (!is_settled(version)) return;
  std::lock_guard lock(mutex_);
  if (kept_.size() >= kMostFiles)
    kept_.erase(std::min_element(kept_.begin(), kept_.end(),
                                 [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  kept_[version] = {std::move(metadata), ++clock_};
}

MetadataCache& metadata_cache() {
  static MetadataCache cache;
  return cache;
}

}  // namespace turbine
