/*
 * kept_parts.h - the rows that several workers kept, numbered through, and
 * cut into parts that threads take.
 */
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "engine/device/host/host_row_store.h"
#include "engine/threads/worker_pool.h"

namespace turbine {

class KeptParts {
 public:
  using Stores = std::vector<std::unique_ptr<HostRowStore>>;

  /* Rows [first, first + count) of one store. */
  struct Part {
    const HostRowStore* store;
    uint64_t first, count;
    uint64_t number;  // of row `first` among all
    uint64_t bytes;   // where the store's text begins in all text
  };

  explicit KeptParts(const Stores& stores) {
    for (const auto& store : stores) {
      for (uint64_t first = 0; first < store->size(); first += kPartRows) {
        const uint64_t count = std::min(kPartRows, store->size() - first);
        parts_.push_back({store.get(), first, count, rows_ + first, bytes_});
      }
      rows_ += store->size();
      bytes_ += store->arena_used();
    }
  }

  uint64_t rows() const { return rows_; }
  uint64_t bytes() const { return bytes_; }

  /* Runs the job for every part, on the pool's threads if that pays; waits. */
  void each(WorkerPool& pool, const std::function<void(const Part&)>& job) const {
    if (rows_ > kSerialRows && pool.size() > 1) return pool.run_all(parts_.size(), [&](uint64_t i) { job(parts_[i]); });
    for (const Part& part : parts_) job(part);
  }

 private:
  static constexpr uint64_t kPartRows = 64 << 10;
  /* Below this many rows, waking threads costs more than they save. */
  static constexpr uint64_t kSerialRows = 16 << 10;

  std::vector<Part> parts_;
  uint64_t rows_ = 0, bytes_ = 0;
};

/* Has row i of the part a NULL key, so that no look-up may find it? */
inline bool null_key(const KeptRowLayout& shape, const KeptParts::Part& part, uint64_t i) {
  if (!shape.keeps_null_keys) return false;
  for (size_t key = 0; key < shape.nkeys; key++) {
    const uint8_t* valid = part.store->valid(key);
    if (valid && !valid[part.first + i]) return true;
  }
  return false;
}

}  // namespace turbine
