/*
 * module_builder.cc - the module that emitters fill.
 *
 * One per compilation, made by jit/compile_program.cc. It takes signatures of the device
 * library from bitcode and must never retype one.
 */
#include "compiler/codegen/module_builder.h"

#include <llvm/IR/Function.h>

#include <stdexcept>

#include "compiler/codegen/llvm_versions.h"
#include "turbine/kernel.h"

namespace turbine {

llvm::Function* ModuleBuilder::rt(llvm::StringRef symbol) {
  if (llvm::Function* known = module_.getFunction(symbol)) return known;
  const llvm::Function* body = rt_.getFunction(symbol);
  if (body == nullptr) throw std::runtime_error("the device library has no function \"" + symbol.str() + "\"");
  llvm::Function* declaration = llvm::Function::Create(body->getFunctionType(), llvm::GlobalValue::ExternalLinkage,
                                                       symbol, &module_);
  // Parameter attributes are part of the calling convention (zeroext, byval, sret).
  declaration->setAttributes(body->getAttributes());
  declaration->setCallingConv(body->getCallingConv());
  return declaration;
}

llvm::Function* ModuleBuilder::entry_point(llvm::StringRef name, uint32_t blocks) {
  llvm::LLVMContext& context = module_.getContext();
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  llvm::FunctionType* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer}, false);
  llvm::Function* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, &module_);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->getArg(0)->setName("args");
  // Nothing else points to the argument struct while an entry point runs.
  function->addParamAttr(0, llvm::Attribute::NoAlias);
  function->addParamAttr(0, llvm::Attribute::NonNull);
  if (gpu()) make_kernel(*function, TB_BLOCK_THREADS, blocks);
  return function;
}

}  // namespace turbine
