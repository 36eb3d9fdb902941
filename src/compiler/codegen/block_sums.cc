/*
 * block_sums.cc - see block_sums.h.
 *
 * The folds are bodies of rt/group_state.cc (rt_block_*), one of each kind of number.
 */
#include "compiler/codegen/block_sums.h"

#include <algorithm>

#include "compiler/codegen/shared_list.h"
#include "turbine/kernel.h"

namespace turbine {

using llvm::Value;

namespace {

/* Sums between two barriers: 4 KiB of shared memory, which leaves the rest to the cache. */
constexpr size_t kMostSlots = 30;

}  // namespace

void BlockSums::add(Value* state, Value* value) {
  llvm::Type* type = value->getType();
  std::vector<Sum>& kind = type->isDoubleTy() ? floats_ : type->isIntegerTy(64) ? words_ : wide_;
  kind.push_back({state, value});
}

void BlockSums::emit() {
  std::vector<Sum> sums = floats_;
  sums.insert(sums.end(), words_.begin(), words_.end());
  sums.insert(sums.end(), wide_.begin(), wide_.end());
  if (sums.empty()) return;
  auto& ir = rows_.ir();
  const size_t most = std::min(sums.size(), kMostSlots);
  llvm::Type* type = llvm::ArrayType::get(ir.getInt64Ty(), most * TB_BLOCK_SUM_WORDS);
  Value* slots = ir.CreateAddrSpaceCast(make_shared_word(rows_, type, "sums"), ir.getPtrTy());
  for (size_t first = 0; first < sums.size(); first += most) {
    if (first > 0) emit_block_barrier(rows_);
    emit_slots(sums, first, std::min(first + most, sums.size()), slots);
  }
}

/* Sums [first, end) of all. */
void BlockSums::emit_slots(const std::vector<Sum>& sums, size_t first, size_t end, Value* slots) {
  auto& ir = rows_.ir();
  for (size_t i = first; i < end; i++) {
    Value* slot = rows_.at(slots, (i - first) * TB_BLOCK_SUM_WORDS * sizeof(uint64_t));
    llvm::Type* type = sums[i].value->getType();
    const char* put = type->isDoubleTy() ? "rt_block_put_f64"
                      : type->isIntegerTy(64) ? "rt_block_put_u64" : "rt_block_put_i128";
    rows_.call_rt(put, {slot, sums[i].state, sums[i].value});
  }
  emit_block_barrier(rows_);
  size_t begin = 0;
  auto sum = [&](const char* symbol, size_t count) {
    const size_t from = std::clamp(begin, first, end), to = std::clamp(begin + count, first, end);
    begin += count;
    if (from == to) return;
    Value* place = rows_.at(slots, (from - first) * TB_BLOCK_SUM_WORDS * sizeof(uint64_t));
    rows_.call_rt(symbol, {place, ir.getInt32(static_cast<uint32_t>(to - from))});
  };
  sum("rt_block_sum_f64", floats_.size());
  sum("rt_block_sum_u64", words_.size());
  sum("rt_block_sum_i128", wide_.size());
}

}  // namespace turbine
