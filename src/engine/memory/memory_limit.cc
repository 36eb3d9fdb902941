/*
 * memory_limit.cc - see memory_limit.h.
 *
 * Owns nothing. Called once, when the service starts. A file that is not there, or that says
 * something else than a number, is no limit.
 */
#include "engine/memory/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace turbine {
namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

uint64_t number_in(const std::string& path) {
  std::ifstream file(path);
  uint64_t value;
  return file >> value && value > 0 ? value : UINT64_MAX;
}

/* Of a group and of all above it, whose limits it has too. Within a namespace the path may
 * name folders that are not there: those that are count. */
uint64_t least_of_path(const std::string& mount, std::string path, const char* file) {
  uint64_t least = number_in(mount + "/" + file);
  while (path.size() > 1) {
    least = std::min(least, number_in(mount + path + "/" + file));
    path.resize(path.find_last_of('/'));
  }
  return least;
}

}  // namespace

uint64_t control_group_limit(const std::string& membership, const std::string& root) {
  uint64_t least = UINT64_MAX;
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    // "number:controllers:path"; version 2 has no controllers.
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (path.empty() || path[0] != '/') continue;
    if (controllers == ",,") least = std::min(least, least_of_path(root, path, "memory.max"));
    if (controllers.find(",memory,") != std::string::npos)
      least = std::min(least, least_of_path(root + "/memory", path, "memory.limit_in_bytes"));
  }
  return least;
}

uint64_t memory_limit() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  const uint64_t machine = pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : 0;
  const uint64_t group = control_group_limit(content_of("/proc/self/cgroup"), "/sys/fs/cgroup");
  return machine == 0 && group == UINT64_MAX ? 0 : machine == 0 ? group : std::min(machine, group);
}

}  // namespace turbine
