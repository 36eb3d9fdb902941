/*
 * compile_ahead.h - compiles programs that queries will soon want (PREPARE), and
 * in full those that have quick code and much to do.
 *
 * A hint, never a promise: beyond a bound it is dropped, and what fails fails
 * again in the QUERY, which is where errors are told. A QUERY that comes while
 * its program is compiled here waits for that compilation. Thread-safe.
 */
#pragma once

#include <atomic>
#include <functional>

#include "engine/code/code_cache.h"
#include "engine/threads/worker_pool.h"

namespace turbine {

class CompileAhead {
 public:
  /* Uses `code` until destroyed. */
  explicit CompileAhead(CodeCache& code);
  ~CompileAhead();  // what has not begun does not begin

  /* Never blocks, never throws for what the program is. `device` lives as long
   * as `code`. */
  void start(Device& device, std::shared_ptr<const Program> program);

  /* CodeCache::improve(), on a thread of its own. */
  void improve(Device& device, std::shared_ptr<const Program> program);

 private:
  void post(std::function<void()> work);

  CodeCache& code_;
  std::atomic<unsigned> outstanding_{0};
  std::atomic<bool> stopping_{false};
  WorkerPool pool_;  // last: its threads use what is above
};

}  // namespace turbine
