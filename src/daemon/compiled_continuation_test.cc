/*
 * compiled_continuation_test.cc - continuations end to end: the daemon with the real
 * compiler, heap pages in, the continuation's rows out.
 */
#include <map>
#include <tuple>

#include "daemon/testing/turbined_fixture.h"
#include "engine/result/testing/plan_writer.h"
#include "engine/testing/heap_pages.h"
#include "turbine/kernel.h"

namespace turbine {
namespace {

using testing::Client;
using testing::heap_pages;
using testing::PlanWriter;
using testing::ProgramWriter;
using testing::Reply;

using Row = std::vector<std::optional<int64_t>>;

class CompiledContinuationTest : public testing::TurbinedTest {
 protected:
  void SetUp() override { start_daemon({"--compiler", TB_COMPILER}, ""); }

  /* SELECT v, count(*) FROM s GROUP BY v */
  static ProgramWriter groups() {
    ProgramWriter p;
    p.sink = TB_SINK_AGGREGATE;
    p.keys = {p.column(TB_TYPE_INT4)};
    p.aggregate(TB_AGG_COUNT);
    return p;
  }
  /* SELECT c, count(*), sum(v) FROM (SELECT v, count(*) c FROM s GROUP BY v) x GROUP BY c, over the groups' columns. */
  static ProgramWriter groups_of_counts() {
    ProgramWriter p = over_rows();
    const uint32_t value = p.column(TB_TYPE_INT4, true), count = p.column(TB_TYPE_INT8);
    p.keys = {count};
    p.aggregate(TB_AGG_COUNT);
    p.aggregate(TB_AGG_SUM_INT, value);
    return p;
  }
  static ProgramWriter over_rows() {
    ProgramWriter p;
    p.source = TB_SOURCE_ROWS;
    p.sink = TB_SINK_AGGREGATE;
    return p;
  }

  /* All rows that come back, of columns of these types, sorted; and QUERY_DONE, or FAILED. */
  static std::pair<std::vector<Row>, Reply> results(Client& client, const std::vector<uint32_t>& types) {
    std::vector<Row> rows;
    client.send(TB_MSG_INPUT_END);
    Reply reply = client.receive();
    for (; reply.type == TB_MSG_RESULT_BATCH; reply = client.receive()) {
      const auto* batch = reinterpret_cast<const TbResultBatch*>(reply.payload.data());
      const uint8_t* slot = client.slot(batch->slot);
      for (uint32_t i = 0; i < batch->nrows; i++) {
        Row row;
        for (size_t c = 0; c < types.size(); c++) {
          const auto& column = batch->columns[c];
          int64_t value = 0;
          const uint32_t width = std::min(tb_type_width(types[c]), 8u);
          memcpy(&value, slot + column.values + i * tb_type_width(types[c]), width);
          const bool valid = column.valid == 0 || slot[column.valid + i] != 0;
          row.push_back(valid ? std::optional(value) : std::nullopt);
        }
        rows.push_back(std::move(row));
      }
      client.send_struct(TB_MSG_SLOT_FREE, TbSlotFree{batch->slot, 0});
    }
    std::sort(rows.begin(), rows.end());
    return {rows, reply};
  }

