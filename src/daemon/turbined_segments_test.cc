/*
 * turbined_segments_test.cc - SEGMENTS: what one query has read the next one takes, and
 * only that.
 */
#include <bit>
#include <map>
#include <span>

#include "daemon/testing/turbined_fixture.h"
#include "engine/testing/hand_written_code.h"
#include "engine/testing/hand_written_programs.h"
#include "engine/testing/heap_pages.h"

namespace turbine {
namespace {

using testing::Client;
using testing::heap_pages;
using testing::Reply;
using testing::TurbinedTest;

constexpr uint32_t kBlocks = 2 * TB_SEGMENT_BLOCKS;
constexpr uint64_t kLsn = 1234;

class SegmentsTest : public TurbinedTest {
 protected:
  void SetUp() override { start(true); }

  void start(bool keeps) {
    restart({"--column-store", keeps ? "16MB" : "0"}, TB_TEST_CODE_TOTAL);
    pages_ = heap_pages(std::vector<int32_t>(kBlocks * 10, 2), 10);
    mark_all_visible(kBlocks);
  }
  /* The first so many pages say that they are all-visible; all have been logged. */
  void mark_all_visible(uint32_t count) {
    for (uint32_t i = 0; i < kBlocks; i++) {
      pages_[i * TB_PAGE_SIZE + 10] = i < count ? 4 : 0;
      set_page_lsn(i, 500);
    }
  }
  void set_page_lsn(uint32_t block, uint32_t lsn) {
    const uint32_t parts[2] = {1, lsn};
    memcpy(pages_.data() + uint64_t{block} * TB_PAGE_SIZE, parts, sizeof parts);
  }

