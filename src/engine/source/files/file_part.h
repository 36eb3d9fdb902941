/*
 * file_part.h - a file as a part of a query's input: what is known of it when it becomes one, and what jobs that read
 * it leave to the next ones.
 */
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/source/files/file_segments.h"
#include "engine/source/files/row_memory.h"
#include "engine/source/files/table_file.h"
#include "engine/source/segments/segment_source.h"

namespace turbine {

/* One file of a query, read by many jobs. */
struct FilePart {
  FilePart(uint32_t number, std::string name, std::unique_ptr<TableFile> file, FileSegments segments, StoredPart stored,
           std::vector<uint8_t> taken, uint64_t task_rows, std::vector<uint8_t> constant,
           std::shared_ptr<RowMemory> memory)
      : number(number),
        name(std::move(name)),
        file(std::move(file)),
        segments(std::move(segments)),
        stored(std::move(stored)),
        taken(std::move(taken)),
        task_rows(task_rows),
        constant(std::move(constant)),
        memory(std::move(memory)) {}

  const uint32_t number;
  std::string name;
  std::unique_ptr<TableFile> file;
  FileSegments segments;
  StoredPart stored;
  std::vector<uint8_t> taken;  // blocks that the store has
  uint64_t task_rows;
  std::vector<uint8_t> constant;  // by column: the same value in all rows
  const std::shared_ptr<RowMemory> memory;
  /* What segments have shown so far. By column: codes would take no less room than the values. */
  mutable std::vector<std::atomic<uint8_t>> is_wide = std::vector<std::atomic<uint8_t>>(constant.size());
  mutable std::atomic<uint64_t> row_bytes{0};  // of all columns together, the most; in sixteenths
  /* Rows of jobs that have ended, for the next ones. */
  mutable std::mutex mutex;
  mutable std::vector<std::vector<ColumnRows>> idle_rows;

  void note_bytes(uint32_t rows, uint64_t bytes) const {
    constexpr uint32_t kFewRows = 1024;  // say little
    const uint64_t now = (bytes * 16 + rows - 1) / std::max(rows, 1u);
    uint64_t before = row_bytes;
    while (rows >= kFewRows && now > before && !row_bytes.compare_exchange_weak(before, now)) {
    }
  }

  bool has(const FileSegments::Segment& segment) const {
    const uint32_t block = segment_first_block(segment.number);
    return taken[block / 8] >> (block % 8) & 1;
  }
};

}  // namespace turbine
