/*
 * direct_reader.cc - reads runs of blocks from relation files into a slot.
 */
#include "engine/storage/direct_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "engine/storage/page_checksum.h"

namespace turbine {
namespace {

bool read_all(int fd, uint8_t* to, uint64_t size, uint64_t offset) {
  while (size > 0) {
    const ssize_t n = pread(fd, to, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    to += n;
    size -= static_cast<uint64_t>(n);
    offset += static_cast<uint64_t>(n);
  }
  return true;
}

/* One run, which may go over the end of a segment file. */
bool read_run(const RelationFiles& files, TbRun run, uint8_t* to) {
  while (run.count > 0) {
    const uint32_t in_segment = run.block % kSegmentBlocks;
    const uint32_t count = std::min(run.count, kSegmentBlocks - in_segment);
    const int fd = files.fd(run.block / kSegmentBlocks);
    if (fd < 0) return false;
    const uint64_t size = uint64_t{count} * TB_PAGE_SIZE;
    if (!read_all(fd, to, size, uint64_t{in_segment} * TB_PAGE_SIZE)) return false;
    to += size;
    run.block += count;
    run.count -= count;
  }
  return true;
}

}  // namespace

bool read_runs(const RelationFiles& files, std::span<const TbRun> runs, bool verify_checksums, uint8_t* pages) {
  for (const TbRun& run : runs) {
    uint8_t* to = pages + uint64_t{run.page} * TB_PAGE_SIZE;
    if (!read_run(files, run, to)) return false;
    for (uint32_t i = 0; verify_checksums && i < run.count; i++)
      if (!page_checksum_ok(to + uint64_t{i} * TB_PAGE_SIZE, run.block + i)) return false;
  }
  return true;
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
