/*
 * targets.cc - starts LLVM's two targets, makes their machines, and emits a module's file.
 *
 * Called by the other files of jit/. It owns no module; it must never start other targets
 * than the two.
 */
#include "compiler/jit/targets.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/TargetParser/Triple.h>

#include "compiler/jit/compile_program.h"

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace turbine {

void initialize_targets() {
  static const bool done = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)done;
}

std::unique_ptr<llvm::TargetMachine> make_machine(const char* triple, const std::string& cpu,
                                                  const std::string& features, llvm::CodeGenOptLevel level) {
  initialize_targets();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) throw CompileError(error);
  llvm::TargetOptions options;
  // Sums and products of floats must be PostgreSQL's, bit for bit: no fused multiply-add
  // but those that the source asks for.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, cpu, features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small, level));
  // LLVM itself would only warn, and compile for something else.
  if (machine == nullptr || !machine->getMCSubtargetInfo()->isCPUStringValid(cpu))
    throw CompileError("unknown CPU \"" + cpu + "\" for " + triple);
  return machine;
}

std::vector<char> emit_file(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    throw CompileError("the target can not emit a file of this type");
  passes.run(module);
  return {bytes.begin(), bytes.end()};
}

}  // namespace turbine
