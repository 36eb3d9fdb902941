/*
 * result_output.cc - result rows written into a slot as columns.
 *
 * Called by query_execution.cc on the session's thread. Writes nowhere but into the slot, and
 * no row of which a part would not fit.
 */
#include "engine/execution/result_output.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "engine/memory/alignment.h"
#include "engine/program/kept_row_layout.h"
#include "turbine/wire.h"

namespace turbine {
namespace {

template <size_t kWidth>
void copy_strided(uint8_t* to, const uint8_t* from, uint64_t stride, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) memcpy(to + i * kWidth, from + i * stride, kWidth);
}

/* Columns of a projection lie dense, groups in rows. */
void copy_values(uint32_t width, uint8_t* to, const uint8_t* from, uint64_t stride, uint64_t count) {
  if (stride == width) {
    memcpy(to, from, count * width);
    return;
  }
  switch (width) {
    case 1: return copy_strided<1>(to, from, stride, count);
    case 2: return copy_strided<2>(to, from, stride, count);
    case 4: return copy_strided<4>(to, from, stride, count);
    case 8: return copy_strided<8>(to, from, stride, count);
    default: return copy_strided<16>(to, from, stride, count);
  }
}

void write_texts(const ResultBatch& batch, const ResultColumn& column, uint8_t* values, uint8_t* bytes,
                 uint64_t* bytes_used) {
  for (uint64_t i = 0; i < batch.nrows; i++) {
    const std::string_view text = text_at(batch, column, i);
    TbTextView view{};
    view.length = static_cast<uint32_t>(text.size());
    view.offset = static_cast<uint32_t>(*bytes_used);
    if (!text.empty()) {
      memcpy(&view.prefix, text.data(), std::min(text.size(), sizeof view.prefix));
      memcpy(bytes + *bytes_used, text.data(), text.size());
    }
    *bytes_used += text.size();
    memcpy(values + i * sizeof view, &view, sizeof view);
  }
}

}  // namespace

ResultOutput::ResultOutput(const Program& program, const ResultPlan* plan, uint64_t unread) : unread_(unread) {
  if (program.sink() == TB_SINK_AGGREGATE) {
    const GroupLayout layout = group_layout(program);
    for (const auto* fields : {&layout.keys, &layout.states})
      for (const GroupField& field : *fields) add_column(field.type, field.valid_offset != 0);
  } else {
    for (const KeptColumn& column : kept_row_layout(program).columns) add_column(column.type, column.nullable);
  }
  if (plan == nullptr) return;
  for (const ColumnShape& column : std::span(plan->columns()).subspan(plan->sink_columns()))
    add_column(column.type, column.nullable);
}

void ResultOutput::add_column(uint32_t type, bool nullable) {
  if (is_unread_column(unread_, columns_.size())) {
    columns_.push_back({0, false, false, true});
    return;
  }
  columns_.push_back({tb_type_width(type), nullable, tb_type_is_text(type) != 0});
  has_text_ |= columns_.back().text;
}

uint64_t ResultOutput::columns_bytes(uint64_t rows) const {
  uint64_t bytes = 0;
  for (const Column& column : columns_)
    bytes += host_aligned(rows * column.width) + (column.nullable ? host_aligned(rows) : 0);
  return bytes;
}

/* The most rows that columns alone allow; text may allow fewer. At least 1. */
uint64_t ResultOutput::most_rows(uint64_t left, uint64_t size) const {
  uint64_t row_bytes = 0;
  for (const Column& column : columns_) row_bytes += column.width + (column.nullable ? 1 : 0);
  uint64_t count = row_bytes ? std::min(left, size / row_bytes) : left;
  while (count > 0 && columns_bytes(count) > size) count -= std::min<uint64_t>(count, kHostAlignment);
  return std::min<uint64_t>(std::max<uint64_t>(count, 1), UINT32_MAX);
}

uint64_t ResultOutput::rows_that_fit(const ResultBatch& batch, uint64_t size) const {
  uint64_t text_bytes = 0;
  for (uint64_t i = 0; i < batch.nrows; i++) {
    for (size_t c = 0; c < columns_.size(); c++)
      if (columns_[c].text) text_bytes += text_at(batch, batch.columns[c], i).size();
    if (columns_bytes(i + 1) + text_bytes > size) return i;
  }
  return batch.nrows;
}

std::vector<uint8_t> ResultOutput::write(const Fetch& fetch, uint64_t first, uint64_t left, uint8_t* to,
                                         uint64_t size) {
  ResultBatch batch = fetch(first, most_rows(left, size));
  if (has_text_ || columns_bytes(batch.nrows) > size) batch.nrows = rows_that_fit(batch, size);
  if (batch.nrows == 0) throw DeviceError(TB_FALLBACK_HOST_MEMORY, "a row of the result is larger than a buffer");

  const size_t column_entry = sizeof(uint64_t) * 2;
  std::vector<uint8_t> payload(sizeof(TbResultBatch) + columns_.size() * column_entry);
  TbResultBatch header{};
  header.nrows = static_cast<uint32_t>(batch.nrows);
  header.ncolumns = static_cast<uint32_t>(columns_.size());
  header.bytes_offset = columns_bytes(batch.nrows);

  uint64_t at = 0;
  for (size_t i = 0; i < columns_.size(); i++) {
    const Column& column = columns_[i];
    if (column.unread) continue;  // offsets are 0
    const ResultColumn& from = batch.columns[i];
    uint64_t offsets[2] = {at, 0};
    if (column.text)
      write_texts(batch, from, to + at, to + header.bytes_offset, &header.bytes_size);
    else
      copy_values(column.width, to + at, from.values, from.stride, batch.nrows);
    at += host_aligned(batch.nrows * column.width);
    if (column.nullable) {
      offsets[1] = at;
      copy_values(1, to + at, from.valid, from.valid_stride, batch.nrows);
      at += host_aligned(batch.nrows);
    }
    memcpy(payload.data() + sizeof header + i * column_entry, offsets, column_entry);
  }
  memcpy(payload.data(), &header, sizeof header);
  return payload;
}

}  // namespace turbine
