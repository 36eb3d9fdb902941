/* mapped_files_test.cc - mappings last as long as their files do, and failed loads end nothing. */
#include "engine/source/heap/mapped_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <future>
#include <vector>

#include "engine/source/heap/relation_files.h"
#include "engine/threads/worker_pool.h"

namespace turbine {
namespace {

constexpr uint32_t kPages = 200;

class MappedFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fd_ = mkstemp(name_);
    ASSERT_GE(fd_, 0);
    for (uint32_t page = 0; page < kPages; page++) write_lsn(page, page + 1);
    ASSERT_EQ(ftruncate(fd_, off_t{kPages} * TB_PAGE_SIZE), 0);
  }
  void TearDown() override {
    unlink(name_);
    close(fd_);
  }

  void write_lsn(uint32_t page, uint32_t number) const {
    const uint32_t lsn[2] = {number, number + 7};
    ASSERT_EQ(pwrite(fd_, lsn, sizeof lsn, off_t{page} * TB_PAGE_SIZE), ssize_t{sizeof lsn});
  }
  static uint64_t lsn_of(uint32_t number) { return uint64_t{number} << 32 | (number + 7); }

  static std::vector<uint64_t> read(MappedFile& file, const std::vector<uint32_t>& pages) {
    std::vector<uint64_t> lsns(pages.size(), 99);
    file.read_lsns(pages, lsns.data());
    return lsns;
  }

  char name_[32] = "/var/tmp/pgt-mapped-XXXXXX";
  int fd_ = -1;
  MappedFiles files_;
};

TEST_F(MappedFilesTest, ShowHeadersAsTheFileHasThemNow) {
  const auto file = files_.find(fd_);
  ASSERT_TRUE(file);
  std::vector<uint32_t> all;
  for (uint32_t page = 0; page < kPages; page++) all.push_back(page);
  const std::vector<uint64_t> lsns = read(*file, all);
  for (uint32_t page = 0; page < kPages; page++) EXPECT_EQ(lsns[page], lsn_of(page + 1));
  write_lsn(70, 1000);
  EXPECT_EQ(read(*file, {3, 70, 71, 199}), (std::vector<uint64_t>{lsn_of(4), lsn_of(1000), lsn_of(72), lsn_of(200)}));
  EXPECT_TRUE(read(*file, {}).empty());
}

TEST_F(MappedFilesTest, PagesBehindTheEndHaveNone) {
  const auto file = files_.find(fd_);
  ASSERT_TRUE(file);
  EXPECT_EQ(read(*file, {kPages - 1, kPages, kFileBlocks - 1}), (std::vector<uint64_t>{lsn_of(kPages), 0, 0}));
  // Which come, go and come again while the file is mapped.
  write_lsn(kPages, 500);
  EXPECT_EQ(read(*file, {kPages}), std::vector<uint64_t>{lsn_of(500)});
  ASSERT_EQ(ftruncate(fd_, off_t{10} * TB_PAGE_SIZE), 0);
  EXPECT_EQ(read(*file, {9, 10, kPages}), (std::vector<uint64_t>{lsn_of(10), 0, 0}));
  write_lsn(kPages, 600);
  EXPECT_EQ(read(*file, {10, kPages}), (std::vector<uint64_t>{0, lsn_of(600)}));
}

/* Of a file that belongs to someone else the kernel says that all pages are in memory. On a thread as those that read.
 */
TEST_F(MappedFilesTest, FailedLoadsShowZeros) {
  const int fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  std::promise<void> ended;
  WorkerPool readers("test", 1);
  readers.post([&](unsigned) {
    setfsuid(65534);  // of root this takes the right to know better
    const auto file = files_.find(fd);
    EXPECT_TRUE(file);
    EXPECT_NE(read(*file, {0})[0], 0u);
    EXPECT_EQ(files_.find(fd), file);
    EXPECT_EQ(read(*file, {kFileBlocks - 2, kFileBlocks - 1}), (std::vector<uint64_t>{0, 0}));
    EXPECT_NE(read(*file, {0})[0], 0u);
    const auto again = files_.find(fd);  // without the page of zeros
    EXPECT_TRUE(again);
    EXPECT_NE(again, file);
    ended.set_value();
  });
  ended.get_future().wait();
  close(fd);
}

TEST_F(MappedFilesTest, OtherFailuresEndTheProcess) {
  ASSERT_TRUE(files_.find(fd_));
  auto* memory = static_cast<uint8_t*>(mmap(nullptr, kPages * TB_PAGE_SIZE, PROT_READ, MAP_SHARED, fd_, 0));
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(ftruncate(fd_, 0), 0);
  EXPECT_EXIT(exit(*static_cast<volatile uint8_t*>(memory)), ::testing::KilledBySignal(SIGBUS),
              "turbined: SIGBUS, code 2, at 0000[0-9a-f]+");
  munmap(memory, kPages * TB_PAGE_SIZE);
}

TEST_F(MappedFilesTest, StayWhileTheyAreAskedFor) {
  const auto file = files_.find(fd_);
  files_.pass_time(13 * 3600);
  files_.forget_unused();
  EXPECT_EQ(files_.find(dup(fd_)), file);
  files_.pass_time(13 * 3600);
  files_.forget_unused();
  EXPECT_EQ(files_.size(), 1u);
  files_.pass_time(13 * 3600);
  files_.forget_unused();
  EXPECT_EQ(files_.size(), 0u);
  EXPECT_EQ(read(*file, {1}), std::vector<uint64_t>{lsn_of(2)});  // whoever has it keeps it
}

TEST_F(MappedFilesTest, RemovedFilesAreLetGoOf) {
  ASSERT_TRUE(files_.find(fd_));
  files_.forget_unused();
  EXPECT_EQ(files_.size(), 1u);
  unlink(name_);
  files_.forget_unused();
  EXPECT_EQ(files_.size(), 0u);
}

TEST_F(MappedFilesTest, AreNotMoreThanTheProcessCanSpare) {
  MappedFiles few(2);
  char names[3][32];
  int fds[3];
  for (int i = 0; i < 3; i++) {
    strcpy(names[i], "/var/tmp/pgt-mapped-XXXXXX");
    fds[i] = mkstemp(names[i]);
    ASSERT_GE(fds[i], 0);
  }
  EXPECT_TRUE(few.find(fds[0]));
  EXPECT_TRUE(few.find(fds[1]));
  EXPECT_FALSE(few.find(fds[2]));
  EXPECT_TRUE(few.find(fds[1])) << "there is one";
  EXPECT_EQ(few.size(), 2u);
  for (int i = 0; i < 3; i++) {
    unlink(names[i]);
    close(fds[i]);
  }
  few.forget_unused();
  EXPECT_EQ(few.size(), 0u);
}

TEST_F(MappedFilesTest, WhatIsNoFileIsNotMapped) {
  EXPECT_FALSE(files_.find(-1));
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  EXPECT_FALSE(files_.find(pipes[0]));
  EXPECT_EQ(files_.size(), 0u);
  close(pipes[0]);
  close(pipes[1]);
}

}  // namespace
}  // namespace turbine
