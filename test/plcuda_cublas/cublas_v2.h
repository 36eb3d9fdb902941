/*
 * cublas_v2.h - as much of cuBLAS as samples name, so that they compile and link where NVIDIA's is not there.
 *
 * Used by test/plcuda.py, with cublas.cc beside it. Names, types and the order of arguments are cuBLAS's own.
 */
#ifndef TURBINE_TEST_PLCUDA_CUBLAS_CUBLAS_V2_H
#define TURBINE_TEST_PLCUDA_CUBLAS_CUBLAS_V2_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cublasContext* cublasHandle_t;
typedef enum { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_INITIALIZED = 1 } cublasStatus_t;

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle);
#define cublasCreate cublasCreate_v2
const char* cublasGetStatusString(cublasStatus_t status);
cublasStatus_t cublasDgetrfBatched(cublasHandle_t handle, int n, double* const matrices[], int lda, int* pivots,
                                   int* info, int count);
cublasStatus_t cublasDgetriBatched(cublasHandle_t handle, int n, const double* const factors[], int lda,
                                   const int* pivots, double* const inverses[], int ldc, int* info, int count);

#ifdef __cplusplus
}
#endif

#endif
