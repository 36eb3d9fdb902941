/*
 * file_reading.h - how whoever reads files for a query reaches the storage reader, and where the figures go.
 */
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/storage/busy_clock.h"
#include "engine/storage/storage_reader.h"

namespace turbine {

/* Of one query; any thread. */
struct FilesRead {
  BusyClock clock;
  std::atomic<uint64_t> drive_bytes{0}, drive_us{0};  // while at least one read waited
};

struct FileReading {
  StorageReader* storage = nullptr;  // null: all reads go through the page cache
  ReadPath path = ReadPath::kPageCache;
  std::shared_ptr<FilesRead> read = nullptr;  // or null: nobody asks

  /* As StorageReader::read_now(). */
  ExtentsRead read_now(std::vector<FileExtent> extents) const {
    if (read) read->clock.begin();
    const ExtentsRead result = storage->read_now(std::move(extents), path);
    if (!read) return result;
    read->drive_us += read->clock.end();
    read->drive_bytes += result.drive_bytes;
    return result;
  }
};

}  // namespace turbine
