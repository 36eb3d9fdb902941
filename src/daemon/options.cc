/*
 * options.cc - turbined's command line.
 *
 * Called by main.cc before any thread exists. A mistake is told on stderr and ends the
 * process; nothing is guessed.
 */
#include "daemon/options.h"

#include <charconv>
#include <limits>

namespace turbine {
namespace {

template <class T>
T number(const std::string& option, const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw OptionsError("bad value for " + option + ": " + text);
  return value;
}

/* A number of bytes, with an optional unit: kB, MB, GB. */
uint64_t bytes(const std::string& option, std::string text) {
  uint64_t unit = 1;
  if (text.size() > 2 && text.back() == 'B') {
    const char prefix = text[text.size() - 2];
    unit = prefix == 'k' ? 1ull << 10 : prefix == 'M' ? 1ull << 20 : prefix == 'G' ? 1ull << 30 : 1;
    if (unit > 1) text.resize(text.size() - 2);
  }
  const uint64_t value = number<uint64_t>(option, text);
  if (value > std::numeric_limits<uint64_t>::max() / unit) throw OptionsError("bad value for " + option + ": " + text);
  return value * unit;
}

LogLevel log_level(const std::string& text) {
  if (text == "error") return LogLevel::kError;
  if (text == "info") return LogLevel::kInfo;
  if (text == "debug") return LogLevel::kDebug;
  throw OptionsError("bad value for --log-level: " + text);
}

}  // namespace

const char* usage() {
  return "usage: turbined --nonce-fd N [options]\n"
         "  --data-dir DIR         working directory (default: the current one)\n"
         "  --socket PATH          socket to listen on (default: pg_turbine/pgsql_tmp.turbined.sock)\n"
         "  --cache-dir DIR        compiled programs (default: pg_turbine/cache; '': none)\n"
         "  --export-socket PATH   socket for processes that open exported columns (default: none)\n"
         "  --compiler PATH        turbine-compiler (default: beside turbined)\n"
         "  --nonce-fd N           descriptor to read the 16-byte nonce from\n"
         "  --host-threads N       threads of the host device (default: one a processor)\n"
         "  --memory-budget SIZE   host memory that queries may use, as 8GB (default: a quarter)\n"
         "  --column-store SIZE    memory for decoded columns of tables (default: a quarter; 0: none)\n"
         "  --gpu-cache SIZE       of each GPU's memory, for copies of these (default: 40 percent; 0: none)\n"
         "  --compile-timeout S    seconds (default: 30)\n"
         "  --no-gpu               use the host device only\n"
         "  --log-level LEVEL      error, info or debug (default: info)\n";
}

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i++) {
    std::string name = argv[i];
    if (name == "--help") {
      options.help = true;
      continue;
    }
    if (name == "--no-gpu") {
      options.use_gpus = false;
      continue;
    }
    std::string value;
    if (const size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (++i < argc) {
      value = argv[i];
    } else {
      throw OptionsError("option needs a value or is not known: " + name);
    }
    if (name == "--data-dir")
      options.data_dir = value;
    else if (name == "--socket")
      options.socket = value;
    else if (name == "--export-socket")
      options.export_socket = value;
    else if (name == "--cache-dir")
      options.cache_dir = value;
    else if (name == "--compiler")
      options.compiler = value;
    else if (name == "--nonce-fd")
      options.nonce_fd = number<int>(name, value);
    else if (name == "--host-threads")
      options.host_threads = number<unsigned>(name, value);
    else if (name == "--memory-budget")
      options.memory_budget = bytes(name, value);
    else if (name == "--column-store")
      options.column_store = bytes(name, value);
    else if (name == "--gpu-cache")
      options.gpu_cache = bytes(name, value);
    else if (name == "--compile-timeout")
      options.compile_timeout_s = number<uint32_t>(name, value);
    else if (name == "--log-level")
      options.log_level = log_level(value);
    else
      throw OptionsError("unknown option: " + name);
  }
  if (!options.help && options.nonce_fd < 0) throw OptionsError("--nonce-fd is required");
  if (options.host_threads > 1024) throw OptionsError("bad value for --host-threads");
  return options;
}

}  // namespace turbine
