/*
 * runtime_link.h - opens the device library's bitcode and links it into an
 * emitted module.
 *
 * Only the functions that the module needs are read and linked; afterwards
 * nothing but the entry points is visible from outside, so that whatever was
 * inlined everywhere disappears.
 */
#pragma once

#include <llvm/IR/Module.h>

#include <memory>
#include <string>

#include "turbine/compile.h"

namespace turbine {

/* The library's functions, bodies not read yet. */
std::unique_ptr<llvm::Module> open_runtime(TbTarget target, llvm::LLVMContext& context);

/* Links what `module` calls; consumes `runtime`. */
void link_runtime(llvm::Module& module, std::unique_ptr<llvm::Module> runtime);

/* Small bodies of the library that are always inlined. */
void mark_for_inlining(llvm::Module& module);

/* The bitcode was compiled for a generic CPU; functions of different CPUs do
 * not inline into each other, and vectors stay narrow. */
void retarget_functions(llvm::Module& module, const std::string& cpu, const std::string& features);

/* Throws CompileError with the verifier's words. */
void verify(const llvm::Module& module, const char* when);

}  // namespace turbine
