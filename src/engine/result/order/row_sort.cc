/*
 * row_sort.cc - sorts rows by all threads.
 *
 * Called by row_order.cc. All memory is charged to the query, and every step ends early
 * if the query is closed.
 */
#include "engine/result/order/row_sort.h"

#include <bit>

#include "engine/result/order/entry_sort.h"
#include "engine/result/order/key_packing.h"
#include "engine/result/order/row_comparator.h"
#include "engine/result/rows/row_parts.h"

namespace turbine {
namespace {

/* With its scratch a bucket fits the L2 cache; so many buckets, the first level TLB. */
constexpr uint64_t kBucketRows = 16 << 10;
constexpr unsigned kMostBucketBits = 10;
constexpr uint64_t kSamplesPerBucket = 16;

/* Compares rows where they lie. One thread's. */
class RowLess {
 public:
  RowLess(const ResultRows& rows, const RowComparator& comparator, size_t first, ParallelWork& work)
      : rows_(rows), comparator_(comparator), first_(first), work_(work) {}
  bool operator()(RowRef a, RowRef b) const {
    if (++calls_ % 4096 == 0) work_.check();
    return comparator_.compare(rows_.batch_of(a), ref_row(a), rows_.batch_of(b), ref_row(b), first_) < 0;
  }

 private:
  const ResultRows& rows_;
  const RowComparator& comparator_;
  const size_t first_;
  ParallelWork& work_;
  mutable uint32_t calls_ = 0;
};

template <unsigned kWords>
class PackedSort {
 public:
  using Entry = SortEntry<kWords>;

  PackedSort(const ResultRows& rows, const RowRef* list, uint64_t count, const RowComparator& comparator,
             const KeyPacking& packing, ParallelWork& work)
      : rows_(rows),
        list_(list),
        count_(count),
        comparator_(comparator),
        packing_(packing),
        work_(work),
        parts_(count, work.threads()),
        memory_(rows.budget(), count * sizeof(Entry), HostContents::kAnything),
        other_(rows.budget(), count * sizeof(Entry), HostContents::kAnything) {}

  SortedRows run(bool agree) {
    pack();
    if (count_ <= 2 * kBucketRows) {
      sort_range(entries(), others(), count_);
    } else {
      spread();
      sort_buckets();
      std::swap(memory_, other_);
    }
    return sorted(agree);
  }

 private:
  Entry* entries() const { return reinterpret_cast<Entry*>(memory_.data()); }
  Entry* others() const { return reinterpret_cast<Entry*>(other_.data()); }

  void pack() {
    work_.each(parts_.size(), [&](uint64_t p) {
      for_row_blocks(rows_, list_, parts_.first(p), parts_.count(p),
                     [&](const ResultBatch& batch, const RowRef* refs, size_t n, uint64_t place) {
                       work_.check();
                       Entry* to = entries() + place;
                       packing_.pack(batch, refs, n, to->words, sizeof(Entry) / sizeof(uint64_t));
                       for (size_t i = 0; i < n; i++) to[i].row = refs[i];
                     });
    });
  }

  /* Buckets by splitters, which are ascending; bucket b has what is below splitter b
   * and not below the one before. Equal keys share a bucket. */
  void choose_splitters() {
    const auto bits = static_cast<unsigned>(std::bit_width(count_ / kBucketRows));
    const uint64_t buckets = uint64_t{1} << std::min(bits, kMostBucketBits);
    const uint64_t samples = std::min(buckets * kSamplesPerBucket, count_);
    std::vector<Entry> sample;
    uint64_t random = 1;
    for (uint64_t i = 0; i < samples; i++) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      sample.push_back(entries()[(random >> 20) % count_]);
    }
    std::sort(sample.begin(), sample.end(), [](const Entry& a, const Entry& b) { return compare_words(a, b) < 0; });
    for (uint64_t b = 1; b < buckets; b++) splitters_.push_back(sample[b * samples / buckets]);
    nbuckets_ = buckets;
  }

  uint64_t bucket_of(const Entry& entry) const {
    uint64_t at = 0;
    for (uint64_t step = nbuckets_ / 2; step > 0; step /= 2)
      at += compare_words(splitters_[at + step - 1], entry) <= 0 ? step : 0;
    return at;
  }

