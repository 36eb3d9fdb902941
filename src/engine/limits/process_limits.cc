/*
 * process_limits.cc - see process_limits.h.
 *
 * Owns nothing. Called when the service starts and when pools of threads are made. It must never fail: what cannot be
 * read is no group, and no limit.
 */
#include "engine/limits/process_limits.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

namespace turbine {

namespace {

void add_path(const std::string& mount, std::string path, std::vector<std::string>* folders) {
  folders->push_back(mount);
  while (path.size() > 1) {
    folders->push_back(mount + path);
    path.resize(path.find_last_of('/'));
  }
}

}  // namespace

std::vector<std::string> ControlGroups::folders(const std::string& controller) const {
  std::vector<std::string> result;
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    // "number:controllers:path"; version 2 has no controllers.
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (path.empty() || path[0] != '/') continue;
    if (controllers == ",,") add_path(root, path, &result);
    if (controllers.find("," + controller + ",") != std::string::npos) add_path(root + "/" + controller, path, &result);
  }
  return result;
}

ControlGroups own_control_groups() {
  std::ifstream file("/proc/self/cgroup");
  std::ostringstream membership;
  membership << file.rdbuf();
  return {membership.str(), "/sys/fs/cgroup"};
}

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
