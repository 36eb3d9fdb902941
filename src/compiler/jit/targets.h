/*
 * targets.h - the two targets: machine, pass pipeline and code generation.
 */
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>
#include <vector>

#include "turbine/compile.h"

namespace turbine {

/* Registers X86 and NVPTX with LLVM; idempotent. */
void initialize_targets();

/* host_target.cc. cpu "": the machine that we run on, with its features. */
std::unique_ptr<llvm::TargetMachine> host_machine(std::string cpu, std::string features, TbEffort effort);
void optimize_host(llvm::Module& module, llvm::TargetMachine& machine, TbEffort effort);
std::vector<char> host_object(llvm::Module& module, llvm::TargetMachine& machine);

/* shared_object.cc: links one relocatable object with lld, in process. */
std::vector<char> link_shared_object(const std::vector<char>& object);

/* nvptx_target.cc. */
std::unique_ptr<llvm::TargetMachine> nvptx_machine(std::string cpu, std::string features);
void optimize_nvptx(llvm::Module& module, llvm::TargetMachine& machine);
std::vector<char> nvptx_ptx(llvm::Module& module, llvm::TargetMachine& machine);

/* Shared by both: machine code or assembler text into memory. */
std::vector<char> emit_file(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type);
std::unique_ptr<llvm::TargetMachine> make_machine(const char* triple, const std::string& cpu,
                                                  const std::string& features, llvm::CodeGenOptLevel level);

}  // namespace turbine
