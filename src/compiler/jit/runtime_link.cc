/*
 * runtime_link.cc - links the device library's bitcode into an emitted module.
 *
 * Called by compile_program.cc. Afterwards only entry points may be visible. Owns nothing: the
 * module is the caller's. A function that is missing in the bitcode is an error of the build
 * and ends the compilation with its name.
 */
#include "compiler/jit/runtime_link.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/IPO/Internalize.h>

#include <set>

#include "compiler/jit/compile_program.h"
#include "compiler/jit/rt_bitcode.h"

namespace turbine {

namespace {

/* Bodies up to this many instructions are inlined whatever the inliner thinks:
 * they are in loops, and a call bars vectorisation. */
constexpr unsigned kAlwaysInlineInstructions = 64;

}  // namespace

std::unique_ptr<llvm::Module> open_runtime(TbTarget target, llvm::LLVMContext& context) {
  const std::string_view bytes = rt_bitcode(target);
  const llvm::MemoryBufferRef buffer({bytes.data(), bytes.size()}, "src/rt");
  llvm::Expected<std::unique_ptr<llvm::Module>> module = llvm::getLazyBitcodeModule(buffer, context);
  if (!module) throw CompileError("device library: " + llvm::toString(module.takeError()));
  return std::move(*module);
}

void link_runtime(llvm::Module& module, std::unique_ptr<llvm::Module> runtime) {
  std::set<std::string> entry_points;
  for (const llvm::Function& function : module)
    if (!function.isDeclaration() && !function.hasLocalLinkage()) entry_points.insert(function.getName().str());
  for (const llvm::GlobalVariable& variable : module.globals())
    if (!variable.isDeclaration() && !variable.hasLocalLinkage()) entry_points.insert(variable.getName().str());

  // The library speaks for a generic machine; the module's own words count.
  runtime->setTargetTriple(module.getTargetTriple());
  runtime->setDataLayout(module.getDataLayout());
  if (llvm::Linker::linkModules(module, std::move(runtime), llvm::Linker::LinkOnlyNeeded))
    throw CompileError("the device library could not be linked");
  llvm::internalizeModule(module,
                          [&](const llvm::GlobalValue& value) { return entry_points.contains(value.getName().str()); });
}

void mark_for_inlining(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || !function.hasLocalLinkage()) continue;
    if (function.hasFnAttribute(llvm::Attribute::NoInline)) continue;
    if (function.getInstructionCount() <= kAlwaysInlineInstructions) function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
}

void retarget_functions(llvm::Module& module, const std::string& cpu, const std::string& features) {
  for (llvm::Function& function : module) {
    if (function.isIntrinsic()) continue;
    function.removeFnAttr("tune-cpu");
    function.removeFnAttr("min-legal-vector-width");
    function.addFnAttr("target-cpu", cpu);
    if (features.empty())
      function.removeFnAttr("target-features");
    else
      function.addFnAttr("target-features", features);
  }
}

void verify(const llvm::Module& module, const char* when) {
  std::string words;
  llvm::raw_string_ostream stream(words);
  if (llvm::verifyModule(module, &stream)) throw CompileError(std::string("invalid IR after ") + when + ": " + words);
}

}  // namespace turbine
