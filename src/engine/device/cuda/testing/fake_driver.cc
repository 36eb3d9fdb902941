/*
 * fake_driver.cc - a CUDA driver without a GPU, for tests only.
 *
 * Owns its memory, streams and what it has seen of misuse. The product must never link
 * it.
 */
#include "engine/device/cuda/testing/fake_driver.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace turbine::cuda::testing {

namespace {

FakeDriver* the_driver = nullptr;
thread_local Context current_context = nullptr;
thread_local int kernels_gpu = -1;

/* What a linked program looks like: enough for "this is a cubin". */
constexpr char kFakeCubin[] = "\177ELF fake cubin";
constexpr char kCubinMagic[] = "\177ELF";
constexpr size_t kCubinMagicBytes = sizeof(kCubinMagic) - 1;

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class Handle>
Handle handle_of(uint64_t number) {
  return reinterpret_cast<Handle>(number);
}

constexpr uint64_t kFirstContext = 0x100;
Context context_of(int gpu) { return handle_of<Context>(kFirstContext + static_cast<uint64_t>(gpu)); }
int gpu_of(Context context) { return static_cast<int>(reinterpret_cast<uint64_t>(context) - kFirstContext); }

}  // namespace

/* The driver's functions. Each takes the lock, so that none sees another halfway. */
struct FakeDriver::Calls {
  using Lock = std::unique_lock<std::mutex>;

#define FAKE_ENTER()              \
  FakeDriver& fake = *the_driver; \
  Lock lock(fake.mutex_);         \
  if (Result lost = fake.entered(); lost != kSuccess) return lost

  /* For calls that need a current context. */
#define FAKE_ENTER_CONTEXT()                                         \
  FAKE_ENTER();                                                      \
  if (!current_context || fake.contexts_ == 0) {                     \
    fake.add_misuse(std::string(__func__) + ": no current context"); \
    return kInvalidContext;                                          \
  }

  static Result init(unsigned) {
    FAKE_ENTER();
    return kSuccess;
  }
  static Result driver_get_version(int* version) {
    FAKE_ENTER();
    *version = fake.options_.driver_version;
    return kSuccess;
  }
  static Result device_get_count(int* count) {
    FAKE_ENTER();
    *count = fake.options_.devices;
    return kSuccess;
  }
  static Result device_get(DeviceOrdinal* device, int ordinal) {
    FAKE_ENTER();
    *device = ordinal;
    return kSuccess;
  }
  static Result device_get_name(char* name, int length, DeviceOrdinal) {
    FAKE_ENTER();
    std::strncpy(name, "Fake GPU", static_cast<size_t>(length));
    return kSuccess;
  }
  static Result device_get_attribute(int* value, int attribute, DeviceOrdinal) {
    FAKE_ENTER();
    *value = attribute == kComputeCapabilityMajor   ? fake.options_.major
             : attribute == kComputeCapabilityMinor ? fake.options_.minor
             : attribute == kClockRate              ? 1980000
             : attribute == kL2CacheSize            ? 50 << 20
                                                    : fake.options_.multiprocessors;
    return kSuccess;
  }
  static Result device_get_pci_bus_id(char* address, int length, DeviceOrdinal device) {
    FAKE_ENTER();
    const auto& addresses = fake.options_.pci_addresses;
    if (static_cast<size_t>(device) >= addresses.size()) return kNotFound;
    std::strncpy(address, addresses[static_cast<size_t>(device)].c_str(), static_cast<size_t>(length));
    return kSuccess;
  }
  static Result device_total_mem(size_t* bytes, DeviceOrdinal) {
    FAKE_ENTER();
    *bytes = fake.options_.memory;
    return kSuccess;
  }
  static Result primary_ctx_retain(Context* context, DeviceOrdinal device) {
    FAKE_ENTER();
    fake.contexts_++;
    *context = context_of(device);
    return kSuccess;
  }
  static Result primary_ctx_release(DeviceOrdinal) {
    FakeDriver& fake = *the_driver;
    Lock lock(fake.mutex_);
    fake.contexts_--;
    return fake.entered();
  }
  static Result ctx_set_current(Context context) {
    FakeDriver& fake = *the_driver;
    Lock lock(fake.mutex_);
    current_context = context;  // another GPU's may be lost
    return fake.entered();
  }
  static Result mem_get_info(size_t* free, size_t* total) {
    FAKE_ENTER_CONTEXT();
    *free = fake.free_bytes(current_context);
    *total = fake.options_.memory;
    return kSuccess;
  }

