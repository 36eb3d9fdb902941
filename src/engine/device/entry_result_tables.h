/*
 * entry_result_tables.h - tables of a query by entry, one for each owner (a column, a thread) and each dictionary that
 * it meets, in memory of one kind: the host's, or a GPU's. engine/program/entry_results.h says what is noted there.
 *
 * A table comes with the first segment of its dictionary. Other queries may add entries to the dictionary meanwhile.
 * So a table that has become too small makes way for a larger one, which begins empty, and stays until the query ends:
 * somebody may still look into it. Without memory there is no table, and each row's result is computed.
 *
 * Not thread-safe.
 */
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/program/entry_results.h"
#include "engine/store/segment.h"
#include "turbine/mutant.h"

namespace turbine {

template <class Memory>
class EntryResultTables {
 public:
  /* Larger dictionaries have no tables: most of their texts come again so seldom that a look-up, which waits for
   * memory, saves little. */
  static constexpr uint64_t kMostEntries = (64 << 10) - 1;

  /* `allocate`: so many bytes, all 0; nothing if there are none. */
  using Allocate = std::function<std::optional<Memory>(uint64_t bytes)>;
  EntryResultTables(EntryResults layout, Allocate allocate)
      : layout_(std::move(layout)), allocate_(std::move(allocate)) {}

  const EntryResults& layout() const { return layout_; }

  /* A table of such records: for NULL, and for all entries that the dictionary has now, which are those that codes
   * name. `owner`: whose it is, of those with the dictionary. Null: there is none. */
  const Memory* find(uint32_t owner, uint32_t record_size, const std::shared_ptr<TextDictionary>& dictionary) {
    if (!dictionary || record_size == 0) return nullptr;
    const uint64_t entries = dictionary->entries();
    if (entries > kMostEntries) return nullptr;
    const std::pair<uint32_t, const TextDictionary*> key(owner, TB_MUTANT(results_shared) ? nullptr : dictionary.get());
    const auto known = tables_.find(key);
    if (known != tables_.end() && known->second.entries >= entries) return &known->second.memory;
    if (no_memory_) return nullptr;
    const uint64_t room = known == tables_.end() ? entries
                                                 : std::clamp(2 * known->second.entries, entries, kMostEntries);
    std::optional<Memory> memory = allocate_((room + 1) * record_size);
    if (!memory) {
      no_memory_ = true;
      return nullptr;
    }
    Table made{dictionary, room, std::move(*memory)};
    if (known == tables_.end()) return &tables_.emplace(key, std::move(made)).first->second.memory;
    std::swap(known->second, made);
    outgrown_.push_back(std::move(made));
    return &known->second.memory;
  }

  /* Dictionaries that have a table, and their entries. */
  template <class Stats>
  void count(Stats* stats) const {
    std::set<const TextDictionary*> seen;
    for (const auto& [key, table] : tables_) {
      if (!seen.insert(key.second).second) continue;
      stats->dictionaries++;
      stats->dictionary_entries += table.entries;
    }
  }

 private:
  struct Table {
    std::shared_ptr<TextDictionary> dictionary;  // so that no other one takes its place
    uint64_t entries;
    Memory memory;
  };

  const EntryResults layout_;
  const Allocate allocate_;
  std::map<std::pair<uint32_t, const TextDictionary*>, Table> tables_;
  std::vector<Table> outgrown_;
  bool no_memory_ = false;
};

}  // namespace turbine
