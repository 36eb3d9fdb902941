/*
 * query_totals.h - the figures of one query that QUERY_DONE carries, as they grow.
 *
 * Sources, completions and the session's thread add to them. Any thread.
 */
#pragma once

#include <mutex>

#include "turbine/wire.h"

namespace turbine {

class QueryTotals {
 public:
  /* Calls change(TbQueryDone&), alone. */
  template <class Change>
  void change(const Change& change) {
    std::lock_guard lock(mutex_);
    change(done_);
  }

  TbQueryDone get() const {
    std::lock_guard lock(mutex_);
    return done_;
  }

 private:
  mutable std::mutex mutex_;
  TbQueryDone done_{};
};

}  // namespace turbine
