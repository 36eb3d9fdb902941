/*
 * nvtx.cc - see nvtx.h.
 *
 * The profiler's library exports InitializeInjectionNvtx2. It is called with a
 * function that finds tables by number; from the table of callbacks the library
 * asks for the functions of a module, which are pointers to pointers, and writes
 * its own there.
 */
#include "engine/profile/nvtx.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "engine/profile/query_profile.h"

namespace turbine::nvtx {
namespace {

/* Numbers of the interface. */
constexpr uint32_t kTableOfCallbacks = 1, kTableOfVersions = 3;
constexpr int kModuleCore = 1;
constexpr size_t kRangePushA = 9, kRangePop = 11;
constexpr uint32_t kVersion = 3;

/* How many functions each module has, the unused number 0 included: core, CUDA,
 * OpenCL, CUDA's runtime, domains, synchronisation. Only ranges of the core are called
 * here, but a profiler gives up if a module is missing. */
constexpr size_t kFunctions[] = {0, 16, 9, 15, 7, 16, 7};
constexpr int kModules = sizeof kFunctions / sizeof kFunctions[0];
constexpr size_t kMostFunctions = 16;

using Function = void (*)();
using RangePushA = int (*)(const char* message);
using RangePop = int (*)();

/* What the library fills in, and pointers to that; a null ends them. */
Function functions[kModules][kMostFunctions];
Function* slots[kModules][kMostFunctions + 1];

int module_functions(int module, Function*** table, unsigned* size) {
  if (module < kModuleCore || module >= kModules) return 0;
  for (size_t i = 1; i < kFunctions[module]; i++) slots[module][i] = &functions[module][i];
  if (table) *table = slots[module];
  if (size) *size = static_cast<unsigned>(kFunctions[module]);
  return 1;
}

struct Callbacks {
  size_t struct_size;
  int (*module_functions)(int module, Function*** table, unsigned* size);
};
struct Versions {
  size_t struct_size;
  uint32_t version;
  uint32_t reserved;
  void (*set_library_version)(uint32_t version);
};

void ignore_version(uint32_t) {}

const void* export_table(uint32_t number) {
  static const Callbacks callbacks{sizeof(Callbacks), module_functions};
  static const Versions versions{sizeof(Versions), kVersion, 0, ignore_version};
  if (number == kTableOfCallbacks) return &callbacks;
  if (number == kTableOfVersions) return &versions;
  return nullptr;
}

bool load() {
  const char* path = getenv("NVTX_INJECTION64_PATH");
  if (!path || !*path) return false;
  void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);  // for the process's life
  if (!library) return false;
  using Initialize = int (*)(const void* (*)(uint32_t));
  const auto initialize = reinterpret_cast<Initialize>(dlsym(library, "InitializeInjectionNvtx2"));
  return initialize && initialize(export_table) != 0 && functions[kModuleCore][kRangePushA] &&
         functions[kModuleCore][kRangePop];
}

}  // namespace

bool enabled() {
  static const bool loaded = load();
  return loaded;
}

void push(TbSpanKind kind) { reinterpret_cast<RangePushA>(functions[kModuleCore][kRangePushA])(span_name(kind)); }
void pop() { reinterpret_cast<RangePop>(functions[kModuleCore][kRangePop])(); }

}  // namespace turbine::nvtx
