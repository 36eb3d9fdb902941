/*
 * stream_columns.h - what a stream's columns are made of, and one batch as it is filled: rows of a task become values
 * in the formats of turbine/export.h, at their place in the batch.
 *
 * Runs of rows are placed one after the other and written by any threads. Rows are bits of validity and of booleans as
 * well, and two runs may share a byte of those: they gather in memory of the batch until it is full.
 */
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "engine/device/row_taker.h"
#include "engine/execution/stream/batch_memory.h"
#include "engine/program/program.h"
#include "turbine/wire.h"

namespace turbine {

/* Of a stream, as QUERY asks for it. */
struct StreamColumn {
  uint32_t output;  // of the program
  uint32_t type;    // TbType of that
  uint32_t format;  // TbExportFormat
  bool nullable;

  bool is_text() const { return tb_export_has_bytes(format) != 0; }
  uint32_t width() const { return tb_export_width(format); }
};

struct StreamRequest {
  TbStream stream{};
  std::vector<StreamColumn> columns;
  /* By column, that of the program's source which it is; empty: the program does more than name columns of fixed width,
   * all rows of which it returns. */
  std::vector<uint32_t> source_columns;
};

/* Throws ProtocolError. */
StreamRequest parse_stream(std::span<const uint8_t> bytes, const Program& program);

using StreamId = std::array<uint8_t, TB_STREAM_ID_BYTES>;

/* Bytes of a column's texts in rows [first, first + count). */
uint64_t text_bytes(const ResultBatch& rows, const StreamColumn& column, uint64_t first, uint64_t count);

/* One batch in the making. */
class StreamBatch {
 public:
  /* `columns` outlive it. */
  StreamBatch(const std::vector<StreamColumn>& columns, std::shared_ptr<BatchMemory> memory);

  /* A run of rows, and where it goes. */
  struct Run {
    TaskRows from;
    uint64_t first = 0, count = 0;  // of these rows
    uint64_t row = 0;  // of the batch
    std::vector<uint64_t> bytes_at;  // by column: where its texts go
    std::vector<std::atomic<uint64_t>*> validity, bits;  // by column: of the piece of bits that it lies in
  };

  /* Behind what was placed before: `texts` has the bytes of each column's. At most rows_to_boundary(). Throws
   * DeviceError. */
  Run place(const TaskRows& from, uint64_t first, uint64_t count, std::span<const uint64_t> texts);
  uint64_t rows_to_boundary() const { return kBitRows - rows_ % kBitRows; }
  uint64_t rows() const { return rows_; }

  /* Any thread, once a run. Throws DeviceError, also for a value that has no such form. */
  void write(const Run& run);

  /* Where a column's values may be written that are taken as they are, instead of copying them with a run: `count` from
   * a row on. Null: nowhere. */
  uint8_t* room(uint32_t column, uint64_t row, uint64_t count) const;

  /* All runs are written: what is left. */
  void complete();

  // After that:
  std::vector<uint8_t> describe(const StreamId& id) const;
  /* But for names and types. */
  std::vector<TbExportColumn> shapes() const;
  const std::shared_ptr<BatchMemory>& memory() const { return memory_; }
  /* Its content lies elsewhere. */
  void drop_memory() { memory_.reset(); }

 private:
  static constexpr uint64_t kBitRows = 1 << 20;  // of one piece of bits
  using Words = std::unique_ptr<std::atomic<uint64_t>[]>;
  struct Column {
    std::atomic<uint64_t> nulls{0};
    uint64_t bytes = 0;  // of texts, placed
    std::deque<Words> validity, bits;
  };

  void write_fixed(const Run& run, uint32_t number, const ResultColumn& from);
  void write_text(const Run& run, uint32_t number, const ResultColumn& from);
  static void set_bits(std::atomic<uint64_t>* words, uint64_t at, const uint8_t* flags, uint64_t count);
  void write_bits(uint32_t number, BatchMemory::Region region, const std::deque<Words>& bits);

  const std::vector<StreamColumn>& columns_;
  std::shared_ptr<BatchMemory> memory_;
  std::vector<Column> state_;
  uint64_t rows_ = 0, placed_bytes_ = 0;
};

}  // namespace turbine
