/*
 * stream.h - owning handles of CUDA streams and events.
 *
 * Their destructors need the device's context to be current. A stream's waits
 * for the stream's work.
 */
#pragma once

#include <utility>

#include "engine/device/cuda/driver/stream_pool.h"

namespace turbine::cuda {

class UniqueStream {
 public:
  UniqueStream(StreamPool& pool, const Driver& driver) : pool_(pool), driver_(driver), stream_(pool.take(driver)) {}
  ~UniqueStream() {
    wait_to_release();
    pool_.give_back(stream_);
  }
  UniqueStream(const UniqueStream&) = delete;
  Stream get() const { return stream_; }

  /* Waits for all its work, or finds that there will be none: the context is lost. */
  void wait_to_release() const noexcept { driver_.note(driver_.stream_synchronize(stream_)); }

 private:
  StreamPool& pool_;
  const Driver& driver_;
  const Stream stream_;
};

/* Waits for a stream at the end of its scope, and so also on the way out of a
 * failure: declared after local memory that the stream's copies use. */
class StreamWait {
 public:
  StreamWait(const Driver& driver, Stream stream) : driver_(driver), stream_(stream) {}
  ~StreamWait() { driver_.note(driver_.stream_synchronize(stream_)); }
  StreamWait(const StreamWait&) = delete;

 private:
  const Driver& driver_;
  const Stream stream_;
};

class UniqueEvent {
 public:
  explicit UniqueEvent(const Driver& driver) : driver_(driver) {
    driver_.check(driver_.event_create(&event_, kEventDefault));
  }
  ~UniqueEvent() { driver_.note(driver_.event_destroy(event_)); }
  UniqueEvent(const UniqueEvent&) = delete;

  void record(Stream stream) const { driver_.check(driver_.event_record(event_, stream)); }
  void hold(Stream stream) const { driver_.check(driver_.stream_wait_event(stream, event_, 0u)); }

  /* Has everything before the last record() happened? */
  bool reached() const {
    const CallResult call = driver_.event_query(event_);
    if (call.result == kNotReady) return false;
    driver_.check(call);
    return true;
  }

  /* Time from `earlier` to this; both must have been reached. */
  uint64_t nanoseconds_since(const UniqueEvent& earlier) const {
    float milliseconds = 0;
    driver_.check(driver_.event_elapsed_time(&milliseconds, earlier.event_, event_));
    return milliseconds > 0 ? static_cast<uint64_t>(static_cast<double>(milliseconds) * 1e6) : 0;
  }
  uint64_t microseconds_since(const UniqueEvent& earlier) const { return nanoseconds_since(earlier) / 1000; }

 private:
  const Driver& driver_;
  Event event_ = nullptr;
};

}  // namespace turbine::cuda