  struct Question {
    uint64_t lsn = kLsn;
    uint32_t part = 1;
    uint32_t flags = 0;
    std::vector<uint8_t> bits = std::vector<uint8_t>(kBlocks / 8, 0xff);
    std::vector<uint32_t> buffered = {};
    std::vector<uint64_t> page_lsn = {};
    std::vector<uint32_t> buffers = {};
  };
  std::unique_ptr<Client> ask(const Question& question, Reply* reply) {
    auto client = connect();
    EXPECT_TRUE(client->start(testing::sum_program(false), 100000));
    send_segments(*client, question);
    *reply = client->receive();
    return client;
  }
  /* Bits that are all set are left out. */
  static void send_segments(Client& client, const Question& question) {
    TbSegments head{};
    head.file = {1, 2, 3, 0, 4, 5};
    head.part = question.part;
    head.nblocks = kBlocks;
    head.nmap_pages = 1;
    head.flags = question.flags;
    head.asked = count_bits(question.bits);
    head.nbuffered = static_cast<uint32_t>(question.buffered.size());
    std::string rest(reinterpret_cast<const char*>(&question.lsn), sizeof question.lsn);
    for (const uint64_t lsn : question.page_lsn) rest.append(reinterpret_cast<const char*>(&lsn), sizeof lsn);
    for (const uint32_t block : question.buffered) rest.append(reinterpret_cast<const char*>(&block), sizeof block);
    for (const uint32_t buffer : question.buffers) rest.append(reinterpret_cast<const char*>(&buffer), sizeof buffer);
    const bool full = head.asked == kBlocks;
    rest.push_back(full);
    if (!full) rest.append(question.bits.begin(), question.bits.end());
    client.send_struct(TB_MSG_SEGMENTS, head, rest);
  }
  static uint32_t count_bits(std::span<const uint8_t> bits) {
    uint32_t count = 0;
    for (const uint8_t byte : bits) count += static_cast<uint32_t>(std::popcount(byte));
    return count;
  }
  /* Of an answer: how many sets of bits it has. */
  static size_t sets_of(const TbSegmentsTaken& answer) {
    return !(answer.flags & TB_SEGMENTS_TAKEN_ALL) + (answer.doubtful > 0);
  }
  int relation_file() {
    const int fd = memfd_create("relation", MFD_CLOEXEC);
    EXPECT_EQ(write(fd, pages_.data(), pages_.size()), static_cast<ssize_t>(pages_.size()));
    return fd;
  }
  void send_files(Client& client) {
    const int fd = relation_file();
    client.send_struct(TB_MSG_FILES, TbFiles{0, 1}, "", {fd});
    close(fd);
  }
  /* Asks under this LSN, and again for all that is doubtful; blocks taken the second time. `buffered`: by block, LSNs
   * of pages in shared buffers. */
  uint64_t taken_again(uint64_t lsn, uint64_t expected_doubtful, const std::map<uint32_t, uint64_t>& buffered = {}) {
    Reply reply;
    auto client = ask({.lsn = lsn}, &reply);
    const auto first = reply.as<TbSegmentsTaken>();
    EXPECT_EQ(first.doubtful, expected_doubtful);
    EXPECT_EQ(reply.payload.size(), sizeof first + kBlocks / 8 * sets_of(first));
    send_files(*client);
    const auto doubtful = reply.payload.end() - kBlocks / 8;
    Question again{.lsn = lsn, .flags = TB_SEGMENTS_CLEAN, .bits = {doubtful, reply.payload.end()}};
    for (const auto& [block, page_lsn] : buffered) {
      again.buffered.push_back(block);
      again.page_lsn.push_back(page_lsn);
      again.buffers.push_back(1000 + block);
    }
    send_segments(*client, again);
    const auto second = client->receive().as<TbSegmentsTaken>();
    EXPECT_EQ(second.doubtful, 0u);
    EXPECT_EQ(second.rows, second.blocks * 10);
    EXPECT_EQ(finish(*client), static_cast<int64_t>(first.rows + second.rows) * 2);
    return second.blocks;
  }
  /* Blocks that a query with this question takes; its sum must be that of these. */
  uint32_t taken(const Question& question) {
    Reply reply;
    auto client = ask(question, &reply);
    EXPECT_EQ(reply.type, static_cast<uint32_t>(TB_MSG_SEGMENTS_TAKEN));
    const auto answer = reply.as<TbSegmentsTaken>();
    EXPECT_EQ(answer.rows, answer.blocks * 10);
    const uint64_t hints = answer.flags & TB_SEGMENTS_TAKEN_BUFFERS ? answer.doubtful : 0;
    EXPECT_EQ(reply.payload.size(), sizeof answer + kBlocks / 8 * sets_of(answer) + hints * sizeof(uint32_t));
    const uint32_t asked = count_bits(question.bits);
    if (answer.flags & TB_SEGMENTS_TAKEN_ALL)
      EXPECT_EQ(answer.blocks, asked);
    else
      EXPECT_EQ(answer.blocks, count_bits(std::span(reply.payload).subspan(sizeof answer, kBlocks / 8)));
    EXPECT_EQ(finish(*client), static_cast<int64_t>(answer.rows) * 2);
    return static_cast<uint32_t>(answer.blocks);
  }
  int64_t finish(Client& client) {
    client.send(TB_MSG_INPUT_END);
    return results(client);
  }
  static int64_t results(Client& client) {
    const Reply groups = client.receive();
    EXPECT_EQ(groups.type, static_cast<uint32_t>(TB_MSG_RESULT_BATCH));
    const auto* batch = reinterpret_cast<const TbResultBatch*>(groups.payload.data());
    int64_t sum = 0;
    if (batch->columns[1].valid == 0 || client.slot(batch->slot)[batch->columns[1].valid])
      memcpy(&sum, client.slot(batch->slot) + batch->columns[1].values, sizeof sum);
    client.send_struct(TB_MSG_SLOT_FREE, TbSlotFree{batch->slot, 0});
    EXPECT_EQ(client.receive().type, static_cast<uint32_t>(TB_MSG_QUERY_DONE));
    return sum;
  }
  /* Of a segment's blocks, without runs. */
  static TbChunk chunk_of(uint32_t block, uint64_t lsn) {
    TbChunk chunk{};
    chunk.kind = TB_CHUNK_PAGES;
    chunk.npages = TB_SEGMENT_BLOCKS;
    chunk.sequence = block / TB_SEGMENT_BLOCKS;
    chunk.part = 1;
    chunk.map_lsn = lsn;
    return chunk;
  }
  /* A query whose backend copies all blocks, every other one of them as one that may be kept. */
  void copy_all(uint64_t lsn) {
    Reply reply;
    auto client = ask({.lsn = 1}, &reply);
    for (uint32_t block = 0; block < kBlocks; block += TB_SEGMENT_BLOCKS) {
      TbChunk chunk = chunk_of(block, lsn);
      std::string runs;
      for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i += 2, chunk.ncopied++) {
        const TbRun run{i, block + i, 1};
        runs.append(reinterpret_cast<const char*>(&run), sizeof run);
      }
      memcpy(client->slot(0), pages_.data() + uint64_t{block} * TB_PAGE_SIZE, TB_SEGMENT_BLOCKS * TB_PAGE_SIZE);
      client->send_struct(TB_MSG_CHUNK, chunk, runs);
      client->send_struct(TB_MSG_CHUNK_RELEASE, TbChunkRelease{0, 0});
      ASSERT_EQ(client->receive().type, TB_MSG_CHUNK_DONE);
    }
    EXPECT_EQ(finish(*client), kBlocks * 10 * 2);
  }
  /* A query that reads all blocks from the file; `rewritten` of its chunks. */
  void read_all(uint64_t lsn, bool rewritten = false, uint32_t flags = 0) {
    Question nothing;
    nothing.lsn = 1;
    nothing.flags = flags;
    Reply reply;
    auto client = ask(nothing, &reply);
    send_files(*client);
    for (uint32_t block = 0; block < kBlocks; block += TB_SEGMENT_BLOCKS) {
      TbChunk chunk = chunk_of(block, lsn);
      chunk.nruns = 1;
      const TbRun run{0, block, TB_SEGMENT_BLOCKS};
      client->send_struct(TB_MSG_CHUNK, chunk, std::string(reinterpret_cast<const char*>(&run), sizeof run));
      ASSERT_EQ(client->receive().type, TB_MSG_CHUNK_READ);
      if (rewritten)
        memcpy(client->slot(0), pages_.data() + uint64_t{block} * TB_PAGE_SIZE, TB_SEGMENT_BLOCKS * TB_PAGE_SIZE);
      client->send_struct(TB_MSG_CHUNK_RELEASE, TbChunkRelease{0, rewritten});
      ASSERT_EQ(client->receive().type, TB_MSG_CHUNK_DONE);
    }
    EXPECT_EQ(finish(*client), kBlocks * 10 * 2);
  }

