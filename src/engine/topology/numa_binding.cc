/*
 * numa_binding.cc - see numa_binding.h.
 *
 * Called by the CUDA device. The kernel's system calls are used directly: libnuma would be one more library for two
 * calls. A call that fails changes nothing, and is no error: it costs speed at most.
 */
#include "engine/topology/numa_binding.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <sstream>

namespace turbine {
namespace {

/* The kernel's MPOL_DEFAULT and MPOL_PREFERRED, whose header not every system has. */
constexpr int kMemoryDefault = 0, kMemoryPreferred = 1;
constexpr int kMostNodes = 64;

}  // namespace

cpu_set_t processors_in_list(const std::string& list) {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  std::istringstream ranges(list);
  for (std::string range; std::getline(ranges, range, ',');) {
    unsigned first = 0, last = 0;
    int end = 0;
    if (std::sscanf(range.c_str(), "%u-%u%n", &first, &last, &end) != 2) {
      if (std::sscanf(range.c_str(), "%u%n", &first, &end) != 1) return {};
      last = first;
    }
    if (static_cast<size_t>(end) != range.size() || last < first || last >= CPU_SETSIZE) return {};
    for (unsigned processor = first; processor <= last; processor++) CPU_SET(processor, &processors);
  }
  return processors;
}

NumaBinding::NumaBinding(const Sysfs& sysfs, int node) {
  if (node < 0 || node >= kMostNodes) return;
  const std::string nodes = "devices/system/node/";
  int count = 0;
  for (const std::string& name : sysfs.names(nodes))
    count += name.compare(0, 4, "node") == 0 && name.find_first_not_of("0123456789", 4) == std::string::npos;
  processors_ = processors_in_list(sysfs.text(nodes + "node" + std::to_string(node) + "/cpulist"));
  if (count > 1 && CPU_COUNT(&processors_) > 0) node_ = node;
}

void NumaBinding::bind_thread() const noexcept {
  cpu_set_t allowed, both;
  if (!binds() || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  CPU_AND(&both, &allowed, &processors_);
  if (CPU_COUNT(&both) > 0) sched_setaffinity(0, sizeof both, &both);
}

NumaBinding::MemoryScope::MemoryScope(const NumaBinding& binding) noexcept {
  if (!binding.binds()) return;
  const unsigned long nodes = 1ul << binding.node_;
  set_ = syscall(SYS_set_mempolicy, kMemoryPreferred, &nodes, kMostNodes + 1) == 0;
}

NumaBinding::MemoryScope::~MemoryScope() {
  if (set_) syscall(SYS_set_mempolicy, kMemoryDefault, nullptr, 0);
}

}  // namespace turbine
