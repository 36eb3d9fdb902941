/*
 * topology_report.h - the topology as STATUS and the log tell of it.
 */
#pragma once

#include <string>
#include <vector>

#include "engine/topology/machine_topology.h"
#include "turbine/wire.h"

namespace turbine {

/* GPUs, then block devices; at most TB_MAX_TOPOLOGY_DEVICES. */
std::vector<TbTopologyDevice> topology_records(const MachineTopology& topology);

/* A GPU in one line: "GPU0: NVIDIA H200, 132 multiprocessors, 1980 MHz, L2 50 MB, memory 143771 MB, of it
 * 121000 MB for queries and the cache, compute capability
 * 9.0, PCI 0000:19:00.0, NUMA node 0". `number`: from 0 on. */
std::string describe_gpu(uint32_t number, const TbDeviceInfo& info);

}  // namespace turbine
