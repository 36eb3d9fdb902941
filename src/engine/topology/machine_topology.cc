/*
 * machine_topology.cc - reads GPUs, drives and arrays from sysfs.
 *
 * Called once by the engine, when turbined starts, and by turbine-storage-test.
 *
 * A drive is as far from a GPU as its PCI function is. Of an array every member is read, so its route is that of the
 * farthest member, and its distance the members' mean. A partition is where its disk is. Device mapper, drives
 * behind a network and levels of RAID other than 0 and 1 are left out: pg_turbine.gpu_tablespace_map speaks for them.
 */
#include "engine/topology/machine_topology.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace turbine {
namespace {

/* "259:3"; false: it is no such text. */
bool read_device_number(const std::string& text, StorageDevice& device) {
  return std::sscanf(text.c_str(), "%u:%u", &device.major, &device.minor) == 2;
}

/*
 * The folder of a drive whose place counts. A namespace of an NVMe subsystem with several controllers lies with the
 * subsystem, which links to them: the first that is on a PCI bus is taken.
 */
PciPath place_of_drive(const Sysfs& sysfs, const std::string& folder) {
  const PciPath direct = pci_path_of_folder(sysfs, folder);
  if (direct.known()) return direct;
  const std::string subsystem = folder.substr(0, folder.find_last_of('/'));
  if (subsystem.find("nvme-subsys") == std::string::npos) return {};
  for (const std::string& name : sysfs.names(subsystem)) {
    if (name.compare(0, 4, "nvme") != 0) continue;
    const PciPath controller = pci_path_of_folder(sysfs, sysfs.resolved(subsystem + "/" + name));
    if (controller.known()) return controller;
  }
  return {};
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

/* What hangs in the tree. */
struct Leaf {
  std::vector<std::string> parts;
  std::string label;
};

}  // namespace

std::string sysfs_root() {
  const char* root = std::getenv("TURBINE_SYSFS");
  return root && *root ? root : "/sys";
}

const char* storage_kind_name(TbTopologyKind kind) {
  switch (kind) {
    case TB_TOPOLOGY_NVME: return "nvme";
    case TB_TOPOLOGY_DISK: return "disk";
    case TB_TOPOLOGY_PARTITION: return "partition";
    case TB_TOPOLOGY_RAID0: return "raid0";
    case TB_TOPOLOGY_RAID1: return "raid1";
    default: return "?";
  }
}

uint32_t StorageDevice::near_gpus() const {
  TbRoute nearest = TB_ROUTE_UNKNOWN;
  for (const PciDistance& distance : to_gpus) nearest = std::min(nearest, distance.route);
  uint32_t gpus = 0;
  if (nearest == TB_ROUTE_UNKNOWN) return gpus;
  for (size_t gpu = 0; gpu < to_gpus.size() && gpu < 32; gpu++)
    if (to_gpus[gpu].route == nearest) gpus |= 1u << gpu;
  return gpus;
}

MachineTopology::MachineTopology(const Sysfs& sysfs, std::vector<TopologyGpu> gpus) : gpus_(std::move(gpus)) {
  for (TopologyGpu& gpu : gpus_) gpu.path = pci_path_of(sysfs, gpu.pci_address);
  const std::vector<std::string> names = sysfs.names("block");
  // Drives before arrays, whose members are their partitions or they themselves.
  for (const std::string& name : names)
    if (!sysfs.exists("block/" + name + "/md")) read_disk(sysfs, name);
  const NumaDistances nodes(sysfs);
  for (StorageDevice& device : storage_)
    for (const TopologyGpu& gpu : gpus_)
      if (device.kind != TB_TOPOLOGY_PARTITION) device.to_gpus.push_back(pci_distance(device.path, gpu.path, nodes));
  for (StorageDevice& device : storage_)
    if (device.kind == TB_TOPOLOGY_PARTITION) measure_members(device);
  for (const std::string& name : names)
    if (sysfs.exists("block/" + name + "/md")) read_array(sysfs, name);
}

/* A disk with a place on a PCI bus, and its partitions. */
void MachineTopology::read_disk(const Sysfs& sysfs, const std::string& name) {
  const std::string folder = "block/" + name;
  // The paths of a namespace with several controllers are hidden; a drive without a medium has no size.
  if (sysfs.number(folder + "/hidden").value_or(0) != 0 || sysfs.number(folder + "/size").value_or(0) == 0) return;
  StorageDevice disk;
  disk.name = name;
  disk.path = place_of_drive(sysfs, sysfs.resolved(folder));
  if (!disk.path.known() || !read_device_number(sysfs.text(folder + "/dev"), disk)) return;
  disk.kind = name.compare(0, 4, "nvme") == 0 ? TB_TOPOLOGY_NVME : TB_TOPOLOGY_DISK;
  disk.model = sysfs.text(folder + "/device/model");
  storage_.push_back(disk);
  read_partitions(sysfs, name, disk);
}

void MachineTopology::read_partitions(const Sysfs& sysfs, const std::string& disk, const StorageDevice& whole) {
  for (const std::string& name : sysfs.names("block/" + disk)) {
    const std::string folder = "block/" + disk + "/" + name;
    StorageDevice partition;
    if (!sysfs.exists(folder + "/partition") || !read_device_number(sysfs.text(folder + "/dev"), partition)) continue;
    partition.kind = TB_TOPOLOGY_PARTITION;
    partition.name = name;
    partition.members = {disk};
    partition.path = whole.path;
    storage_.push_back(partition);
  }
}

/* An md array of level 0 or 1 whose members are known. */
void MachineTopology::read_array(const Sysfs& sysfs, const std::string& name) {
  const std::string folder = "block/" + name;
  const std::string level = sysfs.text(folder + "/md/level");
  StorageDevice array;
  array.name = name;
  if ((level != "raid0" && level != "raid1") || !read_device_number(sysfs.text(folder + "/dev"), array)) return;
  array.kind = level == "raid0" ? TB_TOPOLOGY_RAID0 : TB_TOPOLOGY_RAID1;
  for (const std::string& member : sysfs.names(folder + "/slaves")) array.members.push_back(member);
  measure_members(array);
  storage_.push_back(array);
  const size_t first = storage_.size();
  read_partitions(sysfs, name, array);
  for (size_t i = first; i < storage_.size(); i++) measure_members(storage_[i]);
}

/* All of them are read: the farthest one's route, and the mean distance. */
void MachineTopology::measure_members(StorageDevice& device) const {
  device.to_gpus.assign(gpus_.size(), PciDistance{});
  for (size_t gpu = 0; gpu < gpus_.size(); gpu++) {
    TbRoute farthest = TB_ROUTE_SWITCH;
    uint64_t sum = 0;
    for (const std::string& name : device.members) {
      const StorageDevice* member = storage_named(name);
      const PciDistance distance = member && gpu < member->to_gpus.size() ? member->to_gpus[gpu] : PciDistance{};
      farthest = std::max(farthest, distance.route);
      sum += distance.distance;
    }
    if (!device.members.empty() && farthest != TB_ROUTE_UNKNOWN)
      device.to_gpus[gpu] = {farthest, static_cast<uint32_t>(sum / device.members.size())};
  }
}

const StorageDevice* MachineTopology::storage_named(const std::string& name) const {
  for (const StorageDevice& device : storage_)
    if (device.name == name) return &device;
  return nullptr;
}

const StorageDevice* MachineTopology::storage_of(uint32_t major, uint32_t minor) const {
  for (const StorageDevice& device : storage_)
    if (device.major == major && device.minor == minor) return &device;
  return nullptr;
}

std::vector<std::string> MachineTopology::describe() const {
  // The tree: leaves in the order of their paths, bridges above them where they differ from the leaf before.
  std::vector<Leaf> leaves;
  for (size_t i = 0; i < gpus_.size(); i++)
    if (gpus_[i].path.known()) leaves.push_back({gpus_[i].path.parts, "GPU" + std::to_string(i) + " " + gpus_[i].name});
  for (const StorageDevice& device : storage_)
    if (device.path.known() && device.kind != TB_TOPOLOGY_PARTITION)
      leaves.push_back({device.path.parts, device.name + (device.model.empty() ? "" : " " + device.model)});
  std::stable_sort(leaves.begin(), leaves.end(), [](const Leaf& a, const Leaf& b) { return a.parts < b.parts; });
  std::vector<std::string> lines;
  const std::vector<std::string>* before = nullptr;
  for (const Leaf& leaf : leaves) {
    size_t level = 0;
    while (before && level < before->size() && level + 1 < leaf.parts.size() && (*before)[level] == leaf.parts[level])
      level++;
    for (; level + 1 < leaf.parts.size(); level++) lines.push_back(std::string(2 * level, ' ') + leaf.parts[level]);
    lines.push_back(std::string(2 * level, ' ') + leaf.parts[level] + " " + leaf.label);
    before = &leaf.parts;
  }
  // The matrix: a line for each device that files may be on.
  if (gpus_.empty()) return lines;
  for (const StorageDevice& device : storage_) {
    std::string line = device.name;
    if (!device.members.empty())
      line += std::string(" (") + storage_kind_name(device.kind) + " of " + joined(device.members) + ")";
    line += ":";
    for (size_t gpu = 0; gpu < gpus_.size(); gpu++) {
      const PciDistance& to = device.to_gpus[gpu];
      line += " GPU" + std::to_string(gpu) + "=" + route_name(to.route);
      if (to.route != TB_ROUTE_UNKNOWN) line += "/" + std::to_string(to.distance);
      if ((device.near_gpus() >> gpu & 1) != 0) line += "*";
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace turbine
