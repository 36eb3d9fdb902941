/*
 * segment_tasks.cc - see segment_tasks.h.
 *
 * Owns the task that is being put together. What crosses to a device is made codes before if that takes less room,
 * which the segments before have shown: the bus and the host's memory are what a GPU waits for, while a host reads
 * values soonest as they are.
 */
#include "engine/source/files/segment_tasks.h"

#include <algorithm>

#include "engine/store/column_codes.h"

namespace turbine {
namespace {

/* Behind all tasks of other parts: sums of floating-point numbers are folded in this order. */
constexpr uint64_t kFirstSequence = uint64_t{1} << 48;
constexpr unsigned kSegmentBits = 26;

}  // namespace

void SegmentTasks::begin_batch(const BatchReader& reader) {
  once_.assign(program_.source_columns(), 0);
  if (part_.stored.table) return;
  for (size_t i = 0; i < once_.size(); i++)
    once_[i] = !part_.constant[i] && !tb_type_is_text(program_.columns()[i].type) && !reader.may_have_nulls(i);
}

uint64_t SegmentTasks::plain_bytes(size_t column, uint32_t nrows) const {
  return StoredColumn::bytes_of({program_.columns()[column].type, false, false}, nrows);
}

void SegmentTasks::begin_segment(const FileSegments::Segment& place, std::vector<ColumnRows>& columns) {
  places_.assign(columns.size(), nullptr);
  for (ColumnRows& column : columns) column.write_to(nullptr);
  if (std::find(once_.begin(), once_.end(), 1) == once_.end()) return;
  if (!morsel_) {
    // Whatever they become: tasks of one size get the memory of those before.
    uint64_t most = 0;
    for (size_t i = 0; i < columns.size(); i++) most += plain_bytes(i, place.nrows);
    start(place, std::max(most, part_.row_bytes * place.nrows / 16));
  }
  std::vector<size_t> left;
  uint64_t bytes = 0;
  for (size_t i = 0; i < columns.size(); i++) {
    if (!once_[i] || (staged_ && !part_.is_wide[i])) continue;
    left.push_back(i);
    bytes += plain_bytes(i, place.nrows);
  }
  if (left.empty()) return;
  std::shared_ptr<uint8_t> memory = staged_place(bytes);
  if (!memory) memory = part_.memory->take(bytes);
  for (uint8_t* at = memory.get(); const size_t i : left) {
    places_[i] = std::shared_ptr<uint8_t>(memory, at);
    columns[i].write_to(at);
    at += plain_bytes(i, place.nrows);
  }
}

std::shared_ptr<const StoredColumn> SegmentTasks::made_column(size_t column, const ColumnRows& rows,
                                                              const StoredColumn::Zone& zone) {
  // A file may have broken its promise.
  if (!once_[column] || rows.has_nulls()) return nullptr;
  const TbColumn& of = program_.columns()[column];
  const bool nullable = (of.flags & TB_COL_NULLABLE) != 0;
  if (places_[column]) {
    const StoredColumn::Shape shape{.type = of.type, .nullable = nullable, .nulls = false, .zone = zone};
    return std::make_shared<StoredColumn>(shape, rows.rows(), places_[column]);
  }
  const ColumnOrigin origin{static_cast<const uint8_t*>(rows.data().values), nullptr, nullptr};
  const ColumnPiece piece{&origin, 0, rows.rows(), 0};
  auto coded = encode_column(of.type, nullable, rows.rows(), {&piece, 1},
                             [this](uint64_t bytes) { return staged_place(bytes); });
  part_.is_wide[column] = coded->width() == StoredColumn::kPlain;
  return coded;
}

/* Where the device fetches what is written before the segment is added. Null: nowhere. */
std::shared_ptr<uint8_t> SegmentTasks::staged_place(uint64_t bytes) const {
  uint8_t* const place = staged_ ? staged_->place(bytes) : nullptr;
  return place ? std::shared_ptr<uint8_t>(staged_, place) : nullptr;
}

/* The task's others are taken for as large as the first segment, of so many bytes, and a little more. */
void SegmentTasks::start(const FileSegments::Segment& place, uint64_t segment_bytes) {
  morsel_ = std::make_shared<SegmentMorsel>();
  morsel_->columns = part_.stored.columns;
  morsel_->stored = part_.stored.table != nullptr;
  const uint64_t segments = part_.task_rows / std::max(place.nrows, 1u) + 1;
  const uint64_t bytes = segment_bytes * segments;
  staged_ = sink_.stage_columns(bytes + bytes / 8);
  first_segment_ = place.number;
  rows_ = 0;
}

void SegmentTasks::add(const FileSegments::Segment& place, const std::shared_ptr<const Segment>& segment) {
  const uint64_t bytes = StagedColumns::bytes_of(*segment, *part_.stored.columns);
  if (!morsel_) start(place, bytes);
  part_.note_bytes(place.nrows, bytes);
  morsel_->segments.push_back({segment, segment->blocks});
  if (staged_ && !staged_->add(*segment, *part_.stored.columns)) staged_.reset();
  rows_ += place.nrows;
  if (rows_ >= part_.task_rows) flush();
}

void SegmentTasks::flush() {
  if (!morsel_) return;
  sink_.run({{.sequence = kFirstSequence + (uint64_t{part_.number} << kSegmentBits) + first_segment_,
              .input = SegmentsInput{std::move(morsel_), std::move(staged_)},
              .place = {.piece = piece_, .step = tasks_++, .alone = false}}});
  morsel_.reset();
  staged_.reset();
}

}  // namespace turbine
