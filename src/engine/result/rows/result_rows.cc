/*
 * result_rows.cc - the rows that a result plan works on.
 *
 * Owns copies and added columns, and borrows the rest. Rows must never be added once a
 * column was.
 */
#include "engine/result/rows/result_rows.h"

#include <cstring>

#include "engine/device/device.h"
#include "engine/memory/alignment.h"

namespace turbine {
namespace {

constexpr uint64_t kMostBatches = uint64_t{1} << (64 - kRefBatchShift);

/* Copies rows into one block of memory: columns, then texts. `batch_at(i)` and
 * `row_at(i)` say where row i lies. */
template <class BatchAt, class RowAt>
HostBuffer copy_rows(const std::vector<ColumnShape>& columns, MemoryBudget& budget, uint64_t n, BatchAt batch_at,
                     RowAt row_at, ResultBatch* copied) {
  uint64_t size = 0;
  for (size_t c = 0; c < columns.size(); c++) {
    size += host_aligned(n * tb_type_width(columns[c].type)) + (columns[c].nullable ? host_aligned(n) : 0);
    if (tb_type_is_text(columns[c].type))
      for (uint64_t i = 0; i < n; i++) size += text_at(batch_at(i), batch_at(i).columns[c], row_at(i)).size();
  }
  HostBuffer block(budget, size, HostContents::kAnything);
  uint64_t text_size = 0;
  uint8_t* at = block.data();
  for (size_t c = 0; c < columns.size(); c++) {
    const uint32_t width = tb_type_width(columns[c].type);
    const bool text = tb_type_is_text(columns[c].type);
    ResultColumn column{at, width, nullptr, 1, text};
    for (uint64_t i = 0; i < n && !text; i++) memcpy(at + i * width, batch_at(i).columns[c].at(row_at(i)), width);
    at += host_aligned(n * width);
    if (columns[c].nullable) {
      column.valid = at;
      for (uint64_t i = 0; i < n; i++) at[i] = !batch_at(i).columns[c].is_null(row_at(i));
      at += host_aligned(n);
    }
    copied->columns.push_back(column);
  }
  for (size_t c = 0; c < columns.size(); c++) {
    if (!tb_type_is_text(columns[c].type)) continue;
    for (uint64_t i = 0; i < n; i++) {
      const std::string_view text = text_at(batch_at(i), batch_at(i).columns[c], row_at(i));
      const TextPointer pointer{at + text_size, text.size()};
      if (!text.empty()) memcpy(at + text_size, text.data(), text.size());
      memcpy(const_cast<uint8_t*>(copied->columns[c].at(i)), &pointer, sizeof pointer);
      text_size += text.size();
    }
  }
  copied->nrows = n;
  return block;
}

}  // namespace

void ResultRows::borrow(const ResultBatch& batch) {
  if (batch.nrows == 0) return;
  if (batches_.size() + 1 >= kMostBatches || batch.nrows >> kRefBatchShift != 0)
    throw DeviceError(TB_FALLBACK_HOST_MEMORY, "too many rows to sort");
  first_number_.push_back(size_);
  batches_.push_back(batch);
  size_ += batch.nrows;
}

void ResultRows::copy(const ResultBatch& batch, std::span<const uint32_t> rows) {
  if (rows.empty()) return;
  ResultBatch copied;
  owned_.push_back(copy_rows(
      columns_, budget_, rows.size(), [&](uint64_t) -> const ResultBatch& { return batch; },
      [&](uint64_t i) { return rows[i]; }, &copied));
  borrow(copied);
}

void ResultRows::copy(const ResultRows& from, std::span<const RowRef> refs) {
  if (refs.empty()) return;
  ResultBatch copied;
  owned_.push_back(copy_rows(
      columns_, budget_, refs.size(), [&](uint64_t i) -> const ResultBatch& { return from.batch_of(refs[i]); },
      [&](uint64_t i) { return ref_row(refs[i]); }, &copied));
  borrow(copied);
}

void ResultRows::add_column(const ColumnShape& shape, HostBuffer values, HostBuffer valid) {
  const uint32_t width = tb_type_width(shape.type);
  for (size_t i = 0; i < batches_.size(); i++)
    batches_[i].columns.push_back({values.data() + first_number_[i] * width, width,
                                   shape.nullable ? valid.data() + first_number_[i] : nullptr, 1,
                                   tb_type_is_text(shape.type) != 0});
  columns_.push_back(shape);
  owned_.push_back(std::move(values));
  owned_.push_back(std::move(valid));
}

}  // namespace turbine
