/*
 * server.cc - the listening socket and its sessions.
 *
 * Owns both, and joins the threads of sessions at the end. Called by main.cc. Must check who connects before it
 * reads a byte from them.
 */
#include "daemon/server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "daemon/log.h"

namespace turbine {
namespace {

constexpr int kBacklog = 256;
constexpr int kLockAttempts = 100;  // of 50 ms
/* More than max_connections of any server that shares one machine with us. */
constexpr size_t kMaxSessions = 10000;
/* What a session opens, as a rule: socket, event, slot memory, a relation's file. The rest
 * is for the process itself and for compiling. */
constexpr size_t kDescriptorsOfSession = 4;
constexpr size_t kDescriptorsBesides = 40;
/* A backend that has asked nothing for so long will find another way if need be. */
constexpr std::chrono::milliseconds kIdleLongEnough{500};
constexpr std::chrono::seconds kComplaintInterval{10};
/* Longer than a user looks at one answer before the next question. */
constexpr std::chrono::seconds kIdleMemoryStays{10};

/* It may be changed while the process runs. */
size_t most_sessions() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMaxSessions;
  const size_t descriptors = std::max<size_t>(limit.rlim_cur, kDescriptorsBesides + kDescriptorsOfSession);
  return std::min(kMaxSessions, (descriptors - kDescriptorsBesides) / kDescriptorsOfSession);
}

UniqueFd open_spare() { return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what + ": " + strerror(errno)); }

UniqueFd lock_file(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) fail(path);
  for (int attempt = 0; flock(fd.get(), LOCK_EX | LOCK_NB) != 0; attempt++) {
    if (attempt == kLockAttempts) fail("another turbined serves this socket: " + path);
    usleep(50000);
  }
  return fd;
}

UniqueFd listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error("socket path is too long: " + path);
  memcpy(address.sun_path, path.data(), path.size());
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) fail("socket");
  unlink(path.c_str());
  const mode_t before = umask(0177);
  const int bound = bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  umask(before);
  if (bound != 0) fail(path);
  if (listen(fd.get(), kBacklog) != 0) fail("listen");
  return fd;
}

}  // namespace

Server::Server(SessionContext& context, const std::string& path) : context_(context), path_(path) {
  const size_t slash = path.rfind('/');
  if (slash != std::string::npos) mkdir(path.substr(0, slash).c_str(), 0700);
  lock_ = lock_file(path + ".lock");
  listener_ = listen_at(path);
  spare_ = open_spare();
}

Server::~Server() {
  stop_sessions();
  unlink(path_.c_str());
}

void Server::run(int stop_fd) {
  while (true) {
    pollfd fds[2] = {{listener_.get(), POLLIN, 0}, {stop_fd, POLLIN, 0}};
    if (poll(fds, 2, 1000) < 0 && errno != EINTR) fail("poll");
    if (fds[1].revents != 0) break;
    if (fds[0].revents & POLLIN) accept_one();
    reap();
    context_.engine.mapped_files.forget_unused();
    context_.engine.idle_memory.drop_older_than(kIdleMemoryStays);
  }
  stop_sessions();
}

void Server::accept_one() {
  UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket && (errno == EMFILE || errno == ENFILE)) socket = accept_without_descriptors();
  if (!socket) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) usleep(10000);  // it stays ready: do not spin
    return;
  }
  if (context_.sessions >= most_sessions() && !end_idle_session()) return complain("too many sessions");
  try {
    start_session(std::move(socket));
  } catch (const std::exception& e) {
    complain(e.what());
  }
}

/* Takes the backend that waits off the queue, so that it need not wait in vain: with a
 * descriptor that idle slot memory had, or else to turn it away. */
UniqueFd Server::accept_without_descriptors() {
  complain(strerror(errno));
  if (context_.engine.slot_memory.drop_idle()) {
    UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket) return socket;
  }
  (void)end_idle_session();
  spare_.reset();
  {
    const UniqueFd turned_away(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  const int error = errno;
  spare_ = open_spare();
  errno = spare_ ? 0 : error;
  return UniqueFd();
}

/* The one that is idle for longest; its backend connects again when it has a query. */
bool Server::end_idle_session() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  std::lock_guard lock(mutex_);
  Running* longest = nullptr;
  for (Running& running : sessions_) {
    const auto since = running.idle_since.load();
    if (running.socket < 0 || running.given_up || since == 0) continue;
    if (!longest || since < longest->idle_since) longest = &running;
  }
  if (!longest) return false;
  const auto since = std::chrono::steady_clock::duration(longest->idle_since.load());
  if (since.count() == 0 || now - since < kIdleLongEnough) return false;
  longest->given_up = true;
  shutdown(longest->socket, SHUT_RDWR);
  return true;
}

/* Not once for every backend. */
void Server::complain(const char* what) {
  const auto now = std::chrono::steady_clock::now();
  if (now - complained_ < kComplaintInterval) return;
  complained_ = now;
  log_message(LogLevel::kError, "cannot start a session, among %llu: %s",
              static_cast<unsigned long long>(context_.sessions.load()), what);
}

void Server::start_session(UniqueFd socket) {
  const int fd = socket.get();
  std::list<Running> one;
  Running* running = &one.emplace_back(fd);
  auto session = std::make_shared<Session>(context_, std::move(socket), running->idle_since);
  std::lock_guard lock(mutex_);
  sessions_.splice(sessions_.end(), one);
  context_.sessions++;
  try {
    running->thread = std::thread([this, running, session = std::move(session)]() mutable {
      session->run();
      {
        std::lock_guard finished(mutex_);
        running->socket = -1;
      }
      session.reset();
      context_.sessions--;
      std::lock_guard finished(mutex_);
      running->finished = true;
    });
  } catch (...) {
    context_.sessions--;
    sessions_.pop_back();
    throw;
  }
}

void Server::reap() {
  std::list<Running> finished;
  {
    std::lock_guard lock(mutex_);
    for (auto it = sessions_.begin(); it != sessions_.end();) {
      const auto next = std::next(it);
      if (it->finished) finished.splice(finished.end(), sessions_, it);
      it = next;
    }
  }
  for (Running& running : finished) running.thread.join();
}

void Server::stop_sessions() {
  context_.stopping = true;
  context_.engine.compiler.stop();
  {
    std::lock_guard lock(mutex_);
    for (Running& running : sessions_)
      if (running.socket >= 0) shutdown(running.socket, SHUT_RDWR);
  }
  // No session is added any more, so the list is ours.
  for (Running& running : sessions_)
    if (running.thread.joinable()) running.thread.join();
  sessions_.clear();
}

}  // namespace turbine
