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

  /* Accepts until `stop_fd` is readable; then ends every session. */
  void run(int stop_fd);

 private:
  struct Running {
    std::thread thread;
    bool finished = false;
    int socket;  // for shutdown(); the session's own
  };
  void accept_one();
  void start_session(UniqueFd socket);
  void reap();
  void stop_sessions();

  SessionContext& context_;
  const std::string path_;
  UniqueFd lock_;
  UniqueFd listener_;
  std::mutex mutex_;
  std::list<Running> sessions_;
};

}  // namespace turbine
