/* kept_join_tables_test.cc - a table is found again only for the same build of the same state of its source. */
#include "engine/execution/kept_join_tables.h"

#include <gtest/gtest.h>

#include "engine/execution/connection_join_tables.h"
#include "engine/program/testing/program_writer.h"

namespace turbine {
namespace {

using testing::ProgramWriter;

class KeptJoinTablesTest : public ::testing::Test {
 protected:
  KeptJoinTablesTest() {
    request_.segments.file = {1, 2, 3, 0, 4, 5};
    request_.segments.part = 1;
    request_.segments.flags = TB_SEGMENTS_WHOLE;
    set_blocks(20);
    request_.map_lsn = {77};
  }
  void set_blocks(uint32_t nblocks) {
    request_.segments.nblocks = nblocks;
    request_.segments.nmap_pages = 1;
    bits_.assign((nblocks + 7) / 8, 0xff);
  }
  static Program build(bool probes = false) {
    ProgramWriter w;
    w.keys.push_back(w.column(TB_TYPE_INT4));
    if (probes) return Program::parse(ProgramWriter().blob(TB_SINK_AGGREGATE));
    return Program::parse(w.blob(TB_SINK_BUILD));
  }
  std::optional<JoinTableSource> source(const std::string& params = "p") {
    return join_table_source(build_, params, request_, snapshot_ ? &*snapshot_ : nullptr);
  }
  KeptJoinTable table(uint64_t bytes = 4096) {
    HostBuffer block(budget_, bytes);
    return {std::make_shared<JoinTable>(std::move(block), KeptRowLayout(), 3), 10, 3};
  }
  bool found() { return source() && kept_.find(*source()); }

