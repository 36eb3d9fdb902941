/* machine_topology_test.cc - trees of bridges give the distances and the near GPUs that a person reads out of them. */
#include "engine/topology/machine_topology.h"

#include <gtest/gtest.h>

#include "engine/topology/testing/sysfs_tree.h"

namespace turbine {
namespace {

/* Two sockets, below each a switch with a GPU and four drives; drives 0 to 3 at the first. Socket 0 has a disk at
 * another root port, and a drive at another host bridge. */
constexpr const char* kTwoSwitches = R"(
node 0 10 21
node 1 21 10
pci pci0000:00/0000:00:01.0 0
pci pci0000:00/0000:00:01.0/0000:01:00.0 0
pci pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0 0
pci pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0 0
pci pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0 0
pci pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:02.0/0000:05:00.0 0
pci pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:03.0/0000:06:00.0 0
pci pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:04.0/0000:07:00.0 0
pci pci0000:00/0000:00:1d.0/0000:08:00.0 0
pci pci0000:40/0000:40:01.0/0000:41:00.0 0
pci pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:00.0/0000:83:00.0 1
pci pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:01.0/0000:84:00.0 1
pci pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:02.0/0000:85:00.0 1
pci pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:03.0/0000:86:00.0 1
pci pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:04.0/0000:87:00.0 1
nvme pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0 nvme0n1 259:0 Drive A
nvme pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:02.0/0000:05:00.0 nvme1n1 259:1 Drive A
nvme pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:03.0/0000:06:00.0 nvme2n1 259:2 Drive A
nvme pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:04.0/0000:07:00.0 nvme3n1 259:3 Drive A
nvme pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:01.0/0000:84:00.0 nvme4n1 259:4 Drive B
nvme pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:02.0/0000:85:00.0 nvme5n1 259:5 Drive B
nvme pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:03.0/0000:86:00.0 nvme6n1 259:6 Drive B
nvme pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:04.0/0000:87:00.0 nvme10n1 259:7 Drive B
virtio pci0000:00/0000:00:1d.0/0000:08:00.0 sda 8:0
nvme pci0000:40/0000:40:01.0/0000:41:00.0 nvme11n1 259:11 Drive C
part nvme1n1 nvme1n1p1 259:20
part nvme1n1 nvme1n1p2 259:21
)";
constexpr const char* kGpu0 = "0000:03:00.0";
constexpr const char* kGpu1 = "0000:83:00.0";

class TopologyTest : public ::testing::Test {
 protected:
  void read(const std::string& text, const std::vector<std::string>& gpus) {
    tree_ = std::make_unique<SysfsTree>(text);
    std::vector<TopologyGpu> found;
    for (const std::string& address : gpus) found.push_back({"GPU of tests", address, {}});
    topology_ = MachineTopology(Sysfs(tree_->root()), found);
  }
  const StorageDevice& storage(const std::string& name) const {
    static const StorageDevice none;
    for (const StorageDevice& device : topology_.storage())
      if (device.name == name) return device;
    ADD_FAILURE() << "no " << name;
    return none;
  }
  /* "PIX/4 SYS/418". */
  std::string row(const std::string& name) const {
    std::string text;
    for (const PciDistance& to : storage(name).to_gpus)
      text += (text.empty() ? "" : " ") + std::string(route_name(to.route)) +
              (to.route == TB_ROUTE_UNKNOWN ? "" : "/" + std::to_string(to.distance));
    return text;
  }
  std::unique_ptr<SysfsTree> tree_;
  MachineTopology topology_;
};

TEST_F(TopologyTest, TwoGpusBehindTwoSwitchesWithEightDrives) {
  read(kTwoSwitches, {kGpu0, kGpu1});
  for (const char* name : {"nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1"}) {
    EXPECT_EQ(row(name), "PIX/4 SYS/420") << name;
    EXPECT_EQ(storage(name).near_gpus(), 0b01u) << name;
  }
  for (const char* name : {"nvme4n1", "nvme5n1", "nvme6n1", "nvme10n1"}) {
    EXPECT_EQ(row(name), "SYS/420 PIX/4") << name;
    EXPECT_EQ(storage(name).near_gpus(), 0b10u) << name;
  }
  // Below another root port; below another host bridge of the same node.
  EXPECT_EQ(row("sda"), "PHB/106 SYS/418");
  EXPECT_EQ(row("nvme11n1"), "NODE/208 SYS/418");
  EXPECT_EQ(storage("nvme11n1").near_gpus(), 0b01u);
  EXPECT_EQ(topology_.gpus()[1].path.numa_node, 1);
  EXPECT_EQ(storage("nvme0n1").model, "Drive A");
  EXPECT_EQ(storage("nvme0n1").kind, TB_TOPOLOGY_NVME);
  EXPECT_EQ(storage("sda").kind, TB_TOPOLOGY_DISK);
}

TEST_F(TopologyTest, APartitionIsWhereItsDiskIs) {
  read(kTwoSwitches, {kGpu0, kGpu1});
  EXPECT_EQ(row("nvme1n1p2"), row("nvme1n1"));
  ASSERT_NE(topology_.storage_of(259, 21), nullptr);
  EXPECT_EQ(topology_.storage_of(259, 21)->name, "nvme1n1p2");
  EXPECT_EQ(topology_.storage_of(259, 99), nullptr);
}

TEST_F(TopologyTest, AnArrayIsAsFarAsItsFarthestMember) {
  const std::string arrays = R"(
virtual dm-0 253:0
md md0 9:0 raid0 nvme0n1 nvme1n1 nvme2n1 nvme3n1
md md1 9:1 raid1 nvme4n1 nvme5n1
md md2 9:2 raid0 nvme0n1 nvme1n1p1 nvme2n1 nvme4n1
md md3 9:3 raid0 nvme0n1 nvme4n1
md md4 9:4 raid5 nvme0n1 nvme1n1 nvme2n1
md md5 9:5 raid0 nvme0n1 dm-0
part md0 md0p1 259:30
virtual loop0 7:0
)";
  read(kTwoSwitches + arrays, {kGpu0, kGpu1});
  EXPECT_EQ(row("md0"), "PIX/4 SYS/420");
  EXPECT_EQ(storage("md0").kind, TB_TOPOLOGY_RAID0);
  EXPECT_EQ(row("md0p1"), row("md0"));
  EXPECT_EQ(row("md1"), "SYS/420 PIX/4");
  EXPECT_EQ(storage("md1").near_gpus(), 0b10u);
  // Three members at GPU 0, one at GPU 1: no GPU has all of them near; their order shows where more are.
  EXPECT_EQ(row("md2"), "SYS/108 SYS/316");
  EXPECT_EQ(storage("md2").near_gpus(), 0b11u);
  EXPECT_EQ(storage("md3").near_gpus(), 0b11u);
  // Of a device mapper's volume nothing is known, and nothing is claimed.
  EXPECT_EQ(row("md5"), "? ?");
  EXPECT_EQ(storage("md5").near_gpus(), 0u);
  for (const uint32_t major : {253u, 7u}) EXPECT_EQ(topology_.storage_of(major, 0), nullptr) << major;
  EXPECT_EQ(topology_.storage_of(9, 4), nullptr) << "RAID 5";
}

