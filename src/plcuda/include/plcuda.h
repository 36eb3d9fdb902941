/*
 * plcuda.h - what functions of LANGUAGE plcuda are written with.
 *
 * Every function's source begins with it. It has the names of published PL/CUDA samples:
 * types, kernels, vectors, the header of a table's columns, errors. nvcc compiles it, for
 * host and device. plcuda_call.h beside it has what a function is called by.
 */
#ifndef TURBINE_PLCUDA_INCLUDE_PLCUDA_H
#define TURBINE_PLCUDA_INCLUDE_PLCUDA_H

#include <cassert>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

/* The runner has the layouts too, compiled without CUDA. */
#ifndef __CUDACC__
#define __host__
#define __device__
#endif

/* Types. */
typedef char cl_bool;
typedef char cl_char;
typedef unsigned char cl_uchar;
typedef short cl_short;
typedef unsigned short cl_ushort;
typedef int cl_int;
typedef unsigned int cl_uint;
typedef long cl_long;
typedef unsigned long cl_ulong;
typedef float cl_float;
typedef double cl_double;
typedef unsigned int Oid;

#define PG_BOOLOID 16
#define PG_BYTEAOID 17
#define PG_INT8OID 20
#define PG_INT2OID 21
#define PG_INT4OID 23
#define PG_TEXTOID 25
#define PG_OIDOID 26
#define PG_FLOAT4OID 700
#define PG_FLOAT8OID 701
#define PG_BPCHAROID 1042
#define PG_VARCHAROID 1043
#define PG_DATEOID 1082
#define PG_TIMEOID 1083
#define PG_TIMESTAMPOID 1114
#define PG_TIMESTAMPTZOID 1184
#define PG_NUMERICOID 1700
#define PG_UUIDOID 2950

#define TYPEALIGN(unit, size) (((uint64_t)(size) + (unit) - 1) & ~((uint64_t)(unit) - 1))
#define MAXALIGN(size) TYPEALIGN(8, size)

template <typename A, typename B>
static __host__ __device__ inline auto Max(A a, B b) -> decltype(a + b) {
  return a > b ? a : b;
}

template <typename A, typename B>
static __host__ __device__ inline auto Min(A a, B b) -> decltype(a + b) {
  return a < b ? a : b;
}

/* Kernels. */
#define MAXTHREADS_PER_BLOCK 1024
#define KERNEL_FUNCTION(type) extern "C" __global__ type
#define KERNEL_FUNCTION_MAXTHREADS(type) extern "C" __global__ type __launch_bounds__(MAXTHREADS_PER_BLOCK)
#define STATIC_INLINE(type) static __host__ __device__ inline type
#define DEVICE_INLINE(type) static __device__ inline type
#define STATIC_FUNCTION(type) static __host__ __device__ type

#define get_group_id() (blockIdx.x)
#define get_num_groups() (gridDim.x)
#define get_local_id() (threadIdx.x)
#define get_local_size() (blockDim.x)
#define get_global_id() ((size_t)blockIdx.x * blockDim.x + threadIdx.x)
#define get_global_size() ((size_t)gridDim.x * blockDim.x)
#define get_global_index() get_global_id()

#ifdef __CUDACC__
/*
 * The sum of v[0 .. nitems) over a block, in every thread of it. Each thread adds the
 * entries that it has written itself: its own number, and every get_local_size()th after.
 * All threads of the block must call it.
 */
