/*
 * query_profile.h - records what threads and GPU streams do for one query.
 *
 * Made only for queries whose backend asks (EXPLAIN ANALYZE, pg_turbine.trace_file);
 * all others pass a null pointer around, and a Span then costs two comparisons. With
 * NVTX (nvtx.h) a Span is a range of its thread as well, whoever asked.
 */
#pragma once

#include <atomic>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "engine/profile/byte_rates.h"
#include "engine/profile/nvtx.h"
#include "engine/profile/wall_split.h"
#include "turbine/wire.h"

namespace turbine {

/* CLOCK_MONOTONIC. */
uint64_t monotonic_ns();

/* Thread-safe. */
class QueryProfile {
 public:
  /* `traced`: spans are kept, not only summed up. */
  explicit QueryProfile(bool traced) : traced_(traced) {}

  bool traced() const { return traced_; }

  /* From here on the backend lets the service account for its time. */
  void begin();

  /* A span of the calling thread. */
  void add(TbSpanKind kind, uint64_t number, uint64_t begin_ns, uint64_t end_ns);
  /* A span of a track that is no thread: see track(). */
  void add(TbSpanKind kind, uint64_t number, uint64_t begin_ns, uint64_t end_ns, uint32_t track);

  /* So many bytes moved meanwhile; `kind`: one of RATE_*. Only traces show them. */
  void add_bytes(TbSpanKind kind, uint64_t bytes, uint64_t begin_ns, uint64_t end_ns);

  /* A track of that name for this query; the same for the same name. */
  uint32_t track(const std::string& name);

  /* Wall time since begin() by phase. */
  std::array<uint64_t, TB_PHASE_COUNT> phases();

  /* The kept spans as payloads of TRACE; they are forgotten. */
  std::vector<std::vector<uint8_t>> take_trace();

 private:
  void add_locked(TbSpanKind kind, uint64_t number, uint64_t begin_ns, uint64_t end_ns, uint32_t track);
  void name_locked(uint32_t track, const std::string& name);

  const bool traced_;
  std::mutex mutex_;  // all below
  WallSplit split_;
  std::vector<TbSpan> spans_;
  std::vector<TbTrack> tracks_;
  uint32_t lost_ = 0;
  ByteRates rates_;
};

/* What the calling thread does while this lives. */
class Span {
 public:
  Span(QueryProfile* profile, TbSpanKind kind, uint64_t number = 0) : profile_(profile), kind_(kind), number_(number) {
    if (profile_) begin_ = monotonic_ns();
    if (nvtx::enabled()) nvtx::push(kind);
  }
  ~Span() {
    if (nvtx::enabled()) nvtx::pop();
    if (!profile_) return;
    try {
      profile_->add(kind_, number_, begin_, monotonic_ns());
    } catch (const std::bad_alloc&) {
      // The profile lacks it.
    }
  }
  Span(const Span&) = delete;

 private:
  QueryProfile* const profile_;
  const TbSpanKind kind_;
  const uint64_t number_;
  uint64_t begin_ = 0;
};

/* A span's name in traces, and its phase. */
const char* span_name(TbSpanKind kind);
TbPhase span_phase(TbSpanKind kind);

}  // namespace turbine
