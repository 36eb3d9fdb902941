/*
 * compile_program.cc - a program to machine code, in this process.
 *
 * Called by a forked child of the zygote. LLVM may abort here, so nothing else may ever
 * run in that process.
 */
#include "compiler/jit/compile_program.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <chrono>

#include "compiler/codegen/llvm_versions.h"
#include "compiler/codegen/module_builder.h"
#include "compiler/jit/runtime_link.h"
#include "compiler/jit/targets.h"

namespace turbine {

namespace {

class Stopwatch {
 public:
  float lap_ms() {
    const auto now = std::chrono::steady_clock::now();
    const float ms = std::chrono::duration<float, std::milli>(now - start_).count();
    start_ = now;
    return ms;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

/* LLVM's own handler would exit the process on an error. */
struct DiagnosticsToText : llvm::DiagnosticHandler {
  explicit DiagnosticsToText(std::string& errors) : errors(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream stream(errors);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }
  std::string& errors;
};

void emit_all(llvm::Module& module, const llvm::Module& runtime, const Program& program, TbTarget target) {
  ModuleBuilder builder(module, runtime, target);
  try {
    emit_decode(builder, program);
    emit_pipeline(builder, program);
  } catch (const CompileError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw CompileError(error.what());
  }
}

}  // namespace

CompiledArtifact compile_program(const Program& program, TbTarget target, const std::string& cpu,
                                 const std::string& features, TbEffort effort, bool keep_ir) {
  const bool gpu = target == TB_TARGET_PTX;
  CompiledArtifact artifact;
  Stopwatch watch;
  std::unique_ptr<llvm::TargetMachine> machine = gpu ? nvptx_machine(cpu, features)
                                                     : host_machine(cpu, features, effort);

  std::string diagnostics;
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<DiagnosticsToText>(diagnostics));
  llvm::Module module("turbine", context);
  set_target_triple(module, machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());

  std::unique_ptr<llvm::Module> runtime = open_runtime(target, context);
  emit_all(module, *runtime, program, target);
  if (keep_ir) artifact.emitted_ir = text_of(module);
  verify(module, "emission");
  link_runtime(module, std::move(runtime));
  mark_for_inlining(module);
  retarget_functions(module, machine->getTargetCPU().str(), machine->getTargetFeatureString().str());
  artifact.emit_ms = watch.lap_ms();

  gpu ? optimize_nvptx(module, *machine) : optimize_host(module, *machine, effort);
  verify(module, "optimisation");
  if (keep_ir) artifact.optimized_ir = text_of(module);
  artifact.optimize_ms = watch.lap_ms();

  artifact.bytes = gpu ? nvptx_ptx(module, *machine) : host_object(module, *machine);
  artifact.codegen_ms = watch.lap_ms();
  if (!diagnostics.empty()) throw CompileError(diagnostics);
  return artifact;
}

}  // namespace turbine
