/*
 * usable_processors.cc - see usable_processors.h.
 *
 * Owns nothing. Called when pools of threads are made. A machine of 64 processors that gives a
 * container four must not be planned with as if 64 threads ran at once.
 */
#include "engine/limits/usable_processors.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <thread>

namespace turbine {
namespace {

uint32_t processors_for(int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0) return UINT32_MAX;
  return static_cast<uint32_t>(std::clamp<int64_t>((quota + period - 1) / period, 1, UINT32_MAX));
}

int64_t microseconds_in(const std::string& path) {
  std::ifstream file(path);
  int64_t value;
  return file >> value ? value : 0;
}

/* Version 2: "QUOTA PERIOD", or "max PERIOD". */
uint32_t quota_of_version_2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  int64_t quota, period;
  return file >> quota >> period ? processors_for(quota, period) : UINT32_MAX;
}

uint32_t quota_of_version_1(const std::string& folder) {
  return processors_for(microseconds_in(folder + "/cpu.cfs_quota_us"), microseconds_in(folder + "/cpu.cfs_period_us"));
}

/* More than 1,024 processors do not fit: the library's count then. */
unsigned affinity() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const int count = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
  return count > 0 ? static_cast<unsigned>(count) : std::max(std::thread::hardware_concurrency(), 1u);
}

}  // namespace

uint32_t processor_quota_of(const ControlGroups& groups) {
  uint32_t least = UINT32_MAX;
  for (const std::string& folder : groups.folders("cpu"))
    least = std::min({least, quota_of_version_2(folder), quota_of_version_1(folder)});
  return least;
}

unsigned usable_processors() { return std::min(affinity(), processor_quota_of(own_control_groups())); }

}  // namespace turbine
