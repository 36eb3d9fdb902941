/*
 * cublas.cc - a library with the functions of cublas_v2.h, none of which works: as cuBLAS without a GPU.
 *
 * Built by test/plcuda.py.
 */
#include "cublas_v2.h"

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = 0;
  return CUBLAS_STATUS_NOT_INITIALIZED;
}

const char* cublasGetStatusString(cublasStatus_t status) { return status == 0 ? "success" : "not initialized"; }

cublasStatus_t cublasDgetrfBatched(cublasHandle_t handle, int n, double* const matrices[], int lda, int* pivots,
                                   int* info, int count) {
  (void)handle, (void)n, (void)matrices, (void)lda, (void)pivots, (void)info, (void)count;
  return CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasDgetriBatched(cublasHandle_t handle, int n, const double* const factors[], int lda,
                                   const int* pivots, double* const inverses[], int ldc, int* info, int count) {
  (void)handle, (void)n, (void)factors, (void)lda, (void)pivots, (void)inverses, (void)ldc, (void)info, (void)count;
  return CUBLAS_STATUS_NOT_INITIALIZED;
}
