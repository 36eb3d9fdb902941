/*
 * block_threads.h - runs kernels that are written for gpu_threads.h on the host, their
 * threads one at a time; for tests only.
 *
 * Blocks take turns at random, so that what one tells another comes early and late.
 */
#pragma once

#include <cstddef>
#include <functional>

namespace turbine::cuda::testing {

struct BlockShape {
  unsigned blocks;
  unsigned threads;  // a multiple of 32
  size_t shared_bytes;
  unsigned at_once = 4;  // blocks that are there at a time
};

/* Runs `kernel` once in each thread. Shared memory begins as rubbish. Throws std::logic_error if
 * lanes of a warp, or warps of a block, do not meet. One call at a time, of any thread. */
void run_blocks(const BlockShape& shape, const std::function<void()>& kernel);

}  // namespace turbine::cuda::testing
