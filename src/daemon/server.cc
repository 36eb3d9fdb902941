/*
 * server.cc - the listening socket and its sessions.
 *
 * Owns the listening socket and the threads of sessions, and joins them at the end. Called by
 * main.cc. It must check who connects before it reads a byte of theirs.
 */
#include "daemon/server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "daemon/log.h"

namespace turbine {
namespace {

constexpr int kBacklog = 256;
constexpr int kLockAttempts = 100;  // of 50 ms
/* More than max_connections of any server that shares one machine with us. */
constexpr size_t kMaxSessions = 10000;

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
  }
  stop_sessions();
}

void Server::accept_one() {
  UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
      log_message(LogLevel::kError, "accept: %s", strerror(errno));
      usleep(10000);  // it stays ready: do not spin
    }
    return;
  }
  if (context_.sessions >= kMaxSessions) return;
  try {
    start_session(std::move(socket));
  } catch (const std::exception& e) {
    log_message(LogLevel::kError, "cannot start a session: %s", e.what());
  }
}

void Server::start_session(UniqueFd socket) {
  const int fd = socket.get();
  auto session = std::make_shared<Session>(context_, std::move(socket));
  std::lock_guard lock(mutex_);
  sessions_.push_back({{}, false, fd});
  Running* running = &sessions_.back();
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
