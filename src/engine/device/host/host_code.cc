/*
 * host_code.cc - a compiled program loaded into this process.
 *
 * The shared object goes through a memfd: no file that another could change,
 * nothing left behind after a crash. The descriptor stays open as long as the
 * library: the dynamic linker knows libraries by name, and would return this
 * one again for another memfd that got the same number.
 */
#include "engine/device/host/host_code.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace turbine {
namespace {

[[noreturn]] void fail(const std::string& what) { throw DeviceError(TB_FALLBACK_COMPILE, "loading compiled code: " + what); }

void write_all(int fd, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

template <class Entry>
Entry entry_point(void* handle, const char* name) {
  return reinterpret_cast<Entry>(dlsym(handle, name));
}

}  // namespace

HostCode::Library HostCode::open(std::span<const uint8_t> shared_object, bool decodes) {
  Library library{memfd_create("turbine-code", MFD_CLOEXEC), nullptr};
  if (library.fd < 0) fail(strerror(errno));
  try {
    write_all(library.fd, shared_object);
    const std::string path = "/proc/self/fd/" + std::to_string(library.fd);
    library.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle == nullptr) fail(dlerror());
    if ((decodes && !dlsym(library.handle, "tb_decode")) || !dlsym(library.handle, "tb_pipeline"))
      fail("entry points are missing");
  } catch (...) {
    if (library.handle) dlclose(library.handle);
    close(library.fd);
    throw;
  }
  return library;
}

HostCode::HostCode(std::span<const uint8_t> shared_object, bool decodes) : HostCode(open(shared_object, decodes)) {}

HostCode::HostCode(Library library)
    : decode(entry_point<Decode>(library.handle, "tb_decode")),
      pipeline(entry_point<Pipeline>(library.handle, "tb_pipeline")),
      library_(library) {}

HostCode::~HostCode() {
  dlclose(library_.handle);
  close(library_.fd);
}

}  // namespace turbine
