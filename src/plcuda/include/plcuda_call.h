/*
 * plcuda_call.h - how a compiled function of LANGUAGE plcuda is called: its arguments, its
 * rows, its errors, its device memory.
 *
 * Included once by each function's generated source (src/pg/plcuda/function_shape.c), between
 * plcuda.h and the function's own code. It owns the memory of arguments, and what the
 * function allocates on devices: that is freed when the call has ended, since samples free
 * nothing. Must not throw at its caller, which is another program.
 */
#ifndef TURBINE_PLCUDA_INCLUDE_PLCUDA_CALL_H
#define TURBINE_PLCUDA_INCLUDE_PLCUDA_CALL_H

#include <exception>
#include <mutex>
#include <vector>

#include "turbine/plcuda.h"

namespace plcuda {

/* The call that runs. */
static const TbPlcudaCall* call;
static std::vector<char> row;
static bool is_null;
static bool has_device;
static bool was_launched; /* a kernel, in this call */

/* Device memory of the call. */
static std::mutex lock;
static std::vector<void*> on_device;
static std::vector<void*> on_host;
static std::vector<void*> on_heap; /* texts */

static inline cudaError_t note(std::vector<void*>& to, cudaError_t rc, void* place) {
  if (rc == cudaSuccess) {
    std::lock_guard<std::mutex> guard(lock);
    to.push_back(place);
  }
  return rc;
}

static inline void forget(std::vector<void*>& from, void* place) {
  std::lock_guard<std::mutex> guard(lock);

  for (size_t i = 0; i < from.size(); i++)
    if (from[i] == place) {
      from[i] = from.back();
      from.pop_back();
      return;
    }
}

/* Copies of tables that earlier calls have left give way. */
template <typename Allocate>
static inline cudaError_t with_memory(Allocate allocate) {
  const cudaError_t rc = allocate();

  if (rc != cudaErrorMemoryAllocation || !call->release(call->context)) return rc;
  (void)cudaGetLastError();
  return allocate();
}

static inline void free_all() {
  for (void* place : on_device) (void)cudaFree(place);
  for (void* place : on_host) (void)cudaFreeHost(place);
  on_device.clear();
  for (void* place : on_heap) free(place);
  on_host.clear();
  on_heap.clear();
}

/* A result's row: values one after the other. */
static inline void put(const void* bytes, size_t length) {
  const int32_t head = (int32_t)length;

  if (length >= TB_PLCUDA_MOST_ROW) EEXIT("a value of the result is larger than 1 GB");
  row.insert(row.end(), (const char*)&head, (const char*)(&head + 1));
  row.insert(row.end(), (const char*)bytes, (const char*)bytes + length);
}

static inline void put_null() {
  const int32_t head = -1;

  row.insert(row.end(), (const char*)&head, (const char*)(&head + 1));
}

template <typename T>
static inline void put_value(T value) {
  put(&value, sizeof value);
}

static inline void put_value(const varlena* value) {
  if (value == nullptr)
    put_null();
  else
    put(value, VARSIZE(value));
}

static inline void put_value(varlena* value) { put_value((const varlena*)value); }

static inline void put_value(const char* value) {
  if (value == nullptr)
    put_null();
  else
    put(value, strlen(value));
}

static inline void end_row() {
  call->row(call->context, row.data(), row.size());
  row.clear();
}

/* Arguments. */
static inline bool isnull(int i) { return call->args[i].isnull != 0; }

static inline const char* place(int i) { return (const char*)call->args + call->args[i].offset; }

template <typename T>
static inline T value(int i) {
  T result = 0;

  if (!isnull(i)) memcpy(&result, place(i), sizeof result);
  return result;
}

static inline varlena* bytes(int i) { return isnull(i) ? nullptr : (varlena*)place(i); }

static inline const char* string(int i) { return isnull(i) ? nullptr : place(i); }

static inline GstoreIpcMapping* store(int i) { return isnull(i) ? nullptr : (GstoreIpcMapping*)call->stores[i]; }

static inline bool is_no_device(int code) {
  return code == cudaErrorNoDevice || code == cudaErrorInsufficientDriver || code == cudaErrorStubLibrary;
}

/* Kernels that still run, and errors that nobody has asked for. Without a device the
 * runtime's last error says nothing: it is the same whether a kernel was launched or not. */
static inline void wait_for_device() {
  cudaError_t rc = cudaSuccess;

  if (has_device) {
    rc = cudaGetLastError();
    if (rc == cudaSuccess) rc = cudaDeviceSynchronize();
  } else if (was_launched)
    rc = cudaErrorNoDevice;
  if (rc != cudaSuccess) CUEXIT(rc, "a kernel has failed");
}

static inline void report(const plcuda_exit& failure) {
  const cudaError_t pending = has_device ? cudaPeekAtLastError() : cudaSuccess;
  uint32_t kind = TB_PLCUDA_RAISED;

  if (is_no_device(failure.code))
    kind = TB_PLCUDA_NO_DEVICE;
  else if (failure.code == cudaErrorMemoryAllocation)
    kind = TB_PLCUDA_NO_MEMORY;
  else if (failure.code != 0 || pending != cudaSuccess)
    kind = TB_PLCUDA_IS_LOST;
  call->fail(call->context, kind, failure.message);
}

}  // namespace plcuda

