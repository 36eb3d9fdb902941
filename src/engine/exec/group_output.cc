/*
 * group_output.cc - result groups written into a slot as columns.
 */
#include "engine/exec/group_output.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "turbine/wire.h"

namespace turbine {
namespace {

constexpr uint64_t kAlignment = 64;

uint64_t aligned(uint64_t size) { return (size + kAlignment - 1) & ~(kAlignment - 1); }

template <size_t kWidth>
void copy_strided(uint8_t* to, const uint8_t* from, uint32_t stride, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) memcpy(to + i * kWidth, from + i * stride, kWidth);
}

void copy_values(uint32_t width, uint8_t* to, const uint8_t* from, uint32_t stride, uint64_t count) {
  switch (width) {
    case 1: return copy_strided<1>(to, from, stride, count);
    case 2: return copy_strided<2>(to, from, stride, count);
    case 4: return copy_strided<4>(to, from, stride, count);
    case 8: return copy_strided<8>(to, from, stride, count);
    default: return copy_strided<16>(to, from, stride, count);
  }
}

TbGroupText load_text(const uint8_t* at) {
  TbGroupText text;
  memcpy(&text, at, sizeof text);
  return text;
}

}  // namespace

GroupOutput::GroupOutput(const Program& program) {
  const GroupLayout layout = group_layout(program);
  row_size_ = layout.row_size;
  for (const auto* fields : {&layout.keys, &layout.states})
    for (const GroupField& field : *fields) {
      columns_.push_back({field, tb_type_width(field.type), tb_type_is_text(field.type) != 0});
      has_text_ |= columns_.back().text;
    }
}

uint64_t GroupOutput::columns_bytes(uint64_t rows) const {
  uint64_t bytes = 0;
  for (const Column& column : columns_)
    bytes += aligned(rows * column.width) + (column.field.valid_offset ? aligned(rows) : 0);
  return bytes;
}

uint64_t GroupOutput::rows_that_fit(const DeviceQuery::GroupRows& groups, uint64_t count, uint64_t size) const {
  uint64_t text_bytes = 0;
  for (uint64_t i = 0; i < count; i++) {
    const uint8_t* row = groups.rows + i * row_size_;
    for (const Column& column : columns_)
      if (column.text && row[column.field.valid_offset]) text_bytes += load_text(row + column.field.value_offset).length;
    if (columns_bytes(i + 1) + text_bytes > size) return i;
  }
  return count;
}

void GroupOutput::write_texts(const Column& column, const DeviceQuery::GroupRows& groups, uint64_t count,
                              uint8_t* values, uint8_t* bytes, uint64_t* bytes_used) const {
  for (uint64_t i = 0; i < count; i++) {
    const uint8_t* row = groups.rows + i * row_size_;
    TbTextView view{};
    if (row[column.field.valid_offset]) {
      const TbGroupText text = load_text(row + column.field.value_offset);
      const uint8_t* from = groups.arena + text.offset;
      view.length = text.length;
      view.offset = static_cast<uint32_t>(*bytes_used);
      if (text.length > 0) {
        memcpy(&view.prefix, from, std::min<uint32_t>(text.length, sizeof view.prefix));
        memcpy(bytes + *bytes_used, from, text.length);
      }
      *bytes_used += text.length;
    }
    memcpy(values + i * sizeof view, &view, sizeof view);
  }
}

std::vector<uint8_t> GroupOutput::write(DeviceQuery& query, uint64_t first, uint64_t left, uint8_t* to,
                                        uint64_t size) {
  // The most rows that columns alone allow; text may allow fewer.
  uint64_t row_bytes = 0;
  for (const Column& column : columns_) row_bytes += column.width + (column.field.valid_offset ? 1 : 0);
  uint64_t count = row_bytes ? std::min(left, size / row_bytes) : left;
  while (count > 0 && columns_bytes(count) > size) count -= std::min<uint64_t>(count, kAlignment);
  count = std::min<uint64_t>(std::max<uint64_t>(count, 1), UINT32_MAX);

  const DeviceQuery::GroupRows groups = query.fetch_groups(first, count);
  if (has_text_ || columns_bytes(count) > size) count = rows_that_fit(groups, count, size);
  if (count == 0) throw DeviceError(TB_FALLBACK_HOST_MEMORY, "a group is larger than a buffer");

  const size_t column_entry = sizeof(uint64_t) * 2;
  std::vector<uint8_t> payload(sizeof(TbGroups) + columns_.size() * column_entry);
  TbGroups header{};
  header.nrows = static_cast<uint32_t>(count);
  header.ncolumns = static_cast<uint32_t>(columns_.size());
  header.bytes_offset = columns_bytes(count);

  uint64_t at = 0;
  for (size_t i = 0; i < columns_.size(); i++) {
    const Column& column = columns_[i];
    uint64_t offsets[2] = {at, 0};
    if (column.text)
      write_texts(column, groups, count, to + at, to + header.bytes_offset, &header.bytes_size);
    else
      copy_values(column.width, to + at, groups.rows + column.field.value_offset, row_size_, count);
    at += aligned(count * column.width);
    if (column.field.valid_offset) {
      offsets[1] = at;
      copy_values(1, to + at, groups.rows + column.field.valid_offset, row_size_, count);
      at += aligned(count);
    }
    memcpy(payload.data() + sizeof header + i * column_entry, offsets, column_entry);
  }
  memcpy(payload.data(), &header, sizeof header);
  return payload;
}

}  // namespace turbine
