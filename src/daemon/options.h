/*
 * options.h - turbined's command line.
 */
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "daemon/log.h"

namespace turbine {

struct Options {
  std::string data_dir = ".";
  std::string socket = "pg_turbine/pgsql_tmp.turbined.sock";  // relative to data_dir
  std::string cache_dir = "pg_turbine/cache";       // relative to data_dir; "": none
  std::string export_socket;                        // "": nothing is exported
  std::string compiler;                             // "": beside turbined
  int nonce_fd = -1;
  unsigned host_threads = 0;   // 0: one a processor
  uint64_t memory_budget = 0;  // bytes; 0: a quarter of the memory
  uint64_t column_store = UINT64_MAX;  // bytes; UINT64_MAX: a quarter of the memory
  uint64_t gpu_cache = UINT64_MAX;     // bytes of each GPU; UINT64_MAX: a share of its memory
  uint32_t compile_timeout_s = 30;
  bool use_gpus = true;
  LogLevel log_level = LogLevel::kInfo;
  bool help = false;
};

struct OptionsError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Options parse_options(int argc, char** argv);  // throws OptionsError
const char* usage();

}  // namespace turbine
