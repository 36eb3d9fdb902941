/*
 * zygote_test.cc - the protocol of compile.h against the real executable: what
 * compiles, what fails with words, what dies, and that the zygote survives it.
 */
#include <gtest/gtest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>

#include "compiler/testing/loaded_object.h"
#include "engine/program/testing/program_writer.h"
#include "turbine/compile.h"

namespace turbine {
namespace {

using testing::LoadedObject;
using testing::ProgramWriter;

std::vector<uint8_t> small_program() {
  ProgramWriter writer;
  writer.column(TB_TYPE_INT4);
  return writer.blob(TB_SINK_ROWS);
}

/* A running `turbine-compiler --zygote`; ended with the object. */
class Zygote {
 public:
  explicit Zygote(const char* fault = nullptr) {
    int pair[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    pid_ = fork();
    if (pid_ == 0) {
      if (fault) setenv("TURBINE_COMPILER_FAULT", fault, 1);
      if (pair[1] == 3)
        fcntl(3, F_SETFD, 0);
      else
        dup2(pair[1], 3);
      execl(TURBINE_COMPILER_PATH, "turbine-compiler", "--zygote", nullptr);
      _exit(127);
    }
    close(pair[1]);
    socket_ = pair[0];
  }
  ~Zygote() {
    if (socket_ >= 0) close(socket_);
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

  /* Descriptors of one request; its status pipe is read by reply(). */
  struct Pending {
    int program, artifact, status;
  };
  Pending send(const std::vector<uint8_t>& program, TbTarget target, const char* cpu = "", uint32_t timeout_s = 60,
               uint32_t magic = TB_COMPILE_MAGIC, TbEffort effort = TB_EFFORT_FULL) {
    int pipe_fds[2];
    EXPECT_EQ(pipe2(pipe_fds, O_CLOEXEC), 0);
    Pending pending = {memfd_create("program", MFD_CLOEXEC), memfd_create("artifact", MFD_CLOEXEC), pipe_fds[0]};
    EXPECT_EQ(write(pending.program, program.data(), program.size()), static_cast<ssize_t>(program.size()));
    TbCompileRequest request = {};
    request.magic = magic;
    request.target = target;
    request.timeout_s = timeout_s;
    request.effort = effort;
    std::strncpy(request.cpu, cpu, sizeof(request.cpu) - 1);
    send_packet(&request, sizeof(request), {pending.program, pending.artifact, pipe_fds[1]});
    close(pipe_fds[1]);
    return pending;
  }
  void send_packet(const void* bytes, size_t size, std::vector<int> fds) {
    iovec data = {const_cast<void*>(bytes), size};
    alignas(cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))] = {};
    msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
      std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
    }
    EXPECT_EQ(sendmsg(socket_, &message, 0), static_cast<ssize_t>(size));
  }