  MemoryBudget budget_{UINT64_MAX};
  const Program build_ = build();
  std::optional<QuerySnapshot> snapshot_;
  SegmentsRequest request_{};
  std::vector<uint8_t>& bits_ = request_.bits;
  KeptJoinTables kept_{64 << 10};
};

TEST_F(KeptJoinTablesTest, TheSameStateOfTheSameSource) {
  ASSERT_TRUE(source());
  EXPECT_FALSE(found());
  const KeptJoinTable made = table();
  kept_.add(*source(), made);
  ASSERT_TRUE(found());
  EXPECT_EQ(kept_.find(*source())->table, made.table);
  EXPECT_EQ(kept_.find(*source())->rows_in, 10u);
  EXPECT_FALSE(kept_.find(*source("other parameters")));
  request_.map_lsn = {78};
  EXPECT_FALSE(found()) << "the map has changed";
  request_.map_lsn = {77};
  set_blocks(21);
  EXPECT_FALSE(found()) << "a block more";
  set_blocks(20);
  request_.segments.file.inode = 9;
  EXPECT_FALSE(found()) << "another file";
  request_.segments.file.inode = 4;
  EXPECT_TRUE(found());
}

/* GPUs know a copy by the table's owners, who must not be a connection's alone. */
TEST_F(KeptJoinTablesTest, AConnectionSharesWhatIsKept) {
  kept_.add(*source(), table());
  ConnectionJoinTables tables;
  tables.keep(3, kept_.find(*source())->table, {});
  const std::weak_ptr<const JoinTable> known = tables.find(3);
  tables.clear();
  EXPECT_FALSE(known.expired());
}

TEST_F(KeptJoinTablesTest, AConnectionsOwnTableHasItsGrant) {
  Admission admission({1 << 20});
  ConnectionJoinTables tables;
  tables.keep(3, table().table, admission.reserve(0, 4096));
  std::shared_ptr<const JoinTable> probed = tables.find(3);
  tables.clear();
  EXPECT_EQ(admission.usage(0).used, 4096u) << "a query still has it";
  probed.reset();
  EXPECT_EQ(admission.usage(0).used, 0u);
}

TEST_F(KeptJoinTablesTest, TheSameListServesAnotherSnapshot) {
  const auto columns = std::make_shared<const std::vector<uint32_t>>();
  auto list = std::make_shared<const SegmentList>(std::vector<TakenSegment>(), columns, 20);
  const auto other = std::make_shared<const SegmentList>(std::vector<TakenSegment>(), columns, 20);
  request_.segments.flags |= TB_SEGMENTS_FRESH;
  bits_[0] = 0;
  const auto with = [this](uint64_t xmax, const std::shared_ptr<const SegmentList>& some) {
    snapshot_ = QuerySnapshot{.xmin = xmax, .xmax = xmax, .open = {}};
    JoinTableSource made = *source();
    made.list = some;
    return made;
  };
  const KeptJoinTable made = table();
  EXPECT_FALSE(kept_.find_by_list(with(100, list))) << "nothing is built";
  kept_.add(with(100, list), made);
  EXPECT_FALSE(kept_.find(with(101, nullptr)));
  EXPECT_FALSE(kept_.find_by_list(with(101, nullptr)));
  EXPECT_FALSE(kept_.find_by_list(with(101, other)));
  ASSERT_TRUE(kept_.find_by_list(with(101, list)));
  EXPECT_EQ(kept_.find_by_list(with(101, list))->table, made.table);
  EXPECT_TRUE(kept_.find(with(101, nullptr))) << "from now on without the list";
  EXPECT_FALSE(kept_.find(with(100, nullptr)));
  EXPECT_TRUE(kept_.find_by_list(with(100, list))) << "an older snapshot";
  EXPECT_TRUE(kept_.find(with(101, nullptr))) << "takes nothing from the newer one";
  kept_.add(with(102, nullptr), table());
  EXPECT_FALSE(kept_.find_by_list(with(102, list))) << "built of other rows";
}

TEST_F(KeptJoinTablesTest, BlocksThatAreNotAllVisibleBelongToNoSource) {
  EXPECT_TRUE(source());
  bits_[2] = 0x07;
  EXPECT_FALSE(source()) << "the last block";
  bits_[2] = 0x0f;
  EXPECT_TRUE(source()) << "bits beyond the end";
  bits_[0] = 0x7f;
  EXPECT_FALSE(source());
  bits_[0] = 0xff;
  request_.segments.part = 2;
  EXPECT_FALSE(source());
  request_.segments.part = 1;
  request_.segments.flags = TB_SEGMENTS_CLEAN | TB_SEGMENTS_WHOLE;
  EXPECT_FALSE(source());
  request_.segments.flags = 0;
  EXPECT_FALSE(source()) << "other parts follow, or blocks are left out";
  request_.segments.flags = TB_SEGMENTS_WHOLE;
  EXPECT_FALSE(join_table_source(build(true), "p", request_, nullptr)) << "no BUILD";
}

TEST_F(KeptJoinTablesTest, FreshBlocksAreTheSameForWhoSeesTheSame) {
  request_.segments.flags |= TB_SEGMENTS_FRESH;
  bits_[0] = 0;
  EXPECT_FALSE(source()) << "the snapshot is not told";
  snapshot_.emplace().xmin = 5;
  snapshot_->xmax = 9;
  snapshot_->open = {5, 7};
  const QuerySnapshot built = *snapshot_;
  kept_.add(*source(), table());
  EXPECT_TRUE(found());
  request_.map_lsn = {78};
  EXPECT_TRUE(found()) << "the map tells nothing of them";
  set_blocks(21);
  EXPECT_TRUE(found()) << "a block more has no row for it";
  bits_[0] = 0;
  set_blocks(19);
  EXPECT_FALSE(found()) << "a block less";
  set_blocks(20);
  snapshot_->open = {5};
  EXPECT_FALSE(found()) << "a transaction has ended";
  snapshot_ = built;
  EXPECT_TRUE(found());
  snapshot_->writes = true;
  EXPECT_FALSE(found()) << "its own changes are not those of others";
  snapshot_ = built;
  request_.segments.flags &= ~TB_SEGMENTS_FRESH;
  request_.map_lsn = {79};
  EXPECT_FALSE(found()) << "all blocks are all-visible by now: the map is asked";
}

TEST_F(KeptJoinTablesTest, ANewStateTakesThePlaceOfTheOld) {
  kept_.add(*source(), table());
  const uint64_t used = kept_.used();
  const auto before = *source();
  request_.map_lsn = {80};
  kept_.add(*source(), table());
  EXPECT_EQ(kept_.used(), used);
  EXPECT_TRUE(found());
  EXPECT_FALSE(kept_.find(before));
}

TEST_F(KeptJoinTablesTest, DroppedFilesLeaveNothing) {
  kept_.add(*source(), table());
  const uint64_t used = kept_.used();
  EXPECT_EQ(kept_.drop(1, 2, 4), 0u);
  EXPECT_TRUE(found());
  EXPECT_EQ(kept_.drop(1, 2, 3), used);
  EXPECT_FALSE(found());
  EXPECT_EQ(kept_.used(), 0u);
}

TEST_F(KeptJoinTablesTest, WhatWasNotFoundForLongestGoes) {
  kept_.add(*source("first"), table());
  for (int i = 0; i < 30; i++) {
    kept_.add(*source("p" + std::to_string(i)), table());
    EXPECT_TRUE(kept_.find(*source("first"))) << i;
    EXPECT_LE(kept_.used(), uint64_t{64} << 10);
  }
  EXPECT_FALSE(kept_.find(*source("p0")));
  EXPECT_TRUE(kept_.find(*source("p29")));
  kept_.add(*source("huge"), table(1 << 20));
  EXPECT_FALSE(kept_.find(*source("huge")));
  EXPECT_TRUE(kept_.find(*source("p29")));
}

}  // namespace
}  // namespace turbine
