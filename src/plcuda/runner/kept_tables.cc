/*
 * kept_tables.cc - see kept_tables.h. Called by calls.cc.
 *
 * The backend has a list of what is kept here, and makes the same choice when there are too many. Where the lists
 * differ, since memory was short here, it learns it by NoCopyError and makes a new copy.
 */
#include "plcuda/runner/kept_tables.h"

#include <algorithm>
#include <utility>

namespace turbine {

TableCopy& KeptTables::open(const char* store, size_t length) {
  const TbPlcudaStore head = read_store(store, length);
  std::shared_ptr<TableCopy> copy;
  if (head.token_length == 0) {
    // A table that is an argument twice may have come just now.
    for (const InUse& used : in_use_)
      if (used.serial == head.serial) copy = used.copy;
    const auto kept = kept_.find(head.relation);
    if (kept != kept_.end() && kept->second.serial == head.serial) {
      kept->second.used = ++uses_;
      copy = kept->second.copy;
    }
    if (copy == nullptr || head.serial == 0) throw NoCopyError("the copy is not here any more");
  } else {
    drop(head.relation);
    copy = open_table(store, length, [this] { return release(); });
    if (head.serial != 0 && copy->is_read_only()) keep(head.relation, head.serial, copy);
  }
  in_use_.push_back({head.serial, copy});
  return *copy;
}

void KeptTables::keep(uint32_t relation, uint64_t serial, const std::shared_ptr<TableCopy>& copy) {
  if (kept_.size() >= TB_PLCUDA_MOST_KEPT)
    kept_.erase(std::min_element(kept_.begin(), kept_.end(),
                                 [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  kept_[relation] = {serial, ++uses_, copy};
}

void KeptTables::end_call() {
  in_use_.clear();
  for (auto& [relation, kept] : kept_) kept.copy->rest();
}

void KeptTables::drop(uint32_t relation) {
  if (relation == TB_PLCUDA_DROP_ALL)
    kept_.clear();
  else
    kept_.erase(relation);
}

bool KeptTables::release() {
  return std::erase_if(kept_, [](const auto& entry) { return entry.second.copy.use_count() == 1; }) > 0;
}

}  // namespace turbine
