/*
 * host_target.cc - machine code for this machine's CPU (or another x86-64).
 *
 * In full: the O2 pipeline, since tile loops live from vectorisation; some 80 us
 * an instruction, 60-200 ms a program. Quick: what is cheap and worth most, and
 * LLVM's fastest code generator; a tenth of the time.
 */
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/IPO/ModuleInliner.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/SubtargetFeature.h>

#include "compiler/jit/targets.h"

namespace turbine {

namespace {

std::string this_machines_features() {
  llvm::SubtargetFeatures features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) features.AddFeature(feature.first(), feature.second);
  return features.getString();
}

llvm::ModulePassManager quick_passes() {
  llvm::FunctionPassManager functions;
  functions.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  functions.addPass(llvm::EarlyCSEPass(true));
  functions.addPass(llvm::SimplifyCFGPass());
  functions.addPass(llvm::InstCombinePass());
  llvm::LoopPassManager loops;
  loops.addPass(llvm::LICMPass(llvm::LICMOptions()));
  functions.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops), /*UseMemorySSA=*/true));
  functions.addPass(llvm::SimplifyCFGPass());

  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
  passes.addPass(llvm::ModuleInlinerPass());
  passes.addPass(llvm::GlobalDCEPass());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(functions)));
  return passes;
}

}  // namespace

std::unique_ptr<llvm::TargetMachine> host_machine(std::string cpu, std::string features, TbEffort effort) {
  if (cpu.empty()) {
    cpu = llvm::sys::getHostCPUName().str();
    // The CPU's name promises more than a virtual machine may allow.
    if (features.empty()) features = this_machines_features();
  }
  return make_machine("x86_64-pc-linux-gnu", cpu, features,
                      effort == TB_EFFORT_QUICK ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default);
}

void optimize_host(llvm::Module& module, llvm::TargetMachine& machine, TbEffort effort) {
  // 512-bit vectors cost clock on some CPUs and gain little in loops that memory feeds.
  for (llvm::Function& function : module)
    if (!function.isDeclaration() && !function.hasFnAttribute("prefer-vector-width"))
      function.addFnAttr("prefer-vector-width", "256");

  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.LoopInterleaving = true;
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = true;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(call_graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, call_graph, modules);
  llvm::ModulePassManager passes = effort == TB_EFFORT_QUICK
                                       ? quick_passes()
                                       : builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
  passes.run(module, modules);
}

std::vector<char> host_object(llvm::Module& module, llvm::TargetMachine& machine) {
  return link_shared_object(emit_file(module, machine, llvm::CodeGenFileType::ObjectFile));
}

}  // namespace turbine
