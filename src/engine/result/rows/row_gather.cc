/*
 * row_gather.cc - rows in a given order, as dense columns for output.
 *
 * Owns the columns of one batch at a time. Called by result_run.cc.
 */
#include "engine/result/rows/row_gather.h"

#include <cstring>

namespace turbine {
namespace {

/* Enough to fill a slot; few enough to stay in the cache. */
constexpr uint64_t kMostRows = 32 << 10;
/* What one thread gathers at a time: more than waking it costs. */
constexpr uint64_t kGatheredRows = 4 << 10;
/* Rows lie anywhere: so many are on their way at a time. */
constexpr size_t kRowsAhead = 16;

template <size_t kWidth>
void gather_values(const ResultRows& rows, size_t column, std::span<const RowRef> refs, uint8_t* to) {
  for (size_t i = 0; i < refs.size(); i++) {
    if (i + kRowsAhead < refs.size()) {
      const RowRef ahead = refs[i + kRowsAhead];
      __builtin_prefetch(rows.batch_of(ahead).columns[column].at(ref_row(ahead)));
    }
    memcpy(to + i * kWidth, rows.batch_of(refs[i]).columns[column].at(ref_row(refs[i])), kWidth);
  }
}

void gather_texts(const ResultRows& rows, size_t column, std::span<const RowRef> refs, uint8_t* to) {
  for (size_t i = 0; i < refs.size(); i++) {
    const ResultBatch& batch = rows.batch_of(refs[i]);
    const std::string_view text = text_at(batch, batch.columns[column], ref_row(refs[i]));
    const TextPointer pointer{reinterpret_cast<const uint8_t*>(text.data()), text.size()};
    memcpy(to + i * sizeof pointer, &pointer, sizeof pointer);
  }
}

void gather_column(const ResultRows& rows, size_t column, std::span<const RowRef> refs, uint8_t* to) {
  const uint32_t type = rows.columns()[column].type;
  if (tb_type_is_text(type)) return gather_texts(rows, column, refs, to);
  switch (tb_type_width(type)) {
    case 1: return gather_values<1>(rows, column, refs, to);
    case 2: return gather_values<2>(rows, column, refs, to);
    case 4: return gather_values<4>(rows, column, refs, to);
    case 8: return gather_values<8>(rows, column, refs, to);
    default: return gather_values<16>(rows, column, refs, to);
  }
}

uint64_t row_bytes(const ResultRows& rows) {
  uint64_t bytes = 0;
  for (const ColumnShape& column : rows.columns()) bytes += tb_type_width(column.type) + 1;
  return bytes;
}

}  // namespace

RowGather::RowGather(const ResultRows& rows, uint64_t references, uint64_t unread)
    : rows_(rows),
      unread_(unread),
      capacity_(std::clamp<uint64_t>(references, 1, kMostRows)),
      memory_(rows.budget(), row_bytes(rows) * capacity_ + 32 * rows.columns().size(), HostContents::kAnything) {}

/* Elements from `first` on are those of these references. */
void RowGather::gather_part(std::span<const RowRef> refs, size_t first, const std::vector<Target>& targets) const {
  for (size_t c = 0; c < targets.size(); c++) {
    if (targets[c].values == nullptr) continue;
    gather_column(rows_, c, refs, targets[c].values + first * tb_type_width(rows_.columns()[c].type));
    if (uint8_t* const valid = targets[c].valid)
      for (size_t i = 0; i < refs.size(); i++)
        valid[first + i] = !rows_.batch_of(refs[i]).columns[c].is_null(ref_row(refs[i]));
  }
}

ResultBatch RowGather::gather(std::span<const RowRef> refs, ParallelWork& work) {
  refs = refs.first(std::min<uint64_t>(refs.size(), capacity_));
  ResultBatch batch;
  batch.nrows = refs.size();
  std::vector<Target> targets;
  uint8_t* at = memory_.data();
  for (const ColumnShape& shape : rows_.columns()) {
    if (is_unread_column(unread_, targets.size())) {
      targets.push_back({nullptr, nullptr});
      batch.columns.push_back({nullptr, 0, nullptr, 0});
      continue;
    }
    const uint32_t width = tb_type_width(shape.type);
    Target& target = targets.emplace_back(Target{at, nullptr});
    at += refs.size() * width;
    if (shape.nullable) {
      target.valid = at;
      at += refs.size();
    }
    at += (16 - reinterpret_cast<uintptr_t>(at) % 16) % 16;
    batch.columns.push_back({target.values, width, target.valid, 1, tb_type_is_text(shape.type) != 0});
  }
  work.each((refs.size() + kGatheredRows - 1) / kGatheredRows, [&](uint64_t part) {
    const size_t first = part * kGatheredRows;
    gather_part(refs.subspan(first, std::min<size_t>(kGatheredRows, refs.size() - first)), first, targets);
  });
  return batch;
}

}  // namespace turbine
