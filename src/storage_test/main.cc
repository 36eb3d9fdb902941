/*
 * main.cc - turbine-storage-test: how fast files can be read, by each way that a query could take.
 *
 * A program of its own, which a person or turbine.storage_test() runs. It needs no server and no turbined. It must
 * never write to the files.
 */
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <fstream>

#include "engine/limits/process_limits.h"
#include "storage_test/test_options.h"
#include "storage_test/test_report.h"

namespace turbine {
namespace {

/* The nearest to the first file; the first where nothing is known. */
int nearest_gpu(const FilePlace& file) {
  int nearest = 0;
  for (size_t gpu = 1; gpu < file.to_gpus.size(); gpu++)
    if (file.to_gpus[gpu].distance < file.to_gpus[static_cast<size_t>(nearest)].distance)
      nearest = static_cast<int>(gpu);
  return nearest;
}

/* "[#####     ] 3/12 direct 1 MB". */
class ProgressBar {
 public:
  ProgressBar(bool shown, size_t passes) : shown_(shown), passes_(passes) {}
  ~ProgressBar() {
    if (shown_) std::fprintf(stderr, "\r%*s\r", kWidth + 50, "");
  }
  void begin(const PassOptions& options) {
    pass_++;
    options_ = options;
  }
  void show(uint64_t bytes, uint64_t all) const {
    if (!shown_) return;
    const auto filled = static_cast<int>(all ? bytes * kWidth / all : kWidth);
    char bar[kWidth + 1];
    for (int i = 0; i < kWidth; i++) bar[i] = i < filled ? '#' : ' ';
    bar[kWidth] = '\0';
    std::fprintf(stderr, "\r[%s] %zu/%zu %s, %u kB, depth %u, threads %u   ", bar, pass_, passes_,
                 storage_way_name(options_.way), options_.request_bytes >> 10, options_.depth, options_.threads);
  }

 private:
  static constexpr int kWidth = 30;
  const bool shown_;
  const size_t passes_;
  size_t pass_ = 0;
  PassOptions options_;
};

std::vector<PassOptions> passes_of(const TestOptions& options, bool have_gpu) {
  std::vector<StorageWay> ways = options.ways;
  if (ways.empty()) {
    ways = {StorageWay::kDirect, StorageWay::kPageCache};
    if (have_gpu) ways.insert(ways.end(), {StorageWay::kPinned, StorageWay::kGpu});
  }
  std::vector<PassOptions> passes;
  for (const StorageWay way : ways)
    for (const uint32_t threads : options.threads)
      for (const uint32_t depth : options.depths)
        for (const uint32_t bytes : options.request_bytes)
          passes.push_back({way, bytes, depth, threads, options.seconds, options.most_bytes, options.drop_cache});
  return passes;
}

int run(const TestOptions& options) {
  std::vector<TestedFile> files;
  for (const std::string& path : options.files) files.push_back(find_tested_file(path));

  TestReport report;
  report.memory = memory_limit();
  std::vector<TopologyGpu> gpus;
  for (const TestGpu& gpu : list_test_gpus(&report.why_no_gpu)) {
    report.gpus.push_back(gpu.name);
    gpus.push_back({gpu.name, gpu.pci_address, {}});
  }
  const MachineTopology topology(Sysfs(sysfs_root()), gpus);
  for (const TestedFile& file : files) report.files.push_back(place_of_file(file, topology));

  std::string why = report.why_no_gpu;
  std::unique_ptr<GpuMemory> gpu;
  if (!gpus.empty()) gpu = GpuMemory::open(options.gpu >= 0 ? options.gpu : nearest_gpu(report.files.front()), &why);

  const std::vector<PassOptions> passes = passes_of(options, gpu != nullptr);
  {
    ProgressBar bar(options.progress || isatty(STDERR_FILENO) != 0, passes.size());
    for (const PassOptions& pass : passes) {
      const bool wants_gpu = pass.way == StorageWay::kPinned || pass.way == StorageWay::kGpu;
      bar.begin(pass);
      report.passes.push_back(run_pass(files, pass, wants_gpu ? gpu.get() : nullptr,
                                       [&bar](uint64_t bytes, uint64_t all) { bar.show(bytes, all); }));
      if (wants_gpu && !gpu) report.passes.back().error = "no GPU: " + why;
    }
  }
  const std::string text = options.form == TestOptions::Form::kJson   ? report.json()
                           : options.form == TestOptions::Form::kTabs ? report.tabbed()
                                                                      : report.table();
  std::fputs(text.c_str(), stdout);
  if (!options.chart.empty() && !(std::ofstream(options.chart) << report.chart()).flush()) {
    std::fprintf(stderr, "turbine-storage-test: cannot write %s\n", options.chart.c_str());
    return 1;
  }
  // A measurement that a person asked for by name and did not get is a failure.
  for (const PassResult& pass : report.passes)
    if (!pass.error.empty()) return 1;
  return 0;
}

}  // namespace
}  // namespace turbine

int main(int argc, char** argv) {
  using namespace turbine;
  try {
    const TestOptions options = parse_test_options({argv + 1, argv + argc});
    if (options.help) {
      std::fputs(test_usage(), stdout);
      return 0;
    }
    return run(options);
  } catch (const TestOptionsError& error) {
    std::fprintf(stderr, "turbine-storage-test: %s\n%s", error.what(), test_usage());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "turbine-storage-test: %s\n", error.what());
    return 1;
  }
}
