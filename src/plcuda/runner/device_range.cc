/*
 * device_range.cc - see device_range.h. Called by table_copy.cc.
 *
 * Owns the addresses of libcuda's functions, which is loaded if it is there. A handle is released as soon as its memory
 * is mapped: the mapping keeps it.
 */
#include "plcuda/runner/device_range.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>

#include "plcuda/runner/table_copy.h"

namespace turbine {
namespace {

using cuda::DevicePtr;
using cuda::MemoryHandle;
using cuda::Result;

struct Driver {
  Result (*init)(unsigned flags) = nullptr;
  Result (*count)(int* count) = nullptr;
  Result (*uuid)(void* uuid, int device) = nullptr;
  Result (*retain)(cuda::Context* context, int device) = nullptr;
  Result (*set_current)(cuda::Context context) = nullptr;
  Result (*reserve)(DevicePtr* pointer, size_t bytes, size_t alignment, DevicePtr wanted, uint64_t flags) = nullptr;
  Result (*unreserve)(DevicePtr pointer, size_t bytes) = nullptr;
  Result (*create)(MemoryHandle* handle, size_t bytes, const cuda::MemoryProperties* properties,
                   uint64_t flags) = nullptr;
  Result (*import)(MemoryHandle* handle, void* from, int type) = nullptr;
  Result (*release)(MemoryHandle handle) = nullptr;
  Result (*map)(DevicePtr pointer, size_t bytes, size_t offset, MemoryHandle handle, uint64_t flags) = nullptr;
  Result (*unmap)(DevicePtr pointer, size_t bytes) = nullptr;
  Result (*set_access)(DevicePtr pointer, size_t bytes, const cuda::MemoryAccess* access, size_t count) = nullptr;
  Result (*copy)(DevicePtr to, const void* from, size_t bytes) = nullptr;
  bool is_complete = false;
};

template <typename F>
bool find(void* library, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(library, name));
  return function != nullptr;
}

const Driver& driver() {
  static const Driver found = [] {
    Driver driver;
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    driver.is_complete = library != nullptr && find(library, "cuInit", driver.init) &&
                         find(library, "cuDeviceGetCount", driver.count) &&
                         find(library, "cuDeviceGetUuid_v2", driver.uuid) &&
                         find(library, "cuDevicePrimaryCtxRetain", driver.retain) &&
                         find(library, "cuCtxSetCurrent", driver.set_current) &&
                         find(library, "cuMemAddressReserve", driver.reserve) &&
                         find(library, "cuMemAddressFree", driver.unreserve) &&
                         find(library, "cuMemCreate", driver.create) &&
                         find(library, "cuMemImportFromShareableHandle", driver.import) &&
                         find(library, "cuMemRelease", driver.release) && find(library, "cuMemMap", driver.map) &&
                         find(library, "cuMemUnmap", driver.unmap) &&
                         find(library, "cuMemSetAccess", driver.set_access) &&
                         find(library, "cuMemcpyHtoD_v2", driver.copy) && driver.init(0) == cuda::kSuccess;
    return driver;
  }();
  return found;
}

void check(Result result, const char* what) {
  if (result == cuda::kOutOfMemory) throw TableMemoryError("the GPU has no memory for the table's columns");
  if (result != cuda::kSuccess)
    throw TableError(std::string("the GPU cannot ") + what + " (CUresult " + std::to_string(result) + ")");
}

std::string hex_uuid(int device) {
  unsigned char uuid[16];
  char digits[33];
  check(driver().uuid(uuid, device), "tell its UUID");
  for (int i = 0; i < 16; i++) snprintf(digits + 2 * i, 3, "%02x", uuid[i]);
  return digits;
}

}  // namespace

bool DeviceRange::is_possible() {
  int count = 0;
  return driver().is_complete && driver().count(&count) == cuda::kSuccess && count > 0;
}

DeviceRange::DeviceRange(const std::string& uuid, uint64_t bytes) : bytes_(bytes) {
  int count = 0;
  cuda::Context context;
  check(driver().count(&count), "be counted");
  while (!uuid.empty() && ordinal_ < count && hex_uuid(ordinal_) != uuid) ordinal_++;
  if (ordinal_ >= count) throw TableError("the table is in memory of a GPU that is not visible here");
  check(driver().retain(&context, ordinal_), "be used");
  check(driver().set_current(context), "be used");
  check(driver().reserve(&base_, bytes_, 0, 0, 0), "reserve addresses");
}

DeviceRange::~DeviceRange() {
  for (const Piece& piece : pieces_) driver().unmap(base_ + piece.place, piece.bytes);
  if (base_ != 0) driver().unreserve(base_, bytes_);
}

cuda::Result DeviceRange::allow(const Piece& piece, int flags) {
  const cuda::MemoryAccess access{{cuda::kLocationDevice, ordinal_}, flags};
  return driver().set_access(base_ + piece.place, piece.bytes, &access, 1);
}

void DeviceRange::map(MemoryHandle handle, uint64_t place, uint64_t bytes, bool read_only) {
  const Result result = driver().map(base_ + place, bytes, 0, handle, 0);
  driver().release(handle);
  check(result, "map memory");
  Piece& piece = pieces_.emplace_back(Piece{place, bytes, read_only});
  piece.is_read_only = read_only && allow(piece, cuda::kAccessRead) == cuda::kSuccess;
  if (!piece.is_read_only) check(allow(piece, cuda::kAccessReadWrite), "open memory");
}

void DeviceRange::create(uint64_t place, uint64_t bytes) {
  MemoryHandle handle;
  cuda::MemoryProperties properties{};
  properties.type = cuda::kMemoryPinned;
  properties.location = {cuda::kLocationDevice, ordinal_};
  check(driver().create(&handle, bytes, &properties, 0), "give memory");
  map(handle, place, bytes, false);
}

void DeviceRange::import(int file, uint64_t place, uint64_t bytes) {
  MemoryHandle handle;
  check(driver().import(&handle, reinterpret_cast<void*>(static_cast<intptr_t>(file)), cuda::kHandlePosixDescriptor),
        "open a column");
  map(handle, place, bytes, true);
}

bool DeviceRange::protect() {
  for (Piece& piece : pieces_)
    piece.is_read_only = piece.is_read_only || allow(piece, cuda::kAccessRead) == cuda::kSuccess;
  return std::all_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) { return piece.is_read_only; });
}

bool DeviceRange::try_write(uint64_t place, const void* from, uint64_t bytes) {
  return driver().copy(base_ + place, from, bytes) == cuda::kSuccess;
}

void DeviceRange::write(uint64_t place, const void* from, uint64_t bytes) {
  if (!try_write(place, from, bytes)) throw TableError("the table's header cannot be copied to the GPU");
}

}  // namespace turbine
