/* requests_test.cc - SEGMENTS: bits of map pages that are all set are left out; blocks that are not all-visible.
 * SNAPSHOT. */
#include "engine/wire/requests.h"

#include <gtest/gtest.h>

#include <cstring>

#include "engine/wire/protocol_error.h"

namespace turbine {
namespace {

constexpr uint32_t kPageBytes = TB_BLOCKS_PER_MAP_PAGE / 8;

/* Of three pages of the map, the last of 13 blocks. */
std::vector<uint8_t> message(uint8_t full, const std::vector<uint8_t>& rest) {
  TbSegments head{};
  head.nblocks = 2 * TB_BLOCKS_PER_MAP_PAGE + 13;
  head.nmap_pages = 3;
  const uint64_t lsns[3] = {7, 8, 9};
  std::vector<uint8_t> bytes(sizeof head + sizeof lsns);
  memcpy(bytes.data(), &head, sizeof head);
  memcpy(bytes.data() + sizeof head, lsns, sizeof lsns);
  bytes.push_back(full);
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  return bytes;
}

TEST(SegmentsRequest, HasTheBitsOfAllBlocks) {
  std::vector<uint8_t> expected(2 * kPageBytes + 2, 0xff);
  expected.back() = 0x1f;
  EXPECT_EQ(parse_segments(message(7, {})).bits, expected) << "and none behind the last block";
  EXPECT_EQ(parse_segments(message(7, {})).map_lsn, (std::vector<uint64_t>{7, 8, 9}));

  std::vector<uint8_t> middle(kPageBytes, 0x55);
  std::copy(middle.begin(), middle.end(), expected.begin() + kPageBytes);
  EXPECT_EQ(parse_segments(message(5, middle)).bits, expected);

  middle.insert(middle.end(), {0x01, 0xff});
  std::copy(middle.begin(), middle.end(), expected.begin() + kPageBytes);
  expected.back() = 0x1f;
  EXPECT_EQ(parse_segments(message(1, middle)).bits, expected);
}

/* Of a part of 20 blocks, of which the map calls the first eight and the tenth all-visible. */
std::vector<uint8_t> message_of_fresh(uint32_t flags, const std::vector<uint8_t>& fresh) {
  TbSegments head{};
  head.nblocks = 20;
  head.nmap_pages = 1;
  head.flags = flags;
  const uint64_t lsn = 7;
  std::vector<uint8_t> bytes(sizeof head + sizeof lsn);
  memcpy(bytes.data(), &head, sizeof head);
  memcpy(bytes.data() + sizeof head, &lsn, sizeof lsn);
  bytes.insert(bytes.end(), {0, 0xff, 0x02, 0x00});
  bytes.insert(bytes.end(), fresh.begin(), fresh.end());
  return bytes;
}

TEST(SegmentsRequest, AsksForBlocksThatAreNotAllVisible) {
  using Bits = std::vector<uint8_t>;
  EXPECT_TRUE(parse_segments(message_of_fresh(0, {})).fresh.empty());
  EXPECT_EQ(parse_segments(message_of_fresh(TB_SEGMENTS_FRESH, {})).fresh, (Bits{0x00, 0xfd, 0x0f})) << "all others";
  const uint32_t some = TB_SEGMENTS_FRESH | TB_SEGMENTS_FRESH_BITS;
  EXPECT_EQ(parse_segments(message_of_fresh(some, {0xff, 0x06, 0xff})).fresh, (Bits{0x00, 0x04, 0x0f}))
      << "no block is asked for in both ways, and none behind the last";
  EXPECT_EQ(parse_segments(message_of_fresh(some, {0xff, 0x06, 0xff})).bits, (Bits{0xff, 0x02, 0x00}));
  EXPECT_THROW(parse_segments(message_of_fresh(TB_SEGMENTS_FRESH_BITS, {1, 2, 3})), ProtocolError);
  EXPECT_THROW(parse_segments(message_of_fresh(TB_SEGMENTS_FRESH, {1, 2, 3})), ProtocolError);
  EXPECT_THROW(parse_segments(message_of_fresh(some, {1, 2})), ProtocolError);
}

std::vector<uint8_t> snapshot_message(uint64_t xmin, uint64_t xmax, const std::vector<uint64_t>& open) {
  const TbSnapshot head{xmin, xmax, static_cast<uint32_t>(open.size()), TB_SNAPSHOT_WRITES};
  std::vector<uint8_t> bytes(sizeof head + open.size() * sizeof(uint64_t));
  memcpy(bytes.data(), &head, sizeof head);
  if (!open.empty()) memcpy(bytes.data() + sizeof head, open.data(), open.size() * sizeof(uint64_t));
  return bytes;
}

TEST(SnapshotRequest, HasItsOpenTransactions) {
  const SnapshotRequest request = parse_snapshot(snapshot_message(5, 9, {5, 8}));
  EXPECT_EQ(request.open, (std::vector<uint64_t>{5, 8}));
  EXPECT_EQ(request.snapshot.flags, TB_SNAPSHOT_WRITES);
  EXPECT_TRUE(parse_snapshot(snapshot_message(5, 5, {})).open.empty());
  EXPECT_THROW(parse_snapshot(snapshot_message(6, 5, {})), ProtocolError);
  EXPECT_THROW(parse_snapshot(snapshot_message(5, 9, {4})), ProtocolError) << "before xmin";
  EXPECT_THROW(parse_snapshot(snapshot_message(5, 9, {9})), ProtocolError) << "xmax has not begun";
  EXPECT_THROW(parse_snapshot(snapshot_message(5, 9, {7, 6})), ProtocolError);
  EXPECT_THROW(parse_snapshot(snapshot_message(5, 9, {7, 7})), ProtocolError);
  std::vector<uint8_t> cut = snapshot_message(5, 9, {5, 8});
  cut.pop_back();
  EXPECT_THROW(parse_snapshot(cut), ProtocolError);
}

/* The second question of a part of one map page. */
std::vector<uint8_t> message_of_buffered(const std::vector<uint32_t>& blocks, size_t lsns) {
  TbSegments head{};
  head.nblocks = 100;
  head.nmap_pages = 1;
  head.nbuffered = static_cast<uint32_t>(blocks.size());
  std::vector<uint64_t> words(1 + lsns);
  for (size_t i = 0; i < words.size(); i++) words[i] = 70 + i;
  std::vector<uint8_t> bytes(sizeof head + words.size() * sizeof(uint64_t) + 2 * blocks.size() * sizeof(uint32_t));
  memcpy(bytes.data(), &head, sizeof head);
  memcpy(bytes.data() + sizeof head, words.data(), words.size() * sizeof(uint64_t));
  if (!blocks.empty())
    memcpy(bytes.data() + sizeof head + words.size() * sizeof(uint64_t), blocks.data(),
           blocks.size() * sizeof(uint32_t));
  for (size_t i = 0; i < blocks.size(); i++) {
    const auto buffer = static_cast<uint32_t>(10 + i);
    memcpy(bytes.data() + bytes.size() - (blocks.size() - i) * sizeof buffer, &buffer, sizeof buffer);
  }
  bytes.push_back(1);
  return bytes;
}

TEST(SegmentsRequest, HasTheLsnsOfPagesInBuffers) {
  const SegmentsRequest request = parse_segments(message_of_buffered({3, 7, 99}, 3));
  EXPECT_EQ(request.map_lsn, std::vector<uint64_t>{70});
  EXPECT_EQ(request.buffered, (std::vector<uint32_t>{3, 7, 99}));
  EXPECT_EQ(request.page_lsn, (std::vector<uint64_t>{71, 72, 73}));
  EXPECT_EQ(request.buffers, (std::vector<uint32_t>{10, 11, 12}));
  EXPECT_TRUE(parse_segments(message_of_buffered({}, 0)).buffered.empty());
  EXPECT_THROW(parse_segments(message_of_buffered({3, 100}, 2)), ProtocolError) << "behind the last block";
  EXPECT_THROW(parse_segments(message_of_buffered({7, 3}, 2)), ProtocolError);
  EXPECT_THROW(parse_segments(message_of_buffered({7, 7}, 2)), ProtocolError);
  EXPECT_THROW(parse_segments(message_of_buffered({3, 7}, 1)), ProtocolError);
  EXPECT_THROW(parse_segments(message_of_buffered({3, 7}, 3)), ProtocolError);
}

TEST(SegmentsRequest, NamesPinnedColumns) {
  std::vector<uint8_t> bytes = message_of_buffered({}, 0);
  TbSegments head;
  memcpy(&head, bytes.data(), sizeof head);
  head.flags = TB_SEGMENTS_PIN;
  head.npinned = 2;
  memcpy(bytes.data(), &head, sizeof head);
  EXPECT_THROW(parse_segments(bytes), ProtocolError) << "none are there";
  const std::vector<uint32_t> pinned{3, 7};
  const auto* as_bytes = reinterpret_cast<const uint8_t*>(pinned.data());
  bytes.insert(bytes.end() - 1, as_bytes, as_bytes + 8);
  EXPECT_EQ(parse_segments(bytes).pinned, pinned);
}

TEST(SegmentsRequest, HasNeitherMoreNorLess) {
  EXPECT_THROW(parse_segments(message(3, {})), ProtocolError);
  EXPECT_THROW(parse_segments(message(3, {1})), ProtocolError);
  EXPECT_THROW(parse_segments(message(3, {1, 2, 3})), ProtocolError);
  EXPECT_THROW(parse_segments(message(7, {1})), ProtocolError);
  std::vector<uint8_t> short_message = message(7, {});
  short_message.pop_back();
  EXPECT_THROW(parse_segments(short_message), ProtocolError);
}

/* QUERY with a program of 5 bytes, one parameter, and columns that stay on a GPU. */
std::vector<uint8_t> query_message(uint32_t columns_left, size_t sent) {
  TbQuery query{};
  query.program_size = 5;
  query.params_size = 1;
  query.columns_left = columns_left;
  std::vector<uint8_t> bytes(sizeof query + 16 + sent * sizeof(TbColumnLeft));
  memcpy(bytes.data(), &query, sizeof query);
  for (uint32_t i = 0; i < sent; i++) {
    const TbColumnLeft column{i, TB_EXPORT_INT16};
    memcpy(bytes.data() + sizeof query + 16 + i * sizeof column, &column, sizeof column);
  }
  return bytes;
}

TEST(QueryRequestTest, LeavesColumns) {
  EXPECT_TRUE(parse_query(query_message(0, 0)).columns_left.empty());
  const auto three = parse_query(query_message(3, 3)).columns_left;
  ASSERT_EQ(three.size(), 3u);
  EXPECT_EQ(three[2].column, 2u);
  EXPECT_EQ(three[2].format, uint32_t{TB_EXPORT_INT16});
  EXPECT_THROW(parse_query(query_message(3, 2)), ProtocolError);
  EXPECT_THROW(parse_query(query_message(2, 3)), ProtocolError);
  EXPECT_THROW(parse_query(query_message(UINT32_MAX, 3)), ProtocolError);
}

}  // namespace
}  // namespace turbine
