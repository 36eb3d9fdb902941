/*
 * test_options.h - the command line of turbine-storage-test.
 */
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "storage_test/storage_pass.h"

namespace turbine {

struct TestOptions {
  enum class Form { kTable, kJson, kTabs };

  std::vector<std::string> files;
  std::vector<StorageWay> ways;           // empty: all that the machine has
  std::vector<uint32_t> request_bytes = {128 << 10, 1 << 20};
  std::vector<uint32_t> depths = {1, 8};
  std::vector<uint32_t> threads = {1};
  double seconds = 3;
  uint64_t most_bytes = UINT64_MAX;
  int gpu = -1;                           // -1: the nearest
  bool drop_cache = false;
  bool progress = false;
  bool help = false;
  Form form = Form::kTable;
  std::string chart;                      // file; "": none
};

struct TestOptionsError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

TestOptions parse_test_options(const std::vector<std::string>& arguments);  // throws TestOptionsError
const char* test_usage();

}  // namespace turbine
