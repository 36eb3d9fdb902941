/*
 * sample_kernels.h - kernels in C for tests of the interpreter, which compare them with the same C on the host.
 *
 * Each element has a function; the kernel gives every thread the next elements.
 */
#ifndef TURBINE_ENGINE_DEVICE_CUDA_TESTING_PTX_SAMPLE_KERNELS_H
#define TURBINE_ENGINE_DEVICE_CUDA_TESTING_PTX_SAMPLE_KERNELS_H

#include <stdint.h>

typedef struct SampleInput {
  int64_t a, b;
  double x, y;
  uint32_t choice;
} SampleInput;

typedef struct SampleOutput {
  int64_t integers[12];
  uint64_t bits[8];
  double floats[6];
  float singles[4];
} SampleOutput;

typedef struct SampleArguments {
  const SampleInput* input;
  SampleOutput* output;
  uint64_t count;
} SampleArguments;

#ifdef __cplusplus
extern "C" {
#endif

/* Defined by sample_kernels.c, which is compiled for the host too. */
void sample_element(const SampleInput* in, SampleOutput* out);

#ifdef __cplusplus
}
#endif

#endif
