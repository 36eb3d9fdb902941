/*
 * result_output.h - result rows written into a slot as columns: groups, or the
 * rows of a projection.
 *
 * Values are copied as they are; texts are collected behind the columns. Used
 * by execution/ after a device's finish(), and the query's result plan.
 */
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/device/device.h"
#include "engine/result/plan/result_plan.h"

namespace turbine {

class ResultOutput {
 public:
  /* AGGREGATE or PROJECT; `plan`: null if there is none. `unread`: as TbQuery says. */
  explicit ResultOutput(const Program& program, const ResultPlan* plan = nullptr, uint64_t unread = 0);

  /* As DeviceQuery::fetch(). */
  using Fetch = std::function<ResultBatch(uint64_t first, uint64_t count)>;

  /* Writes rows from `first` on, as many as fit in `size` bytes, and at most
   * `left`, which is not 0. Returns the RESULT_BATCH payload (TbResultBatch and its
   * columns, slot 0). Throws DeviceError if not even one fits. */
  std::vector<uint8_t> write(const Fetch& fetch, uint64_t first, uint64_t left, uint8_t* to, uint64_t size);
  std::vector<uint8_t> write(DeviceQuery& query, uint64_t first, uint64_t left, uint8_t* to, uint64_t size) {
    return write([&query](uint64_t at, uint64_t count) { return query.fetch(at, count); }, first, left, to, size);
  }

 private:
  struct Column {
    uint32_t width;
    bool nullable;
    bool text;
    bool unread = false;
  };
  void add_column(uint32_t type, bool nullable);
  uint64_t columns_bytes(uint64_t rows) const;
  uint64_t most_rows(uint64_t left, uint64_t size) const;
  uint64_t rows_that_fit(const ResultBatch& batch, uint64_t size) const;

  const uint64_t unread_;
  std::vector<Column> columns_;
  bool has_text_ = false;
};

}  // namespace turbine
