/*
 * growing_store.h - a TbRowStore that starts with no room and moves to more
 * memory whenever generated code asks.
 */
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "compiler/testing/cells.h"
#include "engine/program/program.h"
#include "turbine/kernel.h"

namespace turbine::testing {

struct GrowingStore {
  TbRowStore s{};  // first: make_room() finds the rest behind it
  struct Column {
    uint8_t type;
    bool nullable;
    std::vector<__int128> values;
    std::vector<uint8_t> valid;
  };
  std::vector<Column> columns;
  std::vector<TbColumnData> data;
  std::vector<uint64_t> hashes;
  std::vector<uint8_t> arena;
  size_t nkeys = 0;
  int refuse_after = -1;

  explicit GrowingStore(const Program& program) {
    if (program.sink() == TB_SINK_BUILD) {
      nkeys = program.keys().size();
      for (uint32_t key : program.keys()) {
        const TbExpr& e = program.expr(key);
        columns.push_back({e.type, program.keeps_null_keys() && (e.flags & TB_EX_NULLABLE) != 0, {}, {}});
      }
    }
    for (uint32_t output : program.outputs()) {
      const TbExpr& e = program.expr(output);
      columns.push_back({e.type, (e.flags & TB_EX_NULLABLE) != 0, {}, {}});
    }
    data.resize(columns.size());
    resize(0, 0);
  }

  void resize(uint64_t rows, uint64_t bytes) {
    for (size_t i = 0; i < columns.size(); i++) {
      Column& c = columns[i];
      move(c.values, rows * tb_type_width(c.type) / 16 + 1);
      if (c.nullable) move(c.valid, rows + 1);
      data[i] = {c.values.data(), c.nullable ? c.valid.data() : nullptr};
    }
    if (nkeys) move(hashes, rows + 1);
    move(arena, bytes + 1);
    s.columns = data.data();
    s.hashes = nkeys ? hashes.data() : nullptr;
    s.arena = arena.data();
    s.capacity = rows;
    s.arena_capacity = bytes;
  }

  static uint32_t make_room(TbPipelineArgs* args, uint64_t rows, uint64_t bytes) {
    auto* self = reinterpret_cast<GrowingStore*>(args->store);
    if (self->refuse_after == 0) return 0;
    self->refuse_after--;
    self->resize(std::max(self->s.capacity, self->s.nrows + rows),
                 std::max(self->s.arena_capacity, self->s.arena_used + bytes));
    return 1;
  }

  Cell read(size_t column, uint64_t row) const {
    return read_cell(columns[column].type, data[column].values, data[column].valid, s.arena, row);
  }

 private:
  template <class T>
  static void move(std::vector<T>& items, size_t size) {
    std::vector<T> fresh(size);
    std::copy(items.begin(), items.begin() + static_cast<ptrdiff_t>(std::min(items.size(), size)), fresh.begin());
    if (!items.empty()) std::memset(items.data(), 0xa5, items.size() * sizeof(T));
    items.swap(fresh);
  }
};

}  // namespace turbine::testing
