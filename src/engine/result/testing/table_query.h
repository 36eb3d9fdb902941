/*
 * table_query.h - rows of a test, and a device's query that returns them. Not part
 * of the product.
 */
#pragma once

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <variant>

#include "engine/device/device.h"
#include "engine/program/testing/program_writer.h"

namespace turbine::testing {

/* A value, as the reference knows it: NULL, integer of any width, float, text. */
using Cell = std::variant<std::monostate, __int128, double, std::string>;

inline bool is_null(const Cell& cell) { return cell.index() == 0; }

/* PostgreSQL's order of two values; not of NULL. */
inline int compare_values(const Cell& a, const Cell& b) {
  if (const auto* x = std::get_if<double>(&a)) {
    const double y = std::get<double>(b);
    if (std::isnan(*x) || std::isnan(y)) return static_cast<int>(std::isnan(*x)) - static_cast<int>(std::isnan(y));
    return (*x > y) - (*x < y);
  }
  return (a > b) - (a < b);
}

struct TestColumn {
  uint8_t type;
  bool nullable;
};

struct TestTable {
  std::vector<TestColumn> columns;
  std::vector<std::vector<Cell>> rows;

  /* SELECT its columns. */
  Program program() const {
    ProgramWriter writer;
    writer.sink = TB_SINK_PROJECT;
    writer.source = TB_SOURCE_ROWS;
    for (const TestColumn& column : columns) writer.outputs.push_back(writer.column(column.type, column.nullable));
    return Program::parse(writer.blob());
  }
};

inline void write_value(uint8_t type, const Cell& cell, uint8_t* to) {
  auto put = [to](auto value) { memcpy(to, &value, sizeof value); };
  if (type == TB_TYPE_FLOAT4) return put(static_cast<float>(std::get<double>(cell)));
  if (type == TB_TYPE_FLOAT8) return put(std::get<double>(cell));
  memcpy(to, &std::get<__int128>(cell), tb_type_width(type));
}

inline Cell read_value(uint32_t type, const uint8_t* at) {
  auto get = [at](auto value) {
    memcpy(&value, at, sizeof value);
    return value;
  };
  switch (type) {
    case TB_TYPE_FLOAT4: return double{get(float{})};
    case TB_TYPE_FLOAT8: return get(double{});
    case TB_TYPE_NUM128: return get(__int128{});
    case TB_TYPE_BOOL: return static_cast<__int128>(*at);
    case TB_TYPE_INT2: return static_cast<__int128>(get(int16_t{}));
    case TB_TYPE_INT4:
    case TB_TYPE_DATE: return static_cast<__int128>(get(int32_t{}));
    default: return static_cast<__int128>(get(int64_t{}));
  }
}

/* Returns the table's rows in batches of several sizes, some as a device's groups,
 * some as its kept rows. Without `stay` a batch is gone at the next call. */
class TableQuery final : public DeviceQuery {
 public:
  TableQuery(const TestTable& table, bool stay, uint64_t batch_rows, uint64_t budget = uint64_t{4} << 30)
      : table_(table), stay_(stay), batch_rows_(batch_rows), budget_(budget) {}

  void submit(const Task&, Done) override {}
  uint64_t finish() override { return table_.rows.size(); }
  bool rows_stay() const override { return stay_; }
  MemoryBudget& host_memory() override { return budget_; }
  DeviceQueryStats stats() const override { return {}; }

  ResultBatch fetch(uint64_t first, uint64_t count) override {
    if (!stay_) batches_.clear();
    const uint64_t rows = std::min({count, table_.rows.size() - first, batch_rows_ - first % batch_rows_});
    batches_.push_back(std::make_unique<Memory>());
    return make(*batches_.back(), first, rows,
                batches_.size() % 2 ? ResultBatch::Text::kView : ResultBatch::Text::kGroupText);
  }

 private:
  struct Memory {
    std::vector<std::vector<uint8_t>> columns;
    std::string bytes;
    ~Memory() {  // whoever still reads it shall notice
      for (auto& column : columns) std::fill(column.begin(), column.end(), 0xA5);
    }
  };

