/*
 * direct_reader_test.cc - runs over several files, and every way in which
 * a read can fail; checksums against PostgreSQL's own code.
 */
#include "engine/source/heap/direct_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "engine/source/heap/page_checksum.h"

extern "C" uint16_t pg_checksum_page(char* page, uint32_t block);

namespace turbine {
namespace {

std::vector<uint8_t> random_page(std::mt19937& random) {
  std::vector<uint8_t> page(TB_PAGE_SIZE);
  for (uint8_t& byte : page) byte = static_cast<uint8_t>(random());
  page[14] = 0;  // pd_upper: not a new page
  page[15] = 0x10;
  return page;
}

TEST(PageChecksum, EqualsPostgres) {
  std::mt19937 random(7);
  for (uint32_t block : {0u, 1u, 131071u, 131072u, 0x7fffffffu, 0xfffffffeu}) {
    for (int i = 0; i < 50; i++) {
      std::vector<uint8_t> page = random_page(random);
      const uint16_t theirs = pg_checksum_page(reinterpret_cast<char*>(page.data()), block);
      EXPECT_EQ(page_checksum(page.data(), block), theirs);
      memcpy(page.data() + 8, &theirs, sizeof theirs);
      EXPECT_TRUE(page_checksum_ok(page.data(), block));
      EXPECT_FALSE(page_checksum_ok(page.data(), block ^ 1));
      page[random() % 8] ^= 1;
      EXPECT_FALSE(page_checksum_ok(page.data(), block));
    }
  }
}

TEST(PageChecksum, NewPagesHaveNone) {
  std::vector<uint8_t> page(TB_PAGE_SIZE, 0);
  EXPECT_TRUE(page_checksum_ok(page.data(), 5));
  page[5000] = 1;  // not initialised, but not empty: damage
  EXPECT_FALSE(page_checksum_ok(page.data(), 5));
}

/* A file of `pages` pages; every word of page i says i + base. */
int numbered_file(uint32_t pages, uint32_t base) {
  const int fd = memfd_create("relation", MFD_CLOEXEC);
  for (uint32_t i = 0; i < pages; i++) {
    const std::vector<uint32_t> words(TB_PAGE_SIZE / 4, base + i);
    EXPECT_EQ(write(fd, words.data(), TB_PAGE_SIZE), static_cast<ssize_t>(TB_PAGE_SIZE));
  }
  return fd;
}

/* Slots begin where O_DIRECT can write. */
class SlotPages {
 public:
  explicit SlotPages(uint64_t pages, uint8_t fill = 0)
      : bytes_(static_cast<uint8_t*>(aligned_alloc(kDirectAlignment, pages * TB_PAGE_SIZE)), &free), pages_(pages) {
    memset(bytes_.get(), fill, pages * TB_PAGE_SIZE);
  }
  uint8_t* data() { return bytes_.get(); }
  uint32_t first_word(uint32_t page) const {
    uint32_t word;
    memcpy(&word, bytes_.get() + page * TB_PAGE_SIZE, sizeof word);
    return word;
  }
  uint8_t back() const { return bytes_.get()[pages_ * TB_PAGE_SIZE - 1]; }