  std::vector<uint8_t> pages_;
};

TEST_F(SegmentsTest, CopiesAreKeptWhereTheBackendSaysSo) {
  copy_all(0);
  EXPECT_EQ(taken({}), 0u) << "of several map pages";
  copy_all(kLsn);
  EXPECT_EQ(taken({}), kBlocks / 2);
  read_all(kLsn);
  EXPECT_EQ(taken({}), kBlocks);
}

TEST_F(SegmentsTest, WhatWasConfirmedIsTakenUnderTheSameLsn) {
  EXPECT_EQ(taken({}), 0u);
  read_all(kLsn);
  EXPECT_EQ(taken({}), kBlocks);
  EXPECT_EQ(taken({.lsn = kLsn + 1}), 0u);
  Question half;
  std::fill_n(half.bits.begin(), TB_SEGMENT_BLOCKS / 8, 0);
  EXPECT_EQ(taken(half), TB_SEGMENT_BLOCKS);
  half.bits.back() = 0x7f;
  EXPECT_EQ(taken(half), TB_SEGMENT_BLOCKS - 1) << "block by block";
  half.bits[kBlocks / 8 - 4] = 0x55;
  EXPECT_EQ(taken(half), TB_SEGMENT_BLOCKS - 5) << "with gaps";
}

TEST_F(SegmentsTest, WhereTheMapHasMovedPagesTellWhetherTheyHave) {
  read_all(kLsn);
  for (uint32_t block : {3u, 64u, 127u}) set_page_lsn(block, 501);
  EXPECT_EQ(taken_again(kLsn + 1, kBlocks), kBlocks - 3);
  EXPECT_EQ(taken({.lsn = kLsn + 1}), kBlocks - 3) << "and need not be asked again";
  EXPECT_EQ(taken_again(kLsn + 1, 3), 0u);
  EXPECT_EQ(taken({.lsn = kLsn}), 0u) << "forward only";
}

TEST_F(SegmentsTest, OfDirtyPagesTheLsnInSharedBuffersCounts) {
  read_all(kLsn);
  set_page_lsn(64, 501);
  const uint64_t before = uint64_t{1} << 32 | 500;
  // Of 3 and 127 the files say what they were, of 64 that it is another.
  EXPECT_EQ(taken_again(kLsn + 1, kBlocks, {{3, before + 1}, {64, before}, {100, before}, {127, 0}}), kBlocks - 2);
  EXPECT_EQ(taken({.lsn = kLsn + 1}), kBlocks - 2);
  // The next backend is told where they were.
  Reply reply;
  ask({.lsn = kLsn + 2}, &reply);
  const auto answer = reply.as<TbSegmentsTaken>();
  ASSERT_EQ(answer.doubtful, kBlocks);
  ASSERT_TRUE(answer.flags & TB_SEGMENTS_TAKEN_BUFFERS);
  std::vector<uint32_t> buffers(answer.doubtful);
  ASSERT_EQ(reply.payload.size(), sizeof answer + kBlocks / 8 * sets_of(answer) + 4 * buffers.size());
  memcpy(buffers.data(), reply.payload.data() + reply.payload.size() - 4 * buffers.size(), 4 * buffers.size());
  std::map<uint32_t, uint32_t> hints;
  const size_t doubtful = sizeof answer + kBlocks / 8 * (sets_of(answer) - 1);
  for (uint32_t block = 0, place = 0; block < kBlocks; block++)
    if (reply.payload[doubtful + block / 8] >> block % 8 & 1)
      if (const uint32_t hint = buffers[place++]; hint != 0) hints[block] = hint;
  EXPECT_EQ(hints, (std::map<uint32_t, uint32_t>{{3, 1003}, {64, 1064}, {100, 1100}, {127, 1127}}));
}

TEST_F(SegmentsTest, OnlyAPartThatIsKnownCanBeAskedForAgain) {
  Reply reply;
  ask({.flags = TB_SEGMENTS_CLEAN}, &reply);
  EXPECT_EQ(reply.type, 0u);
}

TEST_F(SegmentsTest, PagesThatTheBackendReplacedAreNotKept) {
  read_all(kLsn, true);
  EXPECT_EQ(taken({}), 0u);
}

TEST_F(SegmentsTest, NothingIsKeptOfRunsOfSeveralLsns) {
  read_all(TB_NO_MAP_LSN);
  EXPECT_EQ(taken({.lsn = TB_NO_MAP_LSN}), 0u);
}

/* Whoever sets a bit again stamps the map. */
TEST_F(SegmentsTest, AMapOfLsnZeroIsAsGoodAsAnother) {
  read_all(0);
  EXPECT_EQ(taken({.lsn = 0}), kBlocks);
  EXPECT_EQ(taken({.lsn = 1}), 0u);
}

TEST_F(SegmentsTest, OnAPrimaryPagesMustSayThatTheyAreAllVisible) {
  mark_all_visible(kBlocks - 1);
  read_all(kLsn);
  EXPECT_EQ(taken({}), kBlocks - 1);
  start(true);
  mark_all_visible(0);
  read_all(kLsn, false, TB_SEGMENTS_RECOVERY);
  EXPECT_EQ(taken({}), kBlocks) << "in recovery they do not";
}

TEST_F(SegmentsTest, WhatIsTakenAsAWholeMayEndTheInput) {
  read_all(kLsn);
  Reply reply;
  auto client = ask({.flags = TB_SEGMENTS_WHOLE | TB_SEGMENTS_ENDS}, &reply);
  EXPECT_EQ(reply.as<TbSegmentsTaken>().blocks, kBlocks);
  EXPECT_EQ(results(*client), kBlocks * 10 * 2) << "no INPUT_END was sent";

  client = ask({.lsn = kLsn + 1, .flags = TB_SEGMENTS_WHOLE | TB_SEGMENTS_ENDS}, &reply);
  EXPECT_EQ(reply.as<TbSegmentsTaken>().blocks, 0u);
  EXPECT_EQ(finish(*client), 0) << "nothing was taken, so the input ends as ever";
}

TEST_F(SegmentsTest, MayBeAskedBeforeTheQueryIsReady) {
  read_all(kLsn);
  auto client = connect();
  client->send_query(testing::sum_program(false), 100, 3, 0);  // a device that there is not
  send_segments(*client, {});
  EXPECT_EQ(client->receive().type, TB_MSG_REFUSED);
  EXPECT_TRUE(client->silent(50)) << "what came behind is ignored";
  ASSERT_TRUE(client->start(testing::sum_program(false), 100000));
  send_segments(*client, {});
  EXPECT_EQ(client->receive().as<TbSegmentsTaken>().blocks, kBlocks);
  EXPECT_EQ(finish(*client), kBlocks * 10 * 2);
  send_segments(*client, {});
  EXPECT_EQ(client->receive().type, 0u) << "behind a query that went well it is a violation";
}

TEST_F(SegmentsTest, StoreMayBeSwitchedOff) {
  start(false);
  read_all(kLsn);
  EXPECT_EQ(taken({}), 0u);
}

TEST_F(SegmentsTest, MessagesThatBreakTheProtocolEndTheConnection) {
  Reply reply;
  ask({.part = 2}, &reply);
  EXPECT_EQ(reply.type, 0u) << "parts are numbered as they come";
  Question short_bits;
  short_bits.bits.pop_back();
  ask(short_bits, &reply);
  EXPECT_EQ(reply.type, 0u);

  auto client = connect();
  ASSERT_TRUE(client->start(testing::sum_program(false), 1000));
  TbChunk chunk{};
  chunk.kind = TB_CHUNK_PAGES;
  chunk.npages = 1;
  chunk.part = 1;
  chunk.nruns = 1;
  const TbRun run{0, 0, 1};
  client->send_struct(TB_MSG_CHUNK, chunk, std::string(reinterpret_cast<const char*>(&run), sizeof run));
  EXPECT_EQ(client->receive().type, 0u) << "a part that SEGMENTS has not told of";
}

}  // namespace
}  // namespace turbine
