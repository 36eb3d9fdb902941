/*
 * table_order.h - where the rows of a PROJECT lie that are wanted in the order of their table.
 *
 * Each worker keeps the rows of its chunks one behind the other; a GPU's query has one worker. Chunks of pages are
 * numbered in the table's order, and segments know their blocks; how the ones lie between the others is not known. So
 * if a query has both there is no order.
 *
 * end_segment() and end_chunk() are called by the worker that they name, the others by the query's thread, after the
 * last chunk.
 */
#pragma once

#include <cstdint>
#include <vector>

namespace turbine {

class TableOrder {
 public:
  explicit TableOrder(size_t workers) : workers_(workers) {}

  /* Within a chunk: rows of these blocks of the table have gone through. */
  void end_segment(unsigned worker, uint32_t first_block, uint32_t last_block);
  /* The worker's store has so many rows now. */
  void end_chunk(unsigned worker, uint64_t sequence, uint64_t rows);

  /* All rows. Throws DeviceError if they have no order. */
  uint64_t finish();

  /* Rows of a worker's store: from row `first` of all rows on. */
  struct Part {
    unsigned worker;
    uint64_t first, count;
  };
  Part find(uint64_t first) const;

 private:
  struct Run {
    uint64_t sequence;
    unsigned worker;
    uint64_t first, count;             // in its store
    bool of_segments;
    uint32_t first_block, last_block;  // of segments
    uint64_t number = 0;               // of its first row among all
  };
  struct Worker {
    std::vector<Run> runs;
    uint64_t rows = 0;     // behind the last chunk
    bool segments = false;  // of the chunk under way: it has some
    bool descends = false;  // and a block came after a later one
    uint32_t first_block = 0, last_block = 0;
  };

  std::vector<Worker> workers_;
  std::vector<Run> runs_;  // in order, once finished
};

}  // namespace turbine
