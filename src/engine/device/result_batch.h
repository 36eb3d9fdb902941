/*
 * result_batch.h - result rows on the host, as columns that may be strided.
 *
 * What DeviceQuery::fetch() returns, whatever the rows lie in: groups in rows
 * of a group table (stride: the row's size), projected rows in columns of a
 * row store (stride: the value's width). Borrows all memory.
 */
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "engine/group_fold/group_fold.h"
#include "engine/program/group_layout.h"
#include "turbine/kernel.h"

namespace turbine {

struct ResultColumn {
  const uint8_t* values;
  uint64_t stride;          // bytes from one value to the next
  const uint8_t* valid;     // 1 where there is a value; null: no NULLs
  uint64_t valid_stride;
  bool pointers = false;    // texts are TextPointers, whatever the batch's are

  const uint8_t* at(uint64_t row) const { return values + row * stride; }
  bool is_null(uint64_t row) const { return valid && !valid[row * valid_stride]; }
};

/* A text by its address, where rows have come from several memories. 16 bytes. */
struct TextPointer {
  const uint8_t* data;
  uint64_t length;
};

struct ResultBatch {
  /* What a text value is: the struct, whose offset counts from `bytes`. */
  enum class Text { kGroupText, kView };

  uint64_t nrows = 0;
  std::vector<ResultColumn> columns;  // AGGREGATE: keys, then states; PROJECT: outputs
  const uint8_t* bytes = nullptr;
  Text text = Text::kView;
};

/* Of TbQuery's unread_columns. */
inline bool is_unread_column(uint64_t unread, size_t column) { return column < 64 && (unread >> column & 1) != 0; }

/* The text of a row; "" where it is NULL. */
inline std::string_view text_at(const ResultBatch& batch, const ResultColumn& column, uint64_t row) {
  if (column.is_null(row)) return {};
  auto view_of = [](const uint8_t* bytes, uint64_t length) {
    return std::string_view(reinterpret_cast<const char*>(bytes), length);
  };
  if (column.pointers) {
    TextPointer text;
    memcpy(&text, column.at(row), sizeof text);
    return view_of(text.data, text.length);
  }
  if (batch.text == ResultBatch::Text::kView) {
    TbTextView view;
    memcpy(&view, column.at(row), sizeof view);
    return view_of(batch.bytes + view.offset, view.length);
  }
  TbGroupText text;
  memcpy(&text, column.at(row), sizeof text);
  return view_of(arena_bytes(batch.bytes, text.offset), text.length);
}

/* The batch of `nrows` rows in group_layout form, with their arena. */
inline ResultBatch group_batch(const GroupLayout& layout, const uint8_t* rows, const uint8_t* arena, uint64_t nrows) {
  ResultBatch batch{nrows, {}, arena, ResultBatch::Text::kGroupText};
  for (const auto* fields : {&layout.keys, &layout.states})
    for (const GroupField& field : *fields)
      batch.columns.push_back({rows + field.value_offset, layout.row_size,
                               field.valid_offset ? rows + field.valid_offset : nullptr, layout.row_size});
  return batch;
}

}  // namespace turbine
