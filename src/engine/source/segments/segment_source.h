/*
 * segment_source.h - rows that a query takes from the column store instead of from pages.
 *
 * For each part of its input the backend names the file, the all-visible blocks that it wants, and
 * the LSNs of the visibility map under which they are all-visible. What the store has of these
 * blocks becomes tasks of the device, and the backend sends no such block. What the device decodes
 * of other blocks is kept for queries to come.
 *
 * With sink ROWS no task runs at once. The backend asks for the row ids of blocks by chunks, in the
 * order of the table, and each chunk becomes a task.
 *
 * The session's thread only. Tasks and fills do not need this object once they are made.
 */
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/device/device.h"
#include "engine/store/zone_order.h"
#include "engine/source/source.h"
#include "engine/source/heap/chunk_layouts.h"
#include "engine/source/heap/mapped_files.h"
#include "engine/source/heap/page_lsns.h"
#include "engine/source/heap/relation_files.h"
#include "engine/source/segments/equality_filter.h"
#include "engine/source/segments/join_zone_filter.h"
#include "engine/source/segments/zone_filter.h"
#include "engine/store/column_store.h"
#include "engine/store/segment_fill.h"
#include "engine/threads/worker_pool.h"
#include "engine/wire/requests.h"

namespace turbine {

/* What stands for an LSN where a file of columns is cached. */
inline constexpr uint64_t kFileLsn = 1;

class SegmentSource final : public ChunkSource {
 public:
  /* `tables`: of the program's joins, each checked against it. */
  SegmentSource(ColumnStore& store, std::shared_ptr<const Program> program, std::shared_ptr<const std::string> params,
                const JoinTables& tables)
      : store_(store),
        program_(std::move(program)),
        params_(std::move(params)),
        filter_zones_(*program_, reinterpret_cast<const TbParamBlock*>(params_->data())),
        equalities_(*program_, reinterpret_cast<const TbParamBlock*>(params_->data())),
        join_zones_(*program_, tables) {}

  /* Fresh blocks are taken, and kept, as far as this one sees them. Once, before SEGMENTS that ask
   * for fresh ones. Throws ProtocolError. */
  void see_by(const SnapshotRequest& request);
  /* Null: none is told. */
  const QuerySnapshot* snapshot() const { return snapshot_.get(); }

  /* Tasks are to have the segments of a part in this order, as far as that is known when they are made. Before the
   * first SEGMENTS. */
  void visit_by(const ZoneOrder& order) { order_ = order; }

  /* Before rows of all blocks of a part are taken by a kept list: true: nothing is to run for it, since the query has
   * what comes of it. Before the first SEGMENTS. */
  void serve_lists_by(std::function<bool(const std::shared_ptr<const SegmentList>&)> serves) {
    serves_list_ = std::move(serves);
  }
  /* What the part has taken, if it is kept; null: it is not, or the part is not known. */
  std::shared_ptr<const SegmentList> list_of(uint32_t part) const {
    return part == 0 || part > parts_.size() ? nullptr : parts_[part - 1].list;
  }

  struct Taken {
    std::vector<uint8_t> reply;  // TbSegmentsTaken and its bits
    uint64_t blocks = 0;
  };

  /* Answers the first SEGMENTS of a part. Tasks run as soon as there are some, while others are still to be found.
   * Where the device takes no segments, the part is known all the same. Throws ProtocolError. */
  Taken take(const SegmentsRequest& request, const ChunkLayouts& layouts);

  /* Answers the second: of the blocks whose pages are what they were when they were decoded, in `files` or as the
   * request says of dirty ones. Waits for `readers`, not for drives. Throws ProtocolError. */
  Taken take_unchanged(const SegmentsRequest& request, const RelationFiles& files, MappedFiles& mapped,
                       WorkerPool& readers);

  /* A part that is a file of columns, whose blocks are all as good as they ever were: what is there of it becomes
   * tasks. Not `cached`: nothing is there, and nothing is kept. Throws ProtocolError. */
  struct FileTaken {
    StoredPart part;  // where the rest may be kept; no table: nowhere
    std::vector<uint8_t> bits;  // of blocks that are taken
    uint64_t rows = 0;
  };
  FileTaken take_file(const TbFileIdentity& file, const std::vector<ColumnKey>& columns, uint32_t nblocks, bool cached);

