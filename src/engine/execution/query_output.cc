/*
 * query_output.cc - see query_output.h.
 *
 * Owns the result plan and the continuation of one query. Called by query_execution.cc: first by the device's start,
 * then when nothing is in flight any more.
 */
#include "engine/execution/query_output.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/profile/stopwatch.h"
#include "engine/result/window/device_window_pass.h"
#include "engine/wire/protocol_error.h"

namespace turbine {
namespace {

/* For a result plan: enough for the first rows of an order; and what sorting takes
 * of a row besides. */
constexpr uint64_t kPlanMemory = 1 << 20;
constexpr double kSortBytesPerRow = 48;

}  // namespace

QueryOutput::QueryOutput(Engine& engine, ResultKeeper& keeper, std::shared_ptr<const Program> program,
                         const QueryRequest& request, const IsCancelled& cancelled, QueryTotals& totals,
                         QueryProfile* profile)
    : engine_(engine),
      keeper_(keeper),
      program_(std::move(program)),
      cancelled_(cancelled),
      totals_(totals),
      profile_(profile),
      unread_columns_(request.query.unread_columns),
      estimated_groups_(request.query.estimated_groups),
      in_order_(request.query.flags & TB_QUERY_IN_ORDER),
      columns_left_(request.columns_left) {
  const bool has_rows = program_->sink() == TB_SINK_AGGREGATE || program_->sink() == TB_SINK_PROJECT;
  if (!request.result_plan.empty()) plan_ = ResultPlan::parse(request.result_plan, *program_);
  if (!request.continuation.empty()) {
    if (!has_rows) throw ProtocolError("QUERY of another sink with a continuation");
    continuation_.emplace(parse_continuation(request.continuation),
                          plan_ ? plan_->columns() : result_columns(*program_));
  }
  if (!columns_left_.empty()) {
    if (program_->sink() != TB_SINK_PROJECT || plan_ || continuation_)
      throw ProtocolError("QUERY leaves columns of rows that no device keeps");
    return;
  }
  if (continuation_)
    rows_.emplace(*continuation_->program(), continuation_->plan(), unread_columns_);
  else if (has_rows)
    rows_.emplace(*program_, plan_ ? &*plan_ : nullptr, unread_columns_);
}

/* What a result plan takes comes from the growth that is granted; of rows that are
 * to be sorted on the host's budget some is stated. */
uint64_t QueryOutput::plan_bytes(uint64_t budget) const {
  if (!plan_) return 0;
  uint64_t bytes = kPlanMemory;
  if (!plan_->only_best() && estimated_groups_ > 0)
    bytes += static_cast<uint64_t>(std::min(estimated_groups_ * kSortBytesPerRow, static_cast<double>(budget / 8)));
  return bytes;
}

void QueryOutput::compile(bool full) {
  if (!continuation_) return;
  Device& host = *engine_.devices[TB_DEVICE_HOST];
  if (continuation_->compile(engine_.code, host, cancelled_, {full, estimated_groups_}))
    engine_.compile_ahead.improve(host, continuation_->program());
}

const ZoneOrder* QueryOutput::begin(DeviceQuery& query) {
  query_ = &query;
  if (!columns_left_.empty())
    query.leave_columns(in_order_);
  else if (in_order_)
    query.keep_order();
  if (keeps_few()) {
    pruning_ = std::make_shared<const RowPruning>(*plan_, *program_);
    query.limit_rows(pruning_);
  }
  if (program_->sink() == TB_SINK_PROJECT && plan_ && wants_rows_on_device(*plan_)) query.keep_rows_on_device();
  return pruning_ ? pruning_->zone_order() : nullptr;
}

void QueryOutput::finish(uint64_t nrows, uint32_t device, QueryReport& report) {
  nrows_ = nrows;
  if (!columns_left_.empty())
    report.post(TB_MSG_RESULT_LEFT, keeper_.keep(*query_, device, nrows, kept_row_layout(*program_), columns_left_));
  if (plan_)
    run_plan(result_run_, *plan_, *query_, continuation_ ? continuation_->columns_unread() : unread_columns_,
             continuation_ && continuation_->folds_rows());
  if (continuation_) {
    run_continuation();
    if (continuation_->plan())
      run_plan(last_run_, *continuation_->plan(), continuation_->query(), unread_columns_, false);
  }
  if (rows_) rows_out_ = nrows_;
  totals_.change([&](TbQueryDone& totals) { totals.groups = nrows_; });
}

/* The rows are those that the plan leaves. `query` has them so far; the rest as ResultRun says. */
void QueryOutput::run_plan(std::optional<ResultRun>& run, const ResultPlan& plan, DeviceQuery& query, uint64_t unread,
                           bool any_order) {
  const Span span(profile_, TB_SPAN_SORT);
  const Stopwatch stopwatch;
  run.emplace(plan, query, unread, any_order, engine_.workers, cancelled_);
  const uint64_t sorted = std::exchange(nrows_, run->run(nrows_));
  totals_.change([&](TbQueryDone& totals) {
    totals.rows_sorted = sorted;
    totals.rows_sorted_on_gpu = run->sort_place().rows_on_device;
    totals.windows_on_gpu = run->sort_place().windows_on_device;
    totals.sort_us = stopwatch.microseconds();
  });
}

ResultBatch QueryOutput::fetch(uint64_t first, uint64_t count) {
  return result_run_ ? result_run_->fetch(first, count) : query_->fetch(first, count);
}

/* The rows are those of the continuation. */
void QueryOutput::run_continuation() {
  const Span span(profile_, TB_SPAN_SORT);
  const Stopwatch stopwatch;
  ResultOutput rows(*program_, plan_ ? &*plan_ : nullptr, continuation_->columns_unread());
  ParallelWork work(engine_.workers, cancelled_);
  const uint64_t continued = nrows_;
  nrows_ = continuation_->run(
      {[this](uint64_t first, uint64_t count) { return fetch(first, count); }, &rows, nrows_, query_->host_memory()},
      *engine_.devices[TB_DEVICE_HOST], work, profile_);
  totals_.change([&](TbQueryDone& totals) {
    totals.rows_continued = continued;
    totals.continuation_us = stopwatch.microseconds();
  });
}

void QueryOutput::send(SlotTable& slots, QueryReport& report) {
  const ResultOutput::Fetch fetch_out = [this](uint64_t first, uint64_t count) {
    if (last_run_) return last_run_->fetch(first, count);
    return continuation_ ? continuation_->query().fetch(first, count) : fetch(first, count);
  };
  for (uint32_t i = 0; i < slots.size() && next_row_ < rows_out_; i++) {
    if (slots.state(i) != SlotState::kOurs) continue;
    const Span span(profile_, TB_SPAN_WRITE_RESULT);
    std::vector<uint8_t> payload = rows_->write(fetch_out, next_row_, rows_out_ - next_row_, slots.base(i),
                                                slots.shape().ids_offset);
    TbResultBatch header;
    memcpy(&header, payload.data(), sizeof header);
    header.slot = i;
    memcpy(payload.data(), &header, sizeof header);
    next_row_ += header.nrows;
    slots.begin_output(i);
    report.post(TB_MSG_RESULT_BATCH, payload);
  }
}

void QueryOutput::end() {
  last_run_.reset();
  continuation_.reset();
  result_run_.reset();
}

}  // namespace turbine
