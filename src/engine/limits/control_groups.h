/*
 * control_groups.h - where Linux says what the control groups of a process may use: a
 * container's, a systemd unit's.
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace turbine {

/* The control groups of a process. */
struct ControlGroups {
  /* The text of /proc/self/cgroup. */
  std::string membership;
  /* Where groups are mounted: of version 2, or of version 1 with each controller in a folder of its name. */
  std::string root;

  /*
   * The folders of the groups that the process is in and of all above them, whose limits it
   * has too. Within a namespace some may not be there.
   * `controller`: "memory", "cpu"; version 2 has all in one folder.
   */
  std::vector<std::string> folders(const std::string& controller) const;
};

/* Of this process. */
ControlGroups own_control_groups();

}  // namespace turbine
