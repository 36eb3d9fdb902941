/*
 * pci_path.h - where a device is in the tree of PCI bridges, and how far two devices are from each other.
 *
 * The tree's roots are host bridges. A switch is an upstream port with downstream ports below it. All of them have
 * folders in sysfs, one below the other, so the path of a device's folder is its place in the tree.
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/topology/sysfs.h"
#include "turbine/wire.h"

namespace turbine {

/* As NVIDIA's tools print it: PIX, PXB, PHB, NODE, SYS. */
const char* route_name(TbRoute route);

struct PciDistance {
  TbRoute route = TB_ROUTE_UNKNOWN;
  uint32_t distance = UINT32_MAX;  // grows with the route; of equal routes with the number of links
  bool operator==(const PciDistance&) const = default;
};

/* A place in the tree. */
struct PciPath {
  /* From a host bridge ("pci0000:00") over bridges to the function ("0000:19:00.0"); empty: none. */
  std::vector<std::string> parts;
  int numa_node = -1;  // -1: not known

  bool known() const { return !parts.empty(); }
  std::string address() const { return known() ? parts.back() : std::string(); }
  std::string text() const;  // parts with " > " between them
  bool operator==(const PciPath&) const = default;
};

/* Of the device with that address, "0000:19:00.0". */
PciPath pci_path_of(const Sysfs& sysfs, const std::string& address);

/* Of a device's folder in /sys/devices, as Sysfs::resolved gives it: the last PCI function above it. */
PciPath pci_path_of_folder(const Sysfs& sysfs, const std::string& folder);

/* An address as sysfs writes it: small letters, a domain of four digits. "": it is none. */
std::string normal_pci_address(const std::string& address);

/* Distances of NUMA nodes as the firmware states them: 10 is a node from itself. */
class NumaDistances {
 public:
  explicit NumaDistances(const Sysfs& sysfs);
  size_t nodes() const { return nodes_.size(); }
  /* kFar if one of them is not known. */
  uint32_t between(int a, int b) const;
  static constexpr uint32_t kFar = 20;

 private:
  std::vector<int> nodes_;                        // in the order of the columns
  std::vector<std::vector<uint32_t>> distances_;  // rows as nodes_
};

/*
 * How far two devices are from each other: the links on the way, and besides 100 for a host bridge, 200 for several of
 * one NUMA node, 200 and ten times the nodes' distance for several nodes.
 */
PciDistance pci_distance(const PciPath& a, const PciPath& b, const NumaDistances& nodes);

}  // namespace turbine
