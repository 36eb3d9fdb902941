/*
 * segment_kernels.cc - embeds and loads the PTX of kernels/.
 * TURBINE_SEGMENT_KERNELS is the file.
 *
 * Called by segment_batch.cc. Owns the module; launches nothing.
 */
#include "engine/device/cuda/segments/segment_kernels.h"

#include <string>

#include "engine/device/cuda/kernels/decode_segments.h"

asm(".section .rodata.turbine_segment_kernels,\"a\"\n"
    ".balign 16\n"
    ".global turbine_segment_kernels_begin\n"
    ".hidden turbine_segment_kernels_begin\n"
    "turbine_segment_kernels_begin:\n"
    ".incbin \"" TURBINE_SEGMENT_KERNELS
    "\"\n"
    ".global turbine_segment_kernels_end\n"
    ".hidden turbine_segment_kernels_end\n"
    "turbine_segment_kernels_end:\n"
    ".previous\n");
extern "C" const char turbine_segment_kernels_begin[];
extern "C" const char turbine_segment_kernels_end[];

namespace turbine::cuda {

std::string_view segment_kernels_ptx() { return {turbine_segment_kernels_begin, turbine_segment_kernels_end}; }

SegmentKernels::~SegmentKernels() {
  if (!module_) return;
  context_->enter_to_release();
  context_->driver().note(context_->driver().module_unload(module_));
}

Function SegmentKernels::decode(const Driver& driver) {
  std::lock_guard lock(mutex_);
  if (decode_) return decode_;
  if (!module_) {
    const std::string image(segment_kernels_ptx());
    driver.check(driver.module_load_data_ex(&module_, static_cast<const void*>(image.c_str()), 0u,
                                            static_cast<int*>(nullptr), static_cast<void**>(nullptr)));
  }
  driver.check(driver.module_get_function(&decode_, module_, kDecodeSegments));
  return decode_;
}

}  // namespace turbine::cuda
