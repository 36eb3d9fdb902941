/*
 * group_merge.cc - the group tables of several threads made into one result.
 *
 * Called once a query by the grouped and the ungrouped sink, after the last chunk. Owns the
 * merged tables; the threads' own are empty afterwards.
 */
#include "engine/device/host/group_merge.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

namespace turbine {
namespace {

/* Below this many rows to move, starting threads costs more than they save. */
constexpr uint64_t kSerialRows = 32 << 10;
/* A partition's groups are looked up at random: so many stay in a core's own cache. */
constexpr uint64_t kPartitionGroups = 16 << 10;
constexpr uint64_t kMaxPartitions = 256;
/* Rows of a partition lie far apart in their table, and so do their texts: so many are on their way at a time. */
constexpr uint64_t kRowsAhead = 24, kTextsAhead = 12;

uint64_t partition_of(const uint8_t* row, unsigned bits) {
  uint64_t hash;
  memcpy(&hash, row, sizeof hash);
  return hash >> (64 - bits);
}

/* Numbers of one table's rows, ordered by partition. */
struct PartitionedRows {
  HostBuffer numbers;
  std::vector<uint64_t> starts;  // one a partition, and the end

  std::span<const uint32_t> of(uint64_t partition) const {
    const auto* all = reinterpret_cast<const uint32_t*>(numbers.data());
    return {all + starts[partition], all + starts[partition + 1]};
  }
};

PartitionedRows partition_rows(const HostGroupTable& table, unsigned bits, MemoryBudget& budget) {
  PartitionedRows rows{HostBuffer(budget, table.size() * sizeof(uint32_t), HostContents::kAnything), {}};
  rows.starts.assign((1ull << bits) + 1, 0);
  for (uint64_t i = 0; i < table.size(); i++) rows.starts[partition_of(table.row(i), bits) + 1]++;
  for (size_t p = 1; p < rows.starts.size(); p++) rows.starts[p] += rows.starts[p - 1];
  std::vector<uint64_t> next(rows.starts.begin(), rows.starts.end() - 1);
  uint32_t* numbers = reinterpret_cast<uint32_t*>(rows.numbers.data());
  for (uint64_t i = 0; i < table.size(); i++)
    numbers[next[partition_of(table.row(i), bits)]++] = static_cast<uint32_t>(i);
  return rows;
}

uint32_t add_row(const GroupFold& fold, HostGroupTable& into, const HostGroupTable& from, uint64_t number) {
  bool fresh;
  uint8_t* row = into.find_or_copy(fold, from.row(number), from.arena(), &fresh);
  return fresh ? 0 : fold.fold(row, into, from.row(number), from.arena());
}

uint32_t add_rows(const GroupFold& fold, HostGroupTable& into, const HostGroupTable& from,
                  std::span<const uint32_t> numbers) {
  uint32_t errors = 0;
  for (size_t i = 0; i < numbers.size(); i++) {
    if (i + kRowsAhead < numbers.size()) __builtin_prefetch(from.row(numbers[i + kRowsAhead]));
    if (fold.has_text_keys() && i + kTextsAhead < numbers.size()) {
      const uint8_t* row = from.row(numbers[i + kTextsAhead]);
      fold.prefetch_texts(row, from.arena());
      into.prefetch_texts(fold, row);
    }
    errors |= add_row(fold, into, from, numbers[i]);
  }
  return errors;
}

}  // namespace

MergedGroups::MergedGroups(const GroupFold& fold, std::vector<std::unique_ptr<HostGroupTable>> tables, WorkerPool& pool,
                           MemoryBudget& budget)
    : fold_(fold) {
  std::erase_if(tables, [](const auto& table) { return !table || table->size() == 0; });
  std::stable_sort(tables.begin(), tables.end(), [](const auto& a, const auto& b) { return a->size() > b->size(); });
  uint64_t moving = 0;
  for (size_t i = 1; i < tables.size(); i++) moving += tables[i]->size();
  if (moving < kSerialRows || pool.size() == 1)
    merge_into_largest(std::move(tables));
  else
    merge_partitions(std::move(tables), pool, budget);
  for (const auto& part : parts_) size_ += part->size();
}

void MergedGroups::merge_into_largest(std::vector<std::unique_ptr<HostGroupTable>> tables) {
  uint32_t errors = 0;
  for (size_t i = 1; i < tables.size(); i++) {
    for (uint64_t row = 0; row < tables[i]->size(); row++) errors |= add_row(fold_, *tables[0], *tables[i], row);
    texts_.push_back(tables[i]->take_texts());
    tables[i].reset();
  }
  throw_fold_errors(errors);
  if (!tables.empty()) parts_.push_back(std::move(tables[0]));
}

void MergedGroups::merge_partitions(std::vector<std::unique_ptr<HostGroupTable>> tables, WorkerPool& pool,
                                    MemoryBudget& budget) {
  // Twice as many partitions as threads even out their sizes.
  uint64_t groups = 0;
  for (const auto& table : tables) groups += table->size();
  const uint64_t wanted = std::max<uint64_t>(pool.size() * 2, groups / kPartitionGroups);
  const unsigned bits = std::bit_width(std::bit_ceil(std::min(wanted, kMaxPartitions))) - 1;
  std::vector<std::unique_ptr<PartitionedRows>> rows(tables.size());
  pool.run_all(tables.size(), [&](uint64_t i) {
    rows[i] = std::make_unique<PartitionedRows>(partition_rows(*tables[i], bits, budget));
  });

  parts_.resize(1ull << bits);
  std::atomic<uint32_t> errors{0};
  pool.run_all(parts_.size(), [&](uint64_t p) {
    // Room for all: a table that grows is filled anew, and threads share few of so many groups.
    uint64_t most = 0;
    for (const auto& table_rows : rows) most += table_rows->of(p).size();
    auto part = std::make_unique<HostGroupTable>(fold_.layout().row_size, most, budget);
    uint32_t part_errors = 0;
    for (size_t t = 0; t < tables.size(); t++) part_errors |= add_rows(fold_, *part, *tables[t], rows[t]->of(p));
    errors.fetch_or(part_errors);
    parts_[p] = std::move(part);
  });
  for (const auto& table : tables) texts_.push_back(table->take_texts());
  throw_fold_errors(errors);
}

/* Groups of one table: they need not move. */
ResultBatch MergedGroups::fetch(uint64_t first, uint64_t count) const {
  size_t part = 0;
  while (first >= parts_[part]->size()) first -= parts_[part++]->size();
  const HostGroupTable& table = *parts_[part];
  return group_batch(fold_.layout(), table.row(first), table.arena(), std::min(count, table.size() - first));
}

}  // namespace turbine
