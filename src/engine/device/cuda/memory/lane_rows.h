/*
 * lane_rows.h - where tb_project leaves the rows of one lane: a TbRowStore in
 * device memory, and pinned memory that its rows are copied to.
 *
 * Holds one range of rows at a time: reset(), tb_project, copy_out(), staged().
 * The columns have room for every tuple of the lane, so that only text can find
 * the store full; then grow_text() and tb_project again. The lane's worker only.
 */
#pragma once

#include <vector>

#include "engine/device/cuda/cuda_context.h"
#include "engine/device/cuda/memory/projected_rows.h"

namespace turbine::cuda {

class LaneRows {
 public:
  LaneRows(CudaContext& context, const Driver& driver, const KeptRowLayout& shape, MemoryAccount& account)
      : context_(context), driver_(driver), shape_(shape), account_(account) {}

  /* Device memory for `capacity` rows, as the pool rounds it. */
  static uint64_t device_bytes(const KeptRowLayout& shape, uint64_t capacity);

  /* Room for `capacity` rows; what was stored is lost. Nothing may be in flight.
   * Throws DeviceError, and then there may be no room for any. */
  void ensure(uint64_t capacity);

  DevicePtr header() const { return header_.device(); }

  /* Empties the store, on `stream`. */
  void reset(Stream stream);

  /* More room for text; empty after reset(). Nothing may be in flight. Throws
   * DeviceError, and then nothing has changed. */
  void grow_text();

  /* Starts copying the rows that `store`, the header as tb_project left it,
   * says. Throws DeviceError, also where that makes no sense. */
  void copy_out(const TbRowStore& store, Stream stream);
  const StagedRows& staged() const { return staged_; }  // once copied

  /* The store's columns, of the device's addresses. */
  std::span<const TbColumnData> columns() const {
    return {reinterpret_cast<const TbColumnData*>(host_header_.host() + sizeof(TbRowStore)), shape_.columns.size()};
  }

 private:
  struct Column {
    uint64_t values, valid;  // in arrays_; valid 0: none
  };
  struct Arrays {
    std::vector<Column> columns;
    uint64_t hashes = 0;  // where there are keys
    uint64_t size = 0;
  };
  static Arrays lay_out(const KeptRowLayout& shape, uint64_t capacity);
  static uint64_t first_text(const KeptRowLayout& shape, uint64_t capacity);
  TbRowStore& host_header() const { return *reinterpret_cast<TbRowStore*>(host_header_.host()); }

  CudaContext& context_;
  const Driver& driver_;
  const KeptRowLayout& shape_;
  MemoryAccount& account_;
  uint64_t capacity_ = 0;
  Arrays layout_;
  Block header_, arrays_, text_;  // device; header_: TbRowStore, and a TbColumnData a column
  Block host_header_, staging_;   // pinned
  StagedRows staged_;
};

}  // namespace turbine::cuda
