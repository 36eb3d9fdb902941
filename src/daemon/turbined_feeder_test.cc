/*
 * turbined_feeder_test.cc - ATTACH: who gets a query's slot memory, and that no other query
 * does while a feeder has it.
 */
#include "daemon/testing/turbined_fixture.h"
#include "engine/testing/hand_written_code.h"
#include "engine/testing/hand_written_programs.h"
#include "engine/testing/heap_pages.h"
#include "turbine/kernel.h"

namespace turbine {
namespace {

using testing::Client;
using testing::heap_pages;
using testing::numbers;
using testing::Reply;
using testing::TurbinedTest;

class FeederTest : public TurbinedTest {
 protected:
  /* A connection that has asked for the lease; what it was told. */
  std::unique_ptr<Client> attach(uint64_t generation, uint64_t lease, uint32_t* reply) {
    auto feeder = connect();
    feeder->send_struct(TB_MSG_ATTACH, TbAttach{generation, lease});
    last_ = feeder->receive();
    *reply = last_.type;
    return feeder;
  }
  std::unique_ptr<Client> attach(const Client& query) {
    uint32_t reply;
    auto feeder = attach(status().generation, query.ready().lease, &reply);
    EXPECT_EQ(reply, static_cast<uint32_t>(TB_MSG_ATTACHED));
    return feeder;
  }
  void finish(Client& client) {
    client.send(TB_MSG_INPUT_END);
    ASSERT_EQ(client.receive().type, TB_MSG_QUERY_DONE);
    // It says so before it lets go of the slot memory.
    ASSERT_TRUE(soon([&] { return status().open_queries == 0; }));
  }
  Reply last_;
};

TEST_F(FeederTest, PagesOfAFeederAreTheQuerys) {
  auto client = connect();
  ASSERT_TRUE(client->start(testing::rows_program(), 1000));
  auto feeder = attach(*client);
  const auto attached = last_.as<TbAttached>();
  EXPECT_EQ(attached.memory_id, client->ready().memory_id);
  ASSERT_GE(attached.memory_size, client->ready().memory_size);
  const int seals = fcntl(feeder->memory_fd(), F_GET_SEALS);
  EXPECT_EQ(seals & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);

  const std::vector<uint8_t> pages = heap_pages(numbers(1000), 100);
  const auto at = static_cast<off_t>(client->ready().first_slot_offset + client->ready().slot_size);
  ASSERT_EQ(pwrite(feeder->memory_fd(), pages.data(), pages.size(), at), static_cast<ssize_t>(pages.size()));
  TbChunk chunk{};
  chunk.slot = 1;
  chunk.kind = TB_CHUNK_PAGES;
  chunk.npages = static_cast<uint32_t>(pages.size() / TB_PAGE_SIZE);
  client->send_struct(TB_MSG_CHUNK, chunk);
  client->send_struct(TB_MSG_CHUNK_RELEASE, TbChunkRelease{1, 0});
  const Reply reply = client->receive();
  ASSERT_EQ(reply.type, TB_MSG_CHUNK_DONE);
  EXPECT_EQ(reply.as<TbChunkDone>().rows_in, 1000u);
  EXPECT_EQ(reply.as<TbChunkDone>().nrows, 500u);
}

TEST_F(FeederTest, OnlyTheLeaseOfAQueryUnderWayIsGiven) {
  auto client = connect();
  ASSERT_TRUE(client->start(testing::rows_program(), 1000));
  const uint64_t lease = client->ready().lease;
  const uint64_t generation = status().generation;
  uint32_t reply;
  attach(generation, lease + 1, &reply);
  EXPECT_EQ(reply, static_cast<uint32_t>(TB_MSG_REFUSED));
  attach(generation, 0, &reply);
  EXPECT_EQ(reply, static_cast<uint32_t>(TB_MSG_REFUSED));
  attach(generation + 1, lease, &reply);
  EXPECT_EQ(reply, static_cast<uint32_t>(TB_MSG_REFUSED));
  finish(*client);
  attach(generation, lease, &reply);
  EXPECT_EQ(reply, static_cast<uint32_t>(TB_MSG_REFUSED));
  ASSERT_TRUE(client->start(testing::rows_program(), 1000));
  EXPECT_EQ(client->ready().has_fd, 0u) << "the same memory";
  EXPECT_NE(client->ready().lease, lease);
  attach(generation, lease, &reply);
  EXPECT_EQ(reply, static_cast<uint32_t>(TB_MSG_REFUSED)) << "the lease of a query that is over";
}

TEST_F(FeederTest, AFeederKeepsTheSlotMemoryFromOtherQueries) {
  for (bool by_death : {false, true}) {
    auto client = connect();
    ASSERT_TRUE(client->start(testing::rows_program(), 1000));
    const uint64_t memory = client->ready().memory_id;
    auto feeder = attach(*client);
    if (by_death)
      client.reset();
    else
      finish(*client);
    EXPECT_TRUE(soon([&] { return status().open_queries == 0; }));
    auto other = connect();
    ASSERT_TRUE(other->start(testing::rows_program(), 1000));
    EXPECT_NE(other->ready().memory_id, memory);
    finish(*other);

    // Its end makes it one of those that queries use again.
    feeder.reset();
    bool used_again = false;
    EXPECT_TRUE(soon([&] {
      auto first = connect(), second = connect();
      used_again = first->start(testing::rows_program(), 1000) && second->start(testing::rows_program(), 1000) &&
                   (first->ready().memory_id == memory || second->ready().memory_id == memory);
      return used_again;
    }));
  }
}

TEST_F(FeederTest, AttachIsOncePerConnectionAndOutsideOfQueries) {
  auto client = connect();
  ASSERT_TRUE(client->start(testing::rows_program(), 1000));
  const TbAttach request{status().generation, client->ready().lease};
  auto feeder = attach(*client);
  feeder->send_struct(TB_MSG_ATTACH, request);
  EXPECT_EQ(feeder->receive().type, 0u);
  auto second = attach(*client);
  second->send_query(testing::rows_program(), 1000);
  EXPECT_EQ(second->receive().type, 0u);
  client->send_struct(TB_MSG_ATTACH, request);
  EXPECT_EQ(client->receive().type, 0u);
  EXPECT_TRUE(alive());
}

}  // namespace
}  // namespace turbine
