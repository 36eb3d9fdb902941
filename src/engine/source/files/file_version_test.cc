/* file_version_test.cc - versions of files that have changed right now, and what is kept of them. */
#include "engine/source/files/file_version.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>

#include "engine/source/files/arrow/metadata_cache.h"

namespace turbine {
namespace {

TEST(FileVersionTest, WhatHasChangedRightNowIsNotKept) {
  const int fd = memfd_create("rows", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(write(fd, "rows", 4), 4);
  const FileVersion version = file_version(fd);
  const auto metadata = std::make_shared<const int>(1);
  MetadataCache cache;
  EXPECT_FALSE(is_settled(version));
  cache.add(version, metadata);
  EXPECT_EQ(cache.find(version), nullptr);

  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  EXPECT_TRUE(is_settled(version));
  cache.add(version, metadata);
  EXPECT_EQ(cache.find(version), metadata);
  close(fd);
}

TEST(FileVersionTest, AClockThatIsAheadSettlesNothing) {
  FileVersion version;
  version.inode_changed_ns = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count() +
                             int64_t{3600} * 1000000000;
  EXPECT_FALSE(is_settled(version));
}

}  // namespace
}  // namespace turbine
