/*
 * continuation.h - a query's other program, over the rows that the first program and its result plan leave.
 *
 * It runs on the host, whichever device has made the rows. The rows become chunks of columns, like the rows of a
 * plan that a backend sends, and run on all of the host's threads. With grouping sets each chunk runs once per
 * set, over the same values. Memory is charged to the query (DeviceQuery::host_memory).
 *
 * The session's thread only.
 */
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/code/code_cache.h"
#include "engine/device/device.h"
#include "engine/execution/result_output.h"
#include "engine/result/plan/column_shape.h"
#include "engine/result/plan/result_plan.h"
#include "engine/threads/parallel_work.h"
#include "engine/wire/requests.h"

namespace turbine {

class Continuation {
 public:
  /* `rows`: the columns of the rows that will come. Throws ProtocolError for a program that cannot read them. */
  Continuation(const ContinuationRequest& request, const std::vector<ColumnShape>& rows);

  const std::shared_ptr<const Program>& program() const { return program_; }
  /* What is done with its rows before they are sent; null: nothing. */
  const ResultPlan* plan() const { return plan_ ? &*plan_ : nullptr; }

  /* The code, before anything runs. Whether better code is worth it: CodeCache::Result. Throws DeviceError. */
  bool compile(CodeCache& cache, Device& host, const IsCancelled& cancelled, CodeDemand demand);

  struct Input {
    ResultOutput::Fetch fetch;  // rows of the first program
    ResultOutput* output;       // that writes them; reads no columns but columns_read()
    uint64_t nrows;
    MemoryBudget& memory;
  };
  /* Returns how many rows there are now. Throws DeviceError, also where a value needs PostgreSQL. */
  uint64_t run(const Input& input, Device& host, ParallelWork& work, QueryProfile* profile);

  /* The host's query that has the rows, after run(). */
  DeviceQuery& query() { return *query_; }

  /* Groups and sums of rows, whatever their order. */
  bool folds_rows() const { return program_->sink() == TB_SINK_AGGREGATE; }

  /* Columns of the rows that the program does not read, as TbQuery's unread_columns. */
  uint64_t columns_unread() const { return unread_; }

 private:
  class Chunk;
  class Chunks;

  std::shared_ptr<const Program> program_;
  std::optional<ResultPlan> plan_;
  std::shared_ptr<const std::string> params_;
  std::vector<uint32_t> columns_;  // of the rows: of each of the source's; TB_NONE: the set's number
  std::vector<uint64_t> sets_;     // a bit for each of the first 64 of columns_; empty: each row once
  uint64_t unread_ = 0;
  double estimated_groups_;
  std::shared_ptr<LoadedCode> code_;
  std::unique_ptr<DeviceQuery> query_;
};

}  // namespace turbine
