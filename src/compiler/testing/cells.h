/*
 * cells.h - values of any type in tests: NULL, or the value's bytes (text: its
 * characters), and columns of them as generated code wants them.
 */
#pragma once

#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "turbine/kernel.h"

namespace turbine::testing {

using Cell = std::optional<std::string>;

template <class T>
Cell cell(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
T value_of(const Cell& c) {
  T value;
  std::memcpy(&value, c->data(), sizeof value);
  return value;
}

struct CellColumn {
  uint8_t type;
  bool nullable;
  int16_t scale = 0;
  std::vector<Cell> cells = {};
};

/* Equal keys have equal strings. Not for NULL. */
inline std::string key_text(uint8_t type, const Cell& c) {
  if (type == TB_TYPE_FLOAT4 || type == TB_TYPE_FLOAT8) {
    const double v = type == TB_TYPE_FLOAT4 ? value_of<float>(c) : value_of<double>(c);
    return std::isnan(v) ? "nan" : v == 0 ? "0" : *c;
  }
  return *c;
}

/* Columns in memory. */
class CellMemory {
 public:
  explicit CellMemory(const std::vector<CellColumn>& columns) {
    values_.resize(columns.size());
    valid_.resize(columns.size());
    for (size_t i = 0; i < columns.size(); i++) fill(i, columns[i]);
    for (size_t i = 0; i < columns.size(); i++)
      data.push_back({values_[i].data(), columns[i].nullable ? valid_[i].data() : nullptr});
  }
  std::vector<TbColumnData> data;
  const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(bytes_.data()); }

 private:
  void fill(size_t i, const CellColumn& column) {
    const uint32_t width = tb_type_width(column.type);
    const size_t n = column.cells.size();
    values_[i].resize(n * width / 16 + 1);
    valid_[i].resize(n + 1);
    auto* out = reinterpret_cast<char*>(values_[i].data());
    std::memset(out, 0xa5, n * width);  // what a NULL holds is nobody's business
    for (size_t row = 0; row < n; row++) {
      const Cell& c = column.cells[row];
      valid_[i][row] = c.has_value();
      if (!c) continue;
      if (tb_type_is_text(column.type)) {
        const TbTextView view{static_cast<uint32_t>(c->size()), 0, 0, static_cast<uint32_t>(bytes_.size())};
        std::memcpy(out + row * width, &view, width);
        bytes_ += *c;
      } else {
        std::memcpy(out + row * width, c->data(), width);
      }
    }
  }
  std::vector<std::vector<__int128>> values_;
  std::vector<std::vector<uint8_t>> valid_;
  std::string bytes_;
};

/* Reads one value of a column in memory. */
inline Cell read_cell(uint8_t type, const void* values, const uint8_t* valid, const uint8_t* bytes, uint64_t row) {
  if (valid && !valid[row]) return std::nullopt;
  const uint32_t width = tb_type_width(type);
  const char* at = static_cast<const char*>(values) + row * width;
  if (!tb_type_is_text(type)) return std::string(at, width);
  TbTextView view;
  std::memcpy(&view, at, sizeof view);
  return std::string(reinterpret_cast<const char*>(bytes) + view.offset, view.length);
}

}  // namespace turbine::testing