template <typename T>
static __device__ inline T pgstromTotalSum(const T* v, unsigned nitems) {
  __shared__ T warps[32];
  T sum = 0;

  for (unsigned i = threadIdx.x; i < nitems; i += blockDim.x) sum += v[i];
        /* Threads of a block that is no multiple of a warp add nothing. */
  for (int step = 16; step > 0; step /= 2) {
    const unsigned there = __activemask();
    const T other = __shfl_down_sync(there, sum, step);

    if ((threadIdx.x & 31) + step < 32 && threadIdx.x + step < blockDim.x) sum += other;
  }
  __syncthreads();
  if ((threadIdx.x & 31) == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (unsigned i = 0; i < (blockDim.x + 31) / 32; i++) sum += warps[i];
  __syncthreads();
  return sum;
}
#endif

/* Texts, bytes and arrays: a header, and what it describes. A zero byte follows each. */
typedef struct varlena {
  cl_int vl_len_; /* bytes in all, times 4 */
  char vl_dat[];
} varlena;

#define VARHDRSZ 4
#define VARSIZE(x) (((const varlena*)(x))->vl_len_ >> 2 & 0x3fffffff)
#define SET_VARSIZE(x, size) (((varlena*)(x))->vl_len_ = (cl_int)((size) << 2))
#define VARDATA(x) (((varlena*)(x))->vl_dat)
#define VARSIZE_ANY(x) VARSIZE(x)
#define VARSIZE_ANY_EXHDR(x) (VARSIZE(x) - VARHDRSZ)
#define VARDATA_ANY(x) VARDATA(x)

/*
 * Arrays: what all of them begin with, and vectors and matrices of each type, as samples
 * call them. Offsets and sizes are those of PostgreSQL's arrays without NULLs:
 *   0 vl_len_ (4)   4 ndim (4)   8 dataoffset (4)   12 elemtype (4)
 *   vector: 16 height (4)   20 lbound (4)   24 values
 *   matrix: 16 height (4)   20 width (4)   24 lbound1 (4)   28 lbound2 (4)   32 values
 */
typedef struct ArrayType {
  cl_int vl_len_;
  cl_int ndim;
  cl_int dataoffset; /* 0: no element is NULL */
  Oid elemtype;
} ArrayType;

#define PLCUDA_VECTOR(name, type) \
  typedef struct name {           \
    cl_int vl_len_;               \
    cl_int ndim;                  \
    cl_int dataoffset;            \
    Oid elemtype;                 \
    cl_int height;                \
    cl_int lbound;                \
    type values[1];               \
  } name
#define PLCUDA_MATRIX(name, type) \
  typedef struct name {           \
    cl_int vl_len_;               \
    cl_int ndim;                  \
    cl_int dataoffset;            \
    Oid elemtype;                 \
    cl_int height;                \
    cl_int width;                 \
    cl_int lbound1;               \
    cl_int lbound2;               \
    type values[1];               \
  } name

PLCUDA_VECTOR(VectorType, char);
PLCUDA_VECTOR(VectorTypeBool, cl_bool);
PLCUDA_VECTOR(VectorTypeShort, cl_short);
PLCUDA_VECTOR(VectorTypeInt, cl_int);
PLCUDA_VECTOR(VectorTypeLong, cl_long);
PLCUDA_VECTOR(VectorTypeFloat, cl_float);
PLCUDA_VECTOR(VectorTypeDouble, cl_double);
PLCUDA_MATRIX(MatrixType, char);
PLCUDA_MATRIX(MatrixTypeShort, cl_short);
PLCUDA_MATRIX(MatrixTypeInt, cl_int);
PLCUDA_MATRIX(MatrixTypeLong, cl_long);
PLCUDA_MATRIX(MatrixTypeFloat, cl_float);
PLCUDA_MATRIX(MatrixTypeDouble, cl_double);
static_assert(offsetof(VectorTypeDouble, values) == 24, "as PostgreSQL has it");
static_assert(offsetof(MatrixTypeDouble, values) == 32, "as PostgreSQL has it");

/* An array with one dimension from 1 on, no NULLs and this type; without STRICT, also a
 * matrix of one column. elemtype 0: any. */
static __host__ __device__ inline bool plcuda_is_vector(const void* x, Oid elemtype, bool strict) {
  const ArrayType* array = (const ArrayType*)x;

  if (array == nullptr || array->dataoffset != 0 || (elemtype != 0 && array->elemtype != elemtype)) return false;
  if (array->ndim == 1) return ((const VectorType*)x)->lbound == 1 && ((const VectorType*)x)->height > 0;
  if (strict || array->ndim != 2) return false;
  return ((const MatrixType*)x)->width == 1 && ((const MatrixType*)x)->lbound1 == 1 &&
         ((const MatrixType*)x)->lbound2 == 1;
}

/* An array of two dimensions, likewise. */
static __host__ __device__ inline bool plcuda_is_matrix(const void* x, Oid elemtype) {
  const MatrixType* matrix = (const MatrixType*)x;

  return matrix != nullptr && matrix->ndim == 2 && matrix->dataoffset == 0 &&
         (elemtype == 0 || matrix->elemtype == elemtype) && matrix->lbound1 == 1 && matrix->lbound2 == 1;
}

#define VALIDATE_ARRAY_VECTOR(x) plcuda_is_vector(x, 0, false)
#define VALIDATE_ARRAY_VECTOR_STRICT(x) plcuda_is_vector(x, 0, true)
#define VALIDATE_ARRAY_VECTOR_TYPE(x, elemtype) plcuda_is_vector(x, elemtype, false)
#define VALIDATE_ARRAY_VECTOR_TYPE_STRICT(x, elemtype) plcuda_is_vector(x, elemtype, true)
#define VALIDATE_ARRAY_MATRIX(x) plcuda_is_matrix(x, 0)
#define VALIDATE_ARRAY_MATRIX_TYPE(x, elemtype) plcuda_is_matrix(x, elemtype)
#define ARRAY_VECTOR_HEIGHT(x) (((const VectorType*)(x))->height)
#define ARRAY_MATRIX_HEIGHT(x) (((const MatrixType*)(x))->height)
#define ARRAY_MATRIX_WIDTH(x) (((const ArrayType*)(x))->ndim == 1 ? 1 : ((const MatrixType*)(x))->width)
#define ARRAY_MATRIX_DATAPTR(x) (((MatrixType*)(x))->values)
#define ARRAY_VECTOR_RAWSIZE(width, nitems) (offsetof(VectorType, values) + (size_t)(width) * (size_t)(nitems))
#define ARRAY_MATRIX_RAWSIZE(bytes, height, width) \
  (offsetof(MatrixType, values) + (size_t)(bytes) * (size_t)(height) * (size_t)(width))

static __host__ __device__ inline void plcuda_init_vector(void* x, Oid elemtype, size_t width, size_t nitems) {
  VectorType* vector = (VectorType*)x;

  SET_VARSIZE(vector, ARRAY_VECTOR_RAWSIZE(width, nitems));
  vector->ndim = 1;
  vector->dataoffset = 0;
  vector->elemtype = elemtype;
  vector->height = (cl_int)nitems;
  vector->lbound = 1;
}

static __host__ __device__ inline void plcuda_init_matrix(void* x, Oid elemtype, size_t bytes, size_t height,
                                                          size_t width) {
  MatrixType* matrix = (MatrixType*)x;

  SET_VARSIZE(matrix, ARRAY_MATRIX_RAWSIZE(bytes, height, width));
  matrix->ndim = 2;
  matrix->dataoffset = 0;
  matrix->elemtype = elemtype;
  matrix->height = (cl_int)height;
  matrix->width = (cl_int)width;
  matrix->lbound1 = 1;
  matrix->lbound2 = 1;
}

#define INIT_ARRAY_VECTOR(x, elemtype, width, nitems) plcuda_init_vector(x, elemtype, width, nitems)
#define INIT_ARRAY_MATRIX(x, elemtype, bytes, height, width) plcuda_init_matrix(x, elemtype, bytes, height, width)

/*
 * A table's columns. An argument of type reggstore is a GstoreIpcMapping: `map` is where a
 * kern_data_store begins, in memory of the GPU, or of the host if there is no GPU. Columns
 * lie behind it, at multiples of 2 MB; offsets are in units of 8 bytes. Dropped columns
 * have atttypid 0.
 */
typedef struct kern_colmeta {
  Oid atttypid;
  cl_int atttypmod;
  cl_short attlen; /* as PostgreSQL has it */
  cl_short attnum;
  cl_char attbyval;
  cl_char attalign;
  cl_char unused[2];
  cl_uint va_offset; /* of the values, or of int64 offsets of texts */
  cl_uint va_length;
  cl_uint nullmap_offset; /* a bit for each row, 1: a value; 0: no row is NULL */
  cl_uint extra_offset; /* the bytes of texts; 0: none */
} kern_colmeta;

typedef struct kern_data_store {
  cl_ulong length; /* of all */
  cl_uint nitems; /* rows */
  cl_uint ncols;
  cl_uint table_oid;
  cl_char format; /* 'c' */
  cl_char unused[3];
  kern_colmeta colmeta[1];
} kern_data_store;

static_assert(sizeof(kern_colmeta) == 32, "as the runner writes it");
static_assert(offsetof(kern_data_store, colmeta) == 24, "as the runner writes it");

#define __kds_unpack(offset) ((size_t)(offset) << 3)
#define __kds_packed(offset) ((cl_uint)((size_t)(offset) >> 3))
#define KDS_LEAST_LENGTH 4096
#define KERN_DATA_STORE_HEAD_LENGTH(kds) (offsetof(kern_data_store, colmeta) + sizeof(kern_colmeta) * (kds)->ncols)

typedef struct GstoreIpcHandle {
  cl_int device_id; /* -1: in memory of the host */
  Oid table_oid;
  cl_ulong rawsize;
} GstoreIpcHandle;

typedef struct GstoreIpcMapping {
  GstoreIpcHandle h;
  void* map;
} GstoreIpcMapping;

/* Errors: each ends the call. They are exceptions, so host code only. */
struct plcuda_exit {
  int code; /* a cudaError_t, or 0 */
  char message[1000];
};

[[noreturn]] static inline void plcuda_throw(int code, const char* name, const char* format, ...) {
  plcuda_exit failure;
  va_list args;
  int length;

  failure.code = code;
  va_start(args, format);
  length = vsnprintf(failure.message, sizeof failure.message, format, args);
  va_end(args);
  if (name != nullptr && length >= 0 && length < (int)sizeof failure.message)
    snprintf(failure.message + length, sizeof failure.message - length, ": %s", name);
  throw failure;
}

#define EEXIT(...) plcuda_throw(0, nullptr, __VA_ARGS__)
#define CUEXIT(rc, ...) plcuda_throw((int)(rc), cudaGetErrorString(rc), __VA_ARGS__)

#endif
