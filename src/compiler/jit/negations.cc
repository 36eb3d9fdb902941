/*
 * negations.cc - see negations.h.
 *
 * Called by nvptx_target.cc once everything else is optimised, so that nothing makes negations of these again. It
 * must never change a value: the block index that stands for 0 is 0 in every launch (the grid has one dimension).
 */
#include "compiler/jit/negations.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/PatternMatch.h>

#include <vector>

namespace turbine {
namespace {

constexpr unsigned kMostBits = 32;

std::vector<llvm::Instruction*> negations_of(llvm::Function& function) {
  using namespace llvm::PatternMatch;
  std::vector<llvm::Instruction*> found;
  for (llvm::Instruction& instruction : llvm::instructions(function))
    if (instruction.getType()->isIntegerTy() && instruction.getType()->getIntegerBitWidth() <= kMostBits &&
        match(&instruction, m_Sub(m_ZeroInt(), m_Value())))
      found.push_back(&instruction);
  return found;
}

}  // namespace

void hide_negations(llvm::Module& module) {
  for (llvm::Function& function : module) {
    const std::vector<llvm::Instruction*> negations = negations_of(function);
    if (negations.empty()) continue;
    llvm::IRBuilder<> ir(&*function.getEntryBlock().getFirstInsertionPt());
    llvm::Value* zero = ir.CreateIntrinsic(ir.getInt32Ty(), llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z, {});
    for (llvm::Instruction* negation : negations) {
      ir.SetInsertPoint(negation);
      negation->setOperand(0, ir.CreateTrunc(zero, negation->getType()));
    }
  }
}

}  // namespace turbine
