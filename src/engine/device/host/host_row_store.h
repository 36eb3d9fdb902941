/*
 * host_row_store.h - owner of the memory behind a TbRowStore on the host.
 *
 * Generated code appends to the raw() view and asks for room; this grows
 * columns, hashes and text within the query's budget. One thread at a time.
 */
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/memory/host_memory.h"
#include "engine/program/kept_row_layout.h"
#include "turbine/kernel.h"

namespace turbine {

class HostRowStore {
 public:
  /* `hashes`: the rows have keys to be found by. */
  HostRowStore(const KeptRowLayout& shape, bool hashes, uint64_t capacity, MemoryBudget& budget);
  HostRowStore(const HostRowStore&) = delete;

  /* Memory that a fresh store takes. */
  static uint64_t bytes_for(const KeptRowLayout& shape, bool hashes, uint64_t capacity);

  TbRowStore* raw() { return &raw_; }
  uint64_t size() const { return raw_.nrows; }
  const uint8_t* values(size_t column) const { return static_cast<const uint8_t*>(raw_.columns[column].values); }
  const uint8_t* valid(size_t column) const { return raw_.columns[column].valid; }  // null: no NULLs
  const uint64_t* hashes() const { return raw_.hashes; }
  const uint8_t* arena() const { return raw_.arena; }
  uint64_t arena_used() const { return raw_.arena_used; }

  /* Room for at least `rows` more rows, and `bytes` more of text. Says whether
   * anything had to grow; throws DeviceError beyond the budget, and then what
   * was stored is still whole. */
  bool ensure_rows(uint64_t rows);
  bool ensure_bytes(uint64_t bytes);

  /* Only the rows with these numbers, which ascend, stay, and their texts. Throws
   * DeviceError, and then all do. Of rows without hashes. */
  void keep(std::span<const uint32_t> rows);

 private:
  struct Column {
    HostBuffer values;
    std::optional<HostBuffer> valid;
    uint32_t width;
    bool text;
  };
  HostBuffer texts_of(std::span<const uint32_t> rows, uint64_t* used) const;
  void grow_rows(uint64_t capacity);
  void point_raw();

  TbRowStore raw_{};
  std::vector<Column> columns_;
  std::vector<TbColumnData> views_;  // what raw_.columns is
  std::optional<HostBuffer> hashes_;
  MemoryBudget& budget_;
  HostBuffer arena_;
};

}  // namespace turbine
