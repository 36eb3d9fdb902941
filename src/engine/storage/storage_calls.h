/*
 * storage_calls.h - the system's calls that read files, as one table of functions.
 *
 * Tests pass a table of their own: reads that fail or come up short, a kernel that refuses io_uring. All functions
 * return what their namesakes in the C library and in liburing return.
 */
#pragma once

#include <liburing.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <functional>

namespace turbine {

struct StorageCalls {
  std::function<int(const char* path, int flags)> open;
  std::function<ssize_t(int fd, const iovec* part, off_t offset, int flags)> preadv2;  // of one part
  std::function<int(void* memory, size_t size, unsigned char* pages)> mincore;
  /* 0, or an errno, negative. */
  std::function<int(unsigned entries, io_uring* ring)> ring_open;
  std::function<int(io_uring* ring)> ring_submit;
  /* Waits for a completion. A test may change its result. */
  std::function<int(io_uring* ring, io_uring_cqe** completion)> ring_wait;
};

/* The system's own. */
const StorageCalls& system_storage_calls();

}  // namespace turbine
