/*
 * task.h - one piece of a query's input, as a device gets it, and what the device reports of it.
 *
 * Sources make tasks (source/), devices run them (host/, cuda/). Each kind of input is a struct of its own, so that a
 * device says at one place which kinds it runs. Memory that a task points to outlives its `done`.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/device/row_taker.h"
#include "engine/device/staged_columns.h"
#include "engine/program/program.h"
#include "engine/store/segment.h"
#include "engine/store/segment_fill.h"
#include "turbine/wire.h"

namespace turbine {

class LoadedCode;

/* How tuples of some chunks lie on their pages, where it is not as the query's
 * program says: code of a program that only decodes, and its parameters. */
struct ChunkLayout {
  std::shared_ptr<LoadedCode> code;
  std::shared_ptr<const std::string> params;
  std::shared_ptr<const Program> program = nullptr;
};

/* How reading pages went. kNotCached: a drive would have to be waited for. */
enum class PagesRead { kDone, kNotCached, kFailed };

/* What a device has made of a chunk's pages ahead of its task. */
class DecodedPages {
 public:
  virtual ~DecodedPages() = default;
  bool in_slot = true;  // the chunk's memory holds the pages as well
};

/* Heap pages, in a slot. */
struct PagesInput {
  uint8_t* pages = nullptr;
  uint32_t npages = 0;
  const ChunkLayout* layout = nullptr;      // null: the program's own. Outlives the query
  std::shared_ptr<DecodedPages> decoded{};  // of just these pages, by decode_ahead(); or null
  std::shared_ptr<SegmentFill> keep{};      // takes what is decoded of them; or null
  std::shared_ptr<const std::vector<uint32_t>> blocks{};  // of each page, if the program has TIDs; or null
};

/* Rows that somebody has written as columns: a backend, in a slot, or a first program. */
struct ColumnsInput {
  uint8_t* data = nullptr;  // a TbColumnsChunk whose bounds have been checked
  const TbColumnsChunk& chunk() const { return *reinterpret_cast<const TbColumnsChunk*>(data); }
};

/* Columns that the store has kept, or that were decoded of a file. */
struct SegmentsInput {
  std::shared_ptr<const SegmentMorsel> morsel{};
  std::shared_ptr<const StagedColumns> staged{};  // all columns of these; or null
};

/* Rows of a FULL join's table, of which those count that no tuple has matched. After all
 * other input, and that of earlier FULL joins. */
struct UnmatchedInput {
  uint32_t join = 0;
  uint64_t first_row = 0;
  uint32_t nrows = 0;  // at most TB_MAX_TUPLES_PER_PAGE for every page that a slot has
};

using TaskInput = std::variant<PagesInput, ColumnsInput, SegmentsInput, UnmatchedInput>;

struct Task {
  uint64_t sequence = 0;  // its number in the query
  TaskInput input{};
  TaskPlace place{};          // of its rows, where they are taken in order
  uint32_t* ids = nullptr;    // out, ROWS: row ids, then deferred row ids
  uint32_t ids_capacity = 0;  // entries

  /* Null: it is of another kind. */
  template <class Input>
  const Input* as() const {
    return std::get_if<Input>(&input);
  }
  template <class Input>
  Input* as() {
    return std::get_if<Input>(&input);
  }
};

/* For std::visit: a function for each kind. */
template <class... Functions>
struct EachKind : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
EachKind(Functions...) -> EachKind<Functions...>;

struct TaskOutcome {
  uint32_t errors = 0;  // TB_ERR_*: nothing of the task was output or applied
  uint32_t nrows = 0;   // ROWS: entries of ids
  uint32_t ndeferred = 0;
  uint64_t rows_in = 0;
  uint64_t rows_passed = 0;
  uint64_t join_rows[TB_MAX_JOINS] = {};  // tuples after each join
  uint64_t join_candidates[TB_MAX_JOINS] = {};  // pairs whose residual was asked
  // SegmentsInput
  uint64_t cached_bytes = 0;  // of the columns that were read
  uint64_t segments_excluded = 0, blocks_excluded = 0;  // by RowLimit: not read, and no part of rows_in
};

}  // namespace turbine