  static Result mem_alloc(DevicePtr* pointer, size_t bytes) {
    FAKE_ENTER_CONTEXT();
    if (bytes > fake.free_bytes(current_context)) return kOutOfMemory;
    void* memory = nullptr;
    if (posix_memalign(&memory, 256, bytes) != 0) return kOutOfMemory;
    std::memset(memory, 0xa5, bytes);  // nobody may rely on zeroes
    *pointer = reinterpret_cast<uint64_t>(memory);
    fake.device_[*pointer] = bytes;
    fake.owners_[*pointer] = current_context;
    fake.count_bytes(current_context, static_cast<int64_t>(bytes));
    return kSuccess;
  }
  static Result mem_free(DevicePtr pointer) {
    FakeDriver& fake = *the_driver;
    Lock lock(fake.mutex_);
    auto found = fake.device_.find(pointer);
    if (found == fake.device_.end()) {
      fake.add_misuse("mem_free of what is not allocated");
      return kInvalidValue;
    }
    fake.count_bytes(fake.owners_.at(pointer), -static_cast<int64_t>(found->second));
    fake.owners_.erase(pointer);
    fake.device_.erase(found);
    std::free(reinterpret_cast<void*>(pointer));
    return fake.entered();
  }
  /* Memory for other processes is a memfd: what maps its descriptor sees the same bytes. */
  static constexpr size_t kMemoryPage = size_t{2} << 20;
  static Result device_get_uuid(void* uuid, DeviceOrdinal device) {
    FAKE_ENTER();
    std::memset(uuid, 0xf0 + device, 16);
    return kSuccess;
  }
  static Result mem_granularity(size_t* bytes, const MemoryProperties*, int) {
    FAKE_ENTER_CONTEXT();
    *bytes = kMemoryPage;
    return kSuccess;
  }
  static Result mem_create(MemoryHandle* handle, size_t bytes, const MemoryProperties* properties, uint64_t) {
    FAKE_ENTER_CONTEXT();
    if (bytes == 0 || bytes % kMemoryPage != 0 || properties->handle_types != kHandlePosixDescriptor)
      return kInvalidValue;
    if (bytes > fake.free_bytes(current_context)) return kOutOfMemory;
    const int file = memfd_create("fake GPU memory", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return kOutOfMemory;
    *handle = fake.next_handle_++;
    fake.memory_[*handle] = {current_context, file, bytes};
    fake.count_bytes(current_context, static_cast<int64_t>(bytes));
    return kSuccess;
  }
  static Result mem_release(MemoryHandle handle) {
    FakeDriver& fake = *the_driver;
    Lock lock(fake.mutex_);
    auto found = fake.memory_.find(handle);
    if (found == fake.memory_.end() || found->second.released) {
      fake.add_misuse("mem_release of no memory");
      return kInvalidValue;
    }
    found->second.released = true;
    fake.drop_memory(handle);
    return fake.entered();
  }
  static Result mem_export(void* shareable, MemoryHandle handle, int type, uint64_t) {
    FAKE_ENTER_CONTEXT();
    auto found = fake.memory_.find(handle);
    if (found == fake.memory_.end() || type != kHandlePosixDescriptor) return kInvalidValue;
    const int descriptor = fcntl(found->second.file, F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0) return kOutOfMemory;
    std::memcpy(shareable, &descriptor, sizeof descriptor);
    return kSuccess;
  }
  static Result mem_address_reserve(DevicePtr* pointer, size_t bytes, size_t, DevicePtr, uint64_t) {
    FAKE_ENTER_CONTEXT();
    void* const place = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) return kOutOfMemory;
    *pointer = reinterpret_cast<uint64_t>(place);
    fake.reserved_[*pointer] = bytes;
    return kSuccess;
  }
  static Result mem_address_free(DevicePtr pointer, size_t bytes) {
    FakeDriver& fake = *the_driver;
    Lock lock(fake.mutex_);
    auto found = fake.reserved_.find(pointer);
    if (found == fake.reserved_.end() || found->second != bytes || fake.mapped_memory_.count(pointer)) {
      fake.add_misuse("mem_address_free of what is not reserved, or still mapped");
      return kInvalidValue;
    }
    fake.reserved_.erase(found);
    munmap(reinterpret_cast<void*>(pointer), bytes);
    return fake.entered();
  }
  static Result mem_map(DevicePtr pointer, size_t bytes, size_t offset, MemoryHandle handle, uint64_t) {
    FAKE_ENTER_CONTEXT();
    auto found = fake.memory_.find(handle);
    if (found == fake.memory_.end() || offset != 0 || bytes != found->second.bytes ||
        !fake.inside(fake.reserved_, pointer, bytes))
      return kInvalidValue;
    void* const place = reinterpret_cast<void*>(pointer);
    if (mmap(place, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, found->second.file, 0) == MAP_FAILED) return kOutOfMemory;
    found->second.maps++;
    fake.mapped_memory_[pointer] = handle;
    return kSuccess;
  }
  static Result mem_set_access(DevicePtr pointer, size_t bytes, const MemoryAccess* access, size_t count) {
    FAKE_ENTER_CONTEXT();
    if (!fake.mapped_memory_.count(pointer) || count != 1 || access->flags != kAccessReadWrite) return kInvalidValue;
    mprotect(reinterpret_cast<void*>(pointer), bytes, PROT_READ | PROT_WRITE);
    fake.device_[pointer] = bytes;
    fake.owners_[pointer] = current_context;
    return kSuccess;
  }
  static Result mem_unmap(DevicePtr pointer, size_t bytes) {
    FakeDriver& fake = *the_driver;
    Lock lock(fake.mutex_);
    auto found = fake.mapped_memory_.find(pointer);
    if (found == fake.mapped_memory_.end()) {
      fake.add_misuse("mem_unmap of what is not mapped");
      return kInvalidValue;
    }
    const MemoryHandle handle = found->second;
    fake.mapped_memory_.erase(found);
    fake.device_.erase(pointer);
    fake.owners_.erase(pointer);
    mmap(reinterpret_cast<void*>(pointer), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
         -1, 0);
    fake.memory_[handle].maps--;
    fake.drop_memory(handle);
    return fake.entered();
  }

