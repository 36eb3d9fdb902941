/*
 * client.h - a backend's end of a connection, for tests of the daemon.
 */
#pragma once

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "engine/code/unique_fd.h"
#include "engine/program/testing/program_writer.h"
#include "turbine/wire.h"

namespace turbine::testing {

constexpr int kReplyMs = 10000;
inline constexpr uint8_t kNonce[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

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
    if (memory_) munmap(memory_, ready_.memory_size);
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

  Reply hello(const uint8_t* nonce = kNonce, uint32_t version = TB_WIRE_VERSION) {
    TbHello hello{};
    hello.magic = TB_WIRE_MAGIC;
    hello.version = version;
    memcpy(hello.nonce, nonce, sizeof hello.nonce);
    hello.pid = getpid();
    send_struct(TB_MSG_HELLO, hello);
    return receive();
  }

  void send_query(const ProgramWriter& blob, uint64_t nblocks, uint32_t device = TB_ANY_DEVICE,
                  uint32_t flags = TB_QUERY_ALLOW_HOST, uint32_t table = 0,
                  const std::vector<uint8_t>& result_plan = {}, const std::string& continuation = {},
                  const std::string& stream = {}) {
    const std::vector<uint8_t> program = blob.blob();
    const std::string params = params_block({});
    TbQuery query{};
    query.device = device;
    query.flags = flags;
    query.nblocks = nblocks;
    query.wait_ms = 5000;
    query.program_size = static_cast<uint32_t>(program.size());
    query.params_size = params.size();
    query.join_table = table;
    query.result_size = static_cast<uint32_t>(result_plan.size());
    std::string rest(program.begin(), program.end());
    rest.resize((rest.size() + 7) / 8 * 8);
    rest += params;
    if (!result_plan.empty()) rest.resize((rest.size() + 7) / 8 * 8);
    rest.append(result_plan.begin(), result_plan.end());
    query.continuation_size = static_cast<uint32_t>(continuation.size());
    if (!continuation.empty()) rest.resize((rest.size() + 7) / 8 * 8);
    rest += continuation;
    query.stream_size = static_cast<uint32_t>(stream.size());
    if (!stream.empty()) rest.resize((rest.size() + 7) / 8 * 8);
    send_struct(TB_MSG_QUERY, query, rest + stream);
  }

  /* A stream of batches of so many rows, two ahead. */
  static std::string stream(uint64_t rows, const std::vector<TbStreamColumn>& columns) {
    const TbStream head{rows, 0, static_cast<uint32_t>(columns.size()), 2, TB_DEVICE_HOST, 0};
    std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
    return bytes.append(reinterpret_cast<const char*>(columns.data()), columns.size() * sizeof columns[0]);
  }

  /* A continuation, whose source columns are these of the first one's rows, and a result plan of its rows. */
  static std::string continuation(const ProgramWriter& second, const std::vector<uint32_t>& columns,
                                  const std::vector<uint64_t>& sets = {},
                                  const std::vector<uint8_t>& result_plan = {}) {
    const std::vector<uint8_t> program = second.blob();
    const std::string params = params_block({});
    TbContinuation head{};
    head.program_size = static_cast<uint32_t>(program.size());
    head.ncolumns = static_cast<uint32_t>(columns.size());
    head.params_size = params.size();
    head.nsets = static_cast<uint32_t>(sets.size());
    head.result_size = static_cast<uint32_t>(result_plan.size());
    std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
    bytes.append(reinterpret_cast<const char*>(sets.data()), sets.size() * sizeof(uint64_t));
    bytes.append(reinterpret_cast<const char*>(columns.data()), columns.size() * sizeof(uint32_t));
    bytes.resize((bytes.size() + 7) / 8 * 8);
    bytes.append(program.begin(), program.end());
    bytes.resize((bytes.size() + 7) / 8 * 8);
    bytes += params;
    if (!result_plan.empty()) bytes.resize((bytes.size() + 7) / 8 * 8);
    return bytes.append(result_plan.begin(), result_plan.end());
  }

  /* Starts a query; its slot memory is mapped. */
  bool start(const ProgramWriter& blob, uint64_t nblocks, uint32_t flags = TB_QUERY_ALLOW_HOST, uint32_t table = 0,
             const std::vector<uint8_t>& result_plan = {}, const std::string& continuation = {},
             const std::string& stream = {}) {
    send_query(blob, nblocks, TB_ANY_DEVICE, flags, table, result_plan, continuation, stream);
    const Reply reply = receive();
    if (reply.type != TB_MSG_READY) {
      if (reply.type == TB_MSG_REFUSED) fprintf(stderr, "refused: %s\n", reply.as<TbFailure>().message);
      return false;
    }
    const auto ready = reply.as<TbReady>();
    if (ready.has_fd) {
      if (memory_) munmap(memory_, ready_.memory_size);
      void* base = mmap(nullptr, ready.memory_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
      if (base == MAP_FAILED) return false;
      memory_ = static_cast<uint8_t*>(base);
    }
    ready_ = ready;
    return true;
  }
  void prepare(const ProgramWriter& program) {
    const std::vector<uint8_t> blob = program.blob();
    TbPrepare prepare{};
    prepare.device = TB_ANY_DEVICE;
    prepare.flags = TB_QUERY_ALLOW_HOST;
    prepare.program_size = static_cast<uint32_t>(blob.size());
    send_struct(TB_MSG_PREPARE, prepare, std::string(blob.begin(), blob.end()));
  }
  /* Whether the service has ended the connection. */
  bool closed() const {
    char byte;
    return recv(socket_.get(), &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) == 0;
  }
  const TbReady& ready() const { return ready_; }
  int memory_fd() const { return fd_.get(); }
  uint8_t* slot(uint32_t i) const { return memory_ + ready_.first_slot_offset + i * ready_.slot_size; }

  void send_pages(uint32_t slot_number, const std::vector<uint8_t>& pages, uint64_t sequence) {
    std::copy(pages.begin(), pages.end(), slot(slot_number));
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
  uint8_t* memory_ = nullptr;
};

}  // namespace turbine::testing
