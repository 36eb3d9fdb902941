/*
 * query_parts.h - the queries that an export consists of, which workers take one by one.
 *
 * A query is one part. A table read by several workers is many, so that workers end
 * together however rows are spread.
 */
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace turbine::exporting {

class QueryParts {
 public:
  explicit QueryParts(std::vector<std::string> queries) : queries_(std::move(queries)) {}

  /* The next query; false if none is left. Any thread may call it. */
  bool take(std::string& query) {
    const std::lock_guard lock(mutex_);
    if (taken_ == queries_.size()) return false;
    query = queries_[taken_++];
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> queries_; /* immutable */
  size_t taken_ = 0;                 /* protected by mutex_ */
};

}  // namespace turbine::exporting