  static Result mem_host_alloc(void** pointer, size_t bytes, unsigned) {
    FAKE_ENTER_CONTEXT();
    if (posix_memalign(pointer, 4096, bytes) != 0) return kOutOfMemory;
    std::memset(*pointer, 0x5a, bytes);
    fake.pinned_[reinterpret_cast<uint64_t>(*pointer)] = bytes;
    return kSuccess;
  }
  static Result mem_free_host(void* pointer) {
    FakeDriver& fake = *the_driver;
    Lock lock(fake.mutex_);
    if (fake.pinned_.erase(reinterpret_cast<uint64_t>(pointer)) == 0) {
      fake.add_misuse("mem_free_host of what is not allocated");
      return kInvalidValue;
    }
    std::free(pointer);
    return fake.entered();
  }
  static Result mem_host_register(void* pointer, size_t bytes, unsigned) {
    FAKE_ENTER_CONTEXT();
    if (!fake.registered_.emplace(reinterpret_cast<uint64_t>(pointer), bytes).second)
      return kHostMemoryAlreadyRegistered;
    return kSuccess;
  }
  static Result mem_host_unregister(void* pointer) {
    FakeDriver& fake = *the_driver;
    Lock lock(fake.mutex_);
    if (fake.registered_.erase(reinterpret_cast<uint64_t>(pointer)) == 0) {
      fake.add_misuse("mem_host_unregister of what is not registered");
      return kInvalidValue;
    }
    return fake.entered();
  }

