/*
 * main.cc - turbine-plcuda: the process that runs a session's functions of LANGUAGE plcuda,
 * and the one that starts their compiler with limits.
 *
 *   turbine-plcuda run MEGABYTES                      serves calls at descriptor 3
 *   turbine-plcuda limit MEGABYTES SECONDS PROGRAM ARGUMENTS...
 *
 * It may crash, hang or be killed at any time: user code runs in it. Called by
 * src/pg/plcuda. Must never start another process while user code is in it.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "plcuda/runner/calls.h"
#include "plcuda/runner/sandbox.h"

namespace {

int limit(int argc, char** argv) {
  if (argc < 5) return 2;
  turbine::limit_memory(strtoull(argv[2], nullptr, 10));
  const rlimit time{strtoull(argv[3], nullptr, 10), strtoull(argv[3], nullptr, 10) + 5};
  const rlimit file{rlim_t{1} << 30, rlim_t{1} << 30};
  setrlimit(RLIMIT_CPU, &time);
  setrlimit(RLIMIT_FSIZE, &file);
  execv(argv[4], argv + 4);
  fprintf(stderr, "could not start %s: %s\n", argv[4], strerror(errno));
  return 127;
}

}  // namespace

int main(int argc, char** argv) {
  // It ends with its backend, whatever ends that.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);
  turbine::offer_to_oom_killer();
  if (argc >= 2 && strcmp(argv[1], "limit") == 0) return limit(argc, argv);
  if (argc != 3 || strcmp(argv[1], "run") != 0) {
    fprintf(stderr, "turbine-plcuda is started by PostgreSQL's backends\n");
    return 2;
  }
  turbine::enter_sandbox(strtoull(argv[2], nullptr, 10));
  return turbine::serve_calls();
}
