/* page_lsns_test.cc - LSNs of pages over several files: mapped, with io_uring and without. */
#include "engine/source/heap/page_lsns.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace turbine {
namespace {

constexpr uint32_t kMapPages = 100;

uint64_t lsn_of(uint32_t page) { return uint64_t{page + 1} << 32 | (page + 7); }

/* Only the headers are written. */
void write_headers(int fd) {
  for (uint32_t page = 0; page < kMapPages; page++) {
    const uint32_t lsn[2] = {page + 1, page + 7};
    ASSERT_EQ(pwrite(fd, lsn, sizeof lsn, off_t{page} * TB_PAGE_SIZE), ssize_t{sizeof lsn});
  }
  ASSERT_EQ(ftruncate(fd, off_t{kMapPages} * TB_PAGE_SIZE), 0);
}

int file_on_drive() {
  char name[] = "/var/tmp/pgt-lsns-XXXXXX";
  const int fd = mkstemp(name);
  unlink(name);
  return fd;
}

std::vector<uint64_t> read(const RelationFiles& files, const std::vector<uint32_t>& blocks) {
  std::vector<uint64_t> lsns(blocks.size(), 99);
  read_page_lsns(files, blocks, lsns.data());
  return lsns;
}

void expect_lsns(const RelationFiles& files) {
  std::vector<uint32_t> many;
  for (uint32_t i = 0; i < kMostPageLsns; i++) many.push_back(i + 20);
  for (int turn = 0; turn < 3; turn++) {  // a ring goes round
    const std::vector<uint64_t> lsns = read(files, many);
    for (uint32_t i = 0; i < kMostPageLsns; i++) EXPECT_EQ(lsns[i], lsn_of(i + 20));
    // Behind the file's end, and in a file that was not passed.
    EXPECT_EQ(read(files, {3, kMapPages, 5, 2 * kFileBlocks, 0}),
              (std::vector<uint64_t>{lsn_of(3), 0, lsn_of(5), 0, lsn_of(0)}));
    EXPECT_EQ(read(files, {kFileBlocks + 1}), std::vector<uint64_t>{lsn_of(1)});
  }
  EXPECT_TRUE(read(files, {}).empty());
}

class PageLsnsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const int first = file_on_drive(), second = memfd_create("relation", MFD_CLOEXEC);  // which can not tell
    write_headers(first);
    write_headers(second);
    ASSERT_TRUE(files_.add(0, {first, second}));
  }
  RelationFiles files_;
};

TEST_F(PageLsnsTest, AreThoseOfTheHeaders) { expect_lsns(files_); }

TEST_F(PageLsnsTest, AreTheSameOfMappedFiles) {
  MappedFiles mapped;
  const PageLsns pages(files_, mapped, 2 * kFileBlocks + 10);
  EXPECT_EQ(mapped.size(), 2u);
  // In both files, behind their ends, and in a file that was not passed.
  const std::vector<uint32_t> blocks{
      3, kMapPages - 1, kMapPages, kFileBlocks + 1, kFileBlocks + kMapPages, 2 * kFileBlocks};
  std::vector<uint64_t> lsns(blocks.size(), 99);
  pages.read(blocks, lsns.data());
  EXPECT_EQ(lsns, (std::vector<uint64_t>{lsn_of(3), lsn_of(kMapPages - 1), 0, lsn_of(1), 0, 0}));
}

TEST_F(PageLsnsTest, AreReadWhereNoFileCanBeMapped) {
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{0, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  MappedFiles mapped;
  const PageLsns pages(files_, mapped, 2 * kFileBlocks);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(mapped.size(), 0u);
  uint64_t lsns[2] = {99, 99};
  pages.read(std::vector<uint32_t>{kMapPages - 1, kFileBlocks + 1}, lsns);
  EXPECT_EQ(lsns[0], lsn_of(kMapPages - 1));
  EXPECT_EQ(lsns[1], lsn_of(1));
}

TEST_F(PageLsnsTest, AreReadOneByOneWhereThereIsNoRing) {
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{0, limit.rlim_max};
  std::thread([&] {  // which has no ring yet
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    expect_lsns(files_);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    expect_lsns(files_);
  })
      .join();
}

}  // namespace
}  // namespace turbine
