/*
 * result_run.cc - runs a query's result plan.
 *
 * Owns the rows at hand and their order. Called by execution/ on the session's thread between
 * finish() and the first row sent.
 */
#include "engine/result/result_run.h"

#include <algorithm>
#include <numeric>

#include "engine/result/estimate/likely_rows.h"
#include "engine/result/rows/row_conditions.h"
#include "engine/result/window/device_window_pass.h"
#include "engine/result/window/window_pass.h"

namespace turbine {
namespace {

/* Of a device whose rows do not stay: rows a fetch. */
constexpr uint64_t kFetchRows = 64 << 10;
/* The same where all threads look at each of them. */
constexpr uint64_t kEstimatedRows = 512 << 10;
/* Dropping rows pays only where they are many: of so many that are looked at first, so many of 8. */
constexpr uint64_t kSampledRows = 32 << 10;
constexpr uint64_t kLeastDropped = 4;
/* Looking for the first rows pays only where they are a small part of all. */
constexpr uint64_t kBestShare = 16;

bool same_key(const TbSortKey& a, const TbSortKey& b) { return a.column == b.column && a.flags == b.flags; }

}  // namespace

ResultRun::ResultRun(const ResultPlan& plan, DeviceQuery& query, uint64_t unread, bool any_order, WorkerPool& pool,
                     std::function<bool()> cancelled)
    : plan_(plan),
      query_(query),
      unread_(unread),
      any_order_(any_order),
      work_(pool, std::move(cancelled)),
      rows_(std::make_unique<ResultRows>(plan.own_columns(), query.host_memory())) {}

uint64_t ResultRun::run(uint64_t nrows) {
  place_.device = query_.key_sort();
  place_.window = query_.window();
  // Any rows will do.
  if (plan_.only_best() && plan_.order().empty() && !plan_.with_ties()) nrows = std::min(nrows, plan_.limit());
  if (plan_.only_drops()) {
    all_come_ = !drop_rows(nrows);
    if (all_come_) return nrows;
  } else if (!plan_.estimates().empty()) {
    collect_likely(nrows);
  } else if (plan_.only_best() && plan_.limit() <= nrows / kBestShare) {
    collect_best(nrows);
  } else if (place_.window && place_.window->has_rows() && run_plan_on_device(nrows)) {
    return sorted_ ? sorted_->size() : rows_->size();
  } else {
    collect(nrows);
    run_passes();
    order_all();
  }
  if (!sorted_) return rows_->size();
  if (!gather_) gather_.emplace(*rows_, sorted_->size(), unread_);
  return sorted_->size();
}

void ResultRun::collect(uint64_t nrows) {
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

void ResultRun::collect_best(uint64_t nrows) {
  if (query_.rows_stay()) {
    collect(nrows);
    const RowList best = best_candidates(*rows_, row_order(plan_), work_);
    sorted_.emplace(order_rows(*rows_, best.data(), best.size(), row_order(plan_), work_, &place_));
    return;
  }
  BestRows best(row_order(plan_), plan_.own_columns(), query_.host_memory(), work_);
  for (uint64_t at = 0; at < nrows;) {
    work_.check();
    const ResultBatch batch = query_.fetch(at, std::min(nrows - at, kFetchRows));
    at += batch.nrows;
    best.add(batch);
  }
  rows_ = best.take();
  order_all();
}

/* Of what a device gives away only the likely rows of each batch are copied. */
void ResultRun::collect_likely(uint64_t nrows) {
  if (query_.rows_stay()) {
    collect(nrows);
  } else {
    std::vector<uint32_t> likely;
    for (uint64_t at = 0; at < nrows;) {
      const ResultBatch batch = query_.fetch(at, std::min(nrows - at, kEstimatedRows));
      at += batch.nrows;
      ResultRows here(plan_.own_columns(), query_.host_memory());
      here.borrow(batch);
      likely.clear();
      const RowList list = likely_rows(here, plan_, work_);
      for (const RowRef ref : list.refs()) likely.push_back(static_cast<uint32_t>(ref_row(ref)));
      rows_->copy(batch, likely);
    }
  }
  RowList list = likely_rows(*rows_, plan_, work_);
  if (plan_.order().empty())
    sorted_.emplace(std::move(list));
  else
    sorted_.emplace(order_rows(*rows_, list.data(), list.size(), row_order(plan_), work_, &place_));
}

/* By the first of them. */
bool ResultRun::drops_many(uint64_t nrows) {
  if (nrows == 0) return false;
  const ResultBatch batch = query_.fetch(0, std::min(nrows, kSampledRows));
  ResultRows first(plan_.own_columns(), query_.host_memory());
  first.borrow(batch);
  return batch.nrows - likely_rows(first, plan_, work_).size() >= batch.nrows * kLeastDropped / 8;
}

/* False: all may as well come, since few would be dropped, or there is no memory for those that stay. */
bool ResultRun::drop_rows(uint64_t nrows) {
  try {
    if (!drops_many(nrows)) return false;
    collect_likely(nrows);
    gather_.emplace(*rows_, sorted_->size(), unread_);
    return true;
  } catch (const DeviceError& error) {
    if (error.reason != TB_FALLBACK_HOST_MEMORY) throw;
  }
  sorted_.reset();
  rows_.reset();
  return false;
}

void ResultRun::run_passes() {
  for (const TbWindowPass& pass : plan_.passes()) {
    if (run_on_device(pass)) continue;
    sort_for(pass);
    compute_window_pass(plan_, pass, *rows_, *sorted_, work_);
  }
}

/* May the rows come in the order of their numbers, for want of a better one? */
bool ResultRun::has_own_order() const {
  return any_order_ && plan_.order().empty() && plan_.limit() == TB_NO_LIMIT && plan_.ndistinct() == 0;
}

/* Rows come in the pass's order, which may be the last one, or in any. */
bool ResultRun::run_plan_on_device(uint64_t nrows) {
  if (!wants_rows_on_device(plan_)) return false;
  const RowOrder order = row_order(plan_);
  sorted_keys_ = plan_.keys(plan_.passes().front());
  const bool in_order = order.keys.size() <= sorted_keys_.size() &&
                        std::equal(order.keys.begin(), order.keys.end(), sorted_keys_.begin(), same_key);
  if (!compute_plan_on_device(plan_, nrows, has_own_order(), in_order ? order.limit : TB_NO_LIMIT, unread_, rows_,
                              work_, place_))
    return false;
  if (!in_order) {
    sorted_.emplace(order_rows(*rows_, nullptr, rows_->size(), order, work_, &place_));
    gather_.emplace(*rows_, sorted_->size(), unread_);
  }
  return true;
}

/* Conditions are the device's where one pass is all. Of rows that they leave it is not known what they agree in. */
bool ResultRun::run_on_device(const TbWindowPass& pass) {
  const bool last = &pass == &plan_.passes().back(), alone = last && plan_.passes().size() == 1;
  WindowPassWish wish{};
  wish.conditions = alone && plan_.ndistinct() == 0 && !plan_.with_ties() && asks_conditions(plan_, pass);
  wish.order = !wish.conditions && !(last && has_own_order());
  if (!compute_window_pass_on_device(plan_, pass, wish, *rows_, sorted_, work_, place_)) return false;
  sorted_keys_ = plan_.keys(pass);
  conditions_asked_ = wish.conditions;
  return true;
}

/* An order by more keys will do, if these are its first. */
bool ResultRun::sorted_by(std::span<const TbSortKey> keys) const {
  if (!sorted_ || keys.size() > sorted_keys_.size()) return false;
  return std::equal(keys.begin(), keys.end(), sorted_keys_.begin(), same_key);
}

void ResultRun::sort_for(const TbWindowPass& pass) {
  const std::span<const TbSortKey> keys = plan_.keys(pass);
  if (sorted_by(keys)) return;
  sorted_.reset();
  sorted_.emplace(sort_rows(*rows_, nullptr, rows_->size(), keys, true, work_, &place_));
  sorted_keys_ = keys;
}

/* The conditions, and the final order. */
void ResultRun::order_all() {
  const RowOrder order = row_order(plan_);
  const bool all = plan_.conditions().empty() || conditions_asked_;
  if (has_own_order()) {
    if (all && !conditions_asked_)
      sorted_.reset();
    else if (!all)
      sorted_.emplace(passing_refs(plan_, *rows_, nullptr, rows_->size(), work_));
    return;
  }
  if (sorted_by(plan_.order())) {
    // What is kept of the order tells no more what neighbours agree in.
    if (!all && (order.ties || order.ndistinct > 0)) {
      const HostBuffer passing = passing_rows(plan_, *rows_, work_);
      sorted_->keep_if([&](uint64_t i) { return passing.data()[rows_->number((*sorted_)[i])] != 0; });
    } else if (!all) {
      sorted_.emplace(passing_refs(plan_, *rows_, sorted_->rows().data(), sorted_->size(), work_));
    }
    order.cut(*sorted_);
    return;
  }
  if (conditions_asked_) {
    sorted_.emplace(order_rows(*rows_, sorted_->rows().data(), sorted_->size(), order, work_, &place_));
    return;
  }
  sorted_.reset();
  if (all && plan_.limit() <= rows_->size() / kBestShare) {
    const RowList best = best_candidates(*rows_, order, work_);
    sorted_.emplace(order_rows(*rows_, best.data(), best.size(), order, work_, &place_));
    return;
  }
  if (all) {
    sorted_.emplace(order_rows(*rows_, nullptr, rows_->size(), order, work_, &place_));
    return;
  }
  const RowList list = passing_refs(plan_, *rows_, nullptr, rows_->size(), work_);
  sorted_.emplace(order_rows(*rows_, list.data(), list.size(), order, work_, &place_));
}

ResultBatch ResultRun::fetch(uint64_t first, uint64_t count) {
  if (all_come_) return query_.fetch(first, count);
  if (!sorted_) return fetch_unsorted(first, count);
  return gather_->gather(sorted_->rows().refs().subspan(first, std::min(count, sorted_->size() - first)), work_);
}

/* Where the rows lie. */
ResultBatch ResultRun::fetch_unsorted(uint64_t first, uint64_t count) const {
  const RowRef ref = rows_->ref(first);
  ResultBatch batch = rows_->batch_of(ref);
  const uint64_t row = ref_row(ref);
  batch.nrows = std::min(count, batch.nrows - row);
  for (ResultColumn& column : batch.columns) {
    column.values += row * column.stride;
    if (column.valid) column.valid += row * column.valid_stride;
  }
  return batch;
}

}  // namespace turbine