  /* Nothing: the pipe closed without a reply. */
  std::optional<TbCompileReply> reply(const Pending& pending) {
    TbCompileReply reply = {};
    const ssize_t n = read(pending.status, &reply, sizeof(reply));
    close(pending.status);
    close(pending.program);
    if (n == 0) return {};
    EXPECT_EQ(n, static_cast<ssize_t>(sizeof(reply)));
    EXPECT_EQ(reply.magic, TB_COMPILE_MAGIC);
    return reply;
  }
  std::vector<char> artifact(const Pending& pending, const TbCompileReply& reply) {
    std::vector<char> bytes(reply.artifact_size);
    EXPECT_EQ(pread(pending.artifact, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    EXPECT_EQ(lseek(pending.artifact, 0, SEEK_END), static_cast<off_t>(bytes.size()));
    close(pending.artifact);
    return bytes;
  }
  void close_socket() {
    close(socket_);
    socket_ = -1;
  }
  /* The exit status, waited for at most ten seconds. */
  int wait_for_exit() {
    for (int i = 0; i < 1000; i++) {
      int status;
      if (waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        return status;
      }
      usleep(10000);
    }
    return -1;
  }
  /* The process that a request began; waited for at most ten seconds. */
  pid_t child() const {
    const std::string path = "/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) + "/children";
    pid_t child = -1;
    for (int i = 0; child < 0 && i < 1000; i++, usleep(10000)) {
      std::ifstream children(path);
      if (!(children >> child)) child = -1;
    }
    return child;
  }
  bool alive() const { return kill(pid_, 0) == 0 && waitpid(pid_, nullptr, WNOHANG) == 0; }

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
};

TEST(Zygote, CompilesForBothTargets) {
  Zygote zygote;
  const auto host = zygote.send(small_program(), TB_TARGET_HOST);
  const auto ptx = zygote.send(small_program(), TB_TARGET_PTX, "sm_90");  // at once: two children
  const auto host_reply = zygote.reply(host);
  ASSERT_TRUE(host_reply);
  ASSERT_TRUE(host_reply->ok) << host_reply->message;
  EXPECT_GT(host_reply->emit_ms, 0);
  EXPECT_GT(host_reply->optimize_ms, 0);
  EXPECT_GT(host_reply->codegen_ms, 0);
  const LoadedObject object(zygote.artifact(host, *host_reply));
  EXPECT_NE(object.symbol<void*>("tb_decode"), nullptr);
  const auto ptx_reply = zygote.reply(ptx);
  ASSERT_TRUE(ptx_reply);
  ASSERT_TRUE(ptx_reply->ok) << ptx_reply->message;
  const std::vector<char> text = zygote.artifact(ptx, *ptx_reply);
  EXPECT_EQ(text.back(), '\0');
  EXPECT_NE(std::string(text.data()).find(".visible .entry tb_decode("), std::string::npos);
}

TEST(Zygote, FailsWithWords) {
  Zygote zygote;
  std::vector<uint8_t> bad = small_program();
  bad[0] ^= 1;
  const auto invalid = zygote.reply(zygote.send(bad, TB_TARGET_HOST));
  ASSERT_TRUE(invalid);
  EXPECT_FALSE(invalid->ok);
  EXPECT_NE(std::string(invalid->message).find("program"), std::string::npos) << invalid->message;
  const auto cpu = zygote.reply(zygote.send(small_program(), TB_TARGET_HOST, "pentium9000"));
  ASSERT_TRUE(cpu);
  EXPECT_FALSE(cpu->ok);
  EXPECT_NE(std::string(cpu->message).find("pentium9000"), std::string::npos) << cpu->message;
  const auto target = zygote.reply(zygote.send(small_program(), static_cast<TbTarget>(9)));
  ASSERT_TRUE(target);
  EXPECT_FALSE(target->ok);
  const auto again = zygote.reply(zygote.send(small_program(), TB_TARGET_HOST, "x86-64-v3"));
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->ok) << again->message;
}

TEST(Zygote, MalformedPacketsAreIgnored) {
  Zygote zygote;
  EXPECT_FALSE(zygote.reply(zygote.send(small_program(), TB_TARGET_HOST, "", 60, 1)));
  const char byte = 'x';
  zygote.send_packet(&byte, 1, {});
  const TbCompileRequest request = {TB_COMPILE_MAGIC, TB_TARGET_HOST, 60, 0, "", ""};
  zygote.send_packet(&request, sizeof(request), {});
  zygote.send_packet(&request, sizeof(request), {STDERR_FILENO});
  const auto reply = zygote.reply(zygote.send(small_program(), TB_TARGET_HOST));
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->ok) << reply->message;
}

/* Children that die, each in its way; the zygote goes on. */
TEST(Zygote, ChildrenThatDie) {
  const std::pair<const char*, const char*> faults[] = {
      {"fatal", "injected fatal error"}, {"abort", "aborted"}, {"segv", "segmentation fault"}, {"kill", nullptr}};
  for (const auto& [fault, words] : faults) {
    SCOPED_TRACE(fault);
    Zygote zygote(fault);
    for (int i = 0; i < 2; i++) {
      const auto reply = zygote.reply(zygote.send(small_program(), TB_TARGET_HOST));
      ASSERT_EQ(reply.has_value(), words != nullptr);
      if (!words) continue;
      EXPECT_FALSE(reply->ok);
      EXPECT_NE(std::string(reply->message).find(words), std::string::npos) << reply->message;
    }
    EXPECT_TRUE(zygote.alive());
  }
}

TEST(Zygote, TimeLimit) {
  Zygote zygote("hang");
  const auto start = std::chrono::steady_clock::now();
  const auto reply = zygote.reply(zygote.send(small_program(), TB_TARGET_HOST, "", 1));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(reply);
  EXPECT_FALSE(reply->ok);
  EXPECT_NE(std::string(reply->message).find("time limit"), std::string::npos) << reply->message;
  EXPECT_LT(took.count(), 10.0);
}

/* Of what runs already: not at the cost of those who run it. */
TEST(Zygote, ImprovementsGiveWay) {
  const int usual = getpriority(PRIO_PROCESS, 0);
  for (const auto& [effort, niceness] :
       {std::pair{TB_EFFORT_FULL, usual}, {TB_EFFORT_QUICK, usual}, {TB_EFFORT_IMPROVE, std::max(usual, 5)}}) {
    Zygote zygote("hang");
    const auto pending = zygote.send(small_program(), TB_TARGET_HOST, "", 60, TB_COMPILE_MAGIC, effort);
    const pid_t child = zygote.child();
    ASSERT_GT(child, 0);
    usleep(300000);
    EXPECT_EQ(getpriority(PRIO_PROCESS, static_cast<id_t>(child)), niceness) << effort;
    zygote.close_socket();
    EXPECT_FALSE(zygote.reply(pending));
  }
  Zygote zygote;
  const auto reply = zygote.reply(
      zygote.send(small_program(), TB_TARGET_HOST, "", 60, TB_COMPILE_MAGIC, TB_EFFORT_IMPROVE));
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->ok) << reply->message;
}

/* The end of the connection ends the zygote and what it was doing. */
TEST(Zygote, EndsWithItsPeer) {
  Zygote idle;
  idle.close_socket();
  EXPECT_EQ(idle.wait_for_exit(), 0);

  Zygote busy("hang");
  const auto pending = busy.send(small_program(), TB_TARGET_HOST, "", 0);
  usleep(300000);
  busy.close_socket();
  EXPECT_EQ(busy.wait_for_exit(), 0);
  EXPECT_FALSE(busy.reply(pending));  // the child was killed: its pipe closed
}

}  // namespace
}  // namespace turbine
