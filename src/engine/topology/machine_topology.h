/*
 * machine_topology.h - GPUs, drives and arrays of drives of this machine, and which GPUs are near which storage.
 *
 * Read once, when turbined starts: a drive that is plugged in later is not known. Immutable afterwards, so any
 * thread may look.
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/topology/pci_path.h"

namespace turbine {

struct TopologyGpu {
  std::string name;         // as the driver calls it
  std::string pci_address;  // "": the driver did not tell
  PciPath path;             // filled by MachineTopology
};

/* A block device that files may be on. */
struct StorageDevice {
  TbTopologyKind kind = TB_TOPOLOGY_DISK;
  std::string name;   // "nvme0n1", "md0"
  std::string model;  // drives
  uint32_t major = 0, minor = 0;
  std::vector<std::string> members;  // an array's devices, a partition's disk
  PciPath path;                      // of drives; arrays and partitions have that of no single one
  std::vector<PciDistance> to_gpus;  // one for each GPU

  /* The GPUs of the nearest route, a bit each, GPU 0 first; 0: none is known to be near. */
  uint32_t near_gpus() const;
};
const char* storage_kind_name(TbTopologyKind kind);

class MachineTopology {
 public:
  MachineTopology() = default;

  /* GPUs in the order of their numbers. Never throws for what sysfs says or does not say. */
  MachineTopology(const Sysfs& sysfs, std::vector<TopologyGpu> gpus);

  const std::vector<TopologyGpu>& gpus() const { return gpus_; }
  const std::vector<StorageDevice>& storage() const { return storage_; }

  /* The device with that number, as stat() gives it of a file; null: not known, such as a device mapper's. */
  const StorageDevice* storage_of(uint32_t major, uint32_t minor) const;

  /* The tree of bridges with GPUs and drives, then the matrix of distances; a line each. */
  std::vector<std::string> describe() const;

 private:
  void read_disk(const Sysfs& sysfs, const std::string& name);
  void read_array(const Sysfs& sysfs, const std::string& name);
  void read_partitions(const Sysfs& sysfs, const std::string& disk, const StorageDevice& whole);
  const StorageDevice* storage_named(const std::string& name) const;
  void measure_members(StorageDevice& device) const;

  std::vector<TopologyGpu> gpus_;
  std::vector<StorageDevice> storage_;
};

/* The root of sysfs: "/sys", or where TURBINE_SYSFS points, which tests set. */
std::string sysfs_root();

}  // namespace turbine
