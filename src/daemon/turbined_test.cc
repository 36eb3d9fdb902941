/*
 * turbined_test.cc - the daemon as a backend sees it: starts turbined with the
 * scripted compiler and speaks the protocol over its socket.
 */
#include <sys/resource.h>

#include <map>

#include "daemon/testing/turbined_fixture.h"
#include "engine/testing/hand_written_code.h"
#include "engine/testing/hand_written_programs.h"
#include "engine/testing/heap_pages.h"
#include "turbine/kernel.h"

namespace turbine {
namespace {

using testing::Client;
using testing::heap_pages;
using testing::kNonce;
using testing::numbers;
using testing::Reply;
using testing::TurbinedTest;

TEST_F(TurbinedTest, WrongNonceIsClosedWithoutAWord) {
  uint8_t wrong[16];
  memcpy(wrong, kNonce, sizeof wrong);
  wrong[15] ^= 1;
  Client client(socket_path());
  EXPECT_EQ(client.hello(wrong).type, 0u);
  EXPECT_NE(connect(), nullptr);
}

TEST_F(TurbinedTest, AnotherReleaseLearnsTheVersionOnly) {
  Client client(socket_path());
  const Reply reply = client.hello(kNonce, TB_WIRE_VERSION + 1);
  ASSERT_EQ(reply.type, TB_MSG_WELCOME);
  EXPECT_EQ(reply.as<TbWelcome>().version, static_cast<uint32_t>(TB_WIRE_VERSION));
  client.send(TB_MSG_STATUS);
  EXPECT_EQ(client.receive().type, 0u);
  EXPECT_NE(connect(), nullptr);
}

TEST_F(TurbinedTest, NothingIsAnsweredBeforeHello) {
  Client client(socket_path());
  client.send(TB_MSG_STATUS);
  EXPECT_EQ(client.receive().type, 0u);
}

TEST_F(TurbinedTest, StatusTellsDevices) {
  auto client = connect();
  client->send(TB_MSG_STATUS);
  const Reply reply = client->receive();
  ASSERT_EQ(reply.type, TB_MSG_STATUS_REPLY);
  const auto status = reply.as<TbStatusReply>();
  EXPECT_EQ(status.pid, pid_);
  EXPECT_EQ(status.ndevices, 1u);
  EXPECT_GE(status.sessions, 1u);
  ASSERT_EQ(reply.payload.size(), sizeof status + sizeof(TbDeviceInfo));
  TbDeviceInfo host;
  memcpy(&host, reply.payload.data() + sizeof status, sizeof host);
  EXPECT_EQ(host.units, 4u);
  EXPECT_GT(host.memory_budget, 0u);
}

TEST_F(TurbinedTest, FiltersRows) {
  auto client = connect();
  for (int round = 0; round < 3; round++) {
    ASSERT_TRUE(client->start(testing::rows_program(), 1000));
    EXPECT_EQ(client->ready().code_source, round == 0 ? 0u : 1u);
    EXPECT_EQ(client->ready().has_fd, round == 0 ? 1u : 0u) << "the slot memory is used again";
    const std::vector<int32_t> values = numbers(1000);
    for (uint32_t slot = 0; slot < 2; slot++) client->send_pages(slot, heap_pages(values, 100), slot);
    for (int i = 0; i < 2; i++) {
      const Reply reply = client->receive();
      ASSERT_EQ(reply.type, TB_MSG_CHUNK_DONE);
      const auto done = reply.as<TbChunkDone>();
      EXPECT_EQ(done.verdict, 0u);
      ASSERT_EQ(done.nrows, 500u);
      EXPECT_EQ(done.rows_in, 1000u);
      const auto* ids = reinterpret_cast<const uint32_t*>(client->slot(done.slot) + client->ready().ids_offset);
      for (uint32_t row = 0; row < 500; row++) ASSERT_EQ(ids[row], TB_ROWID(row * 2 / 100, row * 2 % 100 + 1));
    }
    client->send(TB_MSG_INPUT_END);
    const Reply reply = client->receive();
    ASSERT_EQ(reply.type, TB_MSG_QUERY_DONE);
    EXPECT_EQ(reply.as<TbQueryDone>().rows_in, 2000u);
    EXPECT_EQ(reply.as<TbQueryDone>().rows_passed, 1000u);
  }
  EXPECT_TRUE(soon([&] { return status().open_queries == 0; }));
}

TEST_F(TurbinedTest, SlotMemoryIsSealed) {
  auto client = connect();
  ASSERT_TRUE(client->start(testing::rows_program(), 10));
  const int seals = fcntl(client->memory_fd(), F_GET_SEALS);
  EXPECT_EQ(seals & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  EXPECT_NE(ftruncate(client->memory_fd(), 4096), 0);
}

TEST_F(TurbinedTest, ReadsFilesDirectlyAndWaitsForTheRelease) {
  const std::vector<uint8_t> pages = heap_pages(numbers(1000), 100);
  const UniqueFd file(memfd_create("relation", MFD_CLOEXEC));
  ASSERT_EQ(write(file.get(), pages.data(), pages.size()), static_cast<ssize_t>(pages.size()));
  auto client = connect();
  client->send_struct(TB_MSG_FILES, TbFiles{0, 1}, "", {file.get()});
  ASSERT_TRUE(client->start(testing::rows_program(), 1000));
  TbChunk chunk{};
  chunk.kind = TB_CHUNK_PAGES;
  chunk.npages = 6;
  chunk.nruns = 2;
  TbRun runs[2] = {{0, 2, 3}, {4, 9, 1}};
  auto send_chunk = [&] {
    client->send_struct(TB_MSG_CHUNK, chunk, std::string(reinterpret_cast<const char*>(runs), sizeof runs));
  };
  memset(client->slot(0), 0, 6 * TB_PAGE_SIZE);
  send_chunk();
  Reply reply = client->receive();
  ASSERT_EQ(reply.type, TB_MSG_CHUNK_READ);
  EXPECT_EQ(reply.as<TbChunkRead>().outcome, uint32_t{TB_READ_DONE});
  EXPECT_EQ(memcmp(client->slot(0), pages.data() + 2 * TB_PAGE_SIZE, 3 * TB_PAGE_SIZE), 0);
  EXPECT_TRUE(client->silent(100)) << "consumed before its release";
  client->send_struct(TB_MSG_CHUNK_RELEASE, TbChunkRelease{0, 0});
  reply = client->receive();
  ASSERT_EQ(reply.type, TB_MSG_CHUNK_DONE);
  EXPECT_EQ(reply.as<TbChunkDone>().rows_in, 400u);

  // Beyond the end of the file: the backend is told to fill the pages itself.
  runs[1].block = 10;
  chunk.sequence = 1;
  send_chunk();
  reply = client->receive();
  ASSERT_EQ(reply.type, TB_MSG_CHUNK_READ);
  EXPECT_EQ(reply.as<TbChunkRead>().outcome, uint32_t{TB_READ_FAILED});
  client->send_struct(TB_MSG_CHUNK_RELEASE, TbChunkRelease{0, 0});
  EXPECT_EQ(client->receive().type, TB_MSG_CHUNK_DONE);
  client->send(TB_MSG_INPUT_END);
  reply = client->receive();
  ASSERT_EQ(reply.type, TB_MSG_QUERY_DONE);
  EXPECT_EQ(reply.as<TbQueryDone>().bytes_read, 4u * TB_PAGE_SIZE);
}

TEST_F(TurbinedTest, PagesRewrittenAfterReadingCountAsTheyAreNow) {
  const auto read = heap_pages(std::vector<int32_t>(500, 2), 100);      // all rows pass
  const auto current = heap_pages(std::vector<int32_t>(500, 3), 100);  // none does
  const int fd = memfd_create("relation", MFD_CLOEXEC);
  ASSERT_EQ(write(fd, read.data(), read.size()), static_cast<ssize_t>(read.size()));
  auto client = connect();
  client->send_struct(TB_MSG_FILES, TbFiles{0, 1}, "", {fd});
  close(fd);
  ASSERT_TRUE(client->start(testing::rows_program(), 1000));
  for (const uint32_t rewritten : {0u, 1u}) {
    TbChunk chunk{};
    chunk.slot = 0;
    chunk.kind = TB_CHUNK_PAGES;
    chunk.npages = 5;
    chunk.sequence = rewritten;
    chunk.nruns = 1;
    const TbRun run{0, 0, 5};
    client->send_struct(TB_MSG_CHUNK, chunk, std::string(reinterpret_cast<const char*>(&run), sizeof run));
    ASSERT_EQ(client->receive().type, TB_MSG_CHUNK_READ);
    // The third page is another in the meantime.
    if (rewritten) memcpy(client->slot(0) + 2 * TB_PAGE_SIZE, current.data(), TB_PAGE_SIZE);
    client->send_struct(TB_MSG_CHUNK_RELEASE, TbChunkRelease{0, rewritten});
    const auto done = client->receive().as<TbChunkDone>();
    EXPECT_EQ(done.rows_in, 500u);
    EXPECT_EQ(done.nrows, rewritten ? 400u : 500u);
  }
}

/* Of a sum's pages only the values stay: a backend that replaces one replaces all. */
TEST_F(TurbinedTest, PagesDecodedOnTheWayAreNotInTheSlot) {
  restart({}, TB_TEST_CODE_TOTAL);
  const auto read = heap_pages(std::vector<int32_t>(500, 2), 100);
  const auto current = heap_pages(std::vector<int32_t>(500, 3), 100);
  const int fd = memfd_create("relation", MFD_CLOEXEC);
  ASSERT_EQ(write(fd, read.data(), read.size()), static_cast<ssize_t>(read.size()));
  auto client = connect();
  client->send_struct(TB_MSG_FILES, TbFiles{0, 1}, "", {fd});
  close(fd);
  ASSERT_TRUE(client->start(testing::sum_program(false), 1000));
  for (const uint32_t rewritten : {0u, 1u}) {
    TbChunk chunk{};
    chunk.slot = 0;
    chunk.kind = TB_CHUNK_PAGES;
    chunk.npages = 5;
    chunk.sequence = rewritten;
    chunk.nruns = 1;
    const TbRun run{0, 0, 5};
    memset(client->slot(0), 0, read.size());
    client->send_struct(TB_MSG_CHUNK, chunk, std::string(reinterpret_cast<const char*>(&run), sizeof run));
    EXPECT_EQ(client->receive().as<TbChunkRead>().outcome, uint32_t{TB_READ_DECODED});
    EXPECT_EQ(std::count(client->slot(0), client->slot(0) + read.size(), 0), static_cast<ptrdiff_t>(read.size()));
    if (rewritten) memcpy(client->slot(0), current.data(), current.size());
    client->send_struct(TB_MSG_CHUNK_RELEASE, TbChunkRelease{0, rewritten});
    EXPECT_EQ(client->receive().as<TbChunkDone>().rows_in, 500u);
  }
  client->send(TB_MSG_INPUT_END);
  const Reply groups = client->receive();
  ASSERT_EQ(groups.type, TB_MSG_RESULT_BATCH);
  int64_t sum;
  memcpy(&sum, client->slot(0) + reinterpret_cast<const TbResultBatch*>(groups.payload.data())->columns[1].values,
         sizeof sum);
  EXPECT_EQ(sum, 500 * 2 + 500 * 3);
}

TEST_F(TurbinedTest, VerdictsOfRowsKeepTheQueryGoing) {
  auto client = connect();
  ASSERT_TRUE(client->start(testing::rows_program(), 1000));
  client->send_pages(0, heap_pages({2, RAISING_VALUE, 4}, 100), 0);
  auto done = client->receive().as<TbChunkDone>();
  EXPECT_EQ(done.verdict, TB_ERR_OVERFLOW);
  EXPECT_EQ(done.nrows, 0u);
  client->send_pages(0, heap_pages({2, DEFERRED_VALUE, 4}, 100), 1);
  done = client->receive().as<TbChunkDone>();
  EXPECT_EQ(done.nrows, 2u);
  ASSERT_EQ(done.ndeferred, 1u);
  EXPECT_EQ(reinterpret_cast<uint32_t*>(client->slot(0) + client->ready().ids_offset)[2], TB_ROWID(0, 2));
}

TEST_F(TurbinedTest, GroupsComeInBatchesAndTheEndWaitsForTheirReader) {
  restart({}, TB_TEST_CODE_GROUPS);
  auto client = connect();
  ASSERT_TRUE(client->start(testing::sum_program(true), 100));
  // More groups than all slots hold at once.
  const uint64_t slot_rows = client->ready().ids_offset / 22;
  const uint32_t per_chunk = client->ready().slot_pages * 200;
  const auto nchunks = static_cast<uint32_t>((client->ready().nslots + 2) * slot_rows / per_chunk + 1);
  for (uint32_t c = 0; c < nchunks; c++) {
    std::vector<int32_t> values = numbers(per_chunk);
    for (int32_t& value : values) value += static_cast<int32_t>(c * per_chunk);
    client->send_pages(c % client->ready().nslots, heap_pages(values, 200), c);
    ASSERT_EQ(client->receive().type, TB_MSG_CHUNK_DONE);
  }
  client->send(TB_MSG_INPUT_END);

  std::map<int32_t, int64_t> groups;
  uint32_t batches = 0;
  while (true) {
    const Reply reply = client->receive();
    if (reply.type == TB_MSG_QUERY_DONE) {
      EXPECT_EQ(reply.as<TbQueryDone>().groups, uint64_t{nchunks} * per_chunk);
      break;
    }
    ASSERT_EQ(reply.type, TB_MSG_RESULT_BATCH);
    const auto* batch = reinterpret_cast<const TbResultBatch*>(reply.payload.data());
    ASSERT_EQ(batch->ncolumns, 3u);
    const uint8_t* slot = client->slot(batch->slot);
    for (uint32_t i = 0; i < batch->nrows; i++) {
      int32_t key;
      int64_t sum;
      memcpy(&key, slot + batch->columns[0].values + i * 4, sizeof key);
      memcpy(&sum, slot + batch->columns[2].values + i * 8, sizeof sum);
      ASSERT_EQ(sum, key);
      ASSERT_TRUE(groups.emplace(key, sum).second);
    }
    batches++;
    client->send_struct(TB_MSG_SLOT_FREE, TbSlotFree{batch->slot, 0});
  }
  EXPECT_EQ(groups.size(), uint64_t{nchunks} * per_chunk);
  EXPECT_GT(batches, client->ready().nslots);
}

TEST_F(TurbinedTest, VerdictsOfAggregatesFailTheQueryButNotTheConnection) {
  restart({}, TB_TEST_CODE_TOTAL);
  auto client = connect();
  ASSERT_TRUE(client->start(testing::sum_program(false), 100));
  client->send_pages(0, heap_pages({1, RAISING_VALUE}, 100), 0);
  EXPECT_EQ(client->receive().as<TbChunkDone>().verdict, TB_ERR_OVERFLOW);
  const Reply failed = client->receive();
  ASSERT_EQ(failed.type, TB_MSG_FAILED);
  EXPECT_EQ(failed.as<TbFailure>().reason, TB_FALLBACK_RAISED);
  EXPECT_EQ(failed.as<TbFailure>().verdict, TB_ERR_OVERFLOW);
  // What the backend sent before it knew is ignored.
  client->send_pages(1, heap_pages({1}, 100), 1);
  client->send(TB_MSG_QUERY_CLOSE);
  ASSERT_TRUE(client->start(testing::sum_program(false), 100));
  client->send_pages(0, heap_pages({1, 2, 3}, 100), 0);
  EXPECT_EQ(client->receive().type, TB_MSG_CHUNK_DONE);
  client->send(TB_MSG_INPUT_END);
  const Reply groups = client->receive();
  ASSERT_EQ(groups.type, TB_MSG_RESULT_BATCH);
  int64_t sum;
  memcpy(&sum, client->slot(0) + reinterpret_cast<const TbResultBatch*>(groups.payload.data())->columns[1].values,
         sizeof sum);
  EXPECT_EQ(sum, 6);
  EXPECT_TRUE(client->silent(100)) << "the slot is not read yet";
  client->send_struct(TB_MSG_SLOT_FREE, TbSlotFree{0, 0});
  EXPECT_EQ(client->receive().type, TB_MSG_QUERY_DONE);
}

TEST_F(TurbinedTest, GroupsBeyondTheBudgetFailOnlyTheirQuery) {
  restart({"--memory-budget", "12MB"}, TB_TEST_CODE_GROUPS);
  auto client = connect();
  ASSERT_TRUE(client->start(testing::sum_program(true), 100));
  Reply reply;
  for (uint32_t c = 0; c < 1000; c++) {
    std::vector<int32_t> values = numbers(client->ready().slot_pages * 200);
    for (int32_t& value : values) value += static_cast<int32_t>(c * values.size());
    client->send_pages(0, heap_pages(values, 200), c);
    reply = client->receive();
    if (reply.type != TB_MSG_CHUNK_DONE) break;
  }
  ASSERT_EQ(reply.type, TB_MSG_FAILED);
  EXPECT_EQ(reply.as<TbFailure>().reason, TB_FALLBACK_HOST_MEMORY);
  EXPECT_STREQ(reply.as<TbFailure>().sqlstate, "53200");
  client->send(TB_MSG_QUERY_CLOSE);
  EXPECT_TRUE(client->start(testing::sum_program(true), 100));
}

TEST_F(TurbinedTest, CompilerFailureIsARefusal) {
  auto client = connect();
  // The scripted compiler's artifact is gone: it answers with nothing.
  restart({}, "/nonexistent");
  client = connect();
  client->send_query(testing::rows_program(), 10);
  const Reply reply = client->receive();
  ASSERT_EQ(reply.type, TB_MSG_REFUSED);
  EXPECT_EQ(reply.as<TbFailure>().reason, TB_FALLBACK_COMPILE);
  client->send(TB_MSG_STATUS);
  EXPECT_EQ(client->receive().type, TB_MSG_STATUS_REPLY) << "the connection is idle again";
}

TEST_F(TurbinedTest, AbsentDevicesAreRefusedUnlessTheHostMayStandIn) {
  auto client = connect();
  client->send_query(testing::rows_program(), 10, 3, 0);
  const Reply reply = client->receive();
  ASSERT_EQ(reply.type, TB_MSG_REFUSED);
  EXPECT_EQ(reply.as<TbFailure>().reason, TB_FALLBACK_NO_DEVICE);
  client->send_query(testing::rows_program(), 10, 3, TB_QUERY_ALLOW_HOST);
  const Reply ready = client->receive();
  ASSERT_EQ(ready.type, TB_MSG_READY);
  EXPECT_EQ(ready.as<TbReady>().device, static_cast<uint32_t>(TB_DEVICE_HOST));
}

/* Each closes its connection, and nothing else. */
TEST_F(TurbinedTest, ViolationsCloseTheirConnectionOnly) {
  auto bystander = connect();
  ASSERT_TRUE(bystander->start(testing::rows_program(), 100));
  const auto in_query = [this](auto violate) {
    auto client = connect();
    ASSERT_TRUE(client->start(testing::rows_program(), 100));
    violate(*client);
    for (Reply reply = client->receive(); reply.type != 0; reply = client->receive())
      ASSERT_NE(reply.type, TB_MSG_QUERY_DONE);
  };
  TbChunk chunk{};
  chunk.kind = TB_CHUNK_PAGES;
  chunk.npages = 1;
  in_query([](Client& c) { c.send_bytes(std::string(64, '\xff')); });
  in_query([](Client& c) { c.send(99); });
  in_query([](Client& c) { c.send(TB_MSG_CHUNK, "short"); });
  in_query([](Client& c) { c.send(TB_MSG_QUERY, std::string(500, 'q')); });
  in_query([](Client& c) { c.hello(); });
  in_query([](Client& c) { c.send_struct(TB_MSG_FILES, TbFiles{0, 1}); });
  in_query([&](Client& c) {
    auto x = chunk;
    x.slot = 1000;
    c.send_struct(TB_MSG_CHUNK, x);
  });
  in_query([&](Client& c) {
    auto x = chunk;
    x.npages = 1 << 20;
    c.send_struct(TB_MSG_CHUNK, x);
  });
  in_query([&](Client& c) {
    auto x = chunk;
    x.kind = 7;
    c.send_struct(TB_MSG_CHUNK, x);
  });
  in_query([&](Client& c) {
    auto x = chunk;
    x.nruns = 5;
    c.send_struct(TB_MSG_CHUNK, x);
  });
  in_query([&](Client& c) {
    auto x = chunk;
    x.nruns = 1;
    c.send_struct(TB_MSG_CHUNK, x, std::string(4, '\0') + std::string(4, '\0') + std::string("\2\0\0\0", 4));
  });
  in_query([&](Client& c) {
    auto x = chunk;
    x.npages = x.nruns = 2;
    const TbRun twice[2] = {{0, 0, 1}, {0, 0, 1}};
    c.send_struct(TB_MSG_CHUNK, x, std::string(reinterpret_cast<const char*>(twice), sizeof twice));
    EXPECT_EQ(c.receive().type, 0u);
  });
  in_query([&](Client& c) {
    c.send_struct(TB_MSG_CHUNK, chunk);
    c.send_struct(TB_MSG_CHUNK, chunk);
  });
  in_query([](Client& c) { c.send_struct(TB_MSG_CHUNK_RELEASE, TbChunkRelease{0, 0}); });
  in_query([](Client& c) { c.send_struct(TB_MSG_SLOT_FREE, TbSlotFree{0, 0}); });
  in_query([&](Client& c) {
    c.send_struct(TB_MSG_CHUNK, chunk);
    c.send(TB_MSG_INPUT_END);
  });
  in_query([&](Client& c) {
    auto x = chunk;
    x.kind = TB_CHUNK_COLUMNS;
    x.npages = 0;
    memset(c.slot(0), 0xff, 4096);
    c.send_struct(TB_MSG_CHUNK, x);
    c.send_struct(TB_MSG_CHUNK_RELEASE, TbChunkRelease{0, 0});
  });
  auto idle = connect();
  idle->send(TB_MSG_INPUT_END);
  EXPECT_EQ(idle->receive().type, 0u);
  auto damaged = connect();
  testing::ProgramWriter blob = testing::rows_program();
  blob.exprs[0].op = 200;
  damaged->send_query(blob, 10);
  EXPECT_EQ(damaged->receive().type, 0u);

  bystander->send_pages(0, heap_pages({1, 2}, 100), 0);
  EXPECT_EQ(bystander->receive().as<TbChunkDone>().nrows, 1u);
  EXPECT_TRUE(alive());
}

/* A backend reads the tuples of its chunk long after CHUNK_DONE. */
TEST_F(TurbinedTest, SlotMemoryIsNobodyElsesWhileItsBackendMayReadIt) {
  auto client = connect();
  ASSERT_TRUE(client->start(testing::rows_program(), 1000));
  const std::vector<uint8_t> pages = heap_pages(numbers(1000), 100);
  client->send_pages(0, pages, 0);
  ASSERT_EQ(client->receive().type, TB_MSG_CHUNK_DONE);
  client->send_struct(TB_MSG_CHUNK_RELEASE, TbChunkRelease{99, 0});
  EXPECT_EQ(client->receive().type, 0u) << "a violation that ends the session";
  ASSERT_TRUE(soon([&] { return status().open_queries == 0; }));

  auto other = connect();
  ASSERT_TRUE(other->start(testing::rows_program(), 1000));
  EXPECT_NE(other->ready().memory_id, client->ready().memory_id);
  EXPECT_EQ(memcmp(client->slot(0), pages.data(), pages.size()), 0);
}

TEST_F(TurbinedTest, ClosingInMidQueryReleasesEverything) {
  {
    auto warm = connect();
    ASSERT_TRUE(warm->start(testing::rows_program(), 1000));
  }
  ASSERT_TRUE(soon([&] { return status().open_queries == 0; }));
  const size_t fds = daemon_fds();
  for (int i = 0; i < 5; i++) {
    const UniqueFd file(memfd_create("relation", MFD_CLOEXEC));
    auto client = connect();
    client->send_struct(TB_MSG_FILES, TbFiles{0, 1}, "", {file.get()});
    ASSERT_TRUE(client->start(testing::rows_program(), 1000));
    for (uint32_t slot = 0; slot < client->ready().nslots; slot++)
      client->send_pages(slot, heap_pages({SLOW_VALUE}, 1), slot);
  }
  ASSERT_TRUE(soon([&] { return status().open_queries == 0; }));
  EXPECT_TRUE(soon([&] { return daemon_fds() <= fds; })) << daemon_fds() << " > " << fds;
  TbDeviceInfo host;
  auto client = connect();
  client->send(TB_MSG_STATUS);
  const Reply reply = client->receive();
  memcpy(&host, reply.payload.data() + sizeof(TbStatusReply), sizeof host);
  EXPECT_EQ(host.memory_used, 0u);
  EXPECT_EQ(host.queries_running, 0u);
}

TEST_F(TurbinedTest, TwoHundredSessionsAtOnce) {
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 200; i++) clients.push_back(connect());
  EXPECT_GE(status().sessions, 200u);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (auto& client : clients)
    threads.emplace_back([&client, &right] {
      if (!client->start(testing::rows_program(), 10)) return;
      client->send_pages(0, heap_pages(numbers(1000), 100), 0);
      if (client->receive().as<TbChunkDone>().nrows != 500) return;
      client->send(TB_MSG_INPUT_END);
      if (client->receive().type == TB_MSG_QUERY_DONE) right++;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 200);
}

/* Each of many backends is served or turned away, at once; who was idle makes room. */
TEST_F(TurbinedTest, FewDescriptorsTurnBackendsAwayAtOnce) {
  for (const rlim_t descriptors : {rlim_t{128}, rlim_t{64}}) {
    const rlimit limit{descriptors, descriptors};
    ASSERT_EQ(prlimit(pid_, RLIMIT_NOFILE, &limit, nullptr), 0);
    std::vector<std::unique_ptr<Client>> served;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 200; i++) {
      auto client = std::make_unique<Client>(socket_path());
      ASSERT_TRUE(client->connected());
      const uint32_t type = client->hello().type;
      ASSERT_TRUE(type == TB_MSG_WELCOME || type == 0u);
      if (type == TB_MSG_WELCOME) served.push_back(std::move(client));
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
    EXPECT_GE(served.size(), 5u);
    EXPECT_LT(served.size(), 100u);
    EXPECT_TRUE(alive());
    // All of those are idle: a while later the next one is served in the place of one.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    auto late = connect();
    ASSERT_TRUE(late->start(testing::rows_program(), 10));
    late->send_pages(0, heap_pages(numbers(1000), 100), 0);
    EXPECT_EQ(late->receive().as<TbChunkDone>().nrows, 500u);
    late->send(TB_MSG_INPUT_END);
    EXPECT_EQ(late->receive().type, TB_MSG_QUERY_DONE);
    // Which of the first is idle for longest is up to the order in which their threads were run.
    std::vector<size_t> ended;
    ASSERT_TRUE(soon([&] {
      for (size_t i = 0; i < served.size(); i++)
        if (served[i] && served[i]->closed()) ended.push_back(i);
      return !ended.empty();
    }));
    EXPECT_EQ(ended.size(), 1u);
    EXPECT_LT(ended[0], served.size() / 2) << "of " << served.size() << " that became idle one after the other";
    served.clear();
    late.reset();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_EQ(status().sessions, 1u) << "who asks";
  }
}

TEST_F(TurbinedTest, StopsCleanlyInMidQuery) {
  auto client = connect();
  ASSERT_TRUE(client->start(testing::rows_program(), 1000));
  client->send_pages(0, heap_pages({SLOW_VALUE}, 1), 0);
  const int status = stop_daemon();
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_FALSE(std::filesystem::exists(socket_path()));
}

TEST_F(TurbinedTest, ComesBackAfterACrashWithItsDiskCache) {
  auto client = connect();
  ASSERT_TRUE(client->start(testing::rows_program(), 10));
  const uint64_t generation = status().generation;
  stop_daemon(SIGKILL);
  while (client->receive().type != 0) continue;
  start_daemon({});
  client = connect();
  ASSERT_TRUE(client->start(testing::rows_program(), 10));
  EXPECT_EQ(client->ready().code_source, 2u);
  EXPECT_NE(status().generation, generation);
}

}  // namespace
}  // namespace turbine
