/*
 * segment_tasks.h - segments of a file, as a job reads them, become tasks of so many rows each.
 *
 * Where nobody will read a segment again, this also says where its rows are read to: to where the device fetches them,
 * and as they are, if that is all that can be done for them. In the column store they would take less room as codes.
 *
 * A job's own.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/device/staged_columns.h"
#include "engine/program/program.h"
#include "engine/source/files/file_part.h"
#include "engine/source/source.h"

namespace turbine {

class SegmentTasks {
 public:
  /* `piece`: that the tasks are of. */
  SegmentTasks(const FilePart& part, const Program& program, uint64_t piece, TaskSink& sink)
      : part_(part), program_(program), piece_(piece), sink_(sink) {}

  /* The next segments are read by this. */
  void begin_batch(const BatchReader& reader);
  /* Before its rows are read: says where those go that stay there. Throws bad_alloc. */
  void begin_segment(const FileSegments::Segment& place, std::vector<ColumnRows>& columns);
  /* A column of the segment, of which nothing else is to be made; null: it is to be stored as any other. `zone`: the
   * batch's. Throws bad_alloc. */
  std::shared_ptr<const StoredColumn> made_column(size_t column, const ColumnRows& rows,
                                                  const StoredColumn::Zone& zone);
  /* The segment with all its columns. */
  void add(const FileSegments::Segment& place, const std::shared_ptr<const Segment>& segment);
  /* What there is becomes a task. */
  void flush();
  /* So far. */
  uint32_t tasks() const { return tasks_; }

 private:
  void start(const FileSegments::Segment& place, uint64_t segment_bytes);
  std::shared_ptr<uint8_t> staged_place(uint64_t bytes) const;
  uint64_t plain_bytes(size_t column, uint32_t nrows) const;

  const FilePart& part_;
  const Program& program_;
  const uint64_t piece_;
  TaskSink& sink_;
  uint32_t tasks_ = 0;
  std::shared_ptr<SegmentMorsel> morsel_;  // null: none has begun
  std::shared_ptr<StagedColumns> staged_;
  uint64_t first_segment_ = 0, rows_ = 0;
  std::vector<uint8_t> once_;  // by column, of the batch: nobody reads its values again, and none is NULL
  std::vector<std::shared_ptr<uint8_t>> places_;  // by column, of the segment: where its rows stay
};

}  // namespace turbine
