/*
 * stream_profile.h - records what a query's streams do, on the host's clock.
 *
 * Events tell how much later than another event they happened. One event, recorded
 * while the streams are empty, is given the host's time; its error is some 10 us.
 * Made only where a profile is asked for. The query's worker calls everything.
 */
#pragma once

#include "engine/device/cuda/driver/stream.h"
#include "engine/profile/query_profile.h"

namespace turbine::cuda {

class StreamProfile {
 public:
  /* `copy` must be empty. Throws DeviceError. */
  StreamProfile(const Driver& driver, QueryProfile& profile, const UniqueStream& copy)
      : profile_(profile), origin_(driver), tables_end_(driver) {
    origin_.record(copy.get());
    driver.check(driver.stream_synchronize(copy.get()));
    origin_ns_ = monotonic_ns();
  }

  uint32_t copy_track() { return profile_.track("GPU copy"); }
  uint32_t compute_track() { return profile_.track("GPU compute"); }
  uint32_t out_track() { return profile_.track("GPU results"); }

  /* Both events must have been reached. */
  void add(TbSpanKind kind, uint64_t number, const UniqueEvent& begin, const UniqueEvent& end, uint32_t track) {
    profile_.add(kind, number, origin_ns_ + begin.nanoseconds_since(origin_),
                 origin_ns_ + end.nanoseconds_since(origin_), track);
  }

  /* The same of bytes that moved. */
  void add_bytes(TbSpanKind kind, uint64_t bytes, const UniqueEvent& begin, const UniqueEvent& end) {
    profile_.add_bytes(kind, bytes, origin_ns_ + begin.nanoseconds_since(origin_),
                       origin_ns_ + end.nanoseconds_since(origin_));
  }

  /* Parameters and join tables are on their way: all that `copy` has so far. */
  void tables_sent(Stream copy) { tables_end_.record(copy); }

  /* Once something that came after them was reached. */
  void add_tables() {
    if (tables_added_) return;
    tables_added_ = true;
    add(TB_SPAN_COPY_TO_GPU, 0, origin_, tables_end_, copy_track());
  }

 private:
  QueryProfile& profile_;
  const UniqueEvent origin_;
  const UniqueEvent tables_end_;
  uint64_t origin_ns_ = 0;
  bool tables_added_ = false;
};

}  // namespace turbine::cuda
