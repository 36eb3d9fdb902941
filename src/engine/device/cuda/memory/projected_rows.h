/*
 * projected_rows.h - the rows of a PROJECT, on the host, kept until the input
 * has ended.
 *
 * Rows come from the lanes in ranges, in whatever order these are ready, and are
 * appended to row stores like the host device's. One thread at a time: the
 * query's worker until it is idle, then the query's thread.
 */
#pragma once

#include <memory>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/host/store_pruning.h"

namespace turbine::cuda {

/* Rows in pinned memory. Views count from `text`. */
struct StagedRows {
  struct Column {
    const uint8_t* values;
    const uint8_t* valid;  // null: no NULLs
  };
  uint64_t nrows = 0;
  std::vector<Column> columns;
  const uint8_t* text = nullptr;
  uint64_t text_size = 0;
  uint64_t bytes = 0;  // copied from the device
};

class ProjectedRows {
 public:
  /* `limit`: bytes of host memory. */
  ProjectedRows(KeptRowLayout shape, uint64_t limit) : shape_(std::move(shape)), budget_(limit) {}

  const KeptRowLayout& shape() const { return shape_; }
  MemoryBudget& budget() { return budget_; }

  /* Before the first rows: those that it does not want need not be kept. */
  void limit_rows(std::shared_ptr<const RowLimit> limit) { wanted_ = std::move(limit); }

  /* Throws DeviceError: HOST_MEMORY beyond the limit, DEVICE_LOST where a text
   * lies outside of the staged ones. */
  void append(const StagedRows& rows);

  uint64_t size() const { return size_; }
  /* At least one row, at most `count`, from `first` < size() on. */
  ResultBatch fetch(uint64_t first, uint64_t count) const;

 private:
  HostRowStore& store_for(uint64_t text_size);

  const KeptRowLayout shape_;
  MemoryBudget budget_;
  std::vector<std::unique_ptr<HostRowStore>> stores_;
  StorePruning pruning_;  // of the last store
  std::shared_ptr<const RowLimit> wanted_;
  uint64_t size_ = 0;
};

/* Host memory that a query on a GPU may use for its rows: it is not a part of
 * what admission grants. */
uint64_t projected_rows_limit();

}  // namespace turbine::cuda
