/*
 * zygote.cc - the compiler process that forks a child for each program; see compile.h for the protocol.
 *
 * LLVM may abort() and cannot be cancelled. So the zygote compiles nothing, except once at its start, to warm
 * up; each request gets a forked child. The zygote only receives and forks: it has one thread, and holds no
 * descriptor of a request after the fork. It ends when its socket closes or its parent changes.
 *
 * A child always answers, unless it is killed outright: fatal errors, signals and the time limit write a reply
 * first.
 */
#include "compiler/zygote.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "compiler/jit/compile_program.h"
#include "turbine/compile.h"

namespace turbine {

namespace {

constexpr int kDescriptors = 3;  // program, artifact, status
constexpr int kParentCheckMs = 2000;
constexpr off_t kMaxProgramBytes = 64 << 20;

struct Request {
  TbCompileRequest header;
  int program = -1;
  int artifact = -1;
  int status = -1;
};

/* The child's: where the reply goes, known to handlers. */
int reply_descriptor = -1;

TbCompileReply failure(const char* message) {
  TbCompileReply reply;
  std::memset(&reply, 0, sizeof(reply));
  reply.magic = TB_COMPILE_MAGIC;
  std::strncpy(reply.message, message, sizeof(reply.message) - 1);
  return reply;
}

/* One write: a reply is smaller than PIPE_BUF, so it arrives whole or not. */
void send_reply(const TbCompileReply& reply) {
  ssize_t n;
  do {
    n = write(reply_descriptor, &reply, sizeof(reply));
  } while (n < 0 && errno == EINTR);
}

/* Async-signal-safe: no allocation, no stdio. */
[[noreturn]] void fail_and_exit(const char* message) {
  send_reply(failure(message));
  _exit(1);
}

void on_signal(int number) {
  switch (number) {
    case SIGALRM: fail_and_exit("compilation exceeded its time limit");
    case SIGSEGV: fail_and_exit("the compiler crashed (segmentation fault)");
    case SIGABRT: fail_and_exit("the compiler aborted");
    default: fail_and_exit("the compiler crashed");
  }
}

/* Handlers run on a stack of their own: the crash may be a stack overflow. */
void install_handlers() {
  static char stack[64 << 10];
  stack_t alternative = {};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof(stack);
  sigaltstack(&alternative, nullptr);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK | SA_RESETHAND;
  for (int number : {SIGALRM, SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE}) sigaction(number, &action, nullptr);
  signal(SIGCHLD, SIG_DFL);
  set_fatal_error_handler([](const char* reason) { fail_and_exit(reason); });
}

std::vector<uint8_t> read_program(int fd) {
  struct stat file;
  if (fstat(fd, &file) != 0 || file.st_size < 0 || file.st_size > kMaxProgramBytes)
    throw CompileError("program has no acceptable size");
  std::vector<uint8_t> blob(static_cast<size_t>(file.st_size));
  for (size_t done = 0; done < blob.size();) {
    const ssize_t n = pread(fd, blob.data() + done, blob.size() - done, static_cast<off_t>(done));
    if (n == 0 || (n < 0 && errno != EINTR)) throw CompileError("program could not be read");
    if (n > 0) done += static_cast<size_t>(n);
  }
  return blob;
}

void write_artifact(int fd, const std::vector<char>& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = pwrite(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno != EINTR) throw CompileError("artifact could not be written");
    if (n > 0) done += static_cast<size_t>(n);
  }
}

/* Faults for tests of the daemon's side: TURBINE_COMPILER_FAULT names what
 * every child does instead of compiling. */
void inject_fault() {
  const char* fault = std::getenv("TURBINE_COMPILER_FAULT");
  if (fault == nullptr) return;
  const std::string kind = fault;
  if (kind == "abort") std::abort();
  if (kind == "fatal") raise_fatal_error("injected fatal error");
  if (kind == "segv") raise(SIGSEGV);
  if (kind == "kill") raise(SIGKILL);
  if (kind == "hang")
    for (;;) pause();
}

/* On a busy machine the query that asked is over sooner in quick code that has
 * its processors than in full code whose compiler took one of them. Some niceness
 * and no more: a query of many seconds wants the full code within a second. */
void give_way() {
  constexpr int kNiceness = 5;
  if (getpriority(PRIO_PROCESS, 0) < kNiceness) setpriority(PRIO_PROCESS, 0, kNiceness);
}

TbCompileReply compile_request(const Request& request) {
  const TbCompileRequest& header = request.header;
  if (header.target != TB_TARGET_HOST && header.target != TB_TARGET_PTX) throw CompileError("unknown target");
  if (header.effort > TB_EFFORT_IMPROVE) throw CompileError("unknown effort");
  if (header.effort == TB_EFFORT_IMPROVE) give_way();
  inject_fault();
  const Program program = Program::parse(read_program(request.program));
  const CompiledArtifact artifact = compile_program(program, static_cast<TbTarget>(header.target), header.cpu,
                                                    header.features, static_cast<TbEffort>(header.effort));
  write_artifact(request.artifact, artifact.bytes);
  TbCompileReply reply = failure("");
  reply.ok = 1;
  reply.artifact_size = artifact.bytes.size();
  reply.emit_ms = artifact.emit_ms;
  reply.optimize_ms = artifact.optimize_ms;
  reply.codegen_ms = artifact.codegen_ms;
  return reply;
}

[[noreturn]] void run_child(const Request& request, pid_t zygote) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != zygote) _exit(1);
  reply_descriptor = request.status;
  install_handlers();
  if (request.header.timeout_s > 0) alarm(request.header.timeout_s);
  TbCompileReply reply;
  try {
    reply = compile_request(request);
  } catch (const std::exception& error) {
    reply = failure(error.what());
  }
  send_reply(reply);
  _exit(reply.ok ? 0 : 1);
}

