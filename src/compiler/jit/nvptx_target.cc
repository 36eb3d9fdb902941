/*
 * nvptx_target.cc - PTX text; the driver's own compiler (ptxas) does the rest.
 *
 * A short pipeline: ptxas optimises again, and 30-80 us an instruction are paid
 * before the first row. What it must do is inlining, registers instead of
 * stack frames, and one load per value.
 */
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/InferAddressSpaces.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/IPO/ModuleInliner.h>

#include <string_view>

#include "compiler/jit/compile_program.h"
#include "compiler/jit/negations.h"
#include "compiler/jit/targets.h"

namespace turbine {

namespace {

constexpr int kInlineThreshold = 1000;  // calls are dear on a GPU: spills and local memory

llvm::FunctionPassManager function_passes() {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::InferAddressSpacesPass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());

  llvm::LoopPassManager loops;
  loops.addPass(llvm::LoopRotatePass());
  loops.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops), /*UseMemorySSA=*/true));
  passes.addPass(llvm::GVNPass());
  passes.addPass(llvm::LoopUnrollPass(llvm::LoopUnrollOptions(2).setRuntime(false)));
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::DSEPass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::ADCEPass());
  return passes;
}

void check_resolved(const llvm::Module& module) {
  for (const llvm::Function& function : module)
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty())
      throw CompileError("unresolved function \"" + function.getName().str() + "\" on the GPU");
}

}  // namespace

std::unique_ptr<llvm::TargetMachine> nvptx_machine(std::string cpu, std::string features) {
  if (cpu.empty()) cpu = "sm_90";
  if (features.empty()) features = "+ptx80";
  return make_machine("nvptx64-nvidia-cuda", cpu, features, llvm::CodeGenOptLevel::Default);
}

void optimize_nvptx(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(call_graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, call_graph, modules);

  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
  passes.addPass(llvm::ModuleInlinerPass(llvm::getInlineParams(kInlineThreshold)));
  passes.addPass(llvm::GlobalDCEPass());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(function_passes()));
  passes.addPass(llvm::GlobalDCEPass());
  passes.run(module, modules);
  hide_negations(module);
  check_resolved(module);
}

std::vector<char> nvptx_ptx(llvm::Module& module, llvm::TargetMachine& machine) {
  std::vector<char> text = emit_file(module, machine, llvm::CodeGenFileType::AssemblyFile);
  // What code generation itself called for (a libgcc division, say) fails only here.
  const std::string_view ptx(text.data(), text.size());
  if (size_t at = ptx.find(".extern"); at != ptx.npos)
    throw CompileError("unresolved symbol in PTX: " + std::string(ptx.substr(at, ptx.substr(at).find('\n'))));
  text.push_back('\0');
  return text;
}

}  // namespace turbine
