/*
 * store_pruning.cc - cuts a row store down to the rows that a limit leaves.
 *
 * Called between chunks by whoever keeps rows, host or GPU, one thread per store. It must
 * never drop a row that may still be returned.
 */
#include "engine/device/host/store_pruning.h"

#include <algorithm>

namespace turbine {
namespace {

/* Numbers of a batch's rows have 32 bits. */
constexpr uint64_t kMostPrunedRows = uint64_t{1} << 32;

}  // namespace

ResultBatch store_batch(const KeptRowLayout& shape, const HostRowStore& store, uint64_t first, uint64_t count) {
  ResultBatch batch{std::min(count, store.size() - first), {}, store.arena(), ResultBatch::Text::kView};
  for (size_t c = 0; c < shape.columns.size(); c++) {
    const uint32_t width = tb_type_width(shape.columns[c].type);
    const uint8_t* valid = store.valid(c);
    batch.columns.push_back({store.values(c) + first * width, width, valid ? valid + first : nullptr, 1});
  }
  return batch;
}

void StorePruning::prune(const RowLimit* limit, const KeptRowLayout& shape, HostRowStore& store, MemoryBudget& budget) {
  if (limit == nullptr || store.size() < limit->worth_pruning(kept_) || store.size() >= kMostPrunedRows) return;
  store.keep(limit->rows_that_stay(store_batch(shape, store, 0, store.size()), budget));
  kept_ = store.size();
}

}  // namespace turbine
