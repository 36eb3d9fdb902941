/*
 * query_profile.cc - see query_profile.h.
 *
 * Owns the spans and tracks of one query. Threads add under a lock of their own; the session's
 * thread takes them out. A null profile costs callers one comparison.
 */
#include "engine/profile/query_profile.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace turbine {
namespace {

/* 32 MB. A trace of more is too large to look at. */
constexpr size_t kMostSpans = 1 << 20;

constexpr size_t kSpansPerMessage = 8192;

/* Above the numbers that the kernel gives threads. */
constexpr uint32_t kFirstOwnTrack = 1u << 30;

struct KindRow {
  const char* name;
  TbPhase phase;
};
constexpr KindRow kKinds[] = {
#define ROW(kind, name, phase) {name, phase},
    TB_SPAN_KINDS(ROW)
#undef ROW
};

uint32_t thread_track() {
  static thread_local const auto id = static_cast<uint32_t>(gettid());
  return id;
}

std::string thread_name() {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  return name;
}

}  // namespace

uint64_t monotonic_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

const char* span_name(TbSpanKind kind) { return kKinds[kind].name; }
TbPhase span_phase(TbSpanKind kind) { return kKinds[kind].phase; }

void QueryProfile::begin() {
  std::lock_guard lock(mutex_);
  split_.begin(monotonic_ns());
}

void QueryProfile::name_locked(uint32_t track, const std::string& name) {
  TbTrack entry{};
  entry.track = track;
  name.copy(entry.name, sizeof entry.name - 1);
  tracks_.push_back(entry);
}

void QueryProfile::add_locked(TbSpanKind kind, uint64_t number, uint64_t begin_ns, uint64_t end_ns, uint32_t track) {
  split_.add(span_phase(kind), begin_ns, end_ns);
  if (!traced_) return;
  if (spans_.size() >= kMostSpans)
    lost_++;
  else
    spans_.push_back({begin_ns, std::max(begin_ns, end_ns), static_cast<uint32_t>(kind), track, number});
}

void QueryProfile::add(TbSpanKind kind, uint64_t number, uint64_t begin_ns, uint64_t end_ns) {
  const uint32_t track = thread_track();
  std::lock_guard lock(mutex_);
  const bool known = !traced_ ||
                     std::any_of(tracks_.begin(), tracks_.end(), [&](const TbTrack& t) { return t.track == track; });
  if (!known) name_locked(track, thread_name());
  add_locked(kind, number, begin_ns, end_ns, track);
}

void QueryProfile::add(TbSpanKind kind, uint64_t number, uint64_t begin_ns, uint64_t end_ns, uint32_t track) {
  std::lock_guard lock(mutex_);
  add_locked(kind, number, begin_ns, end_ns, track);
}

void QueryProfile::add_bytes(TbSpanKind kind, uint64_t bytes, uint64_t begin_ns, uint64_t end_ns) {
  if (!traced_) return;
  std::lock_guard lock(mutex_);
  try {
    rates_.add(kind, bytes, begin_ns, end_ns);
  } catch (const std::bad_alloc&) {
    // The trace lacks them.
  }
}

/* Numbers of own tracks differ between queries, also those of other sessions whose
 * traces go to the same file. */
uint32_t QueryProfile::track(const std::string& name) {
  static std::atomic<uint32_t> next{kFirstOwnTrack};
  std::lock_guard lock(mutex_);
  for (const TbTrack& t : tracks_)
    if (t.track >= kFirstOwnTrack && name == t.name) return t.track;
  const uint32_t track = next.fetch_add(1, std::memory_order_relaxed);
  name_locked(track, name);
  return track;
}

std::array<uint64_t, TB_PHASE_COUNT> QueryProfile::phases() {
  std::lock_guard lock(mutex_);
  return split_.until(monotonic_ns());
}

std::vector<std::vector<uint8_t>> QueryProfile::take_trace() {
  std::lock_guard lock(mutex_);
  const std::vector<TbSpan> rates = rates_.take();
  spans_.insert(spans_.end(), rates.begin(), rates.end());
  std::vector<std::vector<uint8_t>> messages;
  for (size_t first = 0; first < spans_.size(); first += kSpansPerMessage) {
    const size_t count = std::min(kSpansPerMessage, spans_.size() - first);
    const bool last = first + count == spans_.size();
    TbTrace header{getpid(), static_cast<uint32_t>(count), static_cast<uint32_t>(tracks_.size()), last ? lost_ : 0};
    std::vector<uint8_t> payload(sizeof header + count * sizeof(TbSpan) + tracks_.size() * sizeof(TbTrack));
    memcpy(payload.data(), &header, sizeof header);
    memcpy(payload.data() + sizeof header, spans_.data() + first, count * sizeof(TbSpan));
    memcpy(payload.data() + sizeof header + count * sizeof(TbSpan), tracks_.data(), tracks_.size() * sizeof(TbTrack));
    messages.push_back(std::move(payload));
  }
  spans_.clear();
  return messages;
}

}  // namespace turbine
