/*
 * compile_program.h - a program to machine code, in this process.
 *
 * The whole path: emit, link the device library, optimise, generate code. It
 * may abort() (LLVM's fatal errors) and can not be cancelled: the daemon gets
 * to it only through a forked child of the zygote. Not thread-safe, and it
 * redirects standard output for a moment: one compilation at a time.
 */
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "engine/program/program.h"
#include "turbine/compile.h"

namespace turbine {

/* The program can not be compiled; what() is for the daemon's log. */
struct CompileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct CompiledArtifact {
  std::vector<char> bytes;  // ELF shared object, or PTX with its final NUL
  float emit_ms = 0;        // IR emission and linking of bitcode
  float optimize_ms = 0;
  float codegen_ms = 0;     // machine code or PTX, and linking
  std::string emitted_ir;   // both only if asked for
  std::string optimized_ir;
};

/* cpu: LLVM's name, "" for this machine's (host) or sm_90 (PTX).
 * features: LLVM's feature string, "" for those of the CPU.
 * Throws CompileError. */
CompiledArtifact compile_program(const Program& program, TbTarget target, const std::string& cpu,
                                 const std::string& features, TbEffort effort = TB_EFFORT_FULL, bool keep_ir = false);

/* Does once what every compilation needs (targets, passes), so that forked
 * children find it done. Optional. */
void prepare_compiler();

/* LLVM's fatal errors: `handler` must not return. raise_fatal_error is how
 * tests get there. */
void set_fatal_error_handler(void (*handler)(const char* reason));
[[noreturn]] void raise_fatal_error(const char* reason);

}  // namespace turbine
