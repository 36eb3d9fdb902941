/*
 * driver_api.h - the subset of the CUDA driver API that turbined uses.
 *
 * Owns: our own declarations of the driver's binary interface (no CUDA header
 * is needed to build) and DriverFunctions, the one table of driver functions through
 * which every driver call goes, so that a fake can stand in for libcuda.
 * Must never: call anything. Filled by driver_functions.cc or by testing/.
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace turbine::cuda {

using Result = int;  // CUresult
using DeviceOrdinal = int;
using DevicePtr = uint64_t;
using Context = struct OpaqueContext*;
using Stream = struct OpaqueStream*;
using Event = struct OpaqueEvent*;
using Module = struct OpaqueModule*;
using Function = struct OpaqueFunction*;
using LinkState = struct OpaqueLinkState*;
using MemoryHandle = uint64_t;  // CUmemGenericAllocationHandle

/* Results that our code tells apart; cuGetErrorName names the others. */
enum : Result {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kEccUncorrectable = 214,
  kInvalidPtx = 218,
  kNvlinkUncorrectable = 220,
  kJitCompilerNotFound = 221,
  kUnsupportedPtxVersion = 222,
  kJitCompilationDisabled = 223,
  kContained = 226,
  kInvalidSource = 300,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kContextIsDestroyed = 709,
  kAssert = 710,
  kHostMemoryAlreadyRegistered = 712,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailed = 719,
  kSystemNotReady = 802,
  kSystemDriverMismatch = 803,
  kUnknown = 999,
};

enum DeviceAttribute : int {
  kClockRate = 13,  // kHz
  kMultiprocessorCount = 16,
  kL2CacheSize = 38,  // bytes
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
};

enum JitOption : int {
  kJitMaxRegisters = 0,
  kJitErrorLogBuffer = 5,
  kJitErrorLogBufferSize = 6,
};

enum JitInputType : int { kJitInputPtx = 1 };

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kHostAllocPortable = 1;
inline constexpr unsigned kHostRegisterPortable = 1;

/* What follows is of cuMemCreate and its kin: memory that other processes may map. */
struct MemoryLocation {
  int type;  // kLocationDevice
  int id;
};
struct MemoryProperties {  // CUmemAllocationProp
  int type;                // kMemoryPinned
  int handle_types;        // kHandlePosixDescriptor
  MemoryLocation location;
  void* metadata;
  unsigned char flags[8];
};
struct MemoryAccess {  // CUmemAccessDesc
  MemoryLocation location;
  int flags;  // kAccessReadWrite
};
static_assert(sizeof(MemoryProperties) == 32 && sizeof(MemoryAccess) == 12, "layouts of cuda.h");
inline constexpr int kLocationDevice = 1;
inline constexpr int kMemoryPinned = 1;
inline constexpr int kHandlePosixDescriptor = 1;
inline constexpr int kAccessRead = 1;
inline constexpr int kAccessReadWrite = 3;
inline constexpr int kGranularityMinimum = 0;

/*
 * F(kind, member, exported symbol, parameters). Symbols carry their version,
 * since cuda.h maps plain names to them by macros. Kind CALL can be made to
 * fail in place of the call; kind RELEASE gives something back or waits, is
 * always passed on, and only its result can be replaced (see fault.h).
 */