  /* A copy of `bytes`; `to_device` and `from_device` say which sides to check. */
  static Result copy(const char* name, uint64_t to, uint64_t from, size_t bytes, bool to_device, bool from_device,
                     Stream stream) {
    FAKE_ENTER_CONTEXT();
    auto sound = [&fake, name, to, from, bytes, to_device, from_device] {
      if (bytes != 0 && (!to_device || fake.inside(fake.device_, to, bytes)) &&
          (!from_device || fake.inside(fake.device_, from, bytes)))
        return true;
      fake.add_misuse(std::string(name) + ": out of bounds, or of nothing");
      return false;
    };
    if (!sound()) return kInvalidValue;
    fake.enqueue(fake.stream_of(stream), [&fake, sound, to, from, bytes] {
      {
        Lock checked(fake.mutex_);
        if (!sound()) return;
      }
      std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    });
    return kSuccess;
  }
  static Result memcpy_htod_async(DevicePtr to, const void* from, size_t bytes, Stream stream) {
    return copy("memcpy_htod_async", to, reinterpret_cast<uint64_t>(from), bytes, true, false, stream);
  }
  static Result memcpy_dtoh_async(void* to, DevicePtr from, size_t bytes, Stream stream) {
    return copy("memcpy_dtoh_async", reinterpret_cast<uint64_t>(to), from, bytes, false, true, stream);
  }
  static Result memcpy_dtod_async(DevicePtr to, DevicePtr from, size_t bytes, Stream stream) {
    return copy("memcpy_dtod_async", to, from, bytes, true, true, stream);
  }
  static Result memset_d8_async(DevicePtr to, unsigned char byte, size_t bytes, Stream stream) {
    FAKE_ENTER_CONTEXT();
    if (bytes != 0 && !fake.inside(fake.device_, to, bytes)) {
      fake.add_misuse("memset_d8_async: out of bounds");
      return kInvalidValue;
    }
    fake.enqueue(fake.stream_of(stream), [to, byte, bytes] { std::memset(reinterpret_cast<void*>(to), byte, bytes); });
    return kSuccess;
  }

  static Result stream_create(Stream* stream, unsigned) {
    FAKE_ENTER_CONTEXT();
    *stream = handle_of<Stream>(fake.next_handle_++);
    auto state = std::make_unique<StreamState>();
    state->context = current_context;
    StreamState* raw = state.get();
    fake.streams_[*stream] = std::move(state);
    raw->thread = std::thread([&fake, raw] { fake.run_stream(raw); });
    return kSuccess;
  }
  static Result stream_destroy(Stream stream) {
    FakeDriver& fake = *the_driver;
    Lock lock(fake.mutex_);
    auto found = fake.streams_.find(stream);
    if (found == fake.streams_.end()) {
      fake.add_misuse("stream_destroy of no stream");
      return kInvalidValue;
    }
    std::unique_ptr<StreamState> state = std::move(found->second);
    fake.streams_.erase(found);
    state->stop = true;
    state->changed.notify_all();
    fake.events_changed_.notify_all();
    lock.unlock();
    state->thread.join();
    lock.lock();
    return fake.entered();
  }
  static Result stream_synchronize(Stream stream) {
    FakeDriver& fake = *the_driver;
    Lock lock(fake.mutex_);
    StreamState* state = fake.stream_of(stream);
    if (!state) return kInvalidValue;
    state->changed.wait(
        lock, [&] { return fake.lost_in(state->context) != kSuccess || (state->work.empty() && !state->busy); });
    // Lost: what is running now still ends, nothing after it begins.
    state->changed.wait(lock, [&] { return !state->busy; });
    return fake.entered();
  }
  static Result stream_wait_event(Stream stream, Event event, unsigned) {
    FAKE_ENTER_CONTEXT();
    std::shared_ptr<EventState> state = fake.events_.at(event);
    const uint64_t generation = state->recorded;
    StreamState* waiting = fake.stream_of(stream);
    fake.enqueue(waiting, [&fake, state, generation, waiting] {
      Lock waiter(fake.mutex_);
      fake.events_changed_.wait(waiter, [&] {
        return state->completed >= generation || fake.lost_in(waiting->context) != kSuccess || waiting->stop;
      });
    });
    return kSuccess;
  }

