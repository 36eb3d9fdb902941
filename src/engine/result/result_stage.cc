#include "engine/result/result_stage.h"

#include <numeric>

namespace turbine {
namespace {

/* Of a device whose rows do not stay: rows a fetch. */
constexpr uint64_t kFetchRows = 64 << 10;
/* Looking for the first rows pays only where they are a small part of all. */
constexpr uint64_t kBestShare = 16;

std::vector<ColumnShape> sink_columns(const ResultPlan& plan) {
  const auto& columns = plan.columns();
  return {columns.begin(), columns.begin() + static_cast<ptrdiff_t>(plan.sink_columns())};
}

}  // namespace

ResultStage::ResultStage(const ResultPlan& plan, DeviceQuery& query, WorkerPool& pool, std::function<bool()> cancelled)
    : plan_(plan),
      query_(query),
      work_(pool, std::move(cancelled)),
      rows_(std::make_unique<ResultRows>(sink_columns(plan), query.host_memory())) {}

RowOrder ResultStage::order() const { return {plan_.order(), plan_.ndistinct(), plan_.limit(), plan_.with_ties()}; }

uint64_t ResultStage::run(uint64_t nrows) {
  if (!plan_.passes().empty()) throw DeviceError(TB_FALLBACK_COMPILE, "window functions");
  // Any rows will do.
  if (plan_.only_best() && plan_.order().empty() && !plan_.with_ties()) nrows = std::min(nrows, plan_.limit());
  if (plan_.only_best() && plan_.limit() <= nrows / kBestShare) {
    collect_best(nrows);
  } else {
    collect(nrows);
    order_all();
  }
  gather_.emplace(*rows_);
  return sorted_->size();
}

void ResultStage::collect(uint64_t nrows) {
  const bool stay = query_.rows_stay();
  std::vector<uint32_t> all;
  for (uint64_t at = 0; at < nrows;) {
    work_.check();
    const ResultBatch batch = query_.fetch(at, stay ? nrows - at : std::min(nrows - at, kFetchRows));
    at += batch.nrows;
    if (stay) {
      rows_->borrow(batch);
      continue;
    }
    all.resize(batch.nrows);
    std::iota(all.begin(), all.end(), 0);
    rows_->copy(batch, all);
  }
}

void ResultStage::collect_best(uint64_t nrows) {
  if (query_.rows_stay()) {
    collect(nrows);
    const RowList best = best_candidates(*rows_, order(), work_);
    sorted_.emplace(order_rows(*rows_, best.data(), best.size(), order(), work_));
    return;
  }
  BestRows best(order(), sink_columns(plan_), query_.host_memory(), work_);
  for (uint64_t at = 0; at < nrows;) {
    work_.check();
    const ResultBatch batch = query_.fetch(at, std::min(nrows - at, kFetchRows));
    at += batch.nrows;
    best.add(batch);
  }
  rows_ = best.take();
  order_all();
}

void ResultStage::order_all() { sorted_.emplace(order_rows(*rows_, nullptr, rows_->size(), order(), work_)); }

ResultBatch ResultStage::fetch(uint64_t first, uint64_t count) {
  return gather_->gather(sorted_->rows().refs().subspan(first, std::min(count, sorted_->size() - first)));
}

}  // namespace turbine