 private:
  std::unique_ptr<uint8_t, decltype(&free)> bytes_;
  uint64_t pages_;
};

bool read_runs(const RelationFiles& files, std::span<const TbRun> runs, bool verify_checksums, uint8_t* pages,
               ReadPath path = ReadPath::kPageCache) {
  static WorkerPool threads("test", 2);
  static StorageReader reader(threads);
  auto extents = extents_of(files, runs, pages);
  return extents && reader.read_now(std::move(*extents), path).ok && (!verify_checksums || checksums_ok(runs, pages));
}

TEST(DirectReader, ReadsRunsToTheirPages) {
  RelationFiles files;
  ASSERT_TRUE(files.add(0, {numbered_file(20, 100)}));
  SlotPages slot(8, 0xee);
  const std::vector<TbRun> runs = {{0, 3, 2}, {4, 10, 3}};
  ASSERT_TRUE(read_runs(files, runs, false, slot.data()));
  EXPECT_EQ(slot.first_word(0), 103u);
  EXPECT_EQ(slot.first_word(1), 104u);
  EXPECT_EQ(slot.first_word(2), 0xeeeeeeeeu);
  EXPECT_EQ(slot.first_word(6), 112u);
  EXPECT_EQ(slot.first_word(7), 0xeeeeeeeeu);
}

TEST(DirectReader, ReadsOnlyThePagesAskedFor) {
  RelationFiles files;
  ASSERT_TRUE(files.add(0, {numbered_file(20, 100)}));
  const std::vector<TbRun> runs = {{0, 3, 2}, {4, 10, 3}};
  for (uint32_t first = 0; first < 8; first++) {
    for (uint32_t count = 0; first + count <= 8; count++) {
      SlotPages slot(8, 0xee);
      ASSERT_EQ(read_cached(files, runs, first, count, false, slot.data()), CachedRead::kDone);
      for (uint32_t page = 0; page < 8; page++) {
        const uint32_t of_chunk = first + page;
        const bool in_runs = of_chunk < 2 || (of_chunk >= 4 && of_chunk < 7);
        const uint32_t block = of_chunk < 2 ? 3 + of_chunk : 10 + of_chunk - 4;
        EXPECT_EQ(slot.first_word(page), in_runs && page < count ? 100 + block : 0xeeeeeeeeu)
            << first << " " << count << " " << page;
      }
    }
  }
  SlotPages slot(2);
  EXPECT_EQ(read_cached(files, std::vector<TbRun>{{0, 19, 2}}, 0, 2, false, slot.data()), CachedRead::kFailed);
  EXPECT_EQ(read_cached(files, std::vector<TbRun>{{0, 19, 2}}, 0, 1, false, slot.data()), CachedRead::kDone);
}

TEST(DirectReader, WaitsForNoDriveWhereToldSo) {
  char name[] = "/var/tmp/pgt-direct-XXXXXX";
  const int fd = mkstemp(name);
  ASSERT_GE(fd, 0);
  unlink(name);
  constexpr uint32_t kPages = 512;
  const std::vector<uint8_t> page(TB_PAGE_SIZE, 7);
  for (uint32_t i = 0; i < kPages; i++) ASSERT_EQ(write(fd, page.data(), page.size()), TB_PAGE_SIZE);
  RelationFiles files;
  ASSERT_TRUE(files.add(0, {fd}));
  const std::vector<TbRun> runs = {{0, 0, kPages}};
  SlotPages slot(kPages);
  EXPECT_EQ(read_cached(files, runs, 0, kPages, false, slot.data()), CachedRead::kDone) << "just written";
  ASSERT_EQ(fsync(fd), 0);
  ASSERT_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
  std::vector<unsigned char> resident(uint64_t{kPages} * TB_PAGE_SIZE / 4096, 1);
  const uint64_t size = uint64_t{kPages} * TB_PAGE_SIZE;
  void* map = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(map, MAP_FAILED);
  ASSERT_EQ(mincore(map, size, resident.data()), 0);
  munmap(map, size);
  if (std::any_of(resident.begin(), resident.end(), [](unsigned char r) { return r & 1; }))
    GTEST_SKIP() << "the file system keeps its pages";
  EXPECT_FALSE(were_in_page_cache(files, runs));
  EXPECT_TRUE(read_runs(files, runs, false, slot.data(), ReadPath::kPastPageCache));
  EXPECT_EQ(slot.back(), 7);
  EXPECT_FALSE(files.storage(0)->in_page_cache(0, TB_PAGE_SIZE)) << "read past it";
  EXPECT_EQ(read_cached(files, runs, 0, kPages, false, slot.data()), CachedRead::kNotCached);
  EXPECT_TRUE(read_runs(files, runs, false, slot.data()));
  EXPECT_EQ(slot.back(), 7);
  EXPECT_TRUE(files.storage(0)->in_page_cache(0, size));
  EXPECT_FALSE(were_in_page_cache(files, runs)) << "at first";
}

TEST(DirectReader, CrossesFiles) {
  const int first = memfd_create("relation", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(first, off_t{kFileBlocks} * TB_PAGE_SIZE), 0);
  const uint32_t mark = 42;
  ASSERT_EQ(pwrite(first, &mark, sizeof mark, off_t{kFileBlocks - 1} * TB_PAGE_SIZE), 4);
  RelationFiles files;
  ASSERT_TRUE(files.add(0, {first}));
  ASSERT_TRUE(files.add(1, {numbered_file(2, 500)}));
  SlotPages slot(3);
  ASSERT_TRUE(read_runs(files, std::vector<TbRun>{{0, kFileBlocks - 1, 3}}, false, slot.data()));
  EXPECT_EQ(slot.first_word(0), 42u);
  EXPECT_EQ(slot.first_word(1), 500u);
  EXPECT_EQ(slot.first_word(2), 501u);
}

TEST(DirectReader, ReportsWhatItCannotRead) {
  RelationFiles files;
  const int write_only = open("/dev/null", O_WRONLY | O_CLOEXEC);
  ASSERT_TRUE(files.add(0, {numbered_file(4, 0)}));
  ASSERT_TRUE(files.add(2, {write_only}));
  SlotPages slot(8);
  EXPECT_FALSE(read_runs(files, std::vector<TbRun>{{0, 2, 3}}, false, slot.data())) << "short file";
  EXPECT_FALSE(read_runs(files, std::vector<TbRun>{{0, kFileBlocks, 1}}, false, slot.data())) << "no such file";
  EXPECT_FALSE(read_runs(files, std::vector<TbRun>{{0, 2 * kFileBlocks, 1}}, false, slot.data())) << "read error";
  EXPECT_TRUE(read_runs(files, std::vector<TbRun>{{0, 0, 4}}, false, slot.data()));
}

TEST(DirectReader, VerifiesChecksums) {
  std::mt19937 random(3);
  const int fd = memfd_create("relation", MFD_CLOEXEC);
  for (uint32_t block = 0; block < 4; block++) {
    std::vector<uint8_t> page = random_page(random);
    const uint16_t checksum = page_checksum(page.data(), block);
    memcpy(page.data() + 8, &checksum, sizeof checksum);
    if (block == 2) page[4000] ^= 1;
    ASSERT_EQ(write(fd, page.data(), page.size()), static_cast<ssize_t>(page.size()));
  }
  RelationFiles files;
  ASSERT_TRUE(files.add(0, {fd}));
  SlotPages slot(4);
  EXPECT_TRUE(read_runs(files, std::vector<TbRun>{{0, 0, 2}, {3, 3, 1}}, true, slot.data()));
  EXPECT_FALSE(read_runs(files, std::vector<TbRun>{{0, 1, 2}}, true, slot.data()));
  EXPECT_TRUE(read_runs(files, std::vector<TbRun>{{0, 1, 2}}, false, slot.data()));
}

TEST(RelationFiles, RefusesWhatCannotBeAndClosesIt) {
  RelationFiles files;
  const int twice = numbered_file(1, 0);
  const int beyond = numbered_file(1, 0);
  ASSERT_TRUE(files.add(5, {numbered_file(1, 0)}));
  EXPECT_FALSE(files.add(5, {twice}));
  EXPECT_FALSE(files.add(0xffffffff, {beyond}));
  EXPECT_EQ(fcntl(twice, F_GETFD), -1);
  EXPECT_EQ(fcntl(beyond, F_GETFD), -1);
  const int kept = files.fd(5);
  EXPECT_GE(kept, 0);
  EXPECT_EQ(files.fd(4), -1);
  files.close_all();
  EXPECT_EQ(fcntl(kept, F_GETFD), -1);
}

}  // namespace
}  // namespace turbine
