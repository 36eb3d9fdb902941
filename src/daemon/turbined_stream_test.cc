/*
 * turbined_stream_test.cc - streams as a backend sees them: batches come while there is input, each becomes a copy on
 * another connection, and what breaks the contract ends the connection.
 */
#include "daemon/testing/turbined_fixture.h"
#include "engine/testing/hand_written_code.h"
#include "engine/testing/hand_written_programs.h"
#include "engine/testing/heap_pages.h"

namespace turbine {
namespace {

using testing::build_program;
using testing::Client;
using testing::heap_pages;
using testing::numbers;
using testing::ProgramWriter;
using testing::Reply;
using testing::sum_program;

const std::vector<TbStreamColumn> kColumns = {{0, TB_EXPORT_INT32}, {2, TB_EXPORT_UTF8}};

class TurbinedStreamTest : public testing::TurbinedTest {
 protected:
  void SetUp() override { start_daemon({}, TB_TEST_CODE_JOIN); }

  static bool start(Client& client, uint64_t rows, uint32_t sink = TB_SINK_PROJECT) {
    return client.start(build_program(static_cast<uint16_t>(sink)), 100, TB_QUERY_ALLOW_HOST, 0, {}, {},
                        Client::stream(rows, kColumns));
  }

  struct Batch {
    TbStreamId id{};
    uint64_t rows = 0;
    uint64_t columns[2][2] = {};  // NULLs, bytes
  };
  /* Of the next message that is no news of a chunk. */
  static Batch receive(Client& client) {
    Reply reply = client.receive();
    while (reply.type == TB_MSG_CHUNK_DONE) reply = client.receive();
    EXPECT_EQ(reply.type, TB_MSG_STREAM_BATCH);
    Batch batch;
    EXPECT_EQ(reply.payload.size(), sizeof(TbStreamBatch) + sizeof batch.columns);
    if (reply.payload.size() != sizeof(TbStreamBatch) + sizeof batch.columns) return batch;
    batch.id = reply.as<TbStreamId>();
    memcpy(&batch.rows, reply.payload.data() + offsetof(TbStreamBatch, rows), sizeof batch.rows);
    memcpy(batch.columns, reply.payload.data() + sizeof(TbStreamBatch), sizeof batch.columns);
    return batch;
  }

  /* EXPORT_STREAMED, as the batch is or with other figures. */
  static void take(Client& client, const Batch& batch) {
    TbExportCreate create{};
    create.device = TB_DEVICE_HOST;
    create.rows = batch.rows;
    create.ncolumns = 2;
    std::string bytes(reinterpret_cast<const char*>(&batch.id), sizeof batch.id);
    bytes.append(reinterpret_cast<const char*>(&create), sizeof create);
    for (size_t i = 0; i < 2; i++) {
      TbExportColumn column{};
      column.format = kColumns[i].format;
      column.nulls = batch.columns[i][0];
      column.bytes = batch.columns[i][1];
      column.name_length = 1;
      column.type_length = 4;
      bytes.append(reinterpret_cast<const char*>(&column), sizeof column);
    }
    client.send(TB_MSG_EXPORT_STREAMED, bytes + "vint4ttext");
  }
};

TEST_F(TurbinedStreamTest, BatchesComeWhileThereIsInput) {
  const auto client = connect(), exports = connect();
  ASSERT_TRUE(start(*client, 100));
  client->send_pages(0, heap_pages(numbers(250), 100), 0);
  for (int i = 0; i < 2; i++) {
    const Batch batch = receive(*client);
    EXPECT_EQ(batch.rows, 100u);
    EXPECT_EQ(batch.columns[0][0], 0u);
    EXPECT_EQ(batch.columns[1][0], 20u);  // every fifth text
    take(*exports, batch);
    const Reply created = exports->receive();
    ASSERT_EQ(created.type, TB_MSG_EXPORT_CREATED);
    EXPECT_EQ(created.as<TbExportInfo>().rows, 100u);
    client->send(TB_MSG_STREAM_TAKEN);
    // It is nobody else's to take.
    take(*exports, batch);
    EXPECT_EQ(exports->receive().type, TB_MSG_EXPORT_UNKNOWN);
  }
  client->send(TB_MSG_INPUT_END);
  const Batch last = receive(*client);
  EXPECT_EQ(last.rows, 50u);
  take(*exports, last);
  EXPECT_EQ(exports->receive().type, TB_MSG_EXPORT_CREATED);
  EXPECT_TRUE(client->silent(50));
  client->send(TB_MSG_STREAM_TAKEN);
  const Reply done = client->receive();
  ASSERT_EQ(done.type, TB_MSG_QUERY_DONE);
  EXPECT_EQ(done.as<TbQueryDone>().groups, 250u);
  // The connection is good for another query.
  EXPECT_TRUE(start(*client, 10));
}

TEST_F(TurbinedStreamTest, WhatIsNotTakenGoesWithItsQuery) {
  const auto exports = connect();
  auto client = connect();
  ASSERT_TRUE(start(*client, 10));
  client->send_pages(0, heap_pages(numbers(100), 100), 0);
  const Batch batch = receive(*client);
  client->send(TB_MSG_QUERY_CLOSE);
  client->send(TB_MSG_STATUS);
  // What was on its way comes first.
  Reply reply = client->receive();
  while (reply.type == TB_MSG_STREAM_BATCH || reply.type == TB_MSG_CHUNK_DONE) reply = client->receive();
  ASSERT_EQ(reply.type, TB_MSG_STATUS_REPLY);
  ASSERT_TRUE(start(*client, 10));
  take(*exports, batch);
  EXPECT_EQ(exports->receive().type, TB_MSG_EXPORT_UNKNOWN);
}

TEST_F(TurbinedStreamTest, BrokenPromisesEndTheConnection) {
  auto ends = [this](const auto& what) {
    const auto client = connect();
    what(*client);
    return client->receive().type == 0;
  };
  EXPECT_TRUE(ends([](Client& client) {
    client.send_query(sum_program(false), 10, TB_ANY_DEVICE, TB_QUERY_ALLOW_HOST, 0, {}, {},
                      Client::stream(10, kColumns));
  }));
  EXPECT_TRUE(ends([](Client& client) {
    client.send_query(build_program(TB_SINK_PROJECT), 10, TB_ANY_DEVICE, TB_QUERY_ALLOW_HOST, 0, {}, {},
                      Client::stream(0, kColumns));
  }));
  EXPECT_TRUE(ends([](Client& client) {
    client.send_query(build_program(TB_SINK_PROJECT), 10, TB_ANY_DEVICE, TB_QUERY_ALLOW_HOST, 0, {}, {},
                      Client::stream(10, {{9, TB_EXPORT_INT32}}));
  }));
  EXPECT_TRUE(ends([](Client& client) {
    client.send_query(build_program(TB_SINK_PROJECT), 10, TB_ANY_DEVICE, TB_QUERY_ALLOW_HOST, 0, {}, {}, "short");
  }));
  EXPECT_TRUE(ends([](Client& client) { client.send(TB_MSG_STREAM_TAKEN); }));
  EXPECT_TRUE(ends([](Client& client) {
    EXPECT_TRUE(start(client, 10));
    client.send(TB_MSG_STREAM_TAKEN);
  }));
  // Another batch than it is.
  const auto client = connect();
  ASSERT_TRUE(start(*client, 10));
  client->send_pages(0, heap_pages(numbers(100), 100), 0);
  Batch batch = receive(*client);
  batch.columns[1][1]++;
  EXPECT_TRUE(ends([&](Client& other) { take(other, batch); }));
}

}  // namespace
}  // namespace turbine
