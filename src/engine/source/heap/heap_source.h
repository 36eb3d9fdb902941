/*
 * heap_source.h - the source of chunks of heap pages. The backend writes some of a chunk's pages,
 * and names runs of blocks for the others; these are read here from the relation's files.
 *
 * If the operating system has a chunk's runs in memory, the device may read them ahead and decode
 * them at once. Otherwise the storage reader reads them, and may wait for a drive.
 *
 * The session's thread calls everything. A fill holds the files that it began with, and must end
 * before this object. Knows nothing of visibility: the backend confirms what was read.
 */
#pragma once

#include <memory>
#include <vector>

#include "engine/profile/query_profile.h"
#include "engine/source/source.h"
#include "engine/source/heap/chunk_layouts.h"
#include "engine/source/heap/relation_files.h"
#include "engine/source/segments/segment_source.h"
#include "engine/storage/busy_clock.h"
#include "engine/storage/storage_reader.h"
#include "engine/threads/worker_pool.h"

namespace turbine {

/* How a query's blocks are read. */
struct HeapReading {
  StorageReader& storage;
  WorkerPool& threads;  // verify checksums
  ReadPath path;
  bool verify_checksums;
};

class HeapSource final : public ChunkSource {
 public:
  /* `segments`: says what of the pages the column store keeps. All that is passed by reference, and `profile` (or
   * null), outlives this, and this outlives its fills. */
  HeapSource(const Program& program, const SegmentSource& segments, RelationFiles files, const HeapReading& reading,
             QueryProfile* profile);

  /* FILES within the query: of the same relation, or, from its first file on, of the
   * next one. Throws ProtocolError. */
  void add_files(uint32_t first_file, const std::vector<int>& fds);

  /* Those that were passed last. */
  const RelationFiles& files() const { return *files_; }

  ChunkLayouts& layouts() { return layouts_; }

  void check(const ChunkRequest& chunk, const SlotShape& shape) const override;
  TaskInput input(const ChunkRequest& chunk, uint8_t* slot) const override;
  bool fills(const ChunkRequest& chunk) const override { return !chunk.runs.empty(); }
  void fill(const ChunkRequest& chunk, const Task& task) override;
  // Decoding checks pages: there is nothing to check in a slot.

 private:
  struct Fill;
  bool read_ahead(const std::shared_ptr<Fill>& fill, const Task& task);
  void start_reads(const std::shared_ptr<Fill>& fill);
  BusyClock& reads_clock() { return reading_.path == ReadPath::kPageCache ? cache_clock_ : drive_clock_; }
  void add_span(const Fill& fill, const ExtentsRead& read);
  void end_reads(const std::shared_ptr<Fill>& fill, const ExtentsRead& read);

  const Program& program_;
  const SegmentSource& segments_;
  std::shared_ptr<RelationFiles> files_;  // of chunks to come
  bool files_in_use_ = false;             // some chunk reads from files_
  ChunkLayouts layouts_;                  // the device's chunks point to them
  const HeapReading reading_;
  BusyClock drive_clock_, cache_clock_;
  QueryProfile* const profile_;
};

}  // namespace turbine