  static Result event_create(Event* event, unsigned) {
    FAKE_ENTER_CONTEXT();
    *event = handle_of<Event>(fake.next_handle_++);
    fake.events_[*event] = std::make_shared<EventState>();
    return kSuccess;
  }
  static Result event_destroy(Event event) {
    FakeDriver& fake = *the_driver;
    Lock lock(fake.mutex_);
    if (fake.events_.erase(event) == 0) fake.add_misuse("event_destroy of no event");
    return fake.entered();
  }
  static Result event_record(Event event, Stream stream) {
    FAKE_ENTER_CONTEXT();
    std::shared_ptr<EventState> state = fake.events_.at(event);
    const uint64_t generation = ++state->recorded;
    fake.enqueue(fake.stream_of(stream), [&fake, state, generation] {
      Lock setter(fake.mutex_);
      state->completed = std::max(state->completed, generation);
      state->time_ms = now_ms();
      fake.events_changed_.notify_all();
    });
    return kSuccess;
  }
  static Result event_query(Event event) {
    FAKE_ENTER_CONTEXT();
    const EventState& state = *fake.events_.at(event);
    return state.completed >= state.recorded ? kSuccess : kNotReady;
  }
  static Result event_elapsed_time(float* milliseconds, Event start, Event end) {
    FAKE_ENTER_CONTEXT();
    const EventState &first = *fake.events_.at(start), &last = *fake.events_.at(end);
    if (first.completed < first.recorded || last.completed < last.recorded) return kNotReady;
    if (first.recorded == 0 || last.recorded == 0) {
      fake.add_misuse("event_elapsed_time of an event never recorded");
      return kInvalidValue;
    }
    *milliseconds = static_cast<float>(last.time_ms - first.time_ms);
    return kSuccess;
  }

