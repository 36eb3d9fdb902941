/*
 * block_fold.cc - see block_fold.h.
 *
 * Values of one kind lie side by side, so that a loop folds them: the emitted code grows by what puts a value.
 */
#include "compiler/codegen/block_fold.h"

#include <algorithm>
#include <string_view>

#include "compiler/codegen/shared_list.h"
#include "turbine/kernel.h"

namespace turbine {

using llvm::Value;

namespace {

/* Values between two barriers: 4 KiB of shared memory, which leaves the rest to the cache. */
constexpr size_t kMostSlots = 30;

}  // namespace

void BlockFold::add(const char* put, const char* fold, uint32_t type, Entry entry) {
  const auto same = [&](const Kind& kind) { return kind.put == std::string_view(put) && kind.type == type; };
  auto found = std::find_if(kinds_.begin(), kinds_.end(), same);
  if (found == kinds_.end()) found = kinds_.insert(found, {put, fold, type, {}});
  found->entries.push_back(entry);
}

void BlockFold::add_sum(Value* state, Value* value) {
  llvm::Type* type = value->getType();
  if (type->isDoubleTy()) return add("rt_block_put_f64", "rt_block_sum_f64", TB_NONE, {state, value});
  if (type->isIntegerTy(64)) return add("rt_block_put_u64", "rt_block_sum_u64", TB_NONE, {state, value});
  add("rt_block_put_i128", "rt_block_sum_i128", TB_NONE, {state, value});
}

void BlockFold::add_extreme(Value* state, Value* key, uint32_t type, bool least) {
  add(least ? "rt_block_put_min" : "rt_block_put_max", least ? "rt_block_min_key" : "rt_block_max_key", type,
      {state, key});
}

void BlockFold::emit() {
  size_t count = 0;
  for (const Kind& kind : kinds_) count += kind.entries.size();
  if (count == 0) return;
  auto& ir = rows_.ir();
  const size_t most = std::min(count, kMostSlots);
  llvm::Type* type = llvm::ArrayType::get(ir.getInt64Ty(), most * TB_BLOCK_SLOT_WORDS);
  Value* slots = ir.CreateAddrSpaceCast(make_shared_word(rows_, type, "block"), ir.getPtrTy());
  for (size_t first = 0; first < count; first += most) {
    if (first > 0) emit_block_barrier(rows_);
    emit_slots(first, std::min(first + most, count), slots);
  }
}

/* Values [first, end) of all. */
void BlockFold::emit_slots(size_t first, size_t end, Value* slots) {
  auto& ir = rows_.ir();
  auto slot = [&](size_t i) { return rows_.at(slots, (i - first) * TB_BLOCK_SLOT_WORDS * sizeof(uint64_t)); };
  // Put the warps' values
  size_t at = 0;
  for (const Kind& kind : kinds_)
    for (const Entry& entry : kind.entries) {
      if (at >= first && at < end) rows_.call_rt(kind.put, {slot(at), entry.state, entry.value});
      at++;
    }
  emit_block_barrier(rows_);
  // Fold them, a loop for each kind
  size_t begin = 0;
  for (const Kind& kind : kinds_) {
    const size_t from = std::clamp(begin, first, end), to = std::clamp(begin + kind.entries.size(), first, end);
    begin += kind.entries.size();
    if (from == to) continue;
    llvm::SmallVector<Value*, 3> operands = {slot(from), ir.getInt32(static_cast<uint32_t>(to - from))};
    if (kind.type != TB_NONE) operands.push_back(ir.getInt32(kind.type));
    rows_.call_rt(kind.fold, operands);
  }
}

}  // namespace turbine
