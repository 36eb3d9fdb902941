/*
 * host_code.cc - a compiled program loaded into this process.
 *
 * The shared object goes through a memfd: no file that another could change,
 * nothing left behind after a crash. Its descriptor is closed once the object is
 * mapped: hundreds of programs stay loaded.
 */
#include "engine/device/host/host_code.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
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

/*
 * A path to the descriptor that no other library was ever opened by. The dynamic linker
 * knows libraries by name, and would return the first one again for another memfd that
 * got the same number. So the slashes before the number spell a serial number: "/" is a
 * 0 and "/./" a 1.
 */
std::string unique_path(int fd) {
  static std::atomic<uint64_t> last_serial{0};
  std::string path = "/proc/self/fd";
  for (uint64_t serial = ++last_serial; serial != 0; serial >>= 1) path += serial & 1 ? "/./" : "/";
  return path + std::to_string(fd);
}

class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("turbine-code", MFD_CLOEXEC)) {
    if (fd_ < 0) fail(strerror(errno));
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

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
  void find_entries(bool decodes);

  void* handle_ = nullptr;
  Entries entries_{};
};

HostCode::Library::Library(std::span<const uint8_t> shared_object, bool decodes) {
  const MemoryFile file;
  write_all(file.fd(), shared_object);
  handle_ = dlopen(unique_path(file.fd()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) fail(dlerror());
  try {
    find_entries(decodes);
  } catch (...) {
    dlclose(handle_);
    throw;
  }
}

HostCode::Library::~Library() { dlclose(handle_); }

void HostCode::Library::find_entries(bool decodes) {
  entries_ = {entry_point<Decode>(handle_, "tb_decode"), entry_point<Pipeline>(handle_, "tb_pipeline"),
              static_cast<const uint64_t*>(dlsym(handle_, "tb_late_columns"))};
  if ((decodes && !entries_.decode) || !entries_.pipeline) fail("entry points are missing");
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