/* Of what the function allocates, until the call ends. */
template <typename T>
static inline cudaError_t plcuda_cudaMalloc(T** place, size_t bytes) {
  const cudaError_t rc = plcuda::with_memory([&] { return cudaMalloc((void**)place, bytes); });

  return plcuda::note(plcuda::on_device, rc, rc == cudaSuccess ? (void*)*place : nullptr);
}

template <typename T>
static inline cudaError_t plcuda_cudaMallocManaged(T** place, size_t bytes, unsigned flags = cudaMemAttachGlobal) {
  const cudaError_t rc = plcuda::with_memory([&] { return cudaMallocManaged((void**)place, bytes, flags); });

  return plcuda::note(plcuda::on_device, rc, rc == cudaSuccess ? (void*)*place : nullptr);
}

template <typename T>
static inline cudaError_t plcuda_cudaMallocHost(T** place, size_t bytes) {
  const cudaError_t rc = cudaMallocHost((void**)place, bytes);

  return plcuda::note(plcuda::on_host, rc, rc == cudaSuccess ? (void*)*place : nullptr);
}

static inline cudaError_t plcuda_cudaFree(void* place) {
  plcuda::forget(plcuda::on_device, place);
  return cudaFree(place);
}

static inline cudaError_t plcuda_cudaFreeHost(void* place) {
  plcuda::forget(plcuda::on_host, place);
  return cudaFreeHost(place);
}

/* A text of a string, until the call ends. */
static inline varlena* plcuda_text(const char* bytes, size_t length) {
  varlena* text = (varlena*)malloc(VARHDRSZ + length + 1);

  if (text == nullptr) throw std::bad_alloc();
  {
    std::lock_guard<std::mutex> guard(plcuda::lock);
    plcuda::on_heap.push_back(text);
  }
  SET_VARSIZE(text, VARHDRSZ + length);
  memcpy(VARDATA(text), bytes, length);
  VARDATA(text)[length] = 0;
  return text;
}

static inline varlena* plcuda_text(const char* string) { return plcuda_text(string, strlen(string)); }

static inline varlena* plcuda_text(const std::string& string) { return plcuda_text(string.data(), string.size()); }

/* Ends the function with NULL as its result. */
#define PLCUDA_RETURN_NULL() \
  do {                       \
    plcuda::is_null = true;  \
    return {};               \
  } while (0)

/* Argument memory that devices can read, if there is one; it is kept for the next call. */
extern "C" __attribute__((visibility("default"))) void* turbine_plcuda_allocate(size_t bytes) {
  static void* place;
  static size_t size;
  static bool is_managed;
  int ndevices = 0;

  plcuda::has_device = cudaGetDeviceCount(&ndevices) == cudaSuccess && ndevices > 0;
  (void)cudaGetLastError();
  if (bytes <= size) return place;
  if (is_managed)
    (void)cudaFree(place);
  else
    free(place);
  size = 0;
  is_managed = plcuda::has_device && cudaMallocManaged(&place, bytes) == cudaSuccess;
  (void)cudaGetLastError();
  if (!is_managed) place = malloc(bytes);
  if (place != nullptr) size = bytes;
  return place;
}

/* The linker puts it before each launch (--wrap). */
extern "C" unsigned __real___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
extern "C" unsigned __wrap___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  plcuda::was_launched = true;
  return __real___cudaPushCallConfiguration(grid, block, shared, stream);
}

/* Defined by the generated source: calls the function and writes its result. */
static void plcuda_run();

extern "C" __attribute__((visibility("default"))) void turbine_plcuda_call(const TbPlcudaCall* call) {
  plcuda::call = call;
  plcuda::row.clear();
  plcuda::is_null = false;
  plcuda::was_launched = false;
  try {
    try {
      plcuda_run();
    } catch (const plcuda_exit& failure) {
      plcuda::report(failure);
    } catch (const std::bad_alloc&) {
      call->fail(call->context, TB_PLCUDA_NO_MEMORY, "the function has no more memory of the host");
    } catch (const std::exception& failure) {
      call->fail(call->context, TB_PLCUDA_RAISED, failure.what());
    }
  } catch (...) {
    call->fail(call->context, TB_PLCUDA_RAISED, "the function has thrown something unknown");
  }
        /* Kernels of a call that has failed may still use what is freed and unmapped now. */
  if (plcuda::has_device) (void)cudaDeviceSynchronize();
  plcuda::free_all();
}

#define cudaMalloc plcuda_cudaMalloc
#define cudaMallocManaged plcuda_cudaMallocManaged
#define cudaMallocHost plcuda_cudaMallocHost
#define cudaFree plcuda_cudaFree
#define cudaFreeHost plcuda_cudaFreeHost

#endif
