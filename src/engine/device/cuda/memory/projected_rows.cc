/*
 * projected_rows.cc - collects the rows of a PROJECT on the host.
 *
 * Owns the row stores. Called by the query's worker, then by the query's thread, never
 * by both at once.
 */
#include "engine/device/cuda/memory/projected_rows.h"

#include <algorithm>
#include <cstring>

#include "engine/limits/process_limits.h"

namespace turbine::cuda {

namespace {

constexpr uint64_t kFirstCapacity = 4096;
constexpr uint64_t kMostStoreText = uint64_t{1} << 32;  // of one store
constexpr uint64_t kShareOfMemory = 16;

/* Copies views whose text now begins at `base`. False if one is out of bounds. */
bool append_views(const StagedRows& rows, const StagedRows::Column& from, TbTextView* to, uint64_t base) {
  const auto* views = reinterpret_cast<const TbTextView*>(from.values);
  for (uint64_t i = 0; i < rows.nrows; i++) {
    TbTextView view = views[i];
    if (view.length == 0 || (from.valid && !from.valid[i])) {
      view = {};
    } else {
      if (uint64_t{view.offset} + view.length > rows.text_size) return false;
      view.offset += static_cast<uint32_t>(base);
    }
    to[i] = view;
  }
  return true;
}

}  // namespace

HostRowStore& ProjectedRows::store_for(uint64_t text_size) {
  if (stores_.empty() || stores_.back()->arena_used() + text_size > kMostStoreText) {
    stores_.push_back(std::make_unique<HostRowStore>(shape_, false, kFirstCapacity, budget_));
    pruning_ = {};
  }
  return *stores_.back();
}

void ProjectedRows::append(const StagedRows& rows) {
  if (rows.nrows == 0) return;
  HostRowStore& store = store_for(rows.text_size);
  store.ensure_rows(rows.nrows);
  store.ensure_bytes(rows.text_size);
  TbRowStore& raw = *store.raw();
  for (size_t i = 0; i < shape_.columns.size(); i++) {
    const uint64_t width = tb_type_width(shape_.columns[i].type);
    uint8_t* values = static_cast<uint8_t*>(raw.columns[i].values) + raw.nrows * width;
    if (!tb_type_is_text(shape_.columns[i].type))
      std::memcpy(values, rows.columns[i].values, rows.nrows * width);
    else if (!append_views(rows, rows.columns[i], reinterpret_cast<TbTextView*>(values), raw.arena_used))
      throw DeviceError(TB_FALLBACK_DEVICE_LOST, "the device reports a text that it did not write");
    if (raw.columns[i].valid) std::memcpy(raw.columns[i].valid + raw.nrows, rows.columns[i].valid, rows.nrows);
  }
  if (rows.text_size) std::memcpy(raw.arena + raw.arena_used, rows.text, rows.text_size);
  raw.nrows += rows.nrows;
  raw.arena_used += rows.text_size;
  size_ += rows.nrows;
  const uint64_t before = store.size();
  pruning_.prune(wanted_.get(), shape_, store, budget_);
  size_ -= before - store.size();
}

ResultBatch ProjectedRows::fetch(uint64_t first, uint64_t count) const {
  size_t i = 0;
  while (i < stores_.size() && first >= stores_[i]->size()) first -= stores_[i++]->size();
  if (i == stores_.size()) throw DeviceError(TB_FALLBACK_PROTOCOL, "rows out of range");
  return store_batch(shape_, *stores_[i], first, count);
}

uint64_t projected_rows_limit() { return std::max(memory_limit() / kShareOfMemory, uint64_t{256} << 20); }

}  // namespace turbine::cuda
