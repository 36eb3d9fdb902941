/*
 * ptx_module.cc - modules of PTX for a fake driver.
 */
#include "engine/device/cuda/testing/ptx/ptx_module.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/device/cuda/testing/fake_driver.h"
#include "engine/device/cuda/testing/ptx/interpreter.h"

namespace turbine::ptx {

namespace {

using cuda::testing::FakeDriver;
using cuda::testing::KernelLaunch;

class PtxModule : public cuda::testing::KernelModule {
 public:
  PtxModule(const std::string& text, uint32_t blocks_at_once, uint32_t seed)
      : program_(text), blocks_at_once_(blocks_at_once), seed_(seed) {}

  bool has_kernel(const std::string& name) const override { return program_.kernel(name) != nullptr; }

  std::vector<uint8_t> parameters(const std::string& kernel, void** addresses) const override {
    const Function& function = *program_.kernel(kernel);
    std::vector<uint8_t> bytes(function.parameter_bytes);
    for (size_t i = 0; i < function.parameters.size(); i++)
      std::memcpy(bytes.data() + function.parameters[i].begin, addresses[i], function.parameters[i].bytes);
    return bytes;
  }

  void run(const std::string& kernel, const KernelLaunch& launch) const override {
    Launch run;
    run.program = &program_;
    run.kernel = program_.kernel(kernel);
    run.blocks = launch.blocks;
    run.threads = launch.threads;
    run.shared_bytes = launch.shared_bytes;
    run.parameters = launch.parameters.data();
    for (const auto& [begin, bytes] : launch.memory) run.memory.push_back({begin, bytes});
    run.blocks_at_once = blocks_at_once_;
    // Each launch has its own order of warps.
    run.seed = seed_ + launches_.fetch_add(1, std::memory_order_relaxed);
    try {
      run_launch(run);
    } catch (const LaunchFault& fault) {
      tell("kernel " + kernel + ", seed " + std::to_string(run.seed) + ": " + fault.what());
      throw FakeDriver::KernelFault{fault.result};
    }
  }

 private:
  const Program program_;
  const uint32_t blocks_at_once_, seed_;
  mutable std::atomic<uint32_t> launches_{0};
};

}  // namespace

void tell_file(const std::string& line) {
  const char* path = std::getenv("TURBINE_STAND_IN_REPORT");
  std::FILE* file = path ? std::fopen(path, "a") : nullptr;
  if (!file) return;
  std::fprintf(file, "%s\n", line.c_str());
  std::fclose(file);
}

void tell(const std::string& line) {
  std::fprintf(stderr, "stand-in driver: %s\n", line.c_str());
  tell_file("stand-in driver: " + line);
}

cuda::testing::ModuleLoader ptx_modules(uint32_t blocks_at_once, uint32_t seed) {
  return [blocks_at_once, seed](const std::string& text,
                                std::string* why) -> std::shared_ptr<const cuda::testing::KernelModule> {
    try {
      return std::make_shared<PtxModule>(text, blocks_at_once, seed);
    } catch (const PtxError& error) {
      *why = error.what();
      tell(*why);
      return nullptr;
    }
  };
}

}  // namespace turbine::ptx
