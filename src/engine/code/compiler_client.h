/*
 * compiler_client.h - the daemon's side of turbine-compiler (compile.h).
 *
 * Owns the zygote. Starts it when it is first needed, and again if it has died or its binary was
 * replaced. Each request waits for its own status pipe, so any number of threads may compile at
 * once. A compiler that crashes costs one request. A zygote that makes no progress is ended; the
 * next request starts another. Called by the code cache.
 */
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>

#include "turbine/compile.h"

namespace turbine {

/* The program could not be compiled; what() is for the user. */
struct CompileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/* Asked now and then while something waits: true gives up. */
using IsCancelled = std::function<bool()>;

class CompilerClient {
 public:
  /* `path`: the turbine-compiler binary. */
  CompilerClient(std::string path, uint32_t timeout_s);
  ~CompilerClient();
  CompilerClient(const CompilerClient&) = delete;

  /* The artifact for the program. Throws CompileError. Thread-safe. */
  std::string compile(std::span<const uint8_t> program, TbTarget target, const std::string& cpu,
                      const std::string& features, TbEffort effort, const IsCancelled& cancelled);

  /* Makes every compile() end soon, and those to come at once. */
  void stop() { stopping_ = true; }

  /* Identifies the compiler binary, for cache keys; "" if there is none. */
  std::string build_id() const;

 private:
  std::string request_once(const TbCompileRequest& request, std::span<const uint8_t> program,
                           const IsCancelled& cancelled, pid_t* zygote);
  pid_t send_request(const TbCompileRequest& request, int program, int artifact, int status);
  bool zygote_gone(pid_t zygote);
  void give_up_zygote(pid_t zygote);
  bool try_send(const TbCompileRequest& request, const int* fds);
  void start_zygote();
  void stop_zygote();

  const std::string path_;
  const uint32_t timeout_s_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;  // the fields below
  pid_t pid_ = -1;
  int socket_ = -1;
  std::string started_build_;
};

}  // namespace turbine
