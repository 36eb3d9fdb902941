/*
 * text_dictionary.cc - see text_dictionary.h.
 *
 * Owned by a StoredTable and by the columns that use it. Must not move what it has: views and
 * texts lie in address space that was reserved before.
 */
#include "engine/store/text_dictionary.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "rt/text_hash.h"
#include "turbine/mutant.h"

namespace turbine {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr uint64_t kFirstSlots = 256;
constexpr uint64_t kGrowth = 64 << 10;  // at least so much more memory

/* Beyond so many entries, of so many rows at a time fewer than one in four may bring a new one. */
constexpr uint32_t kEntriesToJudge = 64 << 10;
constexpr uint64_t kRowsToJudge = 64 << 10;
constexpr uint64_t kRowsAnEntry = 4;

/* Ids of all dictionaries of the service, from 1 on. When they are used up, entries have none. */
uint32_t next_id() {
  static std::atomic<uint64_t> next{1};
  const uint64_t id = next.fetch_add(1, std::memory_order_relaxed);
  return id <= UINT32_MAX ? static_cast<uint32_t>(id) : 0;
}

uint32_t prefix_of(const uint8_t* text, uint32_t length) {
  uint32_t prefix = 0;
  memcpy(&prefix, text, std::min<uint32_t>(length, sizeof prefix));
  return prefix;
}

}  // namespace

bool TextDictionary::Area::reserve(uint64_t size) {
  void* memory = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  start = static_cast<uint8_t*>(memory);
  reserved = size;
  return true;
}

bool TextDictionary::Area::grow_to(uint64_t size) {
  if (size <= usable) return true;
  if (size > reserved) return false;
  const uint64_t wanted = std::min(reserved, std::max((size + kGrowth - 1) / kGrowth * kGrowth, usable * 2));
  if (mprotect(start, wanted, PROT_READ | PROT_WRITE) != 0) return false;
  usable = wanted;
  return true;
}

void TextDictionary::Area::release() {
  if (start) munmap(start, reserved);
}

TextDictionary::TextDictionary(uint64_t most_bytes) : most_bytes_(std::min(most_bytes, kMostBytes)) {
  const uint64_t texts = std::max<uint64_t>((most_bytes_ + kGrowth - 1) / kGrowth * kGrowth, kGrowth);
  // Entry 0 can be read before there is any.
  has_memory_ = views_.reserve(uint64_t{kMostEntries} * sizeof(TbTextView)) && views_.grow_to(sizeof(TbTextView)) &&
                texts_.reserve(texts);
  all_slots_.push_back(std::make_unique<Slots>(kFirstSlots));
  slots_ = all_slots_.back().get();
}

TextDictionary::~TextDictionary() {
  views_.release();
  texts_.release();
}

uint64_t TextDictionary::size() const {
  const uint64_t slots = slots_.load(std::memory_order_acquire)->mask + 1;
  return views_.usable + texts_.usable + 2 * slots * sizeof(uint32_t);
}

uint32_t TextDictionary::find(const Slots& slots, uint32_t hash, const uint8_t* text, uint32_t length) const {
  for (uint64_t at = hash & slots.mask;; at = (at + 1) & slots.mask) {
    const uint32_t entry = slots.entries[at].load(std::memory_order_acquire);
    if (entry == 0) return kNone;
    const TbTextView& view = views()[entry - 1];
    if (view.length != length) continue;
    if (view.id != 0 ? view.prefix != hash : view.prefix != prefix_of(text, length)) continue;
    if (memcmp(bytes() + view.offset, text, length) == 0) return entry - 1;
  }
}

/* Under the lock. */
void TextDictionary::place(Slots& slots, uint32_t entry) const {
  const TbTextView& view = views()[entry];
  const uint32_t hash = view.id != 0
                            ? view.prefix
                            : rt::short_text_hash(reinterpret_cast<const char*>(bytes()) + view.offset, view.length);
  uint64_t at = hash & slots.mask;
  while (slots.entries[at].load(std::memory_order_relaxed) != 0) at = (at + 1) & slots.mask;
  slots.entries[at].store(entry + 1, std::memory_order_release);
}

