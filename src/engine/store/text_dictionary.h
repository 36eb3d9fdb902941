/*
 * text_dictionary.h - the distinct texts of one column of one file, by number.
 *
 * Grows while segments are added and never forgets; codes are entries' numbers, so they are the
 * same in all segments. Entries are views as generated code reads them, with an id and the
 * text's hash. Once entries are too many, or most texts are new, nothing more is added, and
 * segments with other texts keep them as they are.
 *
 * Thread-safe: looking for texts takes no lock, adding some does. What code() has returned, in
 * whatever thread, is there for whoever has learned of it.
 */
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/store/column_piece.h"
#include "turbine/types.h"

namespace turbine {

class TextDictionary {
 public:
  static constexpr uint32_t kMostEntries = 1 << 20;
  static constexpr uint64_t kMostBytes = 64 << 20;

  /* `most_bytes` of texts; nothing is added where address space is short. */
  explicit TextDictionary(uint64_t most_bytes = kMostBytes);
  ~TextDictionary();
  TextDictionary(const TextDictionary&) = delete;

  /* Codes of the piece's texts, by row of the origin; of NULLs 0. False: some text has none. */
  bool encode(const ColumnPiece& piece, int32_t* codes);

  const TbTextView* views() const { return reinterpret_cast<const TbTextView*>(views_.start); }
  const uint8_t* bytes() const { return texts_.start; }
  uint32_t entries() const { return entries_.load(std::memory_order_acquire); }
  /* Memory that it takes. */
  uint64_t size() const;

 private:
  /* Address space of which the beginning is memory. */
  struct Area {
    uint8_t* start = nullptr;
    uint64_t reserved = 0, usable = 0;
    bool reserve(uint64_t size);
    bool grow_to(uint64_t size);
    void release();
  };
  /* Open addressing by hash: 0 empty, else entry + 1. */
  struct Slots {
    explicit Slots(uint64_t count) : mask(count - 1), entries(count) {}
    const uint64_t mask;
    std::vector<std::atomic<uint32_t>> entries;
  };

  uint32_t find(const Slots& slots, uint32_t hash, const uint8_t* text, uint32_t length) const;
  bool mostly_new(uint32_t entries);
  uint32_t add(uint32_t hash, const uint8_t* text, uint32_t length);
  bool append(uint32_t entry, uint32_t hash, const uint8_t* text, uint32_t length);
  void place(Slots& slots, uint32_t entry) const;

  const uint64_t most_bytes_;
  bool has_memory_ = false;  // else it codes nothing
  Area views_, texts_;
  std::atomic<const Slots*> slots_;
  std::atomic<uint32_t> entries_{0};
  std::atomic<uint64_t> rows_seen_{0};
  std::atomic<bool> closed_{false};
  std::mutex mutex_;  // adding
  uint64_t text_end_ = 0;
  uint64_t judged_rows_ = 0, judged_entries_ = 0;
  std::vector<std::unique_ptr<Slots>> all_slots_;  // someone may be in any of them
};

}  // namespace turbine
