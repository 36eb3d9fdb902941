/*
 * short_turns.cc - see short_turns.h.
 *
 * Owns nothing. A thread with a short turn has an early deadline when it wakes: else it may wait for the turns of
 * others, some milliseconds each, which is more than a query takes.
 */
#include "engine/threads/short_turns.h"

#include <linux/types.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace turbine {
namespace {

constexpr unsigned long kTimerSlackNs = 1000;
constexpr uint64_t kTurnNs = 100 * 1000;  // the least that the kernel takes

/* sched_setattr(2), whose structure the C library does not declare. */
struct SchedulingAttributes {
  uint32_t size;
  uint32_t policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

}  // namespace

void want_short_turns() {
  prctl(PR_SET_TIMERSLACK, kTimerSlackNs);
  SchedulingAttributes attributes{};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 || attributes.policy != SCHED_OTHER) return;
  attributes.size = sizeof attributes;
  attributes.runtime = kTurnNs;
  (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace turbine