  static Result module_load_data_ex(Module* module, const void* image, unsigned count, int* options, void** values) {
    FAKE_ENTER_CONTEXT();
    const char* text = static_cast<const char*>(image);
    if (std::strncmp(text, "bad", 3) == 0) return kInvalidPtx;
    std::shared_ptr<const KernelModule> kernels;
    if (fake.options_.load_module) {
      if (std::strncmp(text, kCubinMagic, kCubinMagicBytes) == 0) text += kCubinMagicBytes;
      std::string why;
      kernels = fake.options_.load_module(text, &why);
      if (!kernels) {
        write_log(why, count, options, values);
        return kInvalidPtx;
      }
    }
    *module = handle_of<Module>(fake.next_handle_++);
    fake.modules_[*module] = std::make_unique<ModuleState>();
    fake.modules_[*module]->kernels = std::move(kernels);
    return kSuccess;
  }
  /* To the caller's buffer for messages. */
  static void write_log(const std::string& message, unsigned count, const int* options, void** values) {
    char* log = nullptr;
    size_t size = 0;
    for (unsigned i = 0; i < count; i++) {
      if (options[i] == kJitErrorLogBuffer) log = static_cast<char*>(values[i]);
      if (options[i] == kJitErrorLogBufferSize) size = reinterpret_cast<size_t>(values[i]);
    }
    if (log && size > 0) snprintf(log, size, "%s", message.c_str());
  }
  static Result module_unload(Module module) {
    FakeDriver& fake = *the_driver;
    Lock lock(fake.mutex_);
    if (const auto found = fake.modules_.find(module); found != fake.modules_.end())
      for (const auto& [name, entry] : found->second->functions)
        fake.kernel_modules_.erase(reinterpret_cast<Function>(entry.get()));
    if (fake.modules_.erase(module) == 0) fake.add_misuse("module_unload of no module");
    return fake.entered();
  }
  static Result module_get_function(Function* function, Module module, const char* name) {
    FAKE_ENTER_CONTEXT();
    ModuleState& state = *fake.modules_.at(module);
    if (state.kernels ? !state.kernels->has_kernel(name) : !fake.kernels_.count(name)) return kNotFound;
    auto& entry = state.functions[name];
    if (!entry) entry = std::make_unique<std::string>(name);
    *function = reinterpret_cast<Function>(entry.get());
    if (state.kernels) fake.kernel_modules_[*function] = state.kernels;
    return kSuccess;
  }
  static Result launch_kernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                              unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream, void** params,
                              void**) {
    FAKE_ENTER_CONTEXT();
    if (grid_x == 0 || grid_y != 1 || grid_z != 1 || block_x == 0 || block_x > 1024 || block_y != 1 || block_z != 1)
      return kInvalidValue;
    if (fake.options_.launch_result != kSuccess) return fake.options_.launch_result;
    const std::string name = *reinterpret_cast<const std::string*>(function);
    if (const auto found = fake.kernel_modules_.find(function); found != fake.kernel_modules_.end()) {
      fake.launches_[name]++;
      KernelLaunch launch{grid_x, block_x, shared_bytes, found->second->parameters(name, params), {}};
      fake.enqueue(fake.stream_of(stream), [&fake, module = found->second, name, launch, context = current_context] {
        fake.run_kernel(context, *module, name, launch);
      });
      return kSuccess;
    }
    void* arguments = *static_cast<void**>(params[0]);
    fake.launches_[name]++;
    Kernel kernel = fake.kernels_.at(name);
    const int gpu = gpu_of(current_context);
    fake.enqueue(fake.stream_of(stream), [&fake, kernel = std::move(kernel), arguments, gpu] {
      kernels_gpu = gpu;
      try {
        kernel(arguments);
      } catch (const KernelFault& fault) {
        fake.lose_gpu(gpu, fault.result);
      }
    });
    return kSuccess;
  }

  static Result link_create(unsigned, int*, void**, LinkState* state) {
    FAKE_ENTER_CONTEXT();
    *state = handle_of<LinkState>(fake.next_handle_++);
    fake.links_[*state] = kFakeCubin;
    return kSuccess;
  }
  static Result link_add_data(LinkState state, int type, void* data, size_t size, const char*, unsigned, int*, void**) {
    FAKE_ENTER_CONTEXT();
    const char* text = static_cast<const char*>(data);
    if (type != kJitInputPtx || size == 0 || text[size - 1] != '\0') return kInvalidValue;
    if (std::strncmp(text, "bad", 3) == 0) return kInvalidPtx;
    // The machine code of a module that is interpreted is its text.
    if (fake.options_.load_module) fake.links_.at(state) = std::string(kCubinMagic) + text;
    return kSuccess;
  }
  /* The caller has a copy before the link is destroyed. */
  static Result link_complete(LinkState state, void** cubin, size_t* size) {
    FAKE_ENTER_CONTEXT();
    std::string& image = fake.links_.at(state);
    *cubin = image.data();
    *size = image.size() + 1;
    return kSuccess;
  }
  static Result link_destroy(LinkState state) {
    FakeDriver& fake = *the_driver;
    Lock lock(fake.mutex_);
    if (fake.links_.erase(state) == 0) fake.add_misuse("link_destroy of no link");
    return fake.entered();
  }
  static Result get_error_name(Result error, const char** name) {
    if (error != kOutOfMemory && error != kIllegalAddress) return kInvalidValue;
    *name = error == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_ILLEGAL_ADDRESS";
    return kSuccess;
  }
};

