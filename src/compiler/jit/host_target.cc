/*
 * host_target.cc - machine code for this machine's CPU (or another x86-64).
 *
 * The O2 pipeline: tile loops live from vectorisation. Sizes are small, so
 * compile time is a handful of milliseconds a pipeline.
 */
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/SubtargetFeature.h>

#include "compiler/jit/targets.h"

namespace turbine {

namespace {

std::string this_machines_features() {
  llvm::SubtargetFeatures features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    features.AddFeature(feature.first(), feature.second);
  return features.getString();
}

}  // namespace

std::unique_ptr<llvm::TargetMachine> host_machine(std::string cpu, std::string features) {
  if (cpu.empty()) {
    cpu = llvm::sys::getHostCPUName().str();
    // The CPU's name promises more than a virtual machine may allow.
    if (features.empty()) features = this_machines_features();
  }
  return make_machine("x86_64-pc-linux-gnu", cpu, features);
}

void optimize_host(llvm::Module& module, llvm::TargetMachine& machine) {
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
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

std::vector<char> host_object(llvm::Module& module, llvm::TargetMachine& machine) {
  return link_shared_object(emit_file(module, machine, llvm::CodeGenFileType::ObjectFile));
}

}  // namespace turbine
