/*
 * join_table_build.cc - the rows of a BUILD made into a join table.
 *
 * Called once, by the row sink of a BUILD. Owns the new block until the caller takes it;
 * nothing in it may be an address, since a GPU gets the same bytes.
 */
#include "engine/device/host/join_table_build.h"

#include <cstring>

#include "engine/device/device.h"
#include "engine/device/host/bucket_fill.h"
#include "engine/device/host/column_copy.h"
#include "engine/device/host/key_range.h"
#include "engine/device/join_table_layout.h"
#include "turbine/wire.h"

namespace turbine {
namespace {

class Builder {
 public:
  Builder(const KeptRowLayout& shape, const KeptParts& parts, WorkerPool& pool, MemoryBudget& budget)
      : shape_(shape), parts_(parts), pool_(pool), budget_(budget) {}

  std::shared_ptr<const JoinTable> build() {
    find_bounds();
    if (one_integer_key(shape_)) range_ = narrow_key_range(shape_, parts_, bounds_[0], pool_, budget_);
    const JoinTableLayout layout(shape_, parts_.rows(), parts_.bytes(),
                                 range_ ? std::optional(range_->places) : std::nullopt);
    HostBuffer block(budget_, layout.size_with_chains());
    layout.write_header(block.data());
    fill({reinterpret_cast<TbJoinTable*>(block.data()), reinterpret_cast<uint32_t*>(block.data() + layout.chains())},
         layout);
    block.shrink(reinterpret_cast<TbJoinTable*>(block.data())->total_size);
    return std::make_shared<const JoinTable>(std::move(block), shape_, parts_.rows(), bounds_);
  }

 private:
  /* Of the first keys, which whoever reads the probing side may ask for. */
  void find_bounds() {
    bounds_.resize(std::min<size_t>(shape_.nkeys, TB_MAX_KEY_BOUNDS));
    for (size_t key = 0; key < bounds_.size(); key++)
      if (is_integer_key(shape_.columns[key].type)) bounds_[key] = bounds_of_key(shape_, parts_, key, pool_);
  }

  void fill(const TableMemory& memory, const JoinTableLayout& layout) {
    const uint32_t kind = layout.header().kind;
    for (size_t i = 0; i < layout.columns().size(); i++) {
      const JoinTableLayout::Column& column = layout.columns()[i];
      if (column.values == 0) continue;
      const ColumnTarget target{memory.at(column.values), column.valid ? memory.at(column.valid) : nullptr};
      parts_.each(pool_, [&](const KeptParts::Part& part) {
        if (kind == TB_TABLE_DENSE)
          scatter_column(shape_, i, part, *range_, target);
        else
          copy_column(shape_, i, part, target);
      });
    }
    parts_.each(pool_, [&](const KeptParts::Part& part) { copy_bytes(part, memory.at(layout.header().bytes)); });

    bool chained = false;
    if (kind == TB_TABLE_HASH) chained = fill_hash_buckets(memory, shape_, parts_, pool_);
    if (kind == TB_TABLE_DIRECT) chained = fill_direct_buckets(memory, shape_, parts_, pool_);
    if (kind == TB_TABLE_DENSE && range_->ranks)
      memcpy(memory.at(layout.header().buckets), range_->ranks->data(), layout.buckets_size());
    if (!chained) return;
    memory.table->next = layout.chains();
    memory.table->total_size = layout.size_with_chains();
  }

  const KeptRowLayout& shape_;
  const KeptParts& parts_;
  WorkerPool& pool_;
  MemoryBudget& budget_;
  std::vector<KeyBounds> bounds_;
  std::optional<KeyRange> range_;
};

}  // namespace

std::shared_ptr<const JoinTable> build_join_table(const KeptRowLayout& shape, KeptParts::Stores stores,
                                                  WorkerPool& pool, MemoryBudget& budget) {
  const KeptParts parts(stores);
  return Builder(shape, parts, pool, budget).build();
}

}  // namespace turbine
