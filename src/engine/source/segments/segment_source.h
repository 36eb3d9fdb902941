/*
 * segment_source.h - rows that a query takes from the column store instead of from pages.
 *
 * The backend tells, for each part of its input, which file it is and which blocks it
 * wants that are all-visible, under which LSNs of the visibility map. What the store has
 * of them becomes tasks of the device; the backend sends no such block. And what the
 * device decodes of the other blocks is kept for queries to come.
 *
 * The session's thread only. Tasks and fills stand on their own.
 */
#pragma once

#include <memory>
#include <vector>

#include "engine/device/device.h"
#include "engine/source/heap/chunk_layouts.h"
#include "engine/source/heap/relation_files.h"
#include "engine/source/segments/zone_filter.h"
#include "engine/store/column_store.h"
#include "engine/store/segment_fill.h"
#include "engine/threads/worker_pool.h"
#include "engine/wire/requests.h"

namespace turbine {

class SegmentSource {
 public:
  SegmentSource(ColumnStore& store, std::shared_ptr<const Program> program, std::shared_ptr<const std::string> params)
      : store_(store),
        program_(std::move(program)),
        params_(std::move(params)),
        zones_(*program_, reinterpret_cast<const TbParamBlock*>(params_->data())) {}

  struct Taken {
    std::vector<uint8_t> reply;  // TbSegmentsTaken and its bits
    std::vector<ChunkTask> tasks;
    uint64_t rows_excluded;  // that are in no task, since none of them passes
  };

  /* Answers the first SEGMENTS of a part. `runs`: the device runs segments; else none is
   * taken, but the part is known. Throws ProtocolError. */
  Taken take(const SegmentsRequest& request, const ChunkLayouts& layouts, bool runs);

  /* Answers the second: of the blocks whose pages are in `files` what they were when they
   * were decoded. Waits for `readers`, not for drives. Throws ProtocolError. */
  Taken take_unchanged(const SegmentsRequest& request, const RelationFiles& files, WorkerPool& readers);

  /* What may be kept of a chunk, once it is confirmed; null: nothing. Throws
   * ProtocolError for a chunk of an unknown part. */
  std::shared_ptr<SegmentFill> fill_of(const ChunkRequest& chunk) const;

 private:
  using Segments = std::vector<TakenSegment>;
  StoredPart part_of(const SegmentsRequest& request, const ChunkLayouts& layouts) const;
  void check_program() const;
  Taken taken(const SegmentsRequest& request, const StoredPart& part, const Segments& segments,
              const Segments& doubtful);

  ColumnStore& store_;
  const std::shared_ptr<const Program> program_;
  const std::shared_ptr<const std::string> params_;
  const ZoneFilter zones_;
  std::vector<StoredPart> parts_;  // number 1 is the first
  uint64_t tasks_ = 0;             // so far
};

}  // namespace turbine
