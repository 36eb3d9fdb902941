/*
 * idle_mappings.h - memory that queries have given back, kept mapped for later ones.
 *
 * Memory that the system maps anew costs a page fault and zeros for each 4 kB, which is more than most queries do with
 * it: a third of the time of GROUP BY over 150,000 groups. So buffers of the host come from here if there is one of
 * about their size.
 *
 * Bounded by bytes and by number; the one that was given back first goes first. Idle memory is in nobody's budget.
 * Any thread.
 */
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace turbine {

class IdleMappings {
 public:
  using Clock = std::chrono::steady_clock;
  struct Mapping {
    uint8_t* data = nullptr;
    uint64_t size = 0;  // bytes, whole pages
  };

  explicit IdleMappings(uint64_t most_bytes);
  ~IdleMappings();
  IdleMappings(const IdleMappings&) = delete;

  /* One of at least `size` bytes and little more, with anything in it. Without data: there is none. */
  Mapping take(uint64_t size) noexcept;

  /* Keeps it, or unmaps it. */
  void give_back(Mapping mapping) noexcept;

  /* Unmaps what nobody has taken for so long. */
  void drop_older_than(Clock::duration age) noexcept;

  uint64_t bytes() const;

 private:
  struct Idle {
    Mapping mapping;
    Clock::time_point since;
  };
  void drop_first(size_t count);

  const uint64_t most_bytes_;
  mutable std::mutex mutex_;
  std::vector<Idle> idle_;  // in the order in which they were given back; never reallocates
  uint64_t bytes_ = 0;
};

}  // namespace turbine