#define TURBINE_DRIVER_FUNCTIONS(F)                                                                                   \
  F(CALL, init, "cuInit", (unsigned flags))                                                                           \
  F(CALL, driver_get_version, "cuDriverGetVersion", (int* version))                                                   \
  F(CALL, device_get_count, "cuDeviceGetCount", (int* count))                                                         \
  F(CALL, device_get, "cuDeviceGet", (DeviceOrdinal * device, int ordinal))                                           \
  F(CALL, device_get_name, "cuDeviceGetName", (char* name, int length, DeviceOrdinal device))                         \
  F(CALL, device_get_attribute, "cuDeviceGetAttribute", (int* value, int attribute, DeviceOrdinal device))            \
  F(CALL, device_total_mem, "cuDeviceTotalMem_v2", (size_t* bytes, DeviceOrdinal device))                             \
  F(CALL, device_get_pci_bus_id, "cuDeviceGetPCIBusId", (char* address, int length, DeviceOrdinal device))            \
  F(CALL, device_get_uuid, "cuDeviceGetUuid_v2", (void* uuid, DeviceOrdinal device))                                  \
  F(CALL, primary_ctx_retain, "cuDevicePrimaryCtxRetain", (Context * context, DeviceOrdinal device))                  \
  F(RELEASE, primary_ctx_release, "cuDevicePrimaryCtxRelease_v2", (DeviceOrdinal device))                             \
  F(CALL, ctx_set_current, "cuCtxSetCurrent", (Context context))                                                      \
  F(CALL, mem_get_info, "cuMemGetInfo_v2", (size_t* free, size_t* total))                                             \
  F(CALL, mem_alloc, "cuMemAlloc_v2", (DevicePtr * pointer, size_t bytes))                                            \
  F(RELEASE, mem_free, "cuMemFree_v2", (DevicePtr pointer))                                                           \
  F(CALL, mem_granularity, "cuMemGetAllocationGranularity",                                                           \
    (size_t* bytes, const MemoryProperties* properties, int option))                                                  \
  F(CALL, mem_create, "cuMemCreate",                                                                                  \
    (MemoryHandle * handle, size_t bytes, const MemoryProperties* properties, uint64_t flags))                        \
  F(RELEASE, mem_release, "cuMemRelease", (MemoryHandle handle))                                                      \
  F(CALL, mem_export, "cuMemExportToShareableHandle",                                                                 \
    (void* shareable, MemoryHandle handle, int handle_type, uint64_t flags))                                          \
  F(CALL, mem_address_reserve, "cuMemAddressReserve",                                                                 \
    (DevicePtr * pointer, size_t bytes, size_t alignment, DevicePtr wanted, uint64_t flags))                          \
  F(RELEASE, mem_address_free, "cuMemAddressFree", (DevicePtr pointer, size_t bytes))                                 \
  F(CALL, mem_map, "cuMemMap", (DevicePtr pointer, size_t bytes, size_t offset, MemoryHandle handle, uint64_t flags)) \
  F(RELEASE, mem_unmap, "cuMemUnmap", (DevicePtr pointer, size_t bytes))                                              \
  F(CALL, mem_set_access, "cuMemSetAccess",                                                                           \
    (DevicePtr pointer, size_t bytes, const MemoryAccess* access, size_t count))                                      \
  F(CALL, mem_host_alloc, "cuMemHostAlloc", (void** pointer, size_t bytes, unsigned flags))                           \
  F(RELEASE, mem_free_host, "cuMemFreeHost", (void* pointer))                                                         \
  F(CALL, mem_host_register, "cuMemHostRegister_v2", (void* pointer, size_t bytes, unsigned flags))                   \
  F(RELEASE, mem_host_unregister, "cuMemHostUnregister", (void* pointer))                                             \
  F(CALL, memcpy_htod_async, "cuMemcpyHtoDAsync_v2", (DevicePtr to, const void* from, size_t bytes, Stream stream))   \
  F(CALL, memcpy_dtoh_async, "cuMemcpyDtoHAsync_v2", (void* to, DevicePtr from, size_t bytes, Stream stream))         \
  F(CALL, memcpy_dtod_async, "cuMemcpyDtoDAsync_v2", (DevicePtr to, DevicePtr from, size_t bytes, Stream stream))     \
  F(CALL, memset_d8_async, "cuMemsetD8Async", (DevicePtr to, unsigned char byte, size_t bytes, Stream stream))        \
  F(CALL, stream_create, "cuStreamCreate", (Stream * stream, unsigned flags))                                         \
  F(RELEASE, stream_destroy, "cuStreamDestroy_v2", (Stream stream))                                                   \
  F(RELEASE, stream_synchronize, "cuStreamSynchronize", (Stream stream))                                              \
  F(CALL, stream_wait_event, "cuStreamWaitEvent", (Stream stream, Event event, unsigned flags))                       \
  F(CALL, event_create, "cuEventCreate", (Event * event, unsigned flags))                                             \
  F(RELEASE, event_destroy, "cuEventDestroy_v2", (Event event))                                                       \
  F(CALL, event_record, "cuEventRecord", (Event event, Stream stream))                                                \
  F(CALL, event_query, "cuEventQuery", (Event event))                                                                 \
  F(CALL, event_elapsed_time, "cuEventElapsedTime", (float* milliseconds, Event start, Event end))                    \
  F(CALL, module_load_data_ex, "cuModuleLoadDataEx",                                                                  \
    (Module * module, const void* image, unsigned noptions, int* options, void** values))                             \
  F(RELEASE, module_unload, "cuModuleUnload", (Module module))                                                        \
  F(CALL, module_get_function, "cuModuleGetFunction", (Function * function, Module module, const char* name))         \
  F(CALL, launch_kernel, "cuLaunchKernel",                                                                            \
    (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,        \
     unsigned block_z, unsigned shared_bytes, Stream stream, void** params, void** extra))                            \
  F(CALL, link_create, "cuLinkCreate_v2", (unsigned noptions, int* options, void** values, LinkState* state))         \
  F(CALL, link_add_data, "cuLinkAddData_v2",                                                                          \
    (LinkState state, int type, void* data, size_t size, const char* name, unsigned noptions, int* options,           \
     void** values))                                                                                                  \
  F(CALL, link_complete, "cuLinkComplete", (LinkState state, void** cubin, size_t* size))                             \
  F(RELEASE, link_destroy, "cuLinkDestroy", (LinkState state))

struct DriverFunctions {
#define F(kind, member, symbol, params) Result(*member) params = nullptr;
  TURBINE_DRIVER_FUNCTIONS(F)
#undef F
  /* Apart from the list, since errors are reported by it: it never fails a test. */
  Result (*get_error_name)(Result error, const char** name) = nullptr;
};

}  // namespace turbine::cuda
