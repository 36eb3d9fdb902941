/*
 * compiler_progress.h - whether the compiler process still works on something.
 *
 * A compiler that was stopped, or waits for what never comes, is told from one that is
 * slow on a busy machine: the latter uses a processor, or waits for one or for a disk,
 * however little it gets.
 */
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>

namespace turbine {

class CompilerProgress {
 public:
  /* Of the zygote and its children, from now on. */
  explicit CompilerProgress(pid_t zygote);

  /* Looks, and says for how long nothing has moved. */
  std::chrono::milliseconds standstill();

 private:
  using Clock = std::chrono::steady_clock;

  const pid_t zygote_;
  uint64_t used_ns_ = 0;  // of processors, at the last look
  Clock::time_point moved_;
};

}  // namespace turbine