/* Takes the descriptors out of a control message; closes what is too many. */
int take_descriptors(msghdr& message, int (&fds)[kDescriptors]) {
  int count = 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t sent = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < sent; i++) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      if (count < kDescriptors)
        fds[count++] = fd;
      else
        close(fd);
    }
  }
  return count;
}

enum class Received { kRequest, kMalformed, kNothing, kPeerGone };

Received receive_request(int socket, Request& request) {
  iovec bytes = {&request.header, sizeof(request.header)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 8)];
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (n < 0) return errno == EINTR ? Received::kNothing : Received::kPeerGone;
  int fds[kDescriptors];
  const int count = take_descriptors(message, fds);
  if (n == 0 && count == 0) return Received::kPeerGone;
  const bool valid = n == sizeof(request.header) && count == kDescriptors && request.header.magic == TB_COMPILE_MAGIC &&
                     !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
  if (!valid) {
    for (int i = 0; i < count; i++) close(fds[i]);
    return Received::kMalformed;
  }
  request.header.cpu[sizeof(request.header.cpu) - 1] = '\0';
  request.header.features[sizeof(request.header.features) - 1] = '\0';
  request.program = fds[0];
  request.artifact = fds[1];
  request.status = fds[2];
  return Received::kRequest;
}

void serve(int socket, const Request& request) {
  const pid_t zygote = getpid();
  const pid_t child = fork();
  if (child == 0) {
    close(socket);
    run_child(request, zygote);
  }
  if (child < 0) {
    reply_descriptor = request.status;
    send_reply(failure("the compiler could not fork"));
    reply_descriptor = -1;
  }
  close(request.program);
  close(request.artifact);
  close(request.status);
}

/* Standard output must exist: linking borrows its number. */
void open_standard_descriptors() {
  for (;;) {
    const int fd = open("/dev/null", O_RDWR);
    if (fd < 0) return;
    if (fd > STDERR_FILENO) {
      close(fd);
      return;
    }
  }
}

}  // namespace

int run_zygote(int socket) {
  const pid_t parent = getppid();
  open_standard_descriptors();
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGCHLD, SIG_IGN);  // children are reaped by the kernel
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  try {
    prepare_compiler();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "turbine-compiler: warming up failed: %s\n", error.what());
    return 1;
  }
  // Not PR_SET_PDEATHSIG: that fires when the parent's *thread* ends. A parent that died
  // closed the socket; the check catches a descriptor that it leaked.
  while (getppid() == parent) {
    pollfd readable = {socket, POLLIN, 0};
    if (poll(&readable, 1, kParentCheckMs) <= 0) continue;
    Request request;
    switch (receive_request(socket, request)) {
      case Received::kRequest: serve(socket, request); break;
      case Received::kMalformed: std::fprintf(stderr, "turbine-compiler: malformed request ignored\n"); break;
      case Received::kNothing: break;
      case Received::kPeerGone: return 0;
    }
  }
  return 0;
}

}  // namespace turbine
