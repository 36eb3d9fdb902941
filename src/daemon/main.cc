/*
 * main.cc - turbined: starts the engine and serves backends.
 *
 * It runs until SIGTERM, or until its parent (PostgreSQL's supervisor process) is gone. Started by
 * src/pg/supervisor. It never links code of PostgreSQL.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <cstdio>

#include "daemon/export_server.h"
#include "daemon/log.h"
#include "daemon/options.h"
#include "daemon/server.h"
#include "engine/topology/topology_report.h"

namespace turbine {
namespace {

Nonce read_nonce(int fd) {
  Nonce nonce{};
  size_t have = 0;
  while (have < nonce.size()) {
    const ssize_t n = read(fd, nonce.data() + have, nonce.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw std::runtime_error("cannot read the nonce");
    have += static_cast<size_t>(n);
  }
  close(fd);
  return nonce;
}

std::string beside_this_program(const char* name) {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n <= 0) return name;
  const std::string self(path, static_cast<size_t>(n));
  return self.substr(0, self.rfind('/') + 1) + name;
}

/* Nothing of a dead server may go on working: the kernel ends this process
 * with its parent. */
void die_with_parent() {
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
}

/* Files of large tables, sockets and memfds count by the thousand. */
void raise_file_limit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

/* Readable once SIGTERM or SIGINT came. All threads inherit the mask. */
UniqueFd stop_signals() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_IGN);  // a reload of the server is not ours
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(signalfd(-1, &set, SFD_CLOEXEC));
}

uint64_t new_generation() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

EngineOptions engine_options(const Options& options) {
  EngineOptions engine;
  engine.compiler_path = options.compiler.empty() ? beside_this_program("turbine-compiler") : options.compiler;
  engine.compile_timeout_s = options.compile_timeout_s;
  engine.cache_directory = options.cache_dir;
  engine.devices.host_threads = options.host_threads;
  engine.devices.host_memory_budget = options.memory_budget;
  engine.devices.use_gpus = options.use_gpus;
  engine.devices.gpu_cache_size = options.gpu_cache;
  engine.column_store_bytes = options.column_store;
  return engine;
}

/* Without its socket nothing can be opened; queries need it not. */
std::unique_ptr<ExportServer> export_server(Exports& exports, const Options& options) {
  if (options.export_socket.empty()) return nullptr;
  try {
    return std::make_unique<ExportServer>(exports, options.export_socket);
  } catch (const std::runtime_error& e) {
    log_message(LogLevel::kError, "nothing can be exported: %s", e.what());
    return nullptr;
  }
}

void serve(const Options& options) {
  const UniqueFd stop = stop_signals();
  const Nonce nonce = read_nonce(options.nonce_fd);
  if (chdir(options.data_dir.c_str()) != 0) throw std::runtime_error(options.data_dir + ": " + strerror(errno));
  raise_file_limit();

  Engine engine(engine_options(options));
  if (!engine.why_no_gpu.empty()) log_message(LogLevel::kInfo, "no GPU: %s", engine.why_no_gpu.c_str());
  for (uint32_t i = 0; i < engine.devices.size(); i++) {
    const TbDeviceInfo info = engine.device_info(i);
    if (info.kind != 0)
      log_message(LogLevel::kInfo, "%s", describe_gpu(i - 1, info).c_str());
    else
      log_message(LogLevel::kInfo, "device %u: %s, %u units, %s, memory budget %llu MB", i, info.name, info.units,
                  info.target, static_cast<unsigned long long>(info.memory_budget >> 20));
  }
  for (const std::string& line : engine.topology.describe()) log_message(LogLevel::kInfo, "topology: %s", line.c_str());
  if (engine.storage.uses_ring())
    log_message(LogLevel::kInfo, "reads past the page cache: io_uring");
  else
    log_message(LogLevel::kInfo, "reads past the page cache: threads, since io_uring is not allowed: %s",
                engine.storage.why_no_ring().c_str());
  Exports exports(engine.devices, engine.admission);
  const std::unique_ptr<ExportServer> importers = export_server(exports, options);
  SessionContext context{engine, exports, nonce, new_generation()};
  Server server(context, options.socket);
  log_message(LogLevel::kInfo, "ready on %s", options.socket.c_str());
  server.run(stop.get());
  log_message(LogLevel::kInfo, "stopping");
}

}  // namespace
}  // namespace turbine

int main(int argc, char** argv) {
  using namespace turbine;
  try {
    const Options options = parse_options(argc, argv);
    if (options.help) {
      fputs(usage(), stdout);
      return 0;
    }
    set_log_level(options.log_level);
    die_with_parent();
    serve(options);
    return 0;
  } catch (const OptionsError& e) {
    fprintf(stderr, "turbined: %s\n%s", e.what(), usage());
    return 2;
  } catch (const std::exception& e) {
    log_message(LogLevel::kError, "%s", e.what());
    return 1;
  }
}
