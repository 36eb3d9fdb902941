/*
 * group_table.h - a query's TbGroupTable in device memory.
 *
 * Owns the header that kernels see, buckets, rows and arena, and their growth. Grouped: tb_reserve
 * finds or inserts groups, and sets `full` if there was no room. Then grow() makes room. It keeps
 * every complete group and its state, and drops rows that were numbered but never entered into the
 * buckets. A kernel moves the groups if the device has room for both tables; otherwise they go
 * through the host. grow() may change a group's number, so group numbers of chunks that are
 * reserved but not applied are void afterwards. Ungrouped: row 0 alone. Its MIN, MAX and float SUM
 * states start as values that change nothing (valid byte 0). What grows is the arena, for MIN and MAX of text.
 *
 * A bucket search starts at (hash & bucket_mask) and goes up by one, as generated code does. The
 * hash is the first field of a row.
 *
 * Sums of floats depend on the order of additions. So row 0 of an aggregate with such sums is taken after each kernel
 * that has added to it, and starts anew (take_states); folding what was taken in the order of the tasks gives the same
 * whichever of several GPUs has run which task.
 *
 * Threads: one at a time, with the context current.
 */
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/cuda/cuda_context.h"
#include "engine/device/cuda/embedded_kernels.h"
#include "engine/device/device.h"

namespace turbine::cuda {

/* Sizes of a table, in elements and bytes. */
struct GroupTableShape {
  uint64_t group_capacity = 0;
  uint64_t bucket_count = 0;  // 0 when ungrouped
  uint64_t arena_capacity = 0;
  uint32_t row_size = 0;

  uint64_t rows_bytes() const { return group_capacity * row_size; }
  uint64_t buckets_bytes() const { return bucket_count * sizeof(uint32_t); }
  /* Device memory, as the pool rounds it. */
  uint64_t device_bytes() const;
};

/* The table to begin with, of at most `limit` device bytes where possible. */
GroupTableShape initial_group_table(const Program& program, double estimated_groups, uint64_t limit);

/* The row of an ungrouped aggregate before any value. */
std::vector<uint8_t> identity_row(const Program& program);

class GroupTable {
 public:
  /* Allocates and clears the table, asynchronously on `stream`. All must outlive it. */
  GroupTable(CudaContext& context, GroupCode& code, const Driver& driver, const Program& program,
             MemoryAccount& account, double estimated_groups, Stream stream);

  DevicePtr header() const { return header_.device(); }

  /* Makes room. Nothing that uses the table may be in flight but on `stream`;
   * waits for it. Throws DeviceError: DEVICE_MEMORY beyond the query's limit. */
  void grow(Stream stream);

  /* Number of groups, once everything is applied; fetch() from then on. */
  uint64_t finish(Stream stream);
  struct Fetched {
    const uint8_t* rows;   // in group_layout form
    const uint8_t* arena;  // that their TbGroupText refer to
  };
  Fetched fetch(uint64_t first, uint64_t count, Stream stream);

  uint64_t bytes_fetched() const { return bytes_fetched_; }

  /* Ungrouped, with sums of floats and no states of text. */
  bool takes_states() const { return static_cast<bool>(identity_); }
  uint32_t row_size() const { return shape_.row_size; }
  /* Copies row 0 to pinned memory, and starts it anew: what the kernel before it on the stream has added. */
  void take_states(void* to, Stream stream);

 private:
  void allocate(const GroupTableShape& shape);
  void read_header(Stream stream);
  void write_header(Stream stream);
  void synchronize(Stream stream) const;
  std::vector<uint8_t> read_live_rows(Stream stream);
  void write_rows(const std::vector<uint8_t>& rows, Stream stream);
  GroupTableShape grown_shape(uint64_t factor) const;
  bool grow_on_device(Stream stream);
  uint32_t move_groups(const GroupTableShape& old, const Block& buckets, const Block& rows, Stream stream);
  void grow_ungrouped(Stream stream);
  void grow_arena(const GroupTableShape& shape, Stream stream);
  void grow_through_host(Stream stream);
  void replace(const GroupTableShape& shape, const std::vector<uint8_t>& rows, Stream stream);

  CudaContext& context_;
  GroupCode& code_;
  const Driver& driver_;
  MemoryAccount& account_;
  const bool grouped_;
  const bool has_text_;
  const std::vector<GroupField> text_states_;
  GroupTableShape shape_;
  Block header_, buckets_, rows_, arena_;  // device
  Block identity_;                       // device: a fresh row 0, if states are taken
  Block header_copy_;                    // pinned: the header as last read or written
  Block fetched_rows_, fetched_arena_;   // pinned
  bool arena_fetched_ = false;
  uint64_t bytes_fetched_ = 0;
};

}  // namespace turbine::cuda