  /* Whether no row of so many, whose columns have these zones, passes. Any thread. */
  bool excludes(const StoredColumn::Zone* zones) const;
  /* Source columns that this depends on, by flags. Any thread. */
  std::vector<uint8_t> zone_columns() const;
  /* What values rows that pass must have. Any thread. */
  const std::vector<ColumnEquality>& equalities() const { return equalities_.equalities(); }

  /* A chunk of blocks that were taken for ROWS: there is nothing to fill or to check in its slot. */
  void check(const ChunkRequest& chunk, const SlotShape& shape) const override;
  TaskInput input(const ChunkRequest& chunk, uint8_t*) const override { return SegmentsInput{morsel_of(chunk)}; }

  /* What may be kept of a chunk, once it is confirmed; null: nothing. Throws
   * ProtocolError for a chunk of an unknown part. */
  std::shared_ptr<SegmentFill> fill_of(const ChunkRequest& chunk) const;

 private:
  using Segments = std::vector<TakenSegment>;
  struct Part : StoredPart {
    Segments rest;  // too few for a task, or to be ordered, while others are looked for
    Segments waiting;  // ROWS: taken and not excluded, by ascending first block
    Segments taken;  // all that is; only as long as a list of it may be kept
    StoredTable::Search search;
    bool keeps_list = false;
    std::optional<StoredTable::Renewal> renewal;  // until the second question
    std::vector<uint8_t> promised;  // what was taken before its end
    std::shared_ptr<const SegmentList> list;  // of all that was taken; null: it is not kept
    SegmentsRequest first_question;
  };
  bool rows_sink() const { return program_->sink() == TB_SINK_ROWS; }
  StoredPart stored_part(const TbFileIdentity& file, const std::vector<ColumnKey>& keys, uint32_t nblocks) const;
  void check_number(uint32_t part) const;
  Part part_of(const SegmentsRequest& request, const ChunkLayouts& layouts) const;
  void check_program() const;
  class Answer;
  /* What excludes a segment as a whole. */
  enum class Excluded { kNot, kByFilter, kByJoin };
  template <class... Zones>
  Excluded excluded(const Zones&... zones) const;
  MorselShape morsel_shape(const Part& part, const Device::SegmentShape& shape) const;
  void take_some(Part& part, Segments& segments, const Device::SegmentShape& shape, Answer& answer, bool last);
  std::shared_ptr<const SegmentMorsel> morsel_of(const ChunkRequest& chunk) const;
  void run_tasks(std::vector<std::shared_ptr<const SegmentMorsel>> morsels);
  void take_list(Part& part, const std::shared_ptr<const SegmentList>& kept, const Device::SegmentShape& shape,
                 Answer& answer);
  void take_remembered(const Part& part, std::span<const Excluded> by, const MorselShape& cut, uint64_t told_rows,
                       Answer& answer);
  bool renew_list(Part& part, const SegmentsRequest& request, const Device::SegmentShape& shape, Answer& answer);
  std::vector<uint8_t> changed_blocks(const StoredTable::Renewal& renewal, const SegmentsRequest& request,
                                      const PageLsns& pages, WorkerPool& readers) const;
  Taken take_renewed(Part& part, const SegmentsRequest& request, const PageLsns& pages, WorkerPool& readers);
  void search(Part& part, const SegmentsRequest& request, const Device::SegmentShape& shape, Answer& answer);
  void keep_list(Part& part, const SegmentsRequest& request);
  void note_excluded(const Answer& answer);
  Taken finish(Answer& answer);

  ColumnStore& store_;
  const std::shared_ptr<const Program> program_;
  const std::shared_ptr<const std::string> params_;
  const ZoneFilter filter_zones_;
  const EqualityFilter equalities_;
  const JoinZoneFilter join_zones_;
  StoredTable::Known known_of(const SegmentsRequest& request) const;
  std::shared_ptr<const QuerySnapshot> snapshot_;  // null: no fresh blocks
  std::optional<ZoneOrder> order_;  // none: that of the file
  std::function<bool(const std::shared_ptr<const SegmentList>&)> serves_list_;
  std::vector<Part> parts_;  // number 1 is the first
  uint64_t tasks_ = 0;  // so far
};

}  // namespace turbine
