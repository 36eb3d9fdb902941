/*
 * embedded_code.h - kernels of ours whose PTX is a part of this program, on one GPU. The driver
 * compiles them when they are first wanted, which takes it 0.1 s.
 */
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/device/cuda/cuda_context.h"

/* Defines extern "C" const char symbol[]: the file's bytes and a NUL. */
// clang-format off
#define TURBINE_EMBED(symbol, file)                  \
  asm(".section .rodata." #symbol ",\"a\"\n"         \
      ".global " #symbol "\n"                        \
      ".hidden " #symbol "\n"                        \
      #symbol ":\n"                                  \
      ".incbin \"" file "\"\n"                       \
      ".byte 0\n"                                    \
      ".previous\n");                                \
  extern "C" const char symbol[];
// clang-format on

namespace turbine::cuda {

/* Thread-safe. */
class EmbeddedCode {
 public:
  /* `ptx` ends in a NUL. `max_registers` of a thread; 0: as many as the driver's compiler likes. */
  EmbeddedCode(std::shared_ptr<CudaContext> context, const char* ptx, std::vector<const char*> kernels,
               unsigned max_registers);
  ~EmbeddedCode();
  EmbeddedCode(const EmbeddedCode&) = delete;

  /* Whether they are loaded; else somebody begins to, and the host may do the work meanwhile. If they can not be
   * loaded they never will be. */
  bool ready();

  /* Loads them if nobody has; in the order of their names. `driver` makes the calls. The context must be current.
   * Throws DeviceError, and then the next call tries again. */
  std::vector<Function> functions(const Driver& driver);

 private:
  const std::shared_ptr<CudaContext> context_;
  const char* const ptx_;
  const std::vector<const char*> names_;
  const unsigned max_registers_;
  std::mutex mutex_;  // protects what follows
  Module module_ = nullptr;
  std::vector<Function> functions_;
  std::thread loader_;
};

}  // namespace turbine::cuda
