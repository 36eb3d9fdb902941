/*
 * cuda_matrix.h - for samples that include it: vectors and matrices are in plcuda.h.
 * Called by functions of LANGUAGE plcuda.
 */
#ifndef TURBINE_PLCUDA_INCLUDE_CUDA_MATRIX_H
#define TURBINE_PLCUDA_INCLUDE_CUDA_MATRIX_H

#include "plcuda.h"

#endif
