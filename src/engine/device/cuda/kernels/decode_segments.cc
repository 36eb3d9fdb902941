/*
 * decode_segments.cc - decode_segments.h as a kernel: a block a job.
 *
 * Compiled to PTX and embedded (segments/segment_kernels.cc), since it is the same for all programs.
 * Must use nothing but its arguments.
 */
#include "engine/device/cuda/kernels/decode_segments.h"

extern "C" __attribute__((nvptx_kernel)) void tb_decode_segments(const turbine::cuda::DecodeSegmentsArgs* args) {
  const uint64_t jobs = uint64_t{args->nruns} * args->ncolumns;
  for (uint64_t job = __nvvm_read_ptx_sreg_ctaid_x(); job < jobs; job += __nvvm_read_ptx_sreg_nctaid_x())
    turbine::cuda::decode_run(*args, job, __nvvm_read_ptx_sreg_tid_x(), __nvvm_read_ptx_sreg_ntid_x());
}
