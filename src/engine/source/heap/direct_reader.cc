/*
 * direct_reader.cc - runs of blocks as extents of relation files.
 *
 * Called by heap_source.cc, on the session's thread or on those that decode. Reads what it is told
 * and changes no file; whether the blocks may be read is the backend's to know.
 */
#include "engine/source/heap/direct_reader.h"

#include <algorithm>

#include "engine/source/heap/page_checksum.h"

namespace turbine {

std::optional<std::vector<FileExtent>> extents_of(const RelationFiles& files, std::span<const TbRun> runs,
                                                  uint8_t* pages) {
  std::vector<FileExtent> extents;
  for (TbRun run : runs) {
    // A run may go over the end of a relation file.
    while (run.count > 0) {
      const uint32_t in_file = run.block % kFileBlocks;
      const uint32_t count = std::min(run.count, kFileBlocks - in_file);
      const StorageFile* file = files.storage(run.block / kFileBlocks);
      if (!file) return std::nullopt;
      const uint64_t size = uint64_t{count} * TB_PAGE_SIZE;
      extents.push_back({.file = file,
                         .offset = uint64_t{in_file} * TB_PAGE_SIZE,
                         .size = size,
                         .to = pages + uint64_t{run.page} * TB_PAGE_SIZE,
                         .least = size});
      run.page += count;
      run.block += count;
      run.count -= count;
    }
  }
  return extents;
}

bool checksums_ok(std::span<const TbRun> runs, const uint8_t* pages) {
  return std::all_of(runs.begin(), runs.end(), [&](const TbRun& run) {
    for (uint32_t i = 0; i < run.count; i++)
      if (!page_checksum_ok(pages + uint64_t{run.page + i} * TB_PAGE_SIZE, run.block + i)) return false;
    return true;
  });
}

bool were_in_page_cache(const RelationFiles& files, std::span<const TbRun> runs) {
  const auto extents = extents_of(files, runs, nullptr);
  return extents && std::all_of(extents->begin(), extents->end(), [](const FileExtent& extent) {
           return extent.file->was_in_page_cache(extent.offset, extent.size);
         });
}

CachedRead read_cached(const RelationFiles& files, std::span<const TbRun> runs, uint32_t first, uint32_t count,
                       bool verify_checksums, uint8_t* pages) {
  for (const TbRun& run : runs) {
    const uint32_t from = std::max(run.page, first);
    const uint32_t to = std::min(run.page + run.count, first + count);
    if (from >= to) continue;
    const TbRun part{from - first, run.block + (from - run.page), to - from};
    const auto extents = extents_of(files, {&part, 1}, pages);
    if (!extents) return CachedRead::kFailed;
    for (const FileExtent& extent : *extents) {
      const CachedRead read = extent.file->read_cached(extent.offset, extent.size, extent.to);
      if (read != CachedRead::kDone) return read;
    }
    if (verify_checksums && !checksums_ok({&part, 1}, pages)) return CachedRead::kFailed;
  }
  return CachedRead::kDone;
}

uint64_t cached_page_lsn(const RelationFiles& files, uint32_t block) {
  uint32_t lsn[2] = {};  // PostgreSQL's PageXLogRecPtr
  const StorageFile* file = files.storage(block / kFileBlocks);
  const uint64_t offset = uint64_t{block % kFileBlocks} * TB_PAGE_SIZE;
  if (!file || file->read_cached(offset, sizeof lsn, reinterpret_cast<uint8_t*>(lsn)) != CachedRead::kDone) return 0;
  return uint64_t{lsn[0]} << 32 | lsn[1];
}

}  // namespace turbine