/* Under the lock. */
bool TextDictionary::append(uint32_t entry, uint32_t hash, const uint8_t* text, uint32_t length) {
  if (entry >= kMostEntries || text_end_ + length > most_bytes_) return false;
  if (!views_.grow_to((uint64_t{entry} + 1) * sizeof(TbTextView)) || !texts_.grow_to(text_end_ + length)) return false;
  memcpy(texts_.start + text_end_, text, length);
  uint32_t id = next_id();
  if (TB_MUTANT(ids_collide)) id = entry + 1;
  if (TB_MUTANT(hash_forgotten)) hash = prefix_of(text, length);
  reinterpret_cast<TbTextView*>(views_.start)[entry] = {length, id != 0 ? hash : prefix_of(text, length), id,
                                                        static_cast<uint32_t>(text_end_)};
  text_end_ += length;
  return true;
}

/* Under the lock. */
bool TextDictionary::mostly_new(uint32_t entries) {
  const uint64_t rows = rows_seen_.load(std::memory_order_relaxed);
  if (entries < kEntriesToJudge || rows - judged_rows_ < kRowsToJudge) return false;
  const bool mostly = (entries - judged_entries_) * kRowsAnEntry > rows - judged_rows_;
  judged_rows_ = rows;
  judged_entries_ = entries;
  return mostly;
}

uint32_t TextDictionary::add(uint32_t hash, const uint8_t* text, uint32_t length) {
  std::lock_guard lock(mutex_);
  Slots* slots = all_slots_.back().get();
  if (const uint32_t known = find(*slots, hash, text, length); known != kNone) return known;
  const uint32_t entry = entries_.load(std::memory_order_relaxed);
  if (closed_ || mostly_new(entry) || !append(entry, hash, text, length)) {
    closed_ = true;
    return kNone;
  }
  if ((uint64_t{entry} + 1) * 2 > slots->mask) {
    all_slots_.push_back(std::make_unique<Slots>((slots->mask + 1) * 4));
    slots = all_slots_.back().get();
    for (uint32_t i = 0; i < entry; i++) place(*slots, i);
  }
  place(*slots, entry);
  slots_.store(slots, std::memory_order_release);
  entries_.store(entry + 1, std::memory_order_release);
  return entry;
}

bool TextDictionary::encode(const ColumnPiece& piece, int32_t* codes) {
  if (!has_memory_) return false;
  const auto* views = reinterpret_cast<const TbTextView*>(piece.origin->values);
  rows_seen_.fetch_add(piece.count, std::memory_order_relaxed);
  TbTextView last{};
  uint32_t last_code = kNone;
  for (uint32_t i = piece.from; i < piece.from + piece.count; i++) {
    codes[i] = 0;
    if (piece.origin->valid && !piece.origin->valid[i]) continue;
    const TbTextView& view = views[i];
    const uint8_t* text = piece.origin->text + view.offset;
    // Equal texts often follow one another.
    bool same = last_code != kNone && last.length == view.length;
    same = same && (TB_MUTANT(neighbour_is_same) || memcmp(piece.origin->text + last.offset, text, view.length) == 0);
    if (same) {
      codes[i] = static_cast<int32_t>(last_code);
      continue;
    }
    const uint32_t hash = rt::short_text_hash(reinterpret_cast<const char*>(text), view.length);
    uint32_t code = find(*slots_.load(std::memory_order_acquire), hash, text, view.length);
    if (code == kNone && !closed_.load(std::memory_order_relaxed)) code = add(hash, text, view.length);
    if (code == kNone) return false;
    codes[i] = static_cast<int32_t>(code);
    last = view;
    last_code = code;
  }
  return true;
}

}  // namespace turbine