  ResultBatch make(Memory& memory, uint64_t first, uint64_t rows, ResultBatch::Text text) const {
    ResultBatch batch{rows, {}, nullptr, text};
    memory.columns.resize(table_.columns.size() * 2);
    for (size_t c = 0; c < table_.columns.size(); c++) {
      const TestColumn& column = table_.columns[c];
      const uint32_t width = tb_type_width(column.type);
      // Rows of a group table are wider than their values.
      const uint64_t stride = text == ResultBatch::Text::kView ? width : width + 16;
      auto& values = memory.columns[c * 2];
      auto& valid = memory.columns[c * 2 + 1];
      values.assign(rows * stride + 1, 0x5A);
      valid.assign(rows * (stride + 1), 0);
      for (uint64_t i = 0; i < rows; i++) {
        const Cell& cell = table_.rows[first + i][c];
        valid[i * (stride + 1)] = !is_null(cell);
        if (is_null(cell)) continue;
        if (!tb_type_is_text(column.type))
          write_value(column.type, cell, &values[i * stride]);
        else
          write_text(memory, text, std::get<std::string>(cell), &values[i * stride]);
      }
      batch.columns.push_back({values.data(), stride, column.nullable ? valid.data() : nullptr, stride + 1});
    }
    batch.bytes = reinterpret_cast<const uint8_t*>(memory.bytes.data());
    return batch;
  }
  static void write_text(Memory& memory, ResultBatch::Text kind, const std::string& text, uint8_t* to) {
    const uint64_t offset = memory.bytes.size();
    const auto length = static_cast<uint32_t>(text.size());
    memory.bytes += text;
    if (kind == ResultBatch::Text::kView) {
      const TbTextView view{length, 0, 0, static_cast<uint32_t>(offset)};
      memcpy(to, &view, sizeof view);
    } else {
      const TbGroupText group{offset, length, length};
      memcpy(to, &group, sizeof group);
    }
  }

  const TestTable& table_;
  const bool stay_;
  const uint64_t batch_rows_;
  MemoryBudget budget_;
  std::vector<std::unique_ptr<Memory>> batches_;
};

inline std::vector<Cell> read_row(const ResultBatch& batch, const std::vector<uint32_t>& types, uint64_t row) {
  std::vector<Cell> cells;
  for (size_t c = 0; c < types.size(); c++) {
    const ResultColumn& column = batch.columns[c];
    if (column.is_null(row))
      cells.emplace_back();
    else if (tb_type_is_text(types[c]))
      cells.emplace_back(std::string(text_at(batch, column, row)));
    else
      cells.push_back(read_value(types[c], column.at(row)));
  }
  return cells;
}

/* Random values of a type; from few different ones if `few`. */
inline Cell random_cell(std::mt19937_64& random, uint8_t type, bool few) {
  const uint64_t r = random();
  switch (type) {
    case TB_TYPE_BOOL: return static_cast<__int128>(r % 2);
    case TB_TYPE_FLOAT4:
    case TB_TYPE_FLOAT8: {
      static const double special[] = {NAN, -NAN, INFINITY, -INFINITY, 0.0, -0.0, 1.5, -1.5, 1e-30, -1e30};
      const double value = few || r % 8 == 0 ? special[(r >> 8) % 10]
                                             : (static_cast<double>(r >> 11) / 1e10 - 4e4) * (r % 3 ? 1 : 1e-20);
      return type == TB_TYPE_FLOAT4 ? double{static_cast<float>(value)} : value;
    }
    case TB_TYPE_TEXT:
    case TB_TYPE_BPCHAR: {
      if (few) return std::string(r % 4, 'x') + (r % 3 ? "" : "\xff");
      std::string text = r % 5 ? "https://example.org/a long start/" : "https://example.org/a long";
      for (uint64_t i = 0, n = (r >> 8) % 9; i < n; i++)
        text += static_cast<char>(random() % 7 == 0 ? 0 : random() % 256);
      return text;
    }
    default: break;
  }
  const unsigned bits = tb_type_width(type) * 8;
  if (few) return static_cast<__int128>(r % 5) - 2;
  const unsigned shift = 128 - std::min<unsigned>(bits, r % 4 ? bits : 8 + r % (bits - 7));
  const auto wide = static_cast<unsigned __int128>(random()) << 64 | random();
  return static_cast<__int128>(wide) >> shift;
}

}  // namespace turbine::testing
