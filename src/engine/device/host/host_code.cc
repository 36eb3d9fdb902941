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

[[noreturn]] void fail(const std::string& what) {
  throw DeviceError(TB_FALLBACK_COMPILE, "loading compiled code: " + what);
}

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

class HostCode::Library {
 public:
  Library(std::span<const uint8_t> shared_object, bool decodes);
  ~Library();
  Library(const Library&) = delete;

  const Entries& entries() const { return entries_; }

 private:
  void open(std::span<const uint8_t> shared_object, bool decodes);
  void close_all();

  int fd_ = -1;
  void* handle_ = nullptr;
  Entries entries_{};
};

HostCode::Library::Library(std::span<const uint8_t> shared_object, bool decodes) {
  try {
    open(shared_object, decodes);
  } catch (...) {
    close_all();
    throw;
  }
}

HostCode::Library::~Library() { close_all(); }

void HostCode::Library::open(std::span<const uint8_t> shared_object, bool decodes) {
  fd_ = memfd_create("turbine-code", MFD_CLOEXEC);
  if (fd_ < 0) fail(strerror(errno));
  write_all(fd_, shared_object);
  const std::string path = "/proc/self/fd/" + std::to_string(fd_);
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) fail(dlerror());
  entries_ = {entry_point<Decode>(handle_, "tb_decode"), entry_point<Pipeline>(handle_, "tb_pipeline"),
              static_cast<const uint64_t*>(dlsym(handle_, "tb_late_columns"))};
  if ((decodes && !entries_.decode) || !entries_.pipeline) fail("entry points are missing");
}

void HostCode::Library::close_all() {
  if (handle_) dlclose(handle_);
  if (fd_ >= 0) close(fd_);
}

HostCode::HostCode(std::span<const uint8_t> shared_object, bool decodes) : decodes_(decodes) {
  libraries_.push_back(std::make_unique<Library>(shared_object, decodes));
  best_ = &libraries_.back()->entries();
}

HostCode::~HostCode() = default;

void HostCode::improve(std::span<const uint8_t> shared_object) {
  auto better = std::make_unique<Library>(shared_object, decodes_);
  std::lock_guard lock(mutex_);
  // What came before stays: threads may be in it.
  libraries_.push_back(std::move(better));
  best_.store(&libraries_.back()->entries(), std::memory_order_release);
}

}  // namespace turbine
