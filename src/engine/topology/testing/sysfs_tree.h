/*
 * sysfs_tree.h - a folder as sysfs shows a machine, made of a few lines of text.
 *
 *   node NUMBER DISTANCES...           a NUMA node
 *   pci PATH NUMA_NODE                 a PCI function; PATH from its host bridge on, such as
 *                                      pci0000:00/0000:00:01.0/0000:01:00.0
 *   nvme PATH NAME MAJOR:MINOR MODEL   a namespace of the NVMe drive at that function: nvme0n1 of nvme0
 *   virtio PATH NAME MAJOR:MINOR       a virtual disk
 *   part DISK NAME MAJOR:MINOR         a partition
 *   md NAME MAJOR:MINOR LEVEL MEMBERS...
 *   virtual NAME MAJOR:MINOR           a block device without hardware, such as a loop device
 *   fabric NAME MAJOR:MINOR            a namespace of a drive behind a network
 *   paths NAME MAJOR:MINOR PATHS...    a namespace that the controllers at these functions share
 */
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace turbine {

class SysfsTree {
 public:
  explicit SysfsTree(const std::string& text) {
    char name[] = "/tmp/sysfs_XXXXXX";
    root_ = mkdtemp(name);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) add(line);
  }
  ~SysfsTree() { std::filesystem::remove_all(root_); }
  SysfsTree(const SysfsTree&) = delete;
  const std::string& root() const { return root_; }

  void write(const std::string& path, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << content << "\n";
  }

 private:
  /* Links are relative, as the kernel's. */
  void link(const std::string& path, const std::string& target) {
    const std::filesystem::path from = root_ + "/" + path;
    std::filesystem::create_directories(from.parent_path());
    std::filesystem::create_symlink(std::filesystem::relative(root_ + "/" + target, from.parent_path()), from);
  }
  void block(const std::string& folder, const std::string& name, const std::string& number) {
    write(folder + "/dev", number);
    write(folder + "/size", "3750748848");
    link("block/" + name, folder);
  }
  std::string folder_of(const std::string& block) const {
    return std::filesystem::relative(std::filesystem::canonical(root_ + "/block/" + block), root_).string();
  }

  void add(const std::string& line) {
    std::istringstream words(line);
    std::string kind, path, name, number;
    if (!(words >> kind)) return;
    if (kind == "node") {
      std::string distances;
      words >> number;
      std::getline(words, distances);
      write("devices/system/node/node" + number + "/distance", distances);
    } else if (kind == "pci") {
      words >> path >> number;
      write("devices/" + path + "/numa_node", number);
      link("bus/pci/devices/" + path.substr(path.find_last_of('/') + 1), "devices/" + path);
    } else if (kind == "nvme") {
      std::string model;
      words >> path >> name >> number;
      std::getline(words >> std::ws, model);
      const std::string controller = name.substr(0, name.find('n', 1));
      const std::string folder = "devices/" + path + "/nvme/" + controller;
      write(folder + "/model", model + "                ");
      block(folder + "/" + name, name, number);
      link(folder + "/" + name + "/device", folder);
    } else if (kind == "virtio") {
      words >> path >> name >> number;
      block("devices/" + path + "/virtio1/block/" + name, name, number);
    } else if (kind == "part") {
      std::string disk;
      words >> disk >> name >> number;
      write(folder_of(disk) + "/" + name + "/partition", "1");
      write(folder_of(disk) + "/" + name + "/dev", number);
    } else if (kind == "md") {
      std::string level;
      words >> name >> number >> level;
      const std::string folder = "devices/virtual/block/" + name;
      block(folder, name, number);
      write(folder + "/md/level", level);
      for (std::string member; words >> member;) {
        const bool whole = std::filesystem::exists(root_ + "/block/" + member);
        link(folder + "/slaves/" + member,
             whole ? folder_of(member) : folder_of(member.substr(0, member.find_last_of('p'))) + "/" + member);
      }
    } else if (kind == "virtual") {
      words >> name >> number;
      block("devices/virtual/block/" + name, name, number);
    } else if (kind == "fabric") {
      words >> name >> number;
      block("devices/virtual/nvme-fabrics/ctl/nvme9/" + name, name, number);
    } else if (kind == "paths") {
      words >> name >> number;
      const std::string subsystem = "devices/virtual/nvme-subsystem/nvme-subsys7";
      block(subsystem + "/" + name, name, number);
      int controller = 20;
      for (; words >> path; controller++) {
        const std::string nvme = "nvme" + std::to_string(controller);
        write("devices/" + path + "/nvme/" + nvme + "/state", "live");
        link(subsystem + "/" + nvme, "devices/" + path + "/nvme/" + nvme);
      }
    }
  }

  std::string root_;
};

}  // namespace turbine
