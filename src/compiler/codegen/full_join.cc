/*
 * full_join.cc - what FULL joins add to a pipeline.
 *
 * Called by the pipelines of both targets. Emitted code sets bytes of matched rows and
 * must never clear one.
 */
#include "compiler/codegen/full_join.h"

#include <cstddef>

#include "turbine/kernel.h"

namespace turbine {

using llvm::Value;

FullJoins::FullJoins(RowEmitter& rows, const Program& program)
    : rows_(rows), program_(program), end_(program.full_joins_end()), matched_(end_), nrows_(end_) {}

void FullJoins::bind(Value* args, Value* tables) {
  if (end_ == 0) return;
  auto& ir = rows_.ir();
  pass_ = rows_.load(ir.getInt32Ty(), args, offsetof(TbPipelineArgs, full_join));
  unmatched_ = rows_.load(ir.getPtrTy(), args, offsetof(TbPipelineArgs, unmatched));
  first_ = rows_.load(ir.getInt64Ty(), args, offsetof(TbPipelineArgs, first_unmatched));
  Value* arrays = rows_.load(ir.getPtrTy(), args, offsetof(TbPipelineArgs, matched));
  for (size_t j = 0; j < end_; j++) {
    if (!is_full(j)) continue;
    matched_[j] = rows_.load(ir.getPtrTy(), arrays, j * sizeof(void*));
    Value* table = rows_.load(ir.getPtrTy(), tables, j * sizeof(void*));
    nrows_[j] = rows_.load(ir.getInt64Ty(), table, offsetof(TbJoinTable, nrows));
    Value* now = ir.CreateICmpEQ(pass_, ir.getInt32(static_cast<uint32_t>(j + 1)));
    seen_ = seen_ ? ir.CreateSelect(now, matched_[j], seen_) : matched_[j];
  }
}

Value* FullJoins::is_given(size_t join) {
  auto& ir = rows_.ir();
  return ir.CreateICmpUGT(pass_, ir.getInt32(static_cast<uint32_t>(join)));
}

/* full_join == join + 1 ? unmatched[row], or first_unmatched + row : TB_NONE. Without
 * a list the load goes where there is something for sure. */
Value* FullJoins::given_match(size_t join, Value* row) {
  auto& ir = rows_.ir();
  if (!is_full(join)) return ir.getInt32(TB_NONE);
  Value* begins = ir.CreateICmpEQ(pass_, ir.getInt32(static_cast<uint32_t>(join + 1)));
  Value* listed = ir.CreateAnd(begins, ir.CreateIsNotNull(unmatched_));
  Value* at = rows_.index(ir.getInt32Ty(), unmatched_, row);
  const Carried entry = emit_if(rows_, "unmatched", listed,
                                {ir.CreateTrunc(ir.CreateAdd(first_, row), ir.getInt32Ty())},
                                [&]() -> Carried { return {ir.CreateLoad(ir.getInt32Ty(), at)}; });
  return ir.CreateSelect(begins, entry[0], ir.getInt32(TB_NONE));
}

Value* FullJoins::passes_over(size_t filters) { return filters < end_ ? is_given(filters) : nullptr; }

Value* FullJoins::counted_rows(Value* amount) {
  if (end_ == 0) return amount;
  auto& ir = rows_.ir();
  return ir.CreateSelect(is_given(0), llvm::ConstantInt::get(amount->getType(), 0), amount);
}

Value* FullJoins::counted(size_t join, Value* amount) {
  if (join + 1 >= end_) return amount;
  return rows_.ir().CreateSelect(is_given(join + 1), llvm::ConstantInt::get(amount->getType(), 0), amount);
}

Value* FullJoins::byte(Value* bytes, Value* row) { return rows_.index(rows_.ir().getInt8Ty(), bytes, row); }

/*
 * byte = &matched[match == TB_NONE || given ? nrows : match]; if (*byte == 0) *byte = 1;
 *
 * The last byte is set. Other threads do the same, so the look keeps lines shared.
 */
void FullJoins::mark(size_t join, Value* match) {
  auto& ir = rows_.ir();
  Value* none = ir.CreateOr(ir.CreateICmpEQ(match, ir.getInt32(TB_NONE)), is_given(join));
  Value* at = byte(matched_[join], ir.CreateSelect(none, nrows_[join], ir.CreateZExt(match, ir.getInt64Ty())));
  llvm::LoadInst* before = ir.CreateLoad(ir.getInt8Ty(), at);
  before->setAtomic(llvm::AtomicOrdering::Monotonic);
  emit_if(rows_, "mark", ir.CreateICmpEQ(before, ir.getInt8(0)), {}, [&]() -> Carried {
    ir.CreateStore(ir.getInt8(1), at)->setAtomic(llvm::AtomicOrdering::Monotonic);
    return {};
  });
}

Value* FullJoins::is_matched(Value* row) {
  auto& ir = rows_.ir();
  return ir.CreateICmpNE(ir.CreateLoad(ir.getInt8Ty(), byte(seen_, ir.CreateAdd(first_, row))), ir.getInt8(0));
}

}  // namespace turbine
