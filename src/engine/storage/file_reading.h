/*
 * file_reading.h - how whoever reads files for a query reaches the storage reader, and where the figures go.
 */
#pragma once

#include <algorithm>
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

/* What a query's sources of files are told of reading. */
struct FileStorage {
  StorageReader& reader;
  StoragePath path;      // what pg_turbine.storage_path asks for
  double direct_share;   // of the memory: `auto` takes larger tables past the page cache
  uint64_t table_bytes;  // as the backend estimates it
  uint64_t memory;       // of the process, bytes

  ReadPath path_of(uint64_t file_bytes) const {
    return choose_read_path(path, direct_share, std::max(file_bytes, table_bytes), memory);
  }
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