TEST_F(TopologyTest, OneGpuWithThreeDrives) {
  read(R"(
node 0 10
pci pci0000:00/0000:00:01.0/0000:01:00.0 -1
pci pci0000:00/0000:00:06.0/0000:02:00.0 -1
pci pci0000:00/0000:00:07.0/0000:03:00.0 -1
pci pci0000:10/0000:10:01.0/0000:11:00.0 -1
nvme pci0000:00/0000:00:06.0/0000:02:00.0 nvme0n1 259:0 Drive
nvme pci0000:00/0000:00:07.0/0000:03:00.0 nvme1n1 259:1 Drive
nvme pci0000:10/0000:10:01.0/0000:11:00.0 nvme2n1 259:2 Drive
)",
       {"0000:01:00.0"});
  EXPECT_EQ(row("nvme0n1"), "PHB/104");
  EXPECT_EQ(row("nvme1n1"), "PHB/104");
  EXPECT_EQ(row("nvme2n1"), "NODE/206") << "a machine of one node, whose kernel does not number it";
  for (const StorageDevice& device : topology_.storage()) EXPECT_EQ(device.near_gpus(), 1u);
}

TEST_F(TopologyTest, SwitchesBelowASwitch) {
  read(R"(
node 0 10
pci pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0/0000:04:00.0/0000:05:00.0 0
pci pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:06:00.0/0000:07:00.0/0000:08:00.0 0
pci pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0/0000:04:01.0/0000:09:00.0 0
nvme pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0/0000:04:01.0/0000:09:00.0 nvme0n1 259:0 Drive
)",
       {"0000:05:00.0", "0000:08:00.0"});
  EXPECT_EQ(row("nvme0n1"), "PIX/4 PXB/8");
  EXPECT_EQ(storage("nvme0n1").near_gpus(), 0b01u);
}

