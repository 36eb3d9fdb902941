/*
 * driver_functions.cc - finds the functions of libcuda at run time.
 *
 * Owns the library's handle, which must never be closed. Called by find_gpus.cc.
 */
#include "engine/device/cuda/driver/driver_functions.h"

#include <dlfcn.h>

#include <cstdlib>

namespace turbine::cuda {

namespace {

struct Loaded {
  DriverFunctions table;
  std::string why_none;  // empty: table is complete
};

template <class Fn>
void resolve(void* library, const char* symbol, Fn*& function, std::string& why_none) {
  function = reinterpret_cast<Fn*>(dlsym(library, symbol));
  if (!function && why_none.empty()) why_none = std::string("the CUDA driver is too old: it lacks ") + symbol;
}

Loaded load() {
  Loaded loaded;
  // Queues of a GPU that streams are mapped to: by default 8, fewer than a few queries have streams.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* error = dlerror();
    loaded.why_none = std::string("no CUDA driver: ") + (error ? error : "libcuda.so.1 not found");
    return loaded;
  }
#define F(kind, member, symbol, params) resolve(library, symbol, loaded.table.member, loaded.why_none);
  TURBINE_DRIVER_FUNCTIONS(F)
#undef F
  resolve(library, "cuGetErrorName", loaded.table.get_error_name, loaded.why_none);
  return loaded;
}

}  // namespace

const DriverFunctions* load_driver(std::string* why_none) {
  static const Loaded loaded = load();
  if (loaded.why_none.empty()) return &loaded.table;
  if (why_none) *why_none = loaded.why_none;
  return nullptr;
}

}  // namespace turbine::cuda
