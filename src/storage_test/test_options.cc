/*
 * test_options.cc - see test_options.h.
 *
 * Called by main.cc. It touches no file.
 */
#include "storage_test/test_options.h"

#include <charconv>
#include <limits>
#include <sstream>

namespace turbine {
namespace {

constexpr uint32_t kBlock = 4096, kLargestRequest = 256u << 20, kMostThreads = 256, kDeepest = 1024;

[[noreturn]] void bad_value(const std::string& option, const std::string& text) {
  throw TestOptionsError("bad value for " + option + ": " + text);
}

template <class T>
T number_of(const std::string& option, const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) bad_value(option, text);
  return value;
}

/* A number of bytes, with an optional unit: kB, MB, GB. */
uint64_t bytes_of_text(const std::string& option, const std::string& text) {
  uint64_t unit = 1;
  std::string digits = text;
  if (digits.size() > 2 && digits.back() == 'B') {
    const char prefix = digits[digits.size() - 2];
    unit = prefix == 'k' ? 1ull << 10 : prefix == 'M' ? 1ull << 20 : prefix == 'G' ? 1ull << 30 : 0;
    if (unit == 0) bad_value(option, text);
    digits.resize(digits.size() - 2);
  }
  const auto value = number_of<uint64_t>(option, digits);
  if (value > std::numeric_limits<uint64_t>::max() / unit) bad_value(option, text);
  return value * unit;
}

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

std::vector<uint32_t> counts_of(const std::string& option, const std::string& list, uint32_t most) {
  std::vector<uint32_t> counts;
  for (const std::string& part : parts_of(list)) {
    counts.push_back(number_of<uint32_t>(option, part));
    if (counts.back() < 1 || counts.back() > most) bad_value(option, part);
  }
  if (counts.empty()) bad_value(option, list);
  return counts;
}

std::vector<uint32_t> sizes_of(const std::string& option, const std::string& list) {
  std::vector<uint32_t> sizes;
  for (const std::string& part : parts_of(list)) {
    const uint64_t size = bytes_of_text(option, part);
    if (size < kBlock || size > kLargestRequest || size % kBlock != 0) bad_value(option, part);
    sizes.push_back(static_cast<uint32_t>(size));
  }
  if (sizes.empty()) bad_value(option, list);
  return sizes;
}

std::vector<StorageWay> ways_of(const std::string& option, const std::string& list) {
  std::vector<StorageWay> ways;
  for (const std::string& part : parts_of(list)) {
    bool known = false;
    for (const StorageWay way : {StorageWay::kDirect, StorageWay::kPageCache, StorageWay::kPinned, StorageWay::kGpu})
      if (part == storage_way_name(way)) {
        ways.push_back(way);
        known = true;
      }
    if (!known) bad_value(option, part);
  }
  if (ways.empty()) bad_value(option, list);
  return ways;
}

}  // namespace

const char* test_usage() {
  return "usage: turbine-storage-test [options] FILE...\n"
         "Reads the files from their beginning, by each way, and says how fast that is. It writes nothing to them.\n"
         "  --ways LIST       direct, page-cache, pinned, gpu (default: all that there are)\n"
         "  --sizes LIST      of requests, multiples of 4096 bytes (default: 128kB,1MB)\n"
         "  --depths LIST     requests in flight of each thread (default: 1,8)\n"
         "  --threads LIST    (default: 1)\n"
         "  --seconds S       of one measurement at most (default: 3)\n"
         "  --bytes SIZE      of one measurement at most, as 4GB (default: all files)\n"
         "  --gpu N           for pinned and gpu (default: the one nearest to the first file)\n"
         "  --drop-cache      the page cache forgets the files before each measurement through it\n"
         "  --json            prints JSON instead of a table\n"
         "  --tabs            prints a line with tabs for each measurement\n"
         "  --chart FILE      writes an SVG picture\n"
         "  --progress        shows a progress bar, even if this is no terminal\n";
}

TestOptions parse_test_options(const std::vector<std::string>& arguments) {
  TestOptions options;
  for (size_t i = 0; i < arguments.size(); i++) {
    std::string name = arguments[i];
    if (name.compare(0, 2, "--") != 0) {
      options.files.push_back(name);
      continue;
    }
    if (name == "--help")
      options.help = true;
    else if (name == "--json")
      options.form = TestOptions::Form::kJson;
    else if (name == "--tabs")
      options.form = TestOptions::Form::kTabs;
    else if (name == "--drop-cache")
      options.drop_cache = true;
    else if (name == "--progress")
      options.progress = true;
    else {
      std::string value;
      if (const size_t equals = name.find('='); equals != std::string::npos) {
        value = name.substr(equals + 1);
        name.resize(equals);
      } else if (++i < arguments.size()) {
        value = arguments[i];
      } else {
        throw TestOptionsError("option needs a value or is not known: " + name);
      }
      if (name == "--ways")
        options.ways = ways_of(name, value);
      else if (name == "--sizes")
        options.request_bytes = sizes_of(name, value);
      else if (name == "--depths")
        options.depths = counts_of(name, value, kDeepest);
      else if (name == "--threads")
        options.threads = counts_of(name, value, kMostThreads);
      else if (name == "--seconds")
        options.seconds = number_of<double>(name, value);
      else if (name == "--bytes")
        options.most_bytes = bytes_of_text(name, value);
      else if (name == "--gpu")
        options.gpu = number_of<int>(name, value);
      else if (name == "--chart")
        options.chart = value;
      else
        throw TestOptionsError("unknown option: " + name);
    }
  }
  if (!(options.seconds > 0) || options.seconds > 3600) throw TestOptionsError("bad value for --seconds");
  if (!options.help && options.files.empty()) throw TestOptionsError("no file is named");
  return options;
}

}  // namespace turbine
