/*
 * memory_limit.cc - see memory_limit.h.
 *
 * Owns nothing. Called once, when the service starts. A file that is not there, or that says
 * something else than a number, is no limit.
 */
#include "engine/limits/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace turbine {
namespace {

uint64_t number_in(const std::string& path) {
  std::ifstream file(path);
  uint64_t value;
  return file >> value && value > 0 ? value : UINT64_MAX;
}

}  // namespace

uint64_t memory_limit_of(const ControlGroups& groups) {
  uint64_t least = UINT64_MAX;
  for (const std::string& folder : groups.folders("memory"))
    least = std::min({least, number_in(folder + "/memory.max"), number_in(folder + "/memory.limit_in_bytes")});
  return least;
}

uint64_t memory_limit() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  const uint64_t machine = pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : 0;
  const uint64_t group = memory_limit_of(own_control_groups());
  return machine == 0 && group == UINT64_MAX ? 0 : machine == 0 ? group : std::min(machine, group);
}

}  // namespace turbine
