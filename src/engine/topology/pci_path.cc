/*
 * pci_path.cc - places in the tree of PCI bridges.
 *
 * Called by machine_topology.cc and the CUDA device when turbined starts. It must never throw: what it does not know
 * is an empty path or an unknown route.
 */
#include "engine/topology/pci_path.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace turbine {
namespace {

constexpr uint32_t kHostBridgeWeight = 100, kNodeWeight = 200, kNumaWeight = 10;

/* "0000:19:00.0", or of a domain that a controller makes, "10000:01:00.0". */
bool is_pci_function(const std::string& name) {
  unsigned domain, bus, device, function;
  int end = 0;
  return std::sscanf(name.c_str(), "%x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &end) == 4 &&
         static_cast<size_t>(end) == name.size();
}

/* "pci0000:00". */
bool is_host_bridge(const std::string& name) {
  unsigned domain, bus;
  int end = 0;
  return std::sscanf(name.c_str(), "pci%x:%2x%n", &domain, &bus, &end) == 2 && static_cast<size_t>(end) == name.size();
}

}  // namespace

const char* route_name(TbRoute route) {
  switch (route) {
    case TB_ROUTE_SWITCH: return "PIX";
    case TB_ROUTE_SWITCHES: return "PXB";
    case TB_ROUTE_HOST_BRIDGE: return "PHB";
    case TB_ROUTE_NODE: return "NODE";
    case TB_ROUTE_SYSTEM: return "SYS";
    default: return "?";
  }
}

std::string PciPath::text() const {
  std::string all;
  for (const std::string& part : parts) all += (all.empty() ? "" : " > ") + part;
  return all;
}

std::string normal_pci_address(const std::string& address) {
  unsigned domain, bus, device, function;
  int end = 0;
  if (std::sscanf(address.c_str(), "%x:%x:%x.%x%n", &domain, &bus, &device, &function, &end) != 4 ||
      static_cast<size_t>(end) != address.size() || bus > 0xff || device > 0x1f || function > 7)
    return "";
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", domain, bus, device, function);
  return text;
}

PciPath pci_path_of_folder(const Sysfs& sysfs, const std::string& folder) {
  PciPath path;
  std::istringstream names(folder);
  std::string name, above, function_folder;
  while (std::getline(names, name, '/')) {
    above += (above.empty() ? "" : "/") + name;
    if (is_host_bridge(name)) {
      path.parts.push_back(name);
    } else if (is_pci_function(name) && !path.parts.empty()) {
      path.parts.push_back(name);
      function_folder = above;
    }
  }
  if (function_folder.empty()) return {};  // such as a drive behind a network
  path.numa_node = static_cast<int>(sysfs.number(function_folder + "/numa_node").value_or(-1));
  return path;
}

PciPath pci_path_of(const Sysfs& sysfs, const std::string& address) {
  if (address.empty()) return {};
  return pci_path_of_folder(sysfs, sysfs.resolved("bus/pci/devices/" + address));
}

NumaDistances::NumaDistances(const Sysfs& sysfs) {
  for (const std::string& name : sysfs.names("devices/system/node")) {
    int node;
    int end = 0;
    if (std::sscanf(name.c_str(), "node%d%n", &node, &end) != 1 || static_cast<size_t>(end) != name.size()) continue;
    nodes_.push_back(node);
    std::istringstream row(sysfs.text("devices/system/node/" + name + "/distance"));
    std::vector<uint32_t>& distances = distances_.emplace_back();
    for (uint32_t distance; row >> distance;) distances.push_back(distance);
  }
}

uint32_t NumaDistances::between(int a, int b) const {
  const auto row = std::find(nodes_.begin(), nodes_.end(), a), column = std::find(nodes_.begin(), nodes_.end(), b);
  if (row == nodes_.end() || column == nodes_.end()) return kFar;
  const std::vector<uint32_t>& distances = distances_[static_cast<size_t>(row - nodes_.begin())];
  const auto at = static_cast<size_t>(column - nodes_.begin());
  return at < distances.size() ? distances[at] : kFar;
}

PciDistance pci_distance(const PciPath& a, const PciPath& b, const NumaDistances& nodes) {
  if (!a.known() || !b.known()) return {};
  // Links up to the lowest bridge that both are below, and down again.
  const auto [end_a, end_b] = std::mismatch(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end());
  const auto up = static_cast<uint32_t>(a.parts.end() - end_a), down = static_cast<uint32_t>(b.parts.end() - end_b);
  const auto shared = static_cast<size_t>(end_a - a.parts.begin());
  const uint32_t links = up + down;
  // Both below a bridge: the ports of a switch are two links away from its devices' nearest common bridge.
  if (shared > 1) return {up <= 2 && down <= 2 ? TB_ROUTE_SWITCH : TB_ROUTE_SWITCHES, links};
  if (shared == 1) return {TB_ROUTE_HOST_BRIDGE, links + kHostBridgeWeight};
  // Kernels of machines with one node often do not say that it is node 0.
  const bool same_node = nodes.nodes() <= 1 || (a.numa_node >= 0 && a.numa_node == b.numa_node);
  if (same_node) return {TB_ROUTE_NODE, links + kNodeWeight};
  return {TB_ROUTE_SYSTEM, links + kNodeWeight + kNumaWeight * nodes.between(a.numa_node, b.numa_node)};
}

}  // namespace turbine
