/*
 * llvm_versions.h - what LLVM 21 changed, for code that compiles with 19, too.
 *
 * TURBINE_LLVM chooses the version (CMakeLists.txt). LLVM_VERSION_MAJOR stands nowhere else. Each entry
 * says what changed; where both versions take the same words, the code uses those.
 */
#pragma once

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>

#include <initializer_list>
#include <string>
#include <utility>

namespace turbine {

/* A module's triple was a string. */
inline void set_target_triple(llvm::Module& module, const llvm::Triple& triple) {
#if LLVM_VERSION_MAJOR >= 21
  module.setTargetTriple(triple);
#else
  module.setTargetTriple(triple.str());
#endif
}

/* All threads of the block wait for each other. Barriers with a number took the place of the one without. */
inline void create_block_barrier(llvm::IRBuilderBase& ir) {
#if LLVM_VERSION_MAJOR >= 21
  ir.CreateIntrinsic(ir.getVoidTy(), llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {ir.getInt32(0)});
#else
  ir.CreateIntrinsic(ir.getVoidTy(), llvm::Intrinsic::nvvm_barrier0, {});
#endif
}

/* Makes the function a kernel for blocks of so many threads, of which so many blocks find registers on one
 * multiprocessor. A calling convention and attributes took the place of metadata, which is only read from files now. */
inline void make_kernel(llvm::Function& function, uint32_t threads, uint32_t blocks) {
#if LLVM_VERSION_MAJOR >= 21
  function.setCallingConv(llvm::CallingConv::PTX_Kernel);
  function.addFnAttr("nvvm.maxntid", std::to_string(threads));
  function.addFnAttr("nvvm.minctasm", std::to_string(blocks));
#else
  llvm::LLVMContext& context = function.getContext();
  for (const auto& [key, value] :
       {std::pair("kernel", 1U), std::pair("maxntidx", threads), std::pair("minctasm", blocks)}) {
    llvm::Metadata* fields[] = {
        llvm::ValueAsMetadata::get(&function), llvm::MDString::get(context, key),
        llvm::ValueAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value))};
    function.getParent()->getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(context, fields));
  }
#endif
}

}  // namespace turbine
