/*
 * turbined_test.cc - the daemon as a backend sees it: starts turbined with the
 * scripted compiler and speaks the protocol over its socket.
 */
#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "engine/code/unique_fd.h"
#include "engine/testing/hand_written_code.h"
#include "engine/testing/heap_pages.h"
#include "engine/testing/program_blob.h"
#include "turbine/kernel.h"
#include "turbine/wire.h"

namespace turbine {
namespace {

using testing::heap_pages;
using testing::params_block;

constexpr int kReplyMs = 10000;
const uint8_t kNonce[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

struct Reply {
  uint32_t type = 0;  // 0: the connection was closed
  std::vector<uint8_t> payload;
  template <class T>
  T as() const {
    T value{};
    EXPECT_GE(payload.size(), sizeof value);
    memcpy(&value, payload.data(), std::min(sizeof value, payload.size()));
    return value;
  }
};

/* A backend's end of a connection. */
class Client {
 public:
  explicit Client(const std::string& path) : socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    connected_ = connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Client() {
    if (segment_) munmap(segment_, ready_.segment_size);
  }
  bool connected() const { return connected_; }

  void send_bytes(const std::string& bytes, const std::vector<int>& fds = {}) {
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    std::vector<char> control(CMSG_SPACE(fds.size() * sizeof(int)));
    if (!fds.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
      memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
    }
    // A daemon that has closed the connection already is no failure here.
    if (sendmsg(socket_.get(), &message, MSG_NOSIGNAL) < 0) return;
  }
  void send(uint32_t type, const std::string& payload = "", const std::vector<int>& fds = {}) {
    const TbMessage header{type, static_cast<uint32_t>(payload.size())};
    send_bytes(std::string(reinterpret_cast<const char*>(&header), sizeof header) + payload, fds);
  }
  template <class T>
  void send_struct(uint32_t type, const T& value, const std::string& more = "", const std::vector<int>& fds = {}) {
    send(type, std::string(reinterpret_cast<const char*>(&value), sizeof value) + more, fds);
  }

  Reply receive(int timeout_ms = kReplyMs) {
    Reply reply;
    TbMessage header;
    if (!read_all(&header, sizeof header, timeout_ms)) return reply;
    reply.payload.resize(header.length);
    if (!read_all(reply.payload.data(), header.length, timeout_ms)) return reply;
    reply.type = header.type;
    return reply;
  }
  bool silent(int ms) {
    pollfd p{socket_.get(), POLLIN, 0};
    return poll(&p, 1, ms) == 0;
  }

  Reply hello(const uint8_t* nonce = kNonce) {
    TbHello hello{};
    hello.magic = TB_WIRE_MAGIC;
    hello.version = TB_WIRE_VERSION;
    memcpy(hello.nonce, nonce, sizeof hello.nonce);
    hello.pid = getpid();
    send_struct(TB_MSG_HELLO, hello);
    return receive();
  }

  void send_query(const testing::ProgramBlob& blob, uint64_t nblocks, uint32_t device = TB_ANY_DEVICE,
                  uint32_t flags = TB_QUERY_ALLOW_HOST) {
    const std::vector<uint8_t> program = blob.build();
    const std::string params = params_block({});
    TbQuery query{};
    query.device = device;
    query.flags = flags;
    query.nblocks = nblocks;
    query.wait_ms = 5000;
    query.program_size = static_cast<uint32_t>(program.size());
    query.params_size = params.size();
    std::string rest(program.begin(), program.end());
    rest.resize((rest.size() + 7) / 8 * 8);
    send_struct(TB_MSG_QUERY, query, rest + params);
  }

  /* Starts a query; its segment is mapped. */
  bool start(const testing::ProgramBlob& blob, uint64_t nblocks, uint32_t flags = TB_QUERY_ALLOW_HOST) {
    send_query(blob, nblocks, TB_ANY_DEVICE, flags);
    const Reply reply = receive();
    if (reply.type != TB_MSG_READY) {
      if (reply.type == TB_MSG_REFUSED) fprintf(stderr, "refused: %s\n", reply.as<TbFailure>().message);
      return false;
    }
    const auto ready = reply.as<TbReady>();
    if (ready.has_fd) {
      if (segment_) munmap(segment_, ready_.segment_size);
      void* base = mmap(nullptr, ready.segment_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
      if (base == MAP_FAILED) return false;
      segment_ = static_cast<uint8_t*>(base);
    }
    ready_ = ready;
    return true;
  }
  const TbReady& ready() const { return ready_; }
  int segment_fd() const { return fd_.get(); }
  uint8_t* slot(uint32_t i) const { return segment_ + ready_.first_slot_offset + i * ready_.slot_size; }

  void send_pages(uint32_t slot_number, const std::vector<uint8_t>& pages, uint64_t sequence) {
    memcpy(slot(slot_number), pages.data(), pages.size());
    TbChunk chunk{};
    chunk.slot = slot_number;
    chunk.kind = TB_CHUNK_PAGES;
    chunk.npages = static_cast<uint32_t>(pages.size() / TB_PAGE_SIZE);
    chunk.sequence = sequence;
    send_struct(TB_MSG_CHUNK, chunk);
    send_struct(TB_MSG_CHUNK_RELEASE, TbChunkRelease{slot_number, 0});
  }

 private:
  bool read_all(void* to, size_t size, int timeout_ms) {
    for (size_t have = 0; have < size;) {
      pollfd p{socket_.get(), POLLIN, 0};
      if (poll(&p, 1, timeout_ms) <= 0) {
        ADD_FAILURE() << "no message in time";
        return false;
      }
      iovec part{static_cast<char*>(to) + have, size - have};
      alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      const ssize_t n = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
      if (n <= 0) return false;
      if (const cmsghdr* header = CMSG_FIRSTHDR(&message)) {
        int fd;
        memcpy(&fd, CMSG_DATA(header), sizeof fd);
        fd_ = UniqueFd(fd);
      }
      have += static_cast<size_t>(n);
    }
    return true;
  }

  UniqueFd socket_;
  bool connected_ = false;
  UniqueFd fd_;  // that came last
  TbReady ready_{};
  uint8_t* segment_ = nullptr;
};

class TurbinedTest : public ::testing::Test {
 protected:
  void SetUp() override { start_daemon({}); }
  void TearDown() override {
    stop_daemon();
    std::filesystem::remove_all(directory_);
  }

  void start_daemon(const std::vector<std::string>& more, const char* code = TB_TEST_CODE_ROWS) {
    if (directory_.empty()) {
      char name[] = "/tmp/turbined-XXXXXX";
      directory_ = mkdtemp(name);
    }
    int nonce[2];
    ASSERT_EQ(pipe2(nonce, O_CLOEXEC), 0);
    ASSERT_EQ(write(nonce[1], kNonce, sizeof kNonce), static_cast<ssize_t>(sizeof kNonce));
    close(nonce[1]);
    std::vector<std::string> arguments = {TB_TURBINED, "--data-dir", directory_, "--nonce-fd", "3", "--compiler",
                                          TB_TEST_COMPILER, "--host-threads", "4", "--no-gpu", "--log-level", "error"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const std::string script = std::string("artifact:") + code;
    pid_ = fork();
    if (pid_ == 0) {
      std::vector<char*> argv;
      for (std::string& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      setenv("TURBINE_TEST_COMPILER", script.c_str(), 1);
      if (nonce[0] == 3) fcntl(3, F_SETFD, 0);
      else dup2(nonce[0], 3);
      execv(argv[0], argv.data());
      _exit(127);
    }
    close(nonce[0]);
    for (int i = 0; i < 500 && !Client(socket_path()).connected(); i++)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  /* Its exit status. */
  int stop_daemon(int signal = SIGTERM) {
    if (pid_ <= 0) return -1;
    kill(pid_, signal);
    int status = 0;
    for (int i = 0; i < 1000; i++) {
      if (waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        return status;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "turbined does not stop";
    kill(pid_, SIGKILL);
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  void restart(const std::vector<std::string>& more, const char* code) {
    stop_daemon();
    // Another hand-written program under the same key: nothing may be kept.
    std::filesystem::remove_all(directory_ + "/pg_turbine");
    start_daemon(more, code);
  }
  std::string socket_path() const { return directory_ + "/pg_turbine/turbined.sock"; }
  std::unique_ptr<Client> connect() {
    auto client = std::make_unique<Client>(socket_path());
    EXPECT_EQ(client->hello().type, TB_MSG_WELCOME);
    return client;
  }
  TbStatusReply status() {
    auto client = connect();
    client->send(TB_MSG_STATUS);
    return client->receive().as<TbStatusReply>();
  }
  bool alive() { return pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == 0; }
  /* The daemon's descriptors but for those of segments, of which it keeps some. */
  size_t daemon_fds() const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/fd")) {
      std::error_code gone;
      const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
      if (!gone && target.find("turbine-segment") == std::string::npos) count++;
    }
    return count;
  }
  template <class Condition>
  static bool soon(Condition condition) {
    for (int i = 0; i < 300; i++) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  std::string directory_;
  pid_t pid_ = -1;
};

/* Rows 0, 1, 2, ... over pages of 100. */
std::vector<int32_t> numbers(size_t count) {
  std::vector<int32_t> values(count);
  for (size_t i = 0; i < count; i++) values[i] = static_cast<int32_t>(i);
  return values;
}

TEST_F(TurbinedTest, WrongNonceIsClosedWithoutAWord) {
  uint8_t wrong[16];
  memcpy(wrong, kNonce, sizeof wrong);
  wrong[15] ^= 1;
  Client client(socket_path());
  EXPECT_EQ(client.hello(wrong).type, 0u);
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
    EXPECT_EQ(client->ready().has_fd, round == 0 ? 1u : 0u) << "the segment is used again";
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

TEST_F(TurbinedTest, SegmentIsSealed) {
  auto client = connect();
  ASSERT_TRUE(client->start(testing::rows_program(), 10));
  const int seals = fcntl(client->segment_fd(), F_GET_SEALS);
  EXPECT_EQ(seals & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  EXPECT_NE(ftruncate(client->segment_fd(), 4096), 0);
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
  EXPECT_EQ(reply.as<TbChunkRead>().failed, 0u);
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
  EXPECT_EQ(reply.as<TbChunkRead>().failed, 1u);
  client->send_struct(TB_MSG_CHUNK_RELEASE, TbChunkRelease{0, 0});
  EXPECT_EQ(client->receive().type, TB_MSG_CHUNK_DONE);
  client->send(TB_MSG_INPUT_END);
  reply = client->receive();
  ASSERT_EQ(reply.type, TB_MSG_QUERY_DONE);
  EXPECT_EQ(reply.as<TbQueryDone>().bytes_read, 4u * TB_PAGE_SIZE);
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
    ASSERT_EQ(reply.type, TB_MSG_GROUPS);
    const auto* batch = reinterpret_cast<const TbGroups*>(reply.payload.data());
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
  ASSERT_EQ(groups.type, TB_MSG_GROUPS);
  int64_t sum;
  memcpy(&sum, client->slot(0) + reinterpret_cast<const TbGroups*>(groups.payload.data())->columns[1].values, sizeof sum);
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
  in_query([&](Client& c) { auto x = chunk; x.slot = 1000; c.send_struct(TB_MSG_CHUNK, x); });
  in_query([&](Client& c) { auto x = chunk; x.npages = 1 << 20; c.send_struct(TB_MSG_CHUNK, x); });
  in_query([&](Client& c) { auto x = chunk; x.kind = 7; c.send_struct(TB_MSG_CHUNK, x); });
  in_query([&](Client& c) { auto x = chunk; x.nruns = 5; c.send_struct(TB_MSG_CHUNK, x); });
  in_query([&](Client& c) {
    auto x = chunk;
    x.nruns = 1;
    c.send_struct(TB_MSG_CHUNK, x, std::string(4, '\0') + std::string(4, '\0') + std::string("\2\0\0\0", 4));
  });
  in_query([&](Client& c) { c.send_struct(TB_MSG_CHUNK, chunk); c.send_struct(TB_MSG_CHUNK, chunk); });
  in_query([](Client& c) { c.send_struct(TB_MSG_CHUNK_RELEASE, TbChunkRelease{0, 0}); });
  in_query([](Client& c) { c.send_struct(TB_MSG_SLOT_FREE, TbSlotFree{0, 0}); });
  in_query([&](Client& c) { c.send_struct(TB_MSG_CHUNK, chunk); c.send(TB_MSG_INPUT_END); });
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
  testing::ProgramBlob blob = testing::rows_program();
  blob.exprs[0].op = 200;
  damaged->send_query(blob, 10);
  EXPECT_EQ(damaged->receive().type, 0u);

  bystander->send_pages(0, heap_pages({1, 2}, 100), 0);
  EXPECT_EQ(bystander->receive().as<TbChunkDone>().nrows, 1u);
  EXPECT_TRUE(alive());
}

/* A backend reads the tuples of its chunk long after CHUNK_DONE. */
TEST_F(TurbinedTest, SegmentIsNobodyElsesWhileItsBackendMayReadIt) {
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
  EXPECT_NE(other->ready().segment_id, client->ready().segment_id);
  EXPECT_EQ(memcmp(client->slot(0), pages.data(), pages.size()), 0);
}

TEST_F(TurbinedTest, ClosingInMidQueryReleasesEverything) {
  { auto warm = connect(); ASSERT_TRUE(warm->start(testing::rows_program(), 1000)); }
  ASSERT_TRUE(soon([&] { return status().open_queries == 0; }));
  const size_t fds = daemon_fds();
  for (int i = 0; i < 5; i++) {
    const UniqueFd file(memfd_create("relation", MFD_CLOEXEC));
    auto client = connect();
    client->send_struct(TB_MSG_FILES, TbFiles{0, 1}, "", {file.get()});
    ASSERT_TRUE(client->start(testing::rows_program(), 1000));
    for (uint32_t slot = 0; slot < client->ready().nslots; slot++) client->send_pages(slot, heap_pages({SLOW_VALUE}, 1), slot);
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
