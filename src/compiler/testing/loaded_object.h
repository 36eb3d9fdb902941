/*
 * loaded_object.h - a compiled shared object, loaded into the test. Header
 * only; not part of the product.
 */
#pragma once

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace turbine::testing {

class LoadedObject {
 public:
  explicit LoadedObject(const std::vector<char>& bytes) : fd_(memfd_create("object", MFD_CLOEXEC)) {
    if (fd_ < 0 || write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      throw std::runtime_error("memfd");
    // The descriptor stays open: dlopen takes two objects of one path for the same.
    handle_ = dlopen(("/proc/self/fd/" + std::to_string(fd_)).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
  }
  ~LoadedObject() {
    dlclose(handle_);
    close(fd_);
  }
  LoadedObject(const LoadedObject&) = delete;
  LoadedObject& operator=(const LoadedObject&) = delete;

  template <class F>
  F symbol(const char* name) const {
    return reinterpret_cast<F>(dlsym(handle_, name));
  }

 private:
  int fd_;
  void* handle_;
};

}  // namespace turbine::testing