  /* Moves entries to where their buckets lie in the other memory. */
  void spread() {
    choose_splitters();
    HostBuffer bucket_memory(rows_.budget(), count_ * sizeof(uint16_t), HostContents::kAnything);
    auto* buckets = reinterpret_cast<uint16_t*>(bucket_memory.data());
    std::vector<std::vector<uint64_t>> at(parts_.size(), std::vector<uint64_t>(nbuckets_));
    work_.each(parts_.size(), [&](uint64_t p) {
      for (uint64_t i = parts_.first(p), end = i + parts_.count(p); i < end; i++) {
        buckets[i] = static_cast<uint16_t>(bucket_of(entries()[i]));
        at[p][buckets[i]]++;
      }
    });
    uint64_t next = 0;
    for (uint64_t b = 0; b < nbuckets_; b++) {
      starts_.push_back(next);
      for (auto& part : at) next += std::exchange(part[b], next);
    }
    starts_.push_back(next);
    work_.each(parts_.size(), [&](uint64_t p) {
      for (uint64_t i = parts_.first(p), end = i + parts_.count(p); i < end; i++)
        others()[at[p][buckets[i]]++] = entries()[i];
    });
  }

  void sort_buckets() {
    work_.each(nbuckets_, [&](uint64_t b) {
      sort_range(others() + starts_[b], entries() + starts_[b], starts_[b + 1] - starts_[b]);
    });
  }

  void sort_range(Entry* from, Entry* scratch, uint64_t n) const {
    const RowLess less(rows_, comparator_, packing_.first_cut(), work_);
    EntrySort<kWords, RowLess>(packing_.exact(), less).sort(from, scratch, n);
  }

  size_t agree(const Entry& a, const Entry& b) const {
    for (unsigned w = 0; w < kWords; w++)
      if (const uint64_t differ = a.words[w] ^ b.words[w]; differ != 0)
        return packing_.key_of_bit(w * 64 + static_cast<unsigned>(std::countl_zero(differ)));
    return comparator_.agree(rows_.batch_of(a.row), ref_row(a.row), rows_.batch_of(b.row), ref_row(b.row),
                             packing_.first_cut());
  }

  /* In the other memory: fresh pages cost as much as sorting does. */
  SortedRows sorted(bool with_agree) {
    other_.shrink(count_ * sizeof(RowRef));
    SortedRows result(RowList(std::move(other_), count_));
    RowRef* refs = result.rows().data();
    HostBuffer agree_memory(rows_.budget(), with_agree ? count_ : 1, HostContents::kAnything);
    work_.each(parts_.size(), [&](uint64_t p) {
      for (uint64_t i = parts_.first(p), end = i + parts_.count(p); i < end; i++) {
        refs[i] = entries()[i].row;
        if (with_agree) agree_memory.data()[i] = static_cast<uint8_t>(i ? agree(entries()[i - 1], entries()[i]) : 0);
      }
    });
    if (with_agree) result.set_agree(std::move(agree_memory));
    return result;
  }

  const ResultRows& rows_;
  const RowRef* const list_;
  const uint64_t count_;
  const RowComparator& comparator_;
  const KeyPacking& packing_;
  ParallelWork& work_;
  const RowParts parts_;
  HostBuffer memory_, other_;
  std::vector<Entry> splitters_;
  uint64_t nbuckets_ = 1;
  std::vector<uint64_t> starts_;
};

}  // namespace

SortedRows sort_rows(const ResultRows& rows, const RowRef* list, uint64_t count, std::span<const TbSortKey> keys,
                     bool agree, ParallelWork& work, SortPlace* place) {
  const RowComparator comparator(keys, rows.columns());
  const KeyPacking packing(keys, rows.columns(), key_statistics(rows, list, count, keys, work));
  if (place)
    if (std::optional<SortedRows> sorted = sort_rows_on_device(rows, list, count, packing, agree, work, *place))
      return std::move(*sorted);
  switch (packing.words()) {
    case 1: return PackedSort<1>(rows, list, count, comparator, packing, work).run(agree);
    case 2: return PackedSort<2>(rows, list, count, comparator, packing, work).run(agree);
    default: return PackedSort<3>(rows, list, count, comparator, packing, work).run(agree);
  }
}

}  // namespace turbine
