/*
 * server.h - the listening socket and its sessions.
 */
#pragma once

#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "daemon/session.h"

namespace turbine {

class Server {
 public:
  /* Binds the socket (mode 0600). A lock file beside it makes sure that no
   * other turbined serves it; a dying one is waited for. Throws
   * std::runtime_error. */
  Server(SessionContext& context, const std::string& path);
  ~Server();

  /* Accepts until `stop_fd` is readable; then ends every session. Who connects when
   * there are no descriptors for another session learns at once, by the end of the
   * connection, and the longest idle session is ended for the next. */
  void run(int stop_fd);

 private:
  struct Running {
    explicit Running(int fd) : socket(fd) {}
    std::thread thread;
    bool finished = false;
    bool given_up = false;  // for another backend
    int socket;             // for shutdown(); the session's own
    IdleSince idle_since{0};
  };
  void accept_one();
  UniqueFd accept_without_descriptors();
  bool end_idle_session();
  void complain(const char* what);
  void start_session(UniqueFd socket);
  void reap();
  void stop_sessions();

  SessionContext& context_;
  const std::string path_;
  UniqueFd lock_;
  UniqueFd listener_;
  UniqueFd spare_;  // given up to accept, and close, when there is no other descriptor
  std::chrono::steady_clock::time_point complained_{};
  std::mutex mutex_;
  std::list<Running> sessions_;
};

}  // namespace turbine