  /* Values 0 .. distinct - 1, each i % 7 + 1 times, in chunks. */
  static int64_t send_values(Client& client, int32_t distinct) {
    std::vector<int32_t> values;
    for (int copy = 0; copy < 7; copy++)
      for (int32_t i = 0; i < distinct; i++)
        if (copy <= i % 7) values.push_back(i);
    uint64_t sequence = 0;
    for (size_t first = 0; first < values.size(); first += 1500, sequence++) {
      const size_t last = std::min(values.size(), first + 1500);
      client.send_pages(
          0, heap_pages({values.begin() + static_cast<long>(first), values.begin() + static_cast<long>(last)}, 100),
          sequence);
      EXPECT_EQ(client.receive().as<TbChunkDone>().verdict, 0u);
    }
    return static_cast<int64_t>(values.size());
  }
};

/* SELECT count(DISTINCT v), count(*), max(v), max(count(*)) */
TEST_F(CompiledContinuationTest, CountsDistinctValues) {
  ProgramWriter second = over_rows();
  const uint32_t count = second.column(TB_TYPE_INT8), value = second.column(TB_TYPE_INT4, true);
  second.aggregate(TB_AGG_COUNT, value);
  second.aggregate(TB_AGG_SUM_INT, count);
  second.aggregate(TB_AGG_MAX, value);
  second.aggregate(TB_AGG_MAX, count);
  for (const int32_t distinct : {0, 1, 700, 200000}) {
    auto client = connect();
    ASSERT_TRUE(client->start(groups(), 1000, TB_QUERY_ALLOW_HOST, 0, {}, Client::continuation(second, {1, 0})));
    const int64_t sent = send_values(*client, distinct);
    const auto [rows, end] = results(*client, {TB_TYPE_INT8, TB_TYPE_INT8, TB_TYPE_INT4, TB_TYPE_INT8});
    ASSERT_EQ(end.type, TB_MSG_QUERY_DONE);
    EXPECT_EQ(end.as<TbQueryDone>().rows_continued, static_cast<uint64_t>(distinct));
    EXPECT_EQ(end.as<TbQueryDone>().groups, 1u);
    const Row expected = distinct == 0 ? Row{0, {}, {}, {}} : Row{distinct, sent, distinct - 1, std::min(distinct, 7)};
    EXPECT_EQ(rows, std::vector<Row>{expected});
  }
}

/* More groups than a slot has room for is not needed, but more chunks than are in flight at a time. */
TEST_F(CompiledContinuationTest, GroupsGroups) {
  constexpr int32_t kDistinct = 300000;
  auto client = connect();
  ASSERT_TRUE(
      client->start(groups(), 1000, TB_QUERY_ALLOW_HOST, 0, {}, Client::continuation(groups_of_counts(), {0, 1})));
  send_values(*client, kDistinct);
  const auto [rows, end] = results(*client, {TB_TYPE_INT8, TB_TYPE_INT8, TB_TYPE_INT8});
  ASSERT_EQ(end.type, TB_MSG_QUERY_DONE);
  std::map<int64_t, std::pair<int64_t, int64_t>> by_count;
  for (int32_t i = 0; i < kDistinct; i++) {
    by_count[i % 7 + 1].first++;
    by_count[i % 7 + 1].second += i;
  }
  std::vector<Row> expected;
  for (const auto& [c, states] : by_count) expected.push_back({c, states.first, states.second});
  EXPECT_EQ(rows, expected);
}

/* SELECT v, GROUPING's number, count(*), sum(c) FROM (SELECT v, count(*) c FROM s GROUP BY v) x GROUP BY each set. */
TEST_F(CompiledContinuationTest, MakesTheGroupsOfSets) {
  ProgramWriter second = over_rows();
  const uint32_t set = second.column(TB_TYPE_INT4), count = second.column(TB_TYPE_INT8),
                 value = second.column(TB_TYPE_INT4, true);
  second.keys = {value, set};
  second.aggregate(TB_AGG_COUNT);
  second.aggregate(TB_AGG_SUM_INT, count);
  const uint64_t all = ~uint64_t{0}, without = ~uint64_t{4};
  for (const std::vector<uint64_t>& sets : {std::vector<uint64_t>{all},
                                            {without},
                                            {without, all},
                                            {all, without, without, all, without},
                                            std::vector<uint64_t>(TB_MAX_SETS, without)})
    for (const int32_t distinct : {0, 1, 20000}) {
      auto client = connect();
      ASSERT_TRUE(client->start(groups(), 1000, TB_QUERY_ALLOW_HOST, 0, {},
                                Client::continuation(second, {TB_NONE, 1, 0}, sets)));
      const int64_t sent = send_values(*client, distinct);
      const auto [rows, end] = results(*client, {TB_TYPE_INT4, TB_TYPE_INT4, TB_TYPE_INT8, TB_TYPE_INT8});
      ASSERT_EQ(end.type, TB_MSG_QUERY_DONE);
      EXPECT_EQ(end.as<TbQueryDone>().rows_continued, static_cast<uint64_t>(distinct));
      std::vector<Row> expected;
      for (size_t s = 0; s < sets.size(); s++) {
        if (sets[s] != all && distinct > 0) expected.push_back({{}, s, distinct, sent});
        for (int32_t i = 0; sets[s] == all && i < distinct; i++) expected.push_back({i, s, 1, i % 7 + 1});
      }
      std::sort(expected.begin(), expected.end());
      EXPECT_EQ(rows, expected) << sets.size() << " sets, " << distinct << " values";
    }
}

/* SELECT sum(v), count(*) FROM (SELECT v, count(*) FROM s GROUP BY v ORDER BY v DESC LIMIT 10) x */
TEST_F(CompiledContinuationTest, TakesWhatAResultPlanLeaves) {
  PlanWriter plan(2);
  TbSortKey key{};
  key.flags = TB_SORT_DESCENDING;
  plan.order({key}).limit(10);
  ProgramWriter second = over_rows();
  second.aggregate(TB_AGG_SUM_INT, second.column(TB_TYPE_INT4, true));
  second.aggregate(TB_AGG_COUNT);
  auto client = connect();
  ASSERT_TRUE(client->start(groups(), 1000, TB_QUERY_ALLOW_HOST, 0, plan.blob(), Client::continuation(second, {0})));
  send_values(*client, 1000);
  const auto [rows, end] = results(*client, {TB_TYPE_INT8, TB_TYPE_INT8});
  ASSERT_EQ(end.type, TB_MSG_QUERY_DONE);
  EXPECT_EQ(rows, (std::vector<Row>{{9945, 10}}));
}

/* The three with the largest sums; and the same of the first 700 values alone. */
TEST_F(CompiledContinuationTest, ItsRowsHaveAnOrderAndALimit) {
  TbSortKey by_sum{};
  by_sum.column = 2;
  by_sum.flags = TB_SORT_DESCENDING;
  PlanWriter last(3), first(2);
  last.order({by_sum}).limit(3);
  first.order({TbSortKey{}}).limit(700);
  for (const bool limited : {false, true}) {
    auto client = connect();
    ASSERT_TRUE(client->start(groups(), 1000, TB_QUERY_ALLOW_HOST, 0, limited ? first.blob() : std::vector<uint8_t>{},
                              Client::continuation(groups_of_counts(), {0, 1}, {}, last.blob())));
    send_values(*client, 70000);
    const auto [rows, end] = results(*client, {TB_TYPE_INT8, TB_TYPE_INT8, TB_TYPE_INT8});
    ASSERT_EQ(end.type, TB_MSG_QUERY_DONE);
    const int64_t each = limited ? 100 : 10000;  // values of a count
    std::vector<Row> expected;
    for (int64_t rest = 4; rest < 7; rest++)
      expected.push_back({rest + 1, each, rest * each + 7 * (each * (each - 1) / 2)});
    EXPECT_EQ(rows, expected);
    EXPECT_EQ(end.as<TbQueryDone>().rows_continued, limited ? 700u : 70000u);
    EXPECT_EQ(end.as<TbQueryDone>().rows_sorted, 7u);
    EXPECT_EQ(end.as<TbQueryDone>().groups, 3u);
  }
}

/* Sums of bigint that no bigint holds: PostgreSQL's business. With and without keys. */
TEST_F(CompiledContinuationTest, NarrowSumsThatOverflowAreVerdicts) {
  for (const bool grouped : {false, true}) {
    ProgramWriter first;
    first.source = TB_SOURCE_ROWS;
    first.sink = TB_SINK_PROJECT;
    first.outputs = {first.column(TB_TYPE_INT8)};
    ProgramWriter second = over_rows();
    const uint32_t value = second.column(TB_TYPE_INT8);
    if (grouped) second.keys = {value};
    second.aggregate(TB_AGG_SUM_INT, value);
    for (const int nrows : {1, 3}) {
      auto client = connect();
      ASSERT_TRUE(client->start(first, 1, TB_QUERY_ALLOW_HOST, 0, {}, Client::continuation(second, {0})));
      uint8_t* slot = client->slot(0);
      TbColumnsChunk header{};
      header.nrows = static_cast<uint32_t>(nrows);
      header.ncolumns = 1;
      const uint64_t columns[2] = {64, 0};
      memcpy(slot, &header, sizeof header);
      memcpy(slot + sizeof header, columns, sizeof columns);
      for (int i = 0; i < nrows; i++) {
        const int64_t large = int64_t{1} << 62;
        memcpy(slot + 64 + i * 8, &large, 8);
      }
      TbChunk chunk{};
      chunk.kind = TB_CHUNK_COLUMNS;
      client->send_struct(TB_MSG_CHUNK, chunk);
      client->send_struct(TB_MSG_CHUNK_RELEASE, TbChunkRelease{0, 0});
      ASSERT_EQ(client->receive().as<TbChunkDone>().verdict, 0u);
      const auto [rows, end] = results(
          *client, grouped ? std::vector<uint32_t>{TB_TYPE_INT8, TB_TYPE_INT8} : std::vector<uint32_t>{TB_TYPE_INT8});
      if (nrows == 1) {
        EXPECT_EQ(end.type, TB_MSG_QUERY_DONE);
        EXPECT_EQ(rows.at(0).back(), int64_t{1} << 62);
      } else {
        ASSERT_EQ(end.type, TB_MSG_FAILED);
        EXPECT_EQ(end.as<TbFailure>().reason, static_cast<uint32_t>(TB_FALLBACK_VALUE));
      }
    }
  }
}

TEST_F(CompiledContinuationTest, ProgramsThatCannotReadTheRowsEndTheConnection) {
  ProgramWriter good = over_rows();
  good.aggregate(TB_AGG_COUNT, good.column(TB_TYPE_INT4, true));
  ProgramWriter of_pages = groups(), of_another_type = over_rows(), without_nulls = over_rows(), of_rows = over_rows();
  of_another_type.aggregate(TB_AGG_COUNT, of_another_type.column(TB_TYPE_INT8, true));
  without_nulls.aggregate(TB_AGG_COUNT, without_nulls.column(TB_TYPE_INT4));
  of_rows.sink = TB_SINK_ROWS;
  of_rows.filters = {of_rows.expr(TB_EXPR_IS_NULL, TB_TYPE_BOOL, 0, 0, {of_rows.column(TB_TYPE_INT4, true)})};
  ProgramWriter of_sets = over_rows(), of_count = over_rows();
  of_sets.keys = {of_sets.column(TB_TYPE_INT4, true), of_sets.column(TB_TYPE_INT4)};
  of_count.keys = {of_count.column(TB_TYPE_INT8)};
  const std::string whole = Client::continuation(good, {0});
  TbSortKey behind{};
  behind.column = 1;
  const std::vector<uint8_t> sorted = PlanWriter(1).order({TbSortKey{}}).blob();
  const std::string with_plan = Client::continuation(good, {0}, {}, sorted);
  const std::string broken[] = {
      Client::continuation(good, {2}),
      Client::continuation(good, {}),
      Client::continuation(good, {0, 1}),
      Client::continuation(of_pages, {0}),
      Client::continuation(of_another_type, {0}),
      Client::continuation(without_nulls, {0}),
      Client::continuation(of_rows, {0}),
      Client::continuation(good, {TB_NONE}),  // no sets
      Client::continuation(of_sets, {0, TB_NONE}, {1}),  // lacks its number
      Client::continuation(of_count, {1}, {0}),  // has no NULLs
      Client::continuation(of_count, {TB_NONE}, {1}),  // of its type
      Client::continuation(of_sets, {0, TB_NONE}, std::vector<uint64_t>(TB_MAX_SETS + 1, 2)),  // too many
      Client::continuation(of_sets, {0, TB_NONE}, {2}).substr(0, sizeof(TbContinuation) + 4),
      whole.substr(0, 8),
      whole.substr(0, whole.size() - 8),
      whole + std::string(8, '\0'),
      Client::continuation(good, {0}, {}, PlanWriter(1).order({behind}).blob()),  // by no column of its rows
      Client::continuation(good, {0}, {}, {sorted.begin(), sorted.begin() + 8}),
      with_plan.substr(0, with_plan.size() - 8),
      with_plan + std::string(8, '\0')};
  auto client = connect();
  EXPECT_TRUE(client->start(groups(), 10, TB_QUERY_ALLOW_HOST, 0, {}, whole));
  EXPECT_TRUE(connect()->start(groups(), 10, TB_QUERY_ALLOW_HOST, 0, {}, with_plan));
  for (size_t i = 0; i < std::size(broken); i++) {
    auto other = connect();
    other->send_query(groups(), 10, TB_ANY_DEVICE, TB_QUERY_ALLOW_HOST, 0, {}, broken[i]);
    EXPECT_TRUE(soon([&] { return other->closed(); })) << i;
  }
  EXPECT_TRUE(alive());
}

}  // namespace
}  // namespace turbine
