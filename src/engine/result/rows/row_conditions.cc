/*
 * row_conditions.cc - see row_conditions.h.
 *
 * Called by result_run.cc; all threads take part. Reads the columns of window functions, which have one element
 * after the other by the rows' numbers.
 */
#include "engine/result/rows/row_conditions.h"

#include <numeric>
#include <vector>

#include "engine/result/order/ordered_value.h"
#include "engine/result/rows/row_parts.h"

namespace turbine {
namespace {

bool holds(const TbResultCondition& condition, int64_t value) {
  const bool strict = condition.flags & TB_CONDITION_STRICT;
  if (condition.flags & TB_CONDITION_EQUAL) return value == condition.bound;
  if (condition.flags & TB_CONDITION_AT_LEAST) return strict ? value > condition.bound : value >= condition.bound;
  return strict ? value < condition.bound : value <= condition.bound;
}

template <class T>
void clear_failing(const TbResultCondition& condition, const ResultColumn& column, const RowRef* refs, size_t n,
                   uint8_t* passing) {
  for (size_t i = 0; i < n; i++) {
    const uint64_t row = ref_row(refs[i]);
    if (column.is_null(row) || !holds(condition, load_value<T>(column.at(row)))) passing[i] = 0;
  }
}

}  // namespace

HostBuffer passing_rows(const ResultPlan& plan, const ResultRows& rows, ParallelWork& work) {
  HostBuffer passing(rows.budget(), std::max<uint64_t>(rows.size(), 1), HostContents::kAnything);
  const RowParts parts(rows.size(), work.threads());
  work.each(parts.size(), [&](uint64_t p) {
    memset(passing.data() + parts.first(p), 1, parts.count(p));
    for_row_blocks(rows, nullptr, parts.first(p), parts.count(p),
                   [&](const ResultBatch& batch, const RowRef* refs, size_t n, uint64_t place) {
                     work.check();
                     for (const TbResultCondition& condition : plan.conditions()) {
                       const ResultColumn& column = batch.columns[condition.column];
                       uint8_t* const to = passing.data() + place;
                       if (rows.columns()[condition.column].type == TB_TYPE_INT4)
                         clear_failing<int32_t>(condition, column, refs, n, to);
                       else
                         clear_failing<int64_t>(condition, column, refs, n, to);
                     }
                   });
  });
  return passing;
}

RowList passing_refs(const ResultPlan& plan, const ResultRows& rows, const RowRef* list, uint64_t count,
                     ParallelWork& work) {
  // Bytes by the rows' numbers are found in the caches where the columns are not.
  const HostBuffer passing = passing_rows(plan, rows, work);
  const RowParts parts(count, work.threads());
  auto of_part = [&](uint64_t p, auto f) {
    for_row_blocks(rows, list, parts.first(p), parts.count(p),
                   [&](const ResultBatch&, const RowRef* refs, size_t n, uint64_t) {
                     work.check();
                     for (size_t i = 0; i < n; i++) f(refs[i], passing.data()[rows.number(refs[i])]);
                   });
  };
  std::vector<uint64_t> starts(parts.size() + 1);
  work.each(parts.size(), [&](uint64_t p) {
    uint64_t pass = 0;
    of_part(p, [&pass](RowRef, uint8_t passes) { pass += passes; });
    starts[p + 1] = pass;
  });
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  RowList kept(rows.budget(), std::max<uint64_t>(starts.back(), 1));
  kept.resize(starts.back());
  work.each(parts.size(), [&](uint64_t p) {
    RowRef* to = kept.data() + starts[p];
    of_part(p, [&to](RowRef ref, uint8_t passes) {
      if (passes) *to++ = ref;
    });
  });
  return kept;
}

}  // namespace turbine
