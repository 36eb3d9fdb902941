/*
 * read_engine.h - reads of files, several at a time: what a pass measures.
 *
 * An engine belongs to one thread, which submits reads and waits for them. Another way of reading becomes another
 * engine here, and a row in the report says by which one its figures came.
 */
#pragma once

#include <cstdint>
#include <memory>

namespace turbine {

class ReadEngine {
 public:
  virtual ~ReadEngine() = default;  // waits for what is in flight

  virtual const char* name() const = 0;

  /* Starts a read of `size` bytes to memory that stays until wait() returns the tag. As many are in flight as the
   * engine is deep at most. */
  virtual void submit(int fd, uint64_t offset, uint32_t size, uint8_t* to, uint32_t tag) = 0;

  struct Ended {
    uint32_t tag;
    int64_t result;  // as read(2), with an errno negative
  };
  /* Waits for any of those in flight, of which there is one. */
  virtual Ended wait() = 0;
};

/* pread() on as many threads as reads may be in flight. */
std::unique_ptr<ReadEngine> make_pread_engine(unsigned depth);

/* The ring by which queries read past the page cache (engine/storage/drive_ring.h); null: the kernel refuses it. */
std::unique_ptr<ReadEngine> make_ring_engine();

}  // namespace turbine
