/*
 * storage_calls.cc - the system's own calls.
 *
 * Owns nothing. It must stay a table: whatever reacts to a result stands with the caller, where tests reach it.
 */
#include "engine/storage/storage_calls.h"

#include <fcntl.h>
#include <sys/mman.h>

namespace turbine {

const StorageCalls& system_storage_calls() {
  static const StorageCalls calls{
      .open = [](const char* path, int flags) { return open(path, flags); },
      .preadv2 = [](int fd, const iovec* part, off_t offset, int flags) { return preadv2(fd, part, 1, offset, flags); },
      .mincore = [](void* memory, size_t size, unsigned char* pages) { return mincore(memory, size, pages); },
      .ring_open = [](unsigned entries, io_uring* ring) { return io_uring_queue_init(entries, ring, 0); },
      .ring_submit = [](io_uring* ring) { return io_uring_submit(ring); },
      .ring_wait = [](io_uring* ring, io_uring_cqe** completion) { return io_uring_wait_cqe(ring, completion); },
  };
  return calls;
}

}  // namespace turbine
