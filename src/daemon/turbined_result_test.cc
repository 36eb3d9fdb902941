/*
 * turbined_result_test.cc - result plans as a backend sees them: rows come in order,
 * as many as were asked for, with the columns of window functions.
 */
#include "daemon/testing/turbined_fixture.h"
#include "engine/result/testing/plan_writer.h"
#include "engine/testing/hand_written_code.h"
#include "engine/testing/hand_written_programs.h"
#include "engine/testing/heap_pages.h"

namespace turbine {
namespace {

using testing::build_program;
using testing::Client;
using testing::heap_pages;
using testing::numbers;
using testing::PlanWriter;
using testing::ProgramWriter;
using testing::Reply;
using testing::sum_program;

class TurbinedResultTest : public testing::TurbinedTest {
 protected:
  /* Runs a program with a plan over chunks; the columns' values of each row, as int64,
   * of `widths` bytes each; NULL is -1. */
  std::vector<std::vector<int64_t>> rows_of(Client& client, const ProgramWriter& program, const PlanWriter& plan,
                                            const std::vector<std::vector<int32_t>>& chunks,
                                            const std::vector<size_t>& widths) {
    std::vector<std::vector<int64_t>> rows;
    if (!client.start(program, 100, TB_QUERY_ALLOW_HOST, 0, plan.blob())) return rows;
    for (size_t i = 0; i < chunks.size(); i++) {
      client.send_pages(0, heap_pages(chunks[i], 100), i);
      EXPECT_EQ(client.receive().type, TB_MSG_CHUNK_DONE);
    }
    client.send(TB_MSG_INPUT_END);
    Reply reply = client.receive();
    for (; reply.type == TB_MSG_RESULT_BATCH; reply = client.receive()) {
      const auto* batch = reinterpret_cast<const TbResultBatch*>(reply.payload.data());
      const uint8_t* slot = client.slot(batch->slot);
      EXPECT_EQ(batch->ncolumns, widths.size());
      for (uint32_t i = 0; i < batch->nrows; i++) {
        rows.emplace_back();
        for (size_t c = 0; c < widths.size(); c++) {
          int64_t value = 0;
          memcpy(&value, slot + batch->columns[c].values + i * widths[c], std::min<size_t>(widths[c], 8));
          const bool null = batch->columns[c].valid != 0 && !slot[batch->columns[c].valid + i];
          rows.back().push_back(null ? -1 : widths[c] == 4 ? static_cast<int32_t>(value) : value);
        }
      }
      client.send_struct(TB_MSG_SLOT_FREE, TbSlotFree{batch->slot, 0});
    }
    EXPECT_EQ(reply.type, TB_MSG_QUERY_DONE);
    if (reply.type == TB_MSG_QUERY_DONE) done_ = reply.as<TbQueryDone>();
    return rows;
  }
  TbQueryDone done_{};
};

TEST_F(TurbinedResultTest, GroupsInOrderWithALimit) {
  restart({}, TB_TEST_CODE_GROUPS);
  auto client = connect();
  PlanWriter plan(3);
  plan.order({{2, TB_SORT_DESCENDING}}).limit(5);
  std::vector<std::vector<int64_t>> expected;
  for (int64_t i = 0; i < 5; i++) expected.push_back({2999 - i, 1, 2999 - i});
  EXPECT_EQ(rows_of(*client, sum_program(true), plan,
                    {numbers(1500),
                     [] {
                       std::vector<int32_t> more = numbers(1500);
                       for (int32_t& value : more) value += 1500;
                       return more;
                     }()},
                    {4, 8, 8}),
            expected);
  EXPECT_EQ(done_.groups, 5u);
  EXPECT_EQ(done_.rows_sorted, 3000u);

  // The connection is as good as new; all rows, and more than a slot holds.
  plan.limit(TB_NO_LIMIT);
  std::vector<std::vector<int32_t>> chunks;
  for (int32_t c = 0; c < 60; c++) {
    chunks.push_back(numbers(1500));
    for (int32_t& value : chunks.back()) value += c * 1500;
  }
  const auto rows = rows_of(*client, sum_program(true), plan, chunks, {4, 8, 8});
  ASSERT_EQ(rows.size(), 90000u);
  for (size_t i = 0; i < rows.size(); i++) ASSERT_EQ(rows[i][0], static_cast<int64_t>(89999 - i));
  EXPECT_GT(done_.sort_us, 0u);
}

TEST_F(TurbinedResultTest, AnUngroupedAggregateIsOneRow) {
  restart({}, TB_TEST_CODE_TOTAL);
  auto client = connect();
  PlanWriter plan(2);
  plan.pass({{0, 0}}, 0);
  plan.function(TB_WINDOW_RANK);
  plan.order({{1, 0}}).limit(1, true);
  EXPECT_EQ(rows_of(*client, sum_program(false), plan, {{1, 2, 3}}, {8, 8, 8}),
            (std::vector<std::vector<int64_t>>{{3, 6, 1}}));
  plan.limit(0);
  EXPECT_TRUE(rows_of(*client, sum_program(false), plan, {{1, 2, 3}}, {8, 8, 8}).empty());
}

TEST_F(TurbinedResultTest, ProjectionsWithWindowsAndConditions) {
  restart({}, TB_TEST_CODE_JOIN);
  auto client = connect();
  PlanWriter plan(3);
  plan.pass({{2, TB_SORT_NULLS_FIRST}, {0, TB_SORT_DESCENDING}}, 1);
  const uint32_t number = plan.function(TB_WINDOW_ROW_NUMBER);
  plan.function(TB_WINDOW_LAG, 1, 1);
  plan.conditions.push_back({number, 0, 2});
  plan.order({{0, 0}});
  // Texts are NULL of multiples of 5, else all different.
  const auto rows = rows_of(*client, build_program(TB_SINK_PROJECT), plan, {{5, 1}, {10, 2}, {15, 20}},
                            {4, 4, 16, 8, 4});
  ASSERT_EQ(rows.size(), 4u);
  const int64_t expected[][3] = {{1, 1, -1}, {2, 1, -1}, {15, 2, 20}, {20, 1, -1}};
  for (size_t i = 0; i < 4; i++) {
    EXPECT_EQ(rows[i][0], expected[i][0]);
    EXPECT_EQ(rows[i][3], expected[i][1]);
    EXPECT_EQ(rows[i][4], expected[i][2]);
  }
}

/* All rows of a projection would not fit: only the first of an order are kept while
 * the input comes. */
TEST_F(TurbinedResultTest, TheFirstRowsOfManyTakeLittleMemory) {
  restart({"--memory-budget", "32MB"}, TB_TEST_CODE_JOIN);
  constexpr int32_t kPerPage = 200;
  auto last_reply = [&](const PlanWriter& plan, std::vector<int32_t>* first_column) {
    auto client = connect();
    EXPECT_TRUE(client->start(build_program(TB_SINK_PROJECT), 100, TB_QUERY_ALLOW_HOST, 0, plan.blob()));
    const auto per_chunk = static_cast<int32_t>(client->ready().slot_pages) * kPerPage;
    Reply reply;
    for (int32_t c = 0; c * per_chunk < 1500000; c++) {
      std::vector<int32_t> values = numbers(static_cast<size_t>(per_chunk));
      for (int32_t& value : values) value = (value + c * per_chunk) ^ 0x15555;
      client->send_pages(0, heap_pages(values, kPerPage), static_cast<uint64_t>(c));
      reply = client->receive();
      if (reply.type != TB_MSG_CHUNK_DONE) return reply;
    }
    client->send(TB_MSG_INPUT_END);
    for (reply = client->receive(); reply.type == TB_MSG_RESULT_BATCH; reply = client->receive()) {
      const auto* batch = reinterpret_cast<const TbResultBatch*>(reply.payload.data());
      const auto* values = reinterpret_cast<const int32_t*>(client->slot(batch->slot) + batch->columns[0].values);
      first_column->insert(first_column->end(), values, values + batch->nrows);
      client->send_struct(TB_MSG_SLOT_FREE, TbSlotFree{batch->slot, 0});
    }
    return reply;
  };
  std::vector<int32_t> values;
  PlanWriter plan(3);
  plan.order({{0, 0}});
  Reply reply = last_reply(plan, &values);
  ASSERT_EQ(reply.type, TB_MSG_FAILED);
  EXPECT_EQ(reply.as<TbFailure>().reason, TB_FALLBACK_HOST_MEMORY);
  ASSERT_TRUE(soon([&] { return status().open_queries == 0; }));  // its memory is free again

  plan.limit(1000);
  reply = last_reply(plan, &values);
  ASSERT_EQ(reply.type, TB_MSG_QUERY_DONE);
  EXPECT_EQ(reply.as<TbQueryDone>().groups, 1000u);
  EXPECT_LT(reply.as<TbQueryDone>().rows_sorted, 400000u);
  ASSERT_EQ(values.size(), 1000u);
  for (int32_t i = 0; i < 1000; i++) ASSERT_EQ(values[static_cast<size_t>(i)], i);
}

TEST_F(TurbinedResultTest, AMalformedPlanEndsTheConnection) {
  restart({}, TB_TEST_CODE_JOIN);
  auto ends = [&](const ProgramWriter& program, const PlanWriter& plan) {
    auto client = connect();
    client->send_query(program, 10, TB_ANY_DEVICE, TB_QUERY_ALLOW_HOST, 0, plan.blob());
    return client->receive().type == 0;
  };
  PlanWriter plan(3);
  plan.order({{3, 0}});
  EXPECT_TRUE(ends(build_program(TB_SINK_PROJECT), plan));
  plan = PlanWriter(2);
  EXPECT_TRUE(ends(build_program(TB_SINK_BUILD), plan)) << "no sink with result rows";

  // Sizes that do not add up.
  auto client = connect();
  std::vector<uint8_t> blob = PlanWriter(3).blob();
  blob.push_back(0);
  client->send_query(build_program(TB_SINK_PROJECT), 10, TB_ANY_DEVICE, TB_QUERY_ALLOW_HOST, 0, blob);
  EXPECT_EQ(client->receive().type, 0u);
  EXPECT_TRUE(alive());
}

}  // namespace
}  // namespace turbine