FakeDriver::FakeDriver(const FakeOptions& options) : options_(options) {
  the_driver = this;
#define F(kind, member, symbol, params) table_.member = &Calls::member;
  TURBINE_DRIVER_FUNCTIONS(F)
#undef F
  table_.get_error_name = &Calls::get_error_name;
}

FakeDriver::~FakeDriver() {
  std::vector<std::unique_ptr<StreamState>> running;
  {
    std::lock_guard lock(mutex_);
    for (auto& [handle, stream] : streams_) {
      stream->stop = true;
      stream->changed.notify_all();
      running.push_back(std::move(stream));
    }
    events_changed_.notify_all();
  }
  for (auto& stream : running) stream->thread.join();
  for (const auto& [address, bytes] : device_) std::free(reinterpret_cast<void*>(address));
  for (const auto& [address, bytes] : pinned_) std::free(reinterpret_cast<void*>(address));
  the_driver = nullptr;
}

/* Freed once it is released and mapped nowhere. */
void FakeDriver::drop_memory(MemoryHandle handle) {
  const Memory& memory = memory_.at(handle);
  if (!memory.released || memory.maps > 0) return;
  close(memory.file);
  count_bytes(memory.context, -static_cast<int64_t>(memory.bytes));
  memory_.erase(handle);
}

uint64_t FakeDriver::free_bytes(Context context) const {
  const auto found = context_bytes_.find(context);
  const uint64_t used = (found == context_bytes_.end() ? 0 : found->second) + others_bytes_;
  return used < options_.memory ? options_.memory - used : 0;
}

void FakeDriver::count_bytes(Context context, int64_t bytes) {
  context_bytes_[context] += static_cast<uint64_t>(bytes);
  device_bytes_ += static_cast<uint64_t>(bytes);
  peak_device_bytes_ = std::max(peak_device_bytes_, device_bytes_);
}

std::vector<std::pair<uint64_t, uint64_t>> FakeDriver::memory_of_kernels(Context context) const {
  std::vector<std::pair<uint64_t, uint64_t>> memory;
  for (const auto& [address, bytes] : device_)
    if (owners_.at(address) == context) memory.emplace_back(address, bytes);
  // Pinned memory has one address for the host and all GPUs.
  memory.insert(memory.end(), pinned_.begin(), pinned_.end());
  memory.insert(memory.end(), registered_.begin(), registered_.end());
  std::sort(memory.begin(), memory.end());
  return memory;
}

void FakeDriver::run_kernel(Context context, const KernelModule& module, const std::string& name, KernelLaunch launch) {
  {
    std::lock_guard lock(mutex_);
    launch.memory = memory_of_kernels(context);
  }
  try {
    module.run(name, launch);
  } catch (const KernelFault& fault) {
    lose_gpu(gpu_of(context), fault.result);
  }
}

void FakeDriver::set_kernel(const std::string& name, Kernel kernel) {
  std::lock_guard lock(mutex_);
  kernels_[name] = std::move(kernel);
}

void FakeDriver::lose(Result result) {
  std::lock_guard lock(mutex_);
  lost_ = result;
  events_changed_.notify_all();
  for (auto& [handle, stream] : streams_) stream->changed.notify_all();
}

void FakeDriver::lose_gpu(int gpu, Result result) {
  std::lock_guard lock(mutex_);
  lost_contexts_[context_of(gpu)] = result;
  events_changed_.notify_all();
  for (auto& [handle, stream] : streams_) stream->changed.notify_all();
}

