/*
 * read_rows.h - where rows of a file go at once as they are read, if nothing else is to be done with them: into the
 * batches of a stream (execution/stream/).
 *
 * Whoever begins to read a piece asks for the places of all its rows. They are behind those of the pieces before, so
 * pieces are asked for in their order.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/source/files/column_rows.h"

namespace turbine {

/* Places of one piece's rows. One thread at a time. */
class ReadRows {
 public:
  virtual ~ReadRows() = default;

  /* Where the next `nrows` values of a column may be read to; null: anywhere. */
  virtual uint8_t* room(size_t column, uint32_t nrows) = 0;
  /* These rows, of all columns, are the next. Throws DeviceError. */
  virtual void add(const std::vector<ColumnRows>& columns, uint32_t nrows) = 0;
};

struct RowsPlace {
  enum class Way {
    kTasks,   // the rows become tasks
    kBatches, // they go to `to`
    kLater    // not now: resume() says when
  };
  Way way = Way::kTasks;
  std::unique_ptr<ReadRows> to;
};

}  // namespace turbine
