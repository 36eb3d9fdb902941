/*
 * libcuda.cc - a libcuda.so.1 for a machine without a GPU; for tests only.
 *
 * The fake driver under the real one's symbols, so that turbined itself finds GPUs. Their kernels are interpreted
 * (../ptx/). A kernel that goes wrong costs its GPU, as on a real one, and is told on stderr; so are misuse of the
 * driver and, when the process ends, leaks. Each line of these begins with "stand-in driver:".
 *
 * The environment says what there is:
 *   TURBINE_STAND_IN_GPUS      how many GPUs (1)
 *   TURBINE_STAND_IN_MEMORY    megabytes of each (4096)
 *   TURBINE_STAND_IN_PCI       where they are in the PCI tree, with commas between
 *   TURBINE_STAND_IN_MAJOR     major number of their compute capability (9)
 *   TURBINE_STAND_IN_LAUNCHES  "fail": every launch fails with a result that leaves the context whole
 *   TURBINE_STAND_IN_BLOCKS    blocks of a kernel that are under way at a time (4)
 *   TURBINE_STAND_IN_SEED      whose turn it is among warps (1)
 *   TURBINE_STAND_IN_REPORT    a file to which these lines go as well, and how often each kernel ran
 */
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "engine/device/cuda/testing/fake_driver.cc"  // for FakeDriver::Calls
#include "engine/device/cuda/testing/ptx/ptx_module.h"

using turbine::cuda::testing::FakeDriver;
using turbine::cuda::testing::FakeOptions;
using namespace turbine::cuda;

namespace {

constexpr Result kLaunchOutOfResources = 701;

/* A number of the environment, or else what is usual. */
int number_named(const char* name, int usual) {
  const char* value = std::getenv(name);
  return value ? std::atoi(value) : usual;
}

FakeOptions stand_in_options() {
  FakeOptions options;
  options.devices = number_named("TURBINE_STAND_IN_GPUS", 1);
  options.major = number_named("TURBINE_STAND_IN_MAJOR", options.major);
  options.multiprocessors = 2;  // so grids are small
  options.memory = static_cast<uint64_t>(number_named("TURBINE_STAND_IN_MEMORY", 4096)) << 20;
  if (const char* launches = std::getenv("TURBINE_STAND_IN_LAUNCHES"); launches && std::string_view(launches) == "fail")
    options.launch_result = kLaunchOutOfResources;
  options.load_module = turbine::ptx::ptx_modules(static_cast<uint32_t>(number_named("TURBINE_STAND_IN_BLOCKS", 4)),
                                                  static_cast<uint32_t>(number_named("TURBINE_STAND_IN_SEED", 1)));
  // One address for each device, with commas between.
  if (const char* addresses = std::getenv("TURBINE_STAND_IN_PCI")) {
    options.pci_addresses.clear();
    std::istringstream list(addresses);
    for (std::string address; std::getline(list, address, ',');) options.pci_addresses.push_back(address);
  }
  return options;
}

/* Never destroyed: the process's other threads may still call. */
FakeDriver& driver = *new FakeDriver(stand_in_options());

__attribute__((destructor)) void report() {
  for (const std::string& what : driver.misuse()) turbine::ptx::tell("misuse: " + what);
  for (const std::string& what : driver.leaks()) turbine::ptx::tell("leak: " + what);
  for (const auto& [kernel, times] : driver.all_launches())
    turbine::ptx::tell_file("ran " + kernel + " " + std::to_string(times));
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
