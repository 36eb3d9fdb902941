/*
 * compiler_client.cc - the daemon's side of turbine-compiler.
 *
 * Owns the zygote's process and the socket to it. Called by the code cache from any thread. It
 * waits with a time limit only, and must never take a reply for another request's.
 */
#include "engine/code/compiler_client.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "engine/code/compiler_progress.h"
#include "engine/code/unique_fd.h"

extern char** environ;

namespace turbine {
namespace {

using Clock = std::chrono::steady_clock;

/* The compiler ends itself after its timeout; beyond this it is taken for
 * stuck all the same. */
constexpr std::chrono::seconds kGrace{5};
constexpr int kPollMs = 50;
/* A compiler that has not moved for so long is given up: PostgreSQL's plan is there, and
 * the next query gets a new zygote. */
constexpr std::chrono::milliseconds kStandstill{2000};
constexpr std::chrono::milliseconds kProgressCheck{250};
constexpr uint64_t kMaxArtifact = 256u << 20;
constexpr int kZygoteFd = 3;

[[noreturn]] void fail(const std::string& what) { throw CompileError("turbine-compiler: " + what); }
[[noreturn]] void fail_errno(const std::string& what) { fail(what + ": " + strerror(errno)); }

/* The status pipe was closed: by a compiler that crashed, or with the zygote. */
struct NoReply : CompileError {
  NoReply() : CompileError("turbine-compiler: ended without a reply") {}
};

/* The zygote or its child was stopped, or waits for what never comes. */
struct NoProgress : CompileError {
  NoProgress() : CompileError("turbine-compiler: makes no progress") {}
};

UniqueFd memfd_of(const char* name, std::span<const uint8_t> bytes) {
  UniqueFd fd(memfd_create(name, MFD_CLOEXEC));
  if (!fd) fail_errno("memfd_create");
  while (!bytes.empty()) {
    const ssize_t n = write(fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail_errno("memfd");
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

/* Waits for the reply; the pipe closes without one if the compiler crashed. */
TbCompileReply wait_reply(int status, pid_t zygote, uint32_t timeout_s, const IsCancelled& cancelled) {
  TbCompileReply reply{};
  size_t have = 0;
  CompilerProgress progress(zygote);
  const auto start = Clock::now();
  const auto deadline = start + std::chrono::seconds(timeout_s) + kGrace;
  auto next_check = start + kProgressCheck;
  while (have < sizeof reply) {
    const auto now = Clock::now();
    if (cancelled()) fail("query was closed");
    if (now > deadline) fail("timed out");
    if (now >= next_check) {
      if (progress.standstill() >= kStandstill) throw NoProgress();
      next_check = now + kProgressCheck;
    }
    pollfd p{status, POLLIN, 0};
    if (poll(&p, 1, kPollMs) <= 0) continue;
    const ssize_t n = read(status, reinterpret_cast<char*>(&reply) + have, sizeof reply - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno("status");
    if (n == 0) throw NoReply();
    have += static_cast<size_t>(n);
  }
  reply.message[sizeof reply.message - 1] = '\0';
  if (reply.magic != TB_COMPILE_MAGIC) fail("malformed reply");
  if (!reply.ok) fail(reply.message);
  return reply;
}

std::string read_artifact(int fd, uint64_t size) {
  struct stat st;
  if (fstat(fd, &st) != 0) fail_errno("artifact");
  if (size == 0 || size > kMaxArtifact || static_cast<uint64_t>(st.st_size) < size) fail("artifact of a wrong size");
  std::string artifact(size, '\0');
  for (uint64_t have = 0; have < size;) {
    const ssize_t n = pread(fd, artifact.data() + have, size - have, static_cast<off_t>(have));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("artifact cannot be read");
    have += static_cast<uint64_t>(n);
  }
  return artifact;
}

}  // namespace

CompilerClient::CompilerClient(std::string path, uint32_t timeout_s) : path_(std::move(path)), timeout_s_(timeout_s) {}

CompilerClient::~CompilerClient() { stop_zygote(); }

std::string CompilerClient::build_id() const {
  struct stat st;
  if (stat(path_.c_str(), &st) != 0) return "";
  return std::to_string(st.st_size) + "." + std::to_string(st.st_mtim.tv_sec) + "." +
         std::to_string(st.st_mtim.tv_nsec) + "." + std::to_string(st.st_ino);
}

std::string CompilerClient::compile(std::span<const uint8_t> program, TbTarget target, const std::string& cpu,
                                    const std::string& features, TbEffort effort, const IsCancelled& cancelled) {
  TbCompileRequest request{};
  request.magic = TB_COMPILE_MAGIC;
  request.target = target;
  request.timeout_s = timeout_s_;
  request.effort = effort;
  if (cpu.size() >= sizeof request.cpu || features.size() >= sizeof request.features) fail("target name is too long");
  memcpy(request.cpu, cpu.data(), cpu.size());
  memcpy(request.features, features.data(), features.size());

  pid_t zygote = -1;
  try {
    return request_once(request, program, cancelled, &zygote);
  } catch (const NoProgress&) {
    give_up_zygote(zygote);
    throw;
  } catch (const NoReply&) {
    // A program that crashes its compiler would crash the next one; but one
    // whose zygote was killed deserves another.
    if (!zygote_gone(zygote)) throw;
  }
  return request_once(request, program, cancelled, &zygote);
}

std::string CompilerClient::request_once(const TbCompileRequest& request, std::span<const uint8_t> program,
                                         const IsCancelled& cancelled, pid_t* zygote) {
  UniqueFd program_fd = memfd_of("turbine-program", program);
  UniqueFd artifact_fd = memfd_of("turbine-artifact", {});
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) fail_errno("pipe");
  UniqueFd status(pipe_fds[0]), status_write(pipe_fds[1]);

  *zygote = send_request(request, program_fd.get(), artifact_fd.get(), status_write.get());
  status_write.reset();  // so that the compiler's death closes the pipe
  const TbCompileReply reply = wait_reply(status.get(), *zygote, timeout_s_,
                                          [&] { return stopping_ || (cancelled && cancelled()); });
  return read_artifact(artifact_fd.get(), reply.artifact_size);
}

/* Ends that zygote, if it is the one that serves, with its children: of those that wait
 * for another of its replies none is working, and each is tried again with the next. */
void CompilerClient::give_up_zygote(pid_t zygote) {
  std::lock_guard lock(mutex_);
  if (pid_ == zygote) stop_zygote();
}

/* Has that zygote ended? One that was seen to crash may take a moment. */
bool CompilerClient::zygote_gone(pid_t zygote) {
  for (int i = 0; i < 10; i++) {
    std::lock_guard lock(mutex_);
    if (pid_ != zygote) return true;
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      stop_zygote();
      return true;
    }
    usleep(5000);
  }
  return false;
}

/* Returns the zygote that has the request. */
pid_t CompilerClient::send_request(const TbCompileRequest& request, int program, int artifact, int status) {
  const int fds[3] = {program, artifact, status};
  std::lock_guard lock(mutex_);
  // A binary that was replaced is to be used, not the old one that runs.
  if (socket_ >= 0 && started_build_ != build_id()) stop_zygote();
  for (int attempt = 0; attempt < 2; attempt++) {
    if (socket_ < 0) start_zygote();
    if (try_send(request, fds)) return pid_;
    stop_zygote();
  }
  fail("does not take requests");
}

bool CompilerClient::try_send(const TbCompileRequest& request, const int* fds) {
  iovec part{const_cast<TbCompileRequest*>(&request), sizeof request};
  alignas(cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(3 * sizeof(int));
  memcpy(CMSG_DATA(header), fds, 3 * sizeof(int));
  ssize_t n;
  do n = sendmsg(socket_, &message, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(sizeof request);
}

void CompilerClient::start_zygote() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) fail_errno("socketpair");
  UniqueFd ours(pair[0]), theirs(pair[1]);
  // A zygote that reads nothing must not hold up the daemon for ever.
  const timeval limit{kStandstill.count() / 1000, 0};
  setsockopt(ours.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), kZygoteFd);
  posix_spawn_file_actions_addclosefrom_np(&actions, kZygoteFd + 1);

  // Our threads block signals; the compiler needs its alarm.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  const std::string name = "turbine-compiler", mode = "--zygote";
  char* argv[] = {const_cast<char*>(name.c_str()), const_cast<char*>(mode.c_str()), nullptr};
  started_build_ = build_id();
  pid_t pid;
  const int error = posix_spawn(&pid, path_.c_str(), &actions, &attributes, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) fail("cannot start " + path_ + ": " + strerror(error));
  pid_ = pid;
  socket_ = ours.release();
}

/* The zygote ends when its socket closes; one that does not is killed. */
void CompilerClient::stop_zygote() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
  if (pid_ <= 0) return;
  for (int i = 0; i < 20; i++) {
    const pid_t reaped = waitpid(pid_, nullptr, WNOHANG);
    if (reaped == pid_ || (reaped < 0 && errno != EINTR)) {
      pid_ = -1;
      return;
    }
    usleep(5000);
  }
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
}

}  // namespace turbine
