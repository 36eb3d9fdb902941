/*
 * libcuda.cc - a libcuda.so.1 for a machine without a GPU; for tests only.
 *
 * The fake driver under the real one's symbols, so that turbined itself finds a
 * GPU. It runs no kernel: every launch fails with a result that leaves the
 * context whole. So each query on it ends at its first launch, after all of a
 * query's set-up, and goes back to PostgreSQL: enough to fail every call up to
 * there (test/gpu_faults.py). Misuse and leaks are printed when the process
 * ends.
 */
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "engine/device/cuda/testing/fake_driver.cc"  // for FakeDriver::Calls

using turbine::cuda::testing::FakeDriver;
using turbine::cuda::testing::FakeOptions;
using namespace turbine::cuda;

namespace {

constexpr Result kLaunchOutOfResources = 701;

FakeOptions stand_in_options() {
  FakeOptions options;
  options.launch_result = kLaunchOutOfResources;
  if (const char* major = std::getenv("TURBINE_STAND_IN_MAJOR")) options.major = std::atoi(major);
  if (const char* gpus = std::getenv("TURBINE_STAND_IN_GPUS")) options.devices = std::atoi(gpus);
  // One address for each device, with commas between.
  if (const char* addresses = std::getenv("TURBINE_STAND_IN_PCI")) {
    options.pci_addresses.clear();
    std::istringstream list(addresses);
    for (std::string address; std::getline(list, address, ',');) options.pci_addresses.push_back(address);
  }
  return options;
}

/* Never destroyed: the process's other threads may still call. */
FakeDriver& driver = *[] {
  auto* fake = new FakeDriver(stand_in_options());
  for (const char* kernel : {"tb_decode", "tb_rows", "tb_probe", "tb_reserve", "tb_apply", "tb_reduce", "tb_project"})
    fake->set_kernel(kernel, [](void*) {});
  return fake;
}();

__attribute__((destructor)) void report() {
  for (const std::string& what : driver.misuse()) std::fprintf(stderr, "stand-in driver: misuse: %s\n", what.c_str());
  for (const std::string& what : driver.leaks()) std::fprintf(stderr, "stand-in driver: leak: %s\n", what.c_str());
}

}  // namespace

/* Symbols of their own names: an ifunc's resolver says which function is meant. */
extern "C" {
#define F(kind, member, symbol, params)                                                           \
  static void* resolve_##member() { return reinterpret_cast<void*>(&FakeDriver::Calls::member); } \
  Result stand_in_##member params __asm__(symbol) __attribute__((ifunc("resolve_" #member), visibility("default")));
TURBINE_DRIVER_FUNCTIONS(F)
#undef F

Result stand_in_get_error_name(Result error, const char** name) __asm__("cuGetErrorName");
__attribute__((visibility("default"))) Result stand_in_get_error_name(Result error, const char** name) {
  return FakeDriver::Calls::get_error_name(error, name);
}
}
