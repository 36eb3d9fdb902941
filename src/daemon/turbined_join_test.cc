/*
 * turbined_join_test.cc - joins as a backend sees them: tables that queries of
 * one connection build, probe and drop.
 */
#include <functional>
#include <tuple>

#include "daemon/testing/turbined_fixture.h"
#include "engine/program/program.h"
#include "engine/testing/hand_written_code.h"
#include "engine/testing/hand_written_programs.h"
#include "engine/testing/heap_pages.h"
#include "turbine/kernel.h"

namespace turbine {
namespace {

using testing::build_program;
using testing::Client;
using testing::heap_pages;
using testing::numbers;
using testing::probe_program;
using testing::ProgramWriter;
using testing::Reply;

using Row = std::tuple<int32_t, int32_t, std::string>;  // NULL is "-"

std::string text_of(int32_t value) { return value % 5 == 0 ? "-" : "v" + std::to_string(value); }

constexpr uint32_t kAllowHost = TB_QUERY_ALLOW_HOST;

class TurbinedJoinTest : public testing::TurbinedTest {
 protected:
  void SetUp() override { start_daemon({}, TB_TEST_CODE_JOIN); }

  /* The reply that ends the query, after its chunks. */
  static Reply feed(Client& client, const std::vector<std::vector<int32_t>>& chunks) {
    for (size_t i = 0; i < chunks.size(); i++) {
      client.send_pages(0, heap_pages(chunks[i], 100), i);
      const Reply reply = client.receive();
      if (reply.type != TB_MSG_CHUNK_DONE) return reply;
      if (reply.as<TbChunkDone>().verdict != 0) return client.receive();
    }
    client.send(TB_MSG_INPUT_END);
    return client.receive();
  }
  static Reply build(Client& client, uint32_t table, const std::vector<int32_t>& values) {
    if (!client.start(build_program(), 100, kAllowHost, table)) return {};
    return feed(client, {values});
  }
  /* The rows of RESULT_BATCH batches, from the first on, up to QUERY_DONE. */
  static std::vector<Row> rows_of(Client& client, Reply reply, TbQueryDone* done = nullptr) {
    std::vector<Row> rows;
    for (; reply.type == TB_MSG_RESULT_BATCH; reply = client.receive()) {
      const auto* batch = reinterpret_cast<const TbResultBatch*>(reply.payload.data());
      const uint8_t* slot = client.slot(batch->slot);
      for (uint32_t i = 0; i < batch->nrows; i++) {
        int32_t a, b;
        TbTextView view;
        memcpy(&a, slot + batch->columns[0].values + i * 4, 4);
        memcpy(&b, slot + batch->columns[1].values + i * 4, 4);
        memcpy(&view, slot + batch->columns[2].values + i * 16, 16);
        const char* text = reinterpret_cast<const char*>(slot) + batch->bytes_offset + view.offset;
        rows.emplace_back(a, b, slot[batch->columns[2].valid + i] ? std::string(text, view.length) : "-");
      }
      client.send_struct(TB_MSG_SLOT_FREE, TbSlotFree{batch->slot, 0});
    }
    EXPECT_EQ(reply.type, TB_MSG_QUERY_DONE);
    if (done) *done = reply.as<TbQueryDone>();
    std::sort(rows.begin(), rows.end());
    return rows;
  }
  static std::vector<Row> probe(Client& client, uint32_t table, const std::vector<int32_t>& values,
                                TbQueryDone* done = nullptr) {
    if (!client.start(probe_program(table), 100)) return {};
    return rows_of(client, feed(client, {values}), done);
  }
  /* Does the connection end at a probe of this table? */
  static bool probe_is_a_violation(Client& client, uint32_t table) {
    client.send_query(probe_program(table), 10);
    return client.receive().type == 0;
  }
};

TEST_F(TurbinedJoinTest, ProjectsRows) {
  auto client = connect();
  ASSERT_TRUE(client->start(build_program(TB_SINK_PROJECT), 100));
  std::vector<std::vector<int32_t>> chunks;
  std::vector<Row> expected;
  for (int32_t c = 0; c < 20; c++) {
    chunks.emplace_back();
    for (int32_t i = 0; i < 1500; i++) {
      chunks.back().push_back(c * 1500 + i);
      expected.emplace_back(c * 1500 + i, c * 1500 + i, text_of(c * 1500 + i));
    }
  }
  TbQueryDone done;
  EXPECT_EQ(rows_of(*client, feed(*client, chunks), &done), expected);
  EXPECT_EQ(done.groups, 30000u);
  EXPECT_EQ(done.rows_in, 30000u);
  EXPECT_EQ(done.table_kind, 0u);
}

TEST_F(TurbinedJoinTest, TablesAreBuiltProbedAndDropped) {
  auto client = connect();
  for (int round = 0; round < 3; round++) {
    auto reply = build(*client, 63, numbers(1000));
    ASSERT_EQ(reply.type, TB_MSG_QUERY_DONE);
    auto done = reply.as<TbQueryDone>();
    EXPECT_EQ(done.groups, 1000u);
    EXPECT_EQ(done.table_kind, static_cast<uint32_t>(TB_TABLE_DENSE));
    EXPECT_EQ(done.table_chained, 0u);
    EXPECT_GT(done.table_bytes, 1000u * 20);
    reply = build(*client, 0, {3, 3, 9});
    ASSERT_EQ(reply.type, TB_MSG_QUERY_DONE);
    EXPECT_EQ(reply.as<TbQueryDone>().table_kind, static_cast<uint32_t>(TB_TABLE_DIRECT));
    EXPECT_EQ(reply.as<TbQueryDone>().table_chained, 1u);
    EXPECT_TRUE(soon([&] { return host().queries_running == 0; }));
    EXPECT_GE(host().memory_used, done.table_bytes) << "as long as the tables live";

    const std::vector<Row> rows = probe(*client, 63, {999, 1000, 4, -5, 4, 10}, &done);
    EXPECT_EQ(rows, (std::vector<Row>{{4, 4, "v4"}, {4, 4, "v4"}, {10, 10, "-"}, {999, 999, "v999"}}));
    EXPECT_EQ(done.rows_passed, 6u);
    EXPECT_EQ(done.join_rows[0], 4u);
    EXPECT_EQ(done.join_rows[1], 0u);
    EXPECT_TRUE(soon([&] { return host().memory_used == 0; })) << "dropped with the query";
  }
  // Dropped: their numbers are free again, and nobody can probe them.
  EXPECT_TRUE(probe_is_a_violation(*client, 63));
}

TEST_F(TurbinedJoinTest, ABuildTellsTheBoundsOfItsKeys) {
  auto client = connect();
  Reply reply = build(*client, 0, {30, -7, 12});
  ASSERT_EQ(reply.type, TB_MSG_QUERY_DONE);
  auto done = reply.as<TbQueryDone>();
  EXPECT_EQ(done.key_bounds[0].known, 1u);
  EXPECT_EQ(done.key_bounds[0].min, -7);
  EXPECT_EQ(done.key_bounds[0].max, 30);
  EXPECT_EQ(done.key_bounds[1].known, 0u);
  reply = build(*client, 1, {});
  ASSERT_EQ(reply.type, TB_MSG_QUERY_DONE);
  done = reply.as<TbQueryDone>();
  EXPECT_EQ(done.groups, 0u);
  EXPECT_EQ(done.key_bounds[0].known, 0u);
}

TEST_F(TurbinedJoinTest, TablesMayProbeTables) {
  auto client = connect();
  ASSERT_EQ(build(*client, 1, {1, 2, 2, 3}).type, TB_MSG_QUERY_DONE);
  ProgramWriter second = probe_program(1);
  second.sink = TB_SINK_BUILD;
  second.keys = {second.outputs[0]};
  second.outputs.erase(second.outputs.begin());
  ASSERT_TRUE(client->start(second, 10, kAllowHost, 2));
  const Reply reply = feed(*client, {{2, 3, 4}});
  ASSERT_EQ(reply.type, TB_MSG_QUERY_DONE);
  EXPECT_EQ(reply.as<TbQueryDone>().groups, 3u);
  EXPECT_EQ(probe(*client, 2, {2, 4}), (std::vector<Row>{{2, 2, "v2"}, {2, 2, "v2"}}));
}

TEST_F(TurbinedJoinTest, ClosingDropsTables) {
  auto client = connect();
  // In the middle of the query that probes.
  ASSERT_EQ(build(*client, 5, numbers(10)).type, TB_MSG_QUERY_DONE);
  ASSERT_TRUE(client->start(probe_program(5), 10));
  client->send(TB_MSG_QUERY_CLOSE);
  EXPECT_TRUE(soon([&] { return host().memory_used == 0; }));
  // In the middle of another BUILD.
  ASSERT_EQ(build(*client, 5, numbers(10)).type, TB_MSG_QUERY_DONE);
  ASSERT_TRUE(client->start(build_program(), 10, kAllowHost, 6));
  client->send(TB_MSG_QUERY_CLOSE);
  EXPECT_TRUE(soon([&] { return host().memory_used == 0; }));
  // Between queries.
  ASSERT_EQ(build(*client, 5, numbers(10)).type, TB_MSG_QUERY_DONE);
  client->send(TB_MSG_QUERY_CLOSE);
  EXPECT_TRUE(soon([&] { return host().memory_used == 0; }));
  // With the connection.
  ASSERT_EQ(build(*client, 5, numbers(10)).type, TB_MSG_QUERY_DONE);
  EXPECT_GT(host().memory_used, 0u);
  client.reset();
  EXPECT_TRUE(soon([&] { return host().memory_used == 0; }));
}

TEST_F(TurbinedJoinTest, FailuresDropTables) {
  auto client = connect();
  ASSERT_EQ(build(*client, 0, numbers(10)).type, TB_MSG_QUERY_DONE);
  // A BUILD that meets a value for PostgreSQL.
  const Reply failed = build(*client, 1, {1, RAISING_VALUE});
  ASSERT_EQ(failed.type, TB_MSG_FAILED);
  EXPECT_EQ(failed.as<TbFailure>().reason, static_cast<uint32_t>(TB_FALLBACK_RAISED));
  client->send(TB_MSG_QUERY_CLOSE);
  EXPECT_TRUE(soon([&] { return host().memory_used == 0; }));
  // The query that probes does.
  ASSERT_EQ(build(*client, 0, numbers(10)).type, TB_MSG_QUERY_DONE);
  ASSERT_TRUE(client->start(probe_program(0), 10));
  EXPECT_EQ(feed(*client, {{1, RAISING_VALUE}}).type, TB_MSG_FAILED);
  client->send(TB_MSG_QUERY_CLOSE);
  EXPECT_TRUE(soon([&] { return host().memory_used == 0; }));
  // It is refused.
  ASSERT_EQ(build(*client, 0, numbers(10)).type, TB_MSG_QUERY_DONE);
  client->send_query(probe_program(0), 10, 5, 0);
  EXPECT_EQ(client->receive().type, TB_MSG_REFUSED);
  EXPECT_TRUE(soon([&] { return host().memory_used == 0; }));
  // All the same the connection is of use.
  ASSERT_EQ(build(*client, 0, {7}).type, TB_MSG_QUERY_DONE);
  EXPECT_EQ(probe(*client, 0, {7}).size(), 1u);
}

TEST_F(TurbinedJoinTest, ProgramsHaveToFitTheirTables) {
  const std::vector<std::pair<const char*, std::function<void(ProgramWriter&)>>> damages = {
      {"another table", [](ProgramWriter& p) { p.joins[0].join_table = 4; }},
      {"no keys", [](ProgramWriter& p) { p.joins[0].nkeys = 0; }},
      {"key's type",
       [](ProgramWriter& p) {
         p.attributes[0].length = 8;
         p.attributes[0].align = 8;
         p.columns[0].type = p.exprs[0].type = TB_TYPE_INT8;
       }},
      {"output beyond", [](ProgramWriter& p) { p.columns[1].attnum = 3; }},
      {"output's type", [](ProgramWriter& p) { p.columns[1].type = p.exprs[1].type = TB_TYPE_DATE; }},
      {"stored nullable",
       [](ProgramWriter& p) {
         p.columns[2].flags = 0;
         p.exprs[2].flags = 0;
       }},
      {"not stored nullable", [](ProgramWriter& p) {
         p.columns[1].flags = TB_COL_NULLABLE | TB_COL_STORED_NULLABLE;
         p.exprs[1].flags = TB_EX_NULLABLE;
       }}};
  for (const auto& [name, damage] : damages) {
    auto client = connect();
    ASSERT_EQ(build(*client, 3, numbers(10)).type, TB_MSG_QUERY_DONE);
    ProgramWriter program = probe_program(3);
    damage(program);
    ASSERT_NO_THROW(Program::parse(program.blob())) << name;
    client->send_query(program, 10);
    EXPECT_EQ(client->receive().type, 0u) << name;
  }
  auto client = connect();
  ASSERT_EQ(build(*client, 3, numbers(10)).type, TB_MSG_QUERY_DONE);
  client->send_query(build_program(), 10, TB_ANY_DEVICE, kAllowHost, 3);
  EXPECT_EQ(client->receive().type, 0u) << "the number is taken";
  client = connect();
  client->send_query(build_program(), 10, TB_ANY_DEVICE, kAllowHost, TB_MAX_JOIN_TABLES);
  EXPECT_EQ(client->receive().type, 0u) << "no such number";
  client = connect();
  client->send_query(build_program(TB_SINK_PROJECT), 10, TB_ANY_DEVICE, kAllowHost, 1);
  EXPECT_EQ(client->receive().type, 0u) << "a number for no table";
  // Others' tables are not there.
  client = connect();
  auto other = connect();
  ASSERT_EQ(build(*other, 3, numbers(10)).type, TB_MSG_QUERY_DONE);
  EXPECT_TRUE(probe_is_a_violation(*client, 3));
  EXPECT_EQ(probe(*other, 3, {1}).size(), 1u);
}

TEST_F(TurbinedJoinTest, RowsThatBelieAUniquePlanAreRefused) {
  auto client = connect();
  ASSERT_EQ(build(*client, 0, {1, 1}).type, TB_MSG_QUERY_DONE);
  ProgramWriter program = probe_program(0);
  program.joins[0].flags = TB_JOIN_UNIQUE;
  client->send_query(program, 10);
  const Reply reply = client->receive();
  ASSERT_EQ(reply.type, TB_MSG_REFUSED);
  EXPECT_EQ(reply.as<TbFailure>().reason, static_cast<uint32_t>(TB_FALLBACK_VALUE));
}

TEST_F(TurbinedJoinTest, TablesAreBuiltOnTheHostUnlessAnotherDeviceIsNamed) {
  auto client = connect();
  client->send_query(build_program(), 10, TB_ANY_DEVICE, TB_QUERY_GPU_OK);
  Reply reply = client->receive();
  ASSERT_EQ(reply.type, TB_MSG_READY);
  EXPECT_EQ(reply.as<TbReady>().device, static_cast<uint32_t>(TB_DEVICE_HOST));

  client = connect();
  client->send_query(build_program(), 10, 7, kAllowHost);
  reply = client->receive();
  ASSERT_EQ(reply.type, TB_MSG_READY);
  EXPECT_EQ(reply.as<TbReady>().device, static_cast<uint32_t>(TB_DEVICE_HOST));
  EXPECT_EQ(reply.as<TbReady>().host_because, static_cast<uint32_t>(TB_FALLBACK_NO_DEVICE));

  client = connect();
  client->send_query(build_program(), 10, 7, 0);
  reply = client->receive();
  ASSERT_EQ(reply.type, TB_MSG_REFUSED);
  EXPECT_EQ(reply.as<TbFailure>().reason, static_cast<uint32_t>(TB_FALLBACK_NO_DEVICE));
}

TEST_F(TurbinedJoinTest, RowsBeyondTheBudgetFailOnlyTheirQuery) {
  restart({"--memory-budget", "12MB"}, TB_TEST_CODE_JOIN);
  auto client = connect();
  ASSERT_TRUE(client->start(build_program(), 100, kAllowHost, 0));
  std::vector<std::vector<int32_t>> chunks;
  for (int i = 0; i < 300; i++) chunks.push_back(numbers(1500));
  const Reply failed = feed(*client, chunks);
  ASSERT_EQ(failed.type, TB_MSG_FAILED);
  EXPECT_EQ(failed.as<TbFailure>().reason, static_cast<uint32_t>(TB_FALLBACK_HOST_MEMORY));
  client->send(TB_MSG_QUERY_CLOSE);
  EXPECT_EQ(build(*client, 0, numbers(100)).type, TB_MSG_QUERY_DONE);
  EXPECT_EQ(probe(*client, 0, {5}).size(), 1u);
}

/* Two that hold tables and wait for more would wait for each other. */
TEST_F(TurbinedJoinTest, WhoHoldsTablesDoesNotWaitLong) {
  restart({"--memory-budget", "32MB"}, TB_TEST_CODE_JOIN);
  auto holder = connect();
  ASSERT_EQ(build(*holder, 0, numbers(100)).type, TB_MSG_QUERY_DONE);
  std::vector<std::unique_ptr<Client>> others;  // that leave nothing
  for (int i = 0; i < 50; i++) {
    others.push_back(connect());
    others.back()->send_query(build_program(), 10000);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto start = std::chrono::steady_clock::now();
  holder->send_query(probe_program(0), 10000);
  const Reply reply = holder->receive();
  ASSERT_EQ(reply.type, TB_MSG_REFUSED);
  EXPECT_EQ(reply.as<TbFailure>().reason, static_cast<uint32_t>(TB_FALLBACK_ADMISSION));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(2000)) << "of 5000 that it asked for";
}

TEST_F(TurbinedJoinTest, DirectReadsAndDeferredRowsReachTables) {
  const std::vector<uint8_t> pages = heap_pages({1, 2, DEFERRED_VALUE, 4}, 2);
  const UniqueFd file(memfd_create("relation", MFD_CLOEXEC));
  ASSERT_EQ(write(file.get(), pages.data(), pages.size()), static_cast<ssize_t>(pages.size()));
  auto client = connect();
  client->send_struct(TB_MSG_FILES, TbFiles{0, 1}, "", {file.get()});
  ASSERT_TRUE(client->start(build_program(), 10, kAllowHost, 0));
  TbChunk chunk{};
  chunk.kind = TB_CHUNK_PAGES;
  chunk.npages = 2;
  chunk.nruns = 1;
  const TbRun run{0, 0, 2};
  client->send_struct(TB_MSG_CHUNK, chunk, std::string(reinterpret_cast<const char*>(&run), sizeof run));
  ASSERT_EQ(client->receive().type, TB_MSG_CHUNK_READ);
  client->send_struct(TB_MSG_CHUNK_RELEASE, TbChunkRelease{0, 0});
  const auto done = client->receive().as<TbChunkDone>();
  EXPECT_EQ(done.rows_in, 3u);
  ASSERT_EQ(done.ndeferred, 1u);
  EXPECT_EQ(*reinterpret_cast<const uint32_t*>(client->slot(0) + client->ready().ids_offset), TB_ROWID(1, 1));
  client->send(TB_MSG_INPUT_END);
  ASSERT_EQ(client->receive().type, TB_MSG_QUERY_DONE);
  EXPECT_EQ(probe(*client, 0, {1, 3, 4}).size(), 2u);
}

/* A chunk of two columns, (5, NULL), where the second may lack valid bytes. */
TEST_F(TurbinedJoinTest, ColumnsChunksNeedValidBytesWhereTheProgramLooks) {
  for (bool valid : {true, false}) {
    auto client = connect();
    ASSERT_TRUE(client->start(build_program(TB_SINK_PROJECT), 10));
    uint8_t* slot = client->slot(0);
    memset(slot, 0, 4096);
    TbColumnsChunk header{};
    header.nrows = 1;
    header.ncolumns = 2;
    const uint64_t columns[4] = {128, 0, 256, valid ? 512u : 0u};
    memcpy(slot, &header, sizeof header);
    memcpy(slot + sizeof header, columns, sizeof columns);
    const int32_t five = 5;
    memcpy(slot + 128, &five, sizeof five);
    TbChunk chunk{};
    chunk.kind = TB_CHUNK_COLUMNS;
    client->send_struct(TB_MSG_CHUNK, chunk);
    client->send_struct(TB_MSG_CHUNK_RELEASE, TbChunkRelease{0, 0});
    EXPECT_EQ(client->receive().type, valid ? static_cast<uint32_t>(TB_MSG_CHUNK_DONE) : 0u);
  }
}

TEST_F(TurbinedJoinTest, PagesAreNoSourceOfRows) {
  auto client = connect();
  ProgramWriter program = build_program();
  program.source = TB_SOURCE_ROWS;
  program.attributes.clear();
  ASSERT_TRUE(client->start(program, 10, kAllowHost, 0));
  client->send_pages(0, heap_pages({1}, 100), 0);
  EXPECT_EQ(client->receive().type, 0u);
}

TEST_F(TurbinedJoinTest, PreparedProgramsAreThereWhenTheirQueryComes) {
  auto client = connect();
  client->prepare(build_program());
  client->prepare(probe_program(0));
  ASSERT_TRUE(soon([&] { return status().code_compiled == 2; }));
  ASSERT_TRUE(client->start(build_program(), 10, kAllowHost, 0));
  EXPECT_EQ(client->ready().code_source, 1u);
  // Again, and in the middle of a query: nothing to do.
  for (int i = 0; i < 200; i++) client->prepare(probe_program(0));
  EXPECT_EQ(feed(*client, {{1, 2}}).type, TB_MSG_QUERY_DONE);
  EXPECT_EQ(probe(*client, 0, {2}).size(), 1u);
  EXPECT_EQ(client->ready().code_source, 1u);
  EXPECT_EQ(status().code_compiled, 2u);
}

TEST_F(TurbinedJoinTest, QueriesJoinTheCompilationThatRuns) {
  script_ = std::string("slow:") + TB_TEST_CODE_JOIN;
  restart({}, nullptr);
  auto client = connect();
  client->prepare(build_program());
  EXPECT_TRUE(client->silent(20)) << "the session does not wait";
  ASSERT_TRUE(client->start(build_program(), 10, kAllowHost, 0));
  EXPECT_EQ(status().code_compiled, 1u);
}

TEST_F(TurbinedJoinTest, FailedAndDamagedPreparations) {
  script_ = "fail:no";
  restart({}, nullptr);
  auto client = connect();
  client->prepare(build_program());
  client->send_query(build_program(), 10);
  const Reply reply = client->receive();
  ASSERT_EQ(reply.type, TB_MSG_REFUSED);
  EXPECT_EQ(reply.as<TbFailure>().reason, static_cast<uint32_t>(TB_FALLBACK_COMPILE));
  ProgramWriter damaged = build_program();
  damaged.keys = {1000};
  client->prepare(damaged);
  EXPECT_EQ(client->receive().type, 0u);
  client = connect();
  client->send(TB_MSG_PREPARE, "short");
  EXPECT_EQ(client->receive().type, 0u);
}

TEST_F(TurbinedJoinTest, PreparationsDoNotHoldUpTheEnd) {
  script_ = std::string("stuck:") + TB_TEST_CODE_JOIN;
  restart({}, nullptr);
  auto client = connect();
  for (uint32_t table = 0; table < 60; table++) client->prepare(probe_program(table));
  EXPECT_EQ(status().code_compiled, 0u);
  const auto start = std::chrono::steady_clock::now();
  const int result = stop_daemon();
  EXPECT_TRUE(WIFEXITED(result) && WEXITSTATUS(result) == 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace turbine
