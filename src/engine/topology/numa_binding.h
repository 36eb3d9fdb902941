/*
 * numa_binding.h - keeps threads and memory at the NUMA node of a device.
 *
 * On a machine of one node, or if the node is not known, it does nothing. Immutable; any thread.
 */
#pragma once

#include <sched.h>

#include <string>

#include "engine/topology/sysfs.h"

namespace turbine {

/* "0-3,8": as the kernel lists processors. What is no such list is empty. */
cpu_set_t processors_in_list(const std::string& list);

class NumaBinding {
 public:
  NumaBinding() = default;  // binds nothing
  NumaBinding(const Sysfs& sysfs, int node);

  bool binds() const { return node_ >= 0; }

  /* The calling thread runs on the node's processors from now on, as far as it may use them. */
  void bind_thread() const noexcept;

  /* While it lives, memory that the calling thread gets is the node's, if there is any. */
  class MemoryScope {
   public:
    explicit MemoryScope(const NumaBinding& binding) noexcept;
    ~MemoryScope();
    MemoryScope(const MemoryScope&) = delete;

   private:
    bool set_ = false;
  };

 private:
  int node_ = -1;
  cpu_set_t processors_{};
};

}  // namespace turbine