/* A controller that makes a PCI domain of its own below a function, as some processors do for drives. */
TEST_F(TopologyTest, ADomainBelowAFunction) {
  read(R"(
pci pci0000:00/0000:00:0e.0/pci10000:00/10000:00:02.0/10000:01:00.0 0
pci pci0000:00/0000:00:01.0/0000:01:00.0 0
nvme pci0000:00/0000:00:0e.0/pci10000:00/10000:00:02.0/10000:01:00.0 nvme0n1 259:0 Drive
)",
       {"0000:01:00.0"});
  EXPECT_EQ(row("nvme0n1"), "PHB/106");
  EXPECT_EQ(storage("nvme0n1").path.address(), "10000:01:00.0");
}

TEST_F(TopologyTest, DrivesBehindANetworkAndWithSeveralPaths) {
  read(std::string(kTwoSwitches) + R"(
fabric nvme9n1 259:40
paths nvme7n1 259:41 pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0
)",
       {kGpu0, kGpu1});
  EXPECT_EQ(topology_.storage_of(259, 40), nullptr);
  EXPECT_EQ(row("nvme7n1"), "PIX/4 SYS/420");
}

/* The machine that this was written on: a virtual disk, no GPU, no NUMA node of any function. */
TEST_F(TopologyTest, AVirtualMachine) {
  const std::string text = R"(
node 0 10
pci pci0000:00/0000:00:02.0 -1
virtio pci0000:00/0000:00:02.0 vda 254:0
virtual loop0 7:0
virtual zram0 252:0
)";
  read(text, {});
  ASSERT_EQ(topology_.storage().size(), 1u);
  EXPECT_EQ(row("vda"), "");
  EXPECT_EQ(storage("vda").near_gpus(), 0u);
  EXPECT_EQ(topology_.describe(), (std::vector<std::string>{"pci0000:00", "  0000:00:02.0 vda"}));
  // GPUs that sysfs does not know, and one that the driver has no address of.
  read(text, {"0000:99:00.0", ""});
  EXPECT_EQ(row("vda"), "? ?");
  EXPECT_EQ(storage("vda").near_gpus(), 0u);
}

TEST_F(TopologyTest, NothingToRead) {
  topology_ = MachineTopology(Sysfs("/nonexistent"), {{"GPU", "0000:01:00.0", {}}});
  EXPECT_TRUE(topology_.storage().empty());
  EXPECT_TRUE(topology_.describe().empty());
}

TEST_F(TopologyTest, TheTreeAndTheMatrixAsText) {
  read(R"(
node 0 10
pci pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0 0
pci pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0 0
pci pci0000:00/0000:00:1d.0/0000:08:00.0 0
nvme pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0 nvme0n1 259:0 Drive A
nvme pci0000:00/0000:00:1d.0/0000:08:00.0 nvme1n1 259:1 Drive B
md md0 9:0 raid1 nvme0n1 nvme1n1
)",
       {"0000:03:00.0"});
  EXPECT_EQ(topology_.describe(), (std::vector<std::string>{
                                      "pci0000:00",
                                      "  0000:00:01.0",
                                      "    0000:01:00.0",
                                      "      0000:02:00.0",
                                      "        0000:03:00.0 GPU0 GPU of tests",
                                      "      0000:02:01.0",
                                      "        0000:04:00.0 nvme0n1 Drive A",
                                      "  0000:00:1d.0",
                                      "    0000:08:00.0 nvme1n1 Drive B",
                                      "nvme0n1: GPU0=PIX/4*",
                                      "nvme1n1: GPU0=PHB/106*",
                                      "md0 (raid1 of nvme0n1, nvme1n1): GPU0=PHB/55*",
                                  }));
}

TEST(PciAddress, IsWrittenAsSysfsDoes) {
  EXPECT_EQ(normal_pci_address("0000:3B:00.0"), "0000:3b:00.0");
  EXPECT_EQ(normal_pci_address("00000000:3B:00.0"), "0000:3b:00.0");
  EXPECT_EQ(normal_pci_address("10000:01:00.0"), "10000:01:00.0");
  for (const char* wrong : {"", "gpu", "0000:3b:00", "0000:3b:00.0 ", "0000:3b:00.9", "0000:1ff:00.0"})
    EXPECT_EQ(normal_pci_address(wrong), "") << wrong;
}

TEST(NaturalOrder, DigitsAreNumbers) {
  EXPECT_TRUE(before_in_natural_order("nvme2n1", "nvme10n1"));
  EXPECT_FALSE(before_in_natural_order("nvme10n1", "nvme2n1"));
  EXPECT_TRUE(before_in_natural_order("nvme1n1", "nvme1n1p1"));
  EXPECT_FALSE(before_in_natural_order("sda", "sda"));
  EXPECT_TRUE(before_in_natural_order("md", "md0"));
}

}  // namespace
}  // namespace turbine
