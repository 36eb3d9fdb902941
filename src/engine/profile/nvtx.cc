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
constexpr size_t kRangePushA = 9, kRangePop = 11, kCoreFunctions = 16;
constexpr uint32_t kVersion = 3;

using Function = void (*)();
using RangePushA = int (*)(const char* message);
using RangePop = int (*)();

/* What the library fills in; slots that we never call are kept apart. */
Function functions[kCoreFunctions];
Function* slots[kCoreFunctions + 1];  // none for number 0; a null ends them

int module_functions(int module, Function*** table, unsigned* size) {
  if (module != kModuleCore) return 0;
  for (size_t i = 1; i < kCoreFunctions; i++) slots[i] = &functions[i];
  if (table) *table = slots;
  if (size) *size = kCoreFunctions;
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
  return initialize && initialize(export_table) != 0 && functions[kRangePushA] && functions[kRangePop];
}

}  // namespace

bool enabled() {
  static const bool loaded = load();
  return loaded;
}

void push(TbSpanKind kind) { reinterpret_cast<RangePushA>(functions[kRangePushA])(span_name(kind)); }
void pop() { reinterpret_cast<RangePop>(functions[kRangePop])(); }

}  // namespace turbine::nvtx
