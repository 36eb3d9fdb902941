/*
 * query_output.h - what becomes of a query's rows once its input is through: the result plan (windows, order, limit),
 * the continuation, and result rows in slots.
 *
 * The session's thread only.
 */
#pragma once

#include <memory>
#include <optional>

#include "engine/execution/continuation.h"
#include "engine/execution/engine.h"
#include "engine/execution/query_report.h"
#include "engine/execution/result_keeper.h"
#include "engine/execution/result_output.h"
#include "engine/result/order/row_pruning.h"
#include "engine/result/result_run.h"
#include "engine/slots/slot_table.h"
#include "engine/wire/requests.h"

namespace turbine {

class QueryOutput {
 public:
  /* What is passed by reference, and `profile` (or null), outlives this. Throws ProtocolError, ProgramError. */
  QueryOutput(Engine& engine, ResultKeeper& keeper, std::shared_ptr<const Program> program, const QueryRequest& request,
              const IsCancelled& cancelled, QueryTotals& totals, QueryProfile* profile);

  // For whoever starts the device's query:

  bool has_plan() const { return plan_.has_value(); }
  /* Of all rows only the first of an order are ever kept. */
  bool keeps_few() const { return plan_ && plan_->only_best() && program_->sink() == TB_SINK_PROJECT; }
  /* Of the host's memory, which has so much for queries: what the plan takes besides. */
  uint64_t plan_bytes(uint64_t budget) const;
  /* Gets the continuation's code. Throws DeviceError. */
  void compile(bool full);

  /* The device's query, before its first task: tells it which rows will be wanted. Returns the order in which they
   * are found soonest, or null. */
  const ZoneOrder* begin(DeviceQuery& query);

  /* The input is through, and the device with this number has so many rows. What is left there is told at once. Throws
   * DeviceError. */
  void finish(uint64_t nrows, uint32_t device, QueryReport& report);

  /* Writes rows into slots that are ours, and posts a RESULT_BATCH for each. Throws DeviceError. */
  void send(SlotTable& slots, QueryReport& report);
  bool all_sent() const { return next_row_ == rows_out_; }

  /* Gives up what counts against the device query's memory, before that goes. */
  void end();

 private:
  void run_plan(std::optional<ResultRun>& run, const ResultPlan& plan, DeviceQuery& query, uint64_t unread,
                bool any_order);
  void run_continuation();
  ResultBatch fetch(uint64_t first, uint64_t count);

  Engine& engine_;
  ResultKeeper& keeper_;
  const std::shared_ptr<const Program> program_;
  const IsCancelled& cancelled_;
  QueryTotals& totals_;
  QueryProfile* const profile_;
  const uint64_t unread_columns_;  // as TbQuery says
  const double estimated_groups_;  // likewise
  const bool in_order_;  // likewise, TB_QUERY_IN_ORDER
  const std::vector<TbColumnLeft> columns_left_;  // on a GPU, instead of rows that are sent; empty: none
  std::optional<ResultPlan> plan_;
  std::optional<Continuation> continuation_;
  std::shared_ptr<const RowPruning> pruning_;  // where keeps_few()
  DeviceQuery* query_ = nullptr;
  std::optional<ResultRun> result_run_;  // with a plan, once the device has finished
  std::optional<ResultRun> last_run_;  // of the continuation's plan
  std::optional<ResultOutput> rows_;  // AGGREGATE, PROJECT
  uint64_t nrows_ = 0;  // that there are, after each step
  uint64_t rows_out_ = 0;  // to be sent in all
  uint64_t next_row_ = 0;
};

}  // namespace turbine
