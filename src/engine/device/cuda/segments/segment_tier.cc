/*
 * segment_tier.cc - see segment_tier.h.
 *
 * Owns slabs and dictionaries. Called by segment_batch.cc on queries' workers. Must never
 * give out memory again that a lane has pinned.
 */
#include "engine/device/cuda/segments/segment_tier.h"

#include <algorithm>
#include <iterator>

#include "engine/memory/alignment.h"

namespace turbine::cuda {
namespace {

/* A slab is what is lost at once where room is needed. */
constexpr uint64_t kMostSlabSize = uint64_t{256} << 20;
constexpr uint64_t kLeastSlabSize = uint64_t{1} << 20;
constexpr uint64_t kSlabs = 16;  // at least so many

/* A slab stays until so many queries have gone by without it: queries that go again and again through more than there
 * is room for would else find nothing of it. */
constexpr uint64_t kQueriesKept = 32;

/* A slab stays while so great a part of its columns is pinned. If fewer are, they are copied again when they are read.
 */
constexpr uint64_t kPinnedShare = 4;

/* Queries from one look for slabs without columns to the next. */
constexpr uint64_t kQueriesALook = 64;

/* A place: device, slab, generation and offset in units of the alignment. */
constexpr uint32_t kOffsetBits = 22, kGenerationBits = 24, kSlabBits = 10;
constexpr uint32_t kLastGeneration = (1u << kGenerationBits) - 1;
static_assert(kMostSlabSize / kHostAlignment <= uint64_t{1} << kOffsetBits);

}  // namespace

SegmentTier::SegmentTier(std::shared_ptr<CudaContext> context, uint32_t device, uint64_t capacity)
    : context_(std::move(context)),
      device_(device),
      capacity_(capacity),
      slab_size_(std::clamp(capacity / kSlabs, kLeastSlabSize, kMostSlabSize) / kLeastSlabSize * kLeastSlabSize) {}

uint64_t SegmentTier::used() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

uint64_t SegmentTier::begin_query() {
  std::lock_guard lock(mutex_);
  if (++queries_ % kQueriesALook == 0) give_back_slabs();
  return queries_;
}

void SegmentTier::forget_dropped() {
  std::lock_guard lock(mutex_);
  forget_descriptions();
  forget_dictionaries();
  give_back_slabs();
  if (lanes_ == 0) retired_.clear();
}

/* Under the lock. What a lane is copying has no reference yet, but the lane has pinned its slab. */
void SegmentTier::give_back_slabs() {
  for (uint32_t i = 0; i < slabs_.size(); i++) {
    Slab& slab = slabs_[i];
    if (!slab.memory || slab.pins > 0 || slab.columns.use_count() > 1 || slab.generation == kLastGeneration) continue;
    bytes_ -= slab.memory.size();
    slab.memory.reset();
    slab.generation++;
    std::replace(std::begin(open_), std::end(open_), i, UINT32_MAX);
  }
}

uint64_t SegmentTier::place_of(uint32_t slab, uint64_t offset) const {
  return ((uint64_t{device_} << kSlabBits | slab) << kGenerationBits | slabs_[slab].generation) << kOffsetBits |
         offset / kHostAlignment;
}

void SegmentTier::pin(uint32_t slab, uint64_t query, Pins& pins) {
  if (std::find(pins.slabs_.begin(), pins.slabs_.end(), slab) != pins.slabs_.end()) return;
  if (pins.slabs_.empty()) lanes_++;
  pins.slabs_.push_back(slab);
  slabs_[slab].pins++;
  slabs_[slab].last_query = std::max(slabs_[slab].last_query, query);
}

void SegmentTier::Pins::release() {
  if (slabs_.empty()) return;
  std::lock_guard lock(tier_.mutex_);
  for (const uint32_t slab : slabs_)
    if (slab != UINT32_MAX) tier_.slabs_[slab].pins--;
  slabs_.clear();
  if (--tier_.lanes_ == 0) tier_.retired_.clear();
}

SegmentTier::Found SegmentTier::found() const {
  std::lock_guard lock(mutex_);
  return found_;
}

void SegmentTier::count_found(uint64_t hits, uint64_t misses) {
  std::lock_guard lock(mutex_);
  found_.hits += hits;
  found_.misses += misses;
}

void SegmentTier::find(std::span<const StoredColumn* const> columns, uint64_t query, Pins& pins, DevicePtr* addresses) {
  std::lock_guard lock(mutex_);
  uint32_t last = UINT32_MAX;
  for (size_t i = 0; i < columns.size(); i++) {
    addresses[i] = 0;
    const uint64_t place = columns[i]->device_place(gpu());
    if (place >> (kSlabBits + kGenerationBits + kOffsetBits) != device_) continue;
    const auto slab = static_cast<uint32_t>(place >> (kGenerationBits + kOffsetBits) & ((1u << kSlabBits) - 1));
    const uint64_t offset = (place & ((uint64_t{1} << kOffsetBits) - 1)) * kHostAlignment;
    if (slab >= slabs_.size() || place_of(slab, offset) != place) continue;
    if (slab != last) pin(last = slab, query, pins);
    addresses[i] = slabs_[slab].memory.device() + offset;
  }
}

/* Under the lock. Nothing is in it any more. */
void SegmentTier::begin_slab(Slab& slab) {
  if (slab.columns) slab.columns->lost = true;
  auto use = std::make_shared<StoredColumn::DeviceUse>();
  slab.columns = std::move(use);
  slab.given = slab.published = 0;
}

bool SegmentTier::stays_pinned(const Slab& slab) {
  const uint64_t pinned = slab.columns->pinned.load(std::memory_order_relaxed);
  return pinned > 0 && pinned * kPinnedShare >= slab.published;
}

/* Under the lock. False: there is no room. */
bool SegmentTier::open_slab(const Driver& driver, uint64_t query, bool pinned) {
  const auto without_memory = std::find_if(slabs_.begin(), slabs_.end(), [](const Slab& slab) { return !slab.memory; });
  if (bytes_ + slab_size_ <= capacity_ && (without_memory != slabs_.end() || slabs_.size() < (1u << kSlabBits) - 1)) {
    try {
      Block memory = context_->device_memory().allocate(driver, slab_size_, nullptr);
      bytes_ += memory.size();
      const auto number = static_cast<uint32_t>(without_memory - slabs_.begin());
      if (without_memory == slabs_.end()) slabs_.emplace_back();
      slabs_[number].memory = std::move(memory);
      begin_slab(slabs_[number]);
      open_[pinned] = number;
      return true;
    } catch (const DeviceError& error) {
      if (error.reason != TB_FALLBACK_DEVICE_MEMORY) throw;
    }
  }
  uint32_t oldest = UINT32_MAX;
  for (uint32_t i = 0; i < slabs_.size(); i++) {
    // One whose generations are used up stays as it is: an old place must not come to life again.
    const bool of_use = slabs_[i].last_query + kQueriesKept > query && !pinned;
    if (!slabs_[i].memory || slabs_[i].pins > 0 || of_use || stays_pinned(slabs_[i]) ||
        slabs_[i].generation == kLastGeneration)
      continue;
    if (oldest == UINT32_MAX || slabs_[i].last_query < slabs_[oldest].last_query) oldest = i;
  }
  if (oldest == UINT32_MAX) return false;
  slabs_[oldest].generation++;
  std::replace(std::begin(open_), std::end(open_), oldest, UINT32_MAX);
  begin_slab(slabs_[oldest]);
  open_[pinned] = oldest;
  return true;
}

SegmentTier::Extent SegmentTier::reserve(const Driver& driver, uint64_t bytes, uint64_t query, bool pinned,
                                         Pins& pins) {
  std::lock_guard lock(mutex_);
  if (bytes > slab_size_ || capacity_ == 0) return {};
  const uint32_t open = open_[pinned];
  if ((open == UINT32_MAX || slabs_[open].given + bytes > slab_size_) && !open_slab(driver, query, pinned)) return {};
  Slab& slab = slabs_[open_[pinned]];
  const Extent extent{slab.memory.device() + slab.given, open_[pinned]};
  slab.given += host_aligned(bytes);
  pin(open_[pinned], query, pins);
  return extent;
}

void SegmentTier::publish(const StoredColumn& column, const Extent& extent, DevicePtr address) {
  std::lock_guard lock(mutex_);
  const uint64_t offset = address - slabs_[extent.slab].memory.device();
  slabs_[extent.slab].published++;
  column.set_device_copy(gpu(), place_of(extent.slab, offset), slabs_[extent.slab].columns);
}

/* Under the lock. */
void SegmentTier::retire(Block block) {
  bytes_ -= block.size();
  retired_.push_back(std::move(block));
}

std::shared_ptr<const SegmentTier::Description> SegmentTier::find_description(
    const std::shared_ptr<const SegmentMorsel>& morsel, uint64_t query, Pins& pins) {
  if (!morsel->lasting) return nullptr;
  std::lock_guard lock(mutex_);
  const auto found = descriptions_.find(morsel.get());
  if (found == descriptions_.end() || found->second.morsel.lock() != morsel) return nullptr;
  for (const auto& [slab, generation] : found->second.slabs)
    if (slabs_[slab].generation != generation) return nullptr;
  for (const auto& [slab, generation] : found->second.slabs) pin(slab, query, pins);
  return found->second.description;
}

void SegmentTier::keep_description(const std::shared_ptr<const SegmentMorsel>& morsel, Description description,
                                   Block memory, const Pins& pins) {
  std::lock_guard lock(mutex_);
  if (descriptions_.size() >= descriptions_allowed_) forget_descriptions();
  KeptDescription& kept = descriptions_[morsel.get()];
  if (kept.memory) retire(std::move(kept.memory));
  kept.morsel = morsel;
  kept.description = std::make_shared<const Description>(std::move(description));
  kept.memory = std::move(memory);
  bytes_ += kept.memory.size();
  kept.slabs.clear();
  for (const uint32_t slab : pins.slabs_)
    if (slab != UINT32_MAX) kept.slabs.emplace_back(slab, slabs_[slab].generation);
}

/* Under the lock. */
void SegmentTier::forget_descriptions() {
  for (auto entry = descriptions_.begin(); entry != descriptions_.end();) {
    if (!entry->second.morsel.expired()) {
      ++entry;
      continue;
    }
    retire(std::move(entry->second.memory));
    entry = descriptions_.erase(entry);
  }
  descriptions_allowed_ = std::max<size_t>(256, 2 * descriptions_.size());
}

/* Under the lock. */
void SegmentTier::forget_dictionaries() {
  for (auto entry = dictionaries_.begin(); entry != dictionaries_.end();) {
    DictionaryCopy& copy = entry->second;
    if (!copy.original.expired()) {
      ++entry;
      continue;
    }
    retire(std::move(copy.views));
    retire(std::move(copy.bytes));
    entry = dictionaries_.erase(entry);
  }
}

DevicePtr SegmentTier::filler(const Driver& driver, Stream stream) {
  std::lock_guard lock(mutex_);
  if (!filler_) {
    Block block = context_->device_memory().allocate(driver, kFillerSize, nullptr);
    driver.check(driver.memset_d8_async(block.device(), 1, static_cast<size_t>(kFillerSize), stream));
    driver.check(driver.stream_synchronize(stream));
    bytes_ += block.size();
    filler_ = std::move(block);
  }
  return filler_.device();
}

DeviceDictionary SegmentTier::dictionary(const Driver& driver, const std::shared_ptr<TextDictionary>& dictionary,
                                         Stream stream, Pins& pins) {
  std::lock_guard lock(mutex_);
  if (pins.slabs_.empty()) {  // so that what is retired stays
    pins.slabs_.push_back(UINT32_MAX);
    lanes_++;
  }
  DictionaryCopy& copy = dictionaries_[dictionary.get()];
  const uint32_t entries = dictionary->entries();
  const TbTextView* views = dictionary->views();
  // Entries' texts follow one another.
  const uint64_t text_size = entries == 0 ? 0 : uint64_t{views[entries - 1].offset} + views[entries - 1].length;
  auto grow = [&](Block& block, uint64_t size) {
    if (block.size() >= size && block) return false;
    Block larger = context_->device_memory().allocate(driver, std::max<uint64_t>(2 * size, 4096), nullptr);
    bytes_ += larger.size();
    std::swap(block, larger);
    if (larger) retire(std::move(larger));
    return true;
  };
  if (copy.original.lock() != dictionary) {  // another one had this address
    copy.entries = 0;
    copy.text_size = 0;
    copy.original = dictionary;
  }
  if (entries > copy.entries || !copy.views) {
    forget_dictionaries();
    if (grow(copy.views, uint64_t{std::max(entries, 1u)} * sizeof(TbTextView))) copy.entries = 0;
    if (grow(copy.bytes, text_size)) copy.text_size = 0;
    const uint64_t from = uint64_t{copy.entries} * sizeof(TbTextView);
    const uint64_t size = uint64_t{std::max(entries, 1u)} * sizeof(TbTextView);
    if (size > from)
      driver.check(driver.memcpy_htod_async(copy.views.device() + from, reinterpret_cast<const uint8_t*>(views) + from,
                                            size - from, stream));
    if (text_size > copy.text_size)
      driver.check(driver.memcpy_htod_async(copy.bytes.device() + copy.text_size, dictionary->bytes() + copy.text_size,
                                            text_size - copy.text_size, stream));
    driver.check(driver.stream_synchronize(stream));
    copy.entries = entries;
    copy.text_size = text_size;
  }
  return {copy.views.device(), copy.bytes.device()};
}

}  // namespace turbine::cuda
