/* numa_binding_test.cc - a thread stays on its node's processors, and on any where nothing is known. */
#include "engine/topology/numa_binding.h"

#include <gtest/gtest.h>

#include <thread>

#include "engine/topology/testing/sysfs_tree.h"

namespace turbine {
namespace {

int listed(const std::string& list) {
  const cpu_set_t processors = processors_in_list(list);
  return CPU_COUNT(&processors);
}

TEST(NumaBindingTest, ListsOfProcessors) {
  EXPECT_EQ(listed("0-3,8"), 5);
  EXPECT_EQ(listed("7"), 1);
  const cpu_set_t processors = processors_in_list("2-3");
  EXPECT_TRUE(CPU_ISSET(2, &processors) && CPU_ISSET(3, &processors) && !CPU_ISSET(4, &processors));
  for (const char* wrong : {"", "a", "3-1", "1-", "1,,2", "0-99999", "1 2"}) EXPECT_EQ(listed(wrong), 0) << wrong;
}

/* The processors that a thread may use once it is bound to the node; at first they are this process's. */
cpu_set_t bound(const NumaBinding& binding) {
  cpu_set_t processors;
  std::thread([&] {
    binding.bind_thread();
    const NumaBinding::MemoryScope memory(binding);
    sched_getaffinity(0, sizeof processors, &processors);
  }).join();
  return processors;
}

TEST(NumaBindingTest, BindsToWhatMayBeUsed) {
  cpu_set_t own;
  ASSERT_EQ(sched_getaffinity(0, sizeof own, &own), 0);
  int first = 0;
  while (!CPU_ISSET(first, &own)) first++;
  SysfsTree tree("node 0 10 21\nnode 1 21 10\n");
  tree.write("devices/system/node/node0/cpulist", std::to_string(first) + ",1000-1010");
  tree.write("devices/system/node/node1/cpulist", "1011-1020");
  const cpu_set_t here = bound(NumaBinding(Sysfs(tree.root()), 0));
  EXPECT_EQ(CPU_COUNT(&here), 1);
  EXPECT_TRUE(CPU_ISSET(first, &here));
  // The node's processors are not this process's; there is no such node; nobody knows the node.
  for (const int node : {1, 2, -1}) {
    const cpu_set_t any = bound(NumaBinding(Sysfs(tree.root()), node));
    EXPECT_TRUE(CPU_EQUAL(&any, &own)) << node;
  }
}

TEST(NumaBindingTest, OneNodeIsNoReason) {
  SysfsTree tree("node 0 10\n");
  tree.write("devices/system/node/node0/cpulist", "0");
  EXPECT_FALSE(NumaBinding(Sysfs(tree.root()), 0).binds());
}

}  // namespace
}  // namespace turbine
