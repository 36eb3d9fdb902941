/*
 * control_groups.cc - see control_groups.h.
 *
 * Owns nothing. Called when the service starts, by those that look for a limit. It must never
 * fail: what cannot be read is no group.
 */
#include "engine/limits/control_groups.h"

#include <fstream>
#include <sstream>

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

}  // namespace turbine