int FakeDriver::gpu_of_kernel() { return kernels_gpu; }

Result FakeDriver::lost_in(Context context) const {
  const auto found = lost_contexts_.find(context);
  return lost_ != kSuccess || found == lost_contexts_.end() ? lost_ : found->second;
}

Result FakeDriver::entered() {
  calls_++;
  return lost_in(current_context);
}

FakeDriver::StreamState* FakeDriver::stream_of(Stream stream) {
  auto found = streams_.find(stream);
  if (found != streams_.end()) return found->second.get();
  add_misuse("no such stream");
  return nullptr;
}

void FakeDriver::enqueue(StreamState* stream, std::function<void()> work) {
  if (!stream) return;
  if (stream->context != current_context) add_misuse("work for a stream of another context");
  stream->work.push_back(std::move(work));
  stream->changed.notify_all();
}

void FakeDriver::run_stream(StreamState* stream) {
  std::unique_lock lock(mutex_);
  for (;;) {
    stream->changed.wait(
        lock, [&] { return stream->stop || (lost_in(stream->context) == kSuccess && !stream->work.empty()); });
    if (stream->stop) return;
    std::function<void()> work = std::move(stream->work.front());
    stream->work.pop_front();
    stream->busy = true;
    delay_seed_ = delay_seed_ * 1103515245 + 12345;
    const unsigned delay = options_.most_delay_us ? (delay_seed_ >> 16) % options_.most_delay_us : 0;
    lock.unlock();
    if (delay > options_.most_delay_us / 2) std::this_thread::sleep_for(std::chrono::microseconds(delay));
    work();
    lock.lock();
    stream->busy = false;
    stream->changed.notify_all();
  }
}

void FakeDriver::add_misuse(const std::string& what) { misuse_.push_back(what); }

bool FakeDriver::inside(const std::map<uint64_t, uint64_t>& allocations, uint64_t address, uint64_t bytes) const {
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin()) return false;
  const auto& [start, size] = *std::prev(next);
  return address - start <= size && bytes <= size - (address - start);
}

void FakeDriver::others_take(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  others_bytes_ += bytes;
}

void FakeDriver::others_give_back(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  others_bytes_ -= bytes;
}

uint64_t FakeDriver::calls() const {
  std::lock_guard lock(mutex_);
  return calls_;
}

uint64_t FakeDriver::launches(const std::string& kernel) const {
  std::lock_guard lock(mutex_);
  auto found = launches_.find(kernel);
  return found == launches_.end() ? 0 : found->second;
}

std::map<std::string, uint64_t> FakeDriver::all_launches() const {
  std::lock_guard lock(mutex_);
  return launches_;
}

uint64_t FakeDriver::device_bytes() const {
  std::lock_guard lock(mutex_);
  return device_bytes_;
}

uint64_t FakeDriver::peak_device_bytes() const {
  std::lock_guard lock(mutex_);
  return peak_device_bytes_;
}

std::vector<std::string> FakeDriver::leaks() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> leaks;
  auto report = [&](const char* what, size_t count) {
    if (count != 0) leaks.push_back(std::string(what) + ": " + std::to_string(count));
  };
  report("device blocks", device_.size());
  report("pinned blocks", pinned_.size());
  report("registered slot memory", registered_.size());
  report("streams", streams_.size());
  report("events", events_.size());
  report("modules", modules_.size());
  report("links", links_.size());
  report("exported memory", memory_.size());
  report("reserved addresses", reserved_.size());
  if (contexts_ != 0) leaks.push_back("retained contexts: " + std::to_string(contexts_));
  return leaks;
}

std::vector<std::string> FakeDriver::misuse() const {
  std::lock_guard lock(mutex_);
  return misuse_;
}

}  // namespace turbine::cuda::testing
