/*
 * cuda_code.h - compiled programs on a GPU: PTX or cubin to loaded kernels.
 * Called by cuda_device.cc; the kernels are launched by query/chunk_lane*.cc.
 */
#pragma once

#include <memory>
#include <span>
#include <string>

#include "engine/device/cuda/cuda_context.h"

namespace turbine::cuda {

/* A loaded module and its kernels; those that the program's sink does not have
 * are null. Immutable; shared by queries of any thread. */
class CudaCode : public LoadedCode {
 public:
  /* Throws DeviceError. */
  CudaCode(std::shared_ptr<CudaContext> context, std::span<const uint8_t> artifact, const Program& program);
  ~CudaCode() override;

  Function decode = nullptr;   // of a heap
  Function probe = nullptr;    // joins, PROJECT, BUILD
  Function rows = nullptr;     // ROWS
  Function reserve = nullptr;  // AGGREGATE that reserves_memory()
  Function apply = nullptr;
  Function reduce = nullptr;   // ungrouped AGGREGATE
  Function project = nullptr;  // PROJECT, BUILD

 private:
  Function kernel(const char* name) const;
  std::shared_ptr<CudaContext> context_;
  Module module_ = nullptr;
};

/* Loads PTX, which ends in a NUL, or a cubin; the PTX's kernels get `max_registers` a thread, or,
 * if it is 0, as many as they like. The context must be current. Throws DeviceError. */
Module load_module(const Driver& driver, const char* image, unsigned max_registers);

/* PTX to a cubin for the context's GPU; a cubin comes back as it is. The
 * context must be current. Throws DeviceError. */
std::string link_machine_code(const Driver& driver, std::span<const uint8_t> artifact);

}  // namespace turbine::cuda
