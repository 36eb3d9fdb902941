/*
 * process_limits.h - the memory and the processors that this process may use: the machine's, or less if a control
 * group (a container's, a systemd unit's) says so.
 *
 * What is taken by default leaves room for PostgreSQL. A machine of 64 processors that gives a container four must
 * not be planned with as if 64 threads ran at once.
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

/* What the machine has, or less where a control group of this process says so. Bytes; 0 if
 * nothing is known. */
uint64_t memory_limit();

/* The least limit of the groups, bytes; UINT64_MAX: there is none. */
uint64_t memory_limit_of(const ControlGroups& groups);

/* Those that the process may run on, or less where a control group has a quota of their
 * time; 1 at least. */
unsigned usable_processors();

/* The least quota of the groups, in whole processors, rounded up; UINT32_MAX: there is
 * none. */
uint32_t processor_quota_of(const ControlGroups& groups);

}  // namespace turbine
