/*
 * memory_limit.h - how much memory this process may use at most, so that what is taken by
 * default leaves room for PostgreSQL.
 */
#pragma once

#include <cstdint>
#include <string>

namespace turbine {

/* What the machine has, or less where a control group of this process says so: a container's,
 * a systemd unit's. Bytes; 0 if nothing is known. */
uint64_t memory_limit();

/*
 * The least limit of the groups that a process is in; UINT64_MAX: there is none.
 * `membership`: the text of /proc/self/cgroup. `root`: where control groups are mounted,
 * of version 2, or of version 1 with the memory controller in a folder of its name.
 */
uint64_t control_group_limit(const std::string& membership, const std::string& root);

}  // namespace turbine
