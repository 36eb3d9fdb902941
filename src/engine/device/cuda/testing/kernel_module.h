/*
 * kernel_module.h - what runs the kernels of a module that a fake driver has loaded.
 *
 * Without one, a fake driver knows kernels by their names, as functions that a test has registered. For tests only.
 */
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace turbine::cuda::testing {

struct KernelLaunch {
  uint32_t blocks = 1, threads = 1;  // threads of a block
  uint64_t shared_bytes = 0;         // beside the kernel's own
  std::vector<uint8_t> parameters;   // as the kernel declares them
  /* Begin and size of what the kernel may access, sorted by begin. */
  std::vector<std::pair<uint64_t, uint64_t>> memory;
};

class KernelModule {
 public:
  virtual ~KernelModule() = default;
  virtual bool has_kernel(const std::string& name) const = 0;
  /* The kernel's parameters, of the driver's list of their addresses. */
  virtual std::vector<uint8_t> parameters(const std::string& kernel, void** addresses) const = 0;
  /* Returns when the kernel has ended. Throws FakeDriver::KernelFault. Any thread, several at a time. */
  virtual void run(const std::string& kernel, const KernelLaunch& launch) const = 0;
};

/* Makes a module of its text; null with *why if it cannot. */
using ModuleLoader = std::function<std::shared_ptr<const KernelModule>(const std::string& text, std::string* why)>;

}  // namespace turbine::cuda::testing
