/*
 * direct_reader.cc - reads runs of blocks from relation files into a slot.
 *
 * Called by heap_source.cc, on its own threads or on those that decode. Reads what it is told
 * and changes no file; whether the blocks may be read is the backend's to know.
 */
#include "engine/source/heap/direct_reader.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "engine/source/heap/page_checksum.h"

namespace turbine {
namespace {

/* `flags` of preadv2(2): RWF_NOWAIT, or 0. */
CachedRead read_all(int fd, uint8_t* to, uint64_t size, uint64_t offset, int flags) {
  while (size > 0) {
    iovec part{to, size};
    const ssize_t n = preadv2(fd, &part, 1, static_cast<off_t>(offset), flags);
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

/* One run, which may go over the end of a relation file. */
CachedRead read_run(const RelationFiles& files, TbRun run, bool verify_checksums, uint8_t* pages, int flags) {
  uint8_t* to = pages + uint64_t{run.page} * TB_PAGE_SIZE;
  while (run.count > 0) {
    const uint32_t in_file = run.block % kFileBlocks;
    const uint32_t count = std::min(run.count, kFileBlocks - in_file);
    const int fd = files.fd(run.block / kFileBlocks);
    if (fd < 0) return CachedRead::kFailed;
    const uint64_t size = uint64_t{count} * TB_PAGE_SIZE;
    const CachedRead read = read_all(fd, to, size, uint64_t{in_file} * TB_PAGE_SIZE, flags);
    if (read != CachedRead::kDone) return read;
    for (uint32_t i = 0; verify_checksums && i < count; i++)
      if (!page_checksum_ok(to + uint64_t{i} * TB_PAGE_SIZE, run.block + i)) return CachedRead::kFailed;
    to += size;
    run.block += count;
    run.count -= count;
  }
  return CachedRead::kDone;
}

}  // namespace

bool read_runs(const RelationFiles& files, std::span<const TbRun> runs, bool verify_checksums, uint8_t* pages) {
  return std::all_of(runs.begin(), runs.end(), [&](const TbRun& run) {
    return read_run(files, run, verify_checksums, pages, 0) == CachedRead::kDone;
  });
}

CachedRead read_cached(const RelationFiles& files, std::span<const TbRun> runs, uint32_t first, uint32_t count,
                       bool verify_checksums, uint8_t* pages) {
  for (const TbRun& run : runs) {
    const uint32_t from = std::max(run.page, first);
    const uint32_t to = std::min(run.page + run.count, first + count);
    if (from >= to) continue;
    const TbRun part{from - first, run.block + (from - run.page), to - from};
    const CachedRead read = read_run(files, part, verify_checksums, pages, RWF_NOWAIT);
    if (read != CachedRead::kDone) return read;
  }
  return CachedRead::kDone;
}

uint64_t cached_page_lsn(const RelationFiles& files, uint32_t block) {
  uint32_t lsn[2] = {};  // PostgreSQL's PageXLogRecPtr
  const int fd = files.fd(block / kFileBlocks);
  const uint64_t offset = uint64_t{block % kFileBlocks} * TB_PAGE_SIZE;
  if (fd < 0 || read_all(fd, reinterpret_cast<uint8_t*>(lsn), sizeof lsn, offset, RWF_NOWAIT) != CachedRead::kDone)
    return 0;
  return uint64_t{lsn[0]} << 32 | lsn[1];
}

std::vector<std::vector<TbRun>> split_runs(std::span<const TbRun> runs, uint32_t pages) {
  std::vector<std::vector<TbRun>> parts;
  uint32_t room = 0;  // in the last part
  for (TbRun run : runs) {
    while (run.count > 0) {
      if (room == 0) {
        parts.emplace_back();
        room = pages;
      }
      const uint32_t count = std::min(run.count, room);
      parts.back().push_back({run.page, run.block, count});
      run.page += count;
      run.block += count;
      run.count -= count;
      room -= count;
    }
  }
  return parts;
}

}  // namespace turbine
