/*
 * topology_report.cc - the topology as TbTopologyDevice records, and GPUs as lines of the log.
 *
 * Called by the daemon's main.cc and session.cc. It owns nothing.
 */
#include "engine/topology/topology_report.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace turbine {
namespace {

/* What does not fit is cut off. */
template <size_t N>
void set_record_text(char (&to)[N], const std::string& from) {
  const size_t length = std::min(from.size(), N - 1);
  std::memcpy(to, from.data(), length);
  to[length] = '\0';
}

std::string with_spaces(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : " ") + name;
  return all;
}

TbTopologyDevice empty_record() {
  TbTopologyDevice record{};
  record.numa_node = -1;
  for (auto& to : record.to_gpus) to = {TB_ROUTE_UNKNOWN, UINT16_MAX};
  return record;
}

void set_place(TbTopologyDevice& record, const PciPath& path) {
  record.numa_node = path.numa_node;
  set_record_text(record.pci_path, with_spaces(path.parts));
}

}  // namespace

std::vector<TbTopologyDevice> topology_records(const MachineTopology& topology) {
  std::vector<TbTopologyDevice> records;
  for (size_t gpu = 0; gpu < topology.gpus().size(); gpu++) {
    TbTopologyDevice record = empty_record();
    record.kind = TB_TOPOLOGY_GPU;
    set_record_text(record.name, "gpu" + std::to_string(gpu));
    set_record_text(record.model, topology.gpus()[gpu].name);
    set_place(record, topology.gpus()[gpu].path);
    records.push_back(record);
  }
  for (const StorageDevice& device : topology.storage()) {
    if (records.size() == TB_MAX_TOPOLOGY_DEVICES) break;
    TbTopologyDevice record = empty_record();
    record.kind = device.kind;
    record.major_number = device.major;
    record.minor_number = device.minor;
    record.near_gpus = device.near_gpus();
    set_record_text(record.name, device.name);
    set_record_text(record.model, device.model);
    set_record_text(record.members, with_spaces(device.members));
    set_place(record, device.path);
    for (size_t gpu = 0; gpu < device.to_gpus.size() && gpu < TB_MAX_DEVICES - 1; gpu++) {
      const PciDistance& to = device.to_gpus[gpu];
      record.to_gpus[gpu] = {static_cast<uint16_t>(to.route),
                             static_cast<uint16_t>(std::min<uint32_t>(to.distance, UINT16_MAX))};
    }
    records.push_back(record);
  }
  return records;
}

std::string describe_gpu(uint32_t number, const TbDeviceInfo& info) {
  std::string text = "GPU" + std::to_string(number) + ": " + info.name + ", " + std::to_string(info.units) +
                     " multiprocessors";
  if (info.clock_mhz != 0) text += ", " + std::to_string(info.clock_mhz) + " MHz";
  if (info.l2_bytes != 0) text += ", L2 " + std::to_string(info.l2_bytes >> 20) + " MB";
  text += ", memory " + std::to_string(info.memory_total >> 20) + " MB, of it " +
          std::to_string((info.memory_budget + info.cache_size) >> 20) + " MB for queries and the cache";
  // "sm_90" is 9.0, "sm_120" is 12.0.
  const std::string capability = info.target;
  if (capability.size() > 4)
    text += ", compute capability " + capability.substr(3, capability.size() - 4) + "." + capability.back();
  text += std::string(", PCI ") + (info.pci_address[0] ? info.pci_address : "address not known");
  text += info.numa_node >= 0 ? ", NUMA node " + std::to_string(info.numa_node) : ", NUMA node not known";
  return text;
}

}  // namespace turbine
