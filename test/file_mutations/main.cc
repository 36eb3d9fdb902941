/*
 * main.cc - turbine_file_mutations: spoilt Arrow and Parquet files in both readers, under AddressSanitizer.
 *
 *   turbine_file_mutations --bases FOLDER --format arrow|parquet [--first N] [--count N] [--jobs N] [--seconds N]
 *                          [--keep FOLDER] [--one SEED]
 *
 * File number N is made of the base N modulo their count, by seed N: any machine makes the same. Each job is a process
 * with a share of the numbers, and works on memory alone. If one dies, breaks its word or takes more than --seconds
 * for a file, the number is reported, the file kept in --keep, and a new process goes on behind it. --one runs one
 * number without a process of its own, for a debugger.
 * Prints rate and totals; the last line is `N passed, N failed`, in files. Exit status 1 if one failed.
 */
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <arrow/util/utf8.h>

#include "memory_file.h"
#include "metadata_places.h"
#include "random_numbers.h"
#include "readers.h"
#include "spoil.h"

/* An allocation of more than this, in MB, fails; a process of more resident memory is a failure. Leaks would be
 * looked for when a process ends, and libarrow's statics are some. */
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=2048:hard_rss_limit_mb=3072:detect_leaks=0:"
         "quarantine_size_mb=16:abort_on_error=0:handle_abort=1";
}
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }

namespace turbine::file_mutations {
namespace {

struct Base {
  std::string name, content;
  std::vector<MetadataPlace> places;
  std::unique_ptr<FileUser> engine, file_reader;
};

struct Options {
  std::string bases, format, keep = ".";
  uint64_t first = 0, count = 1000, jobs = 1;
  int seconds = 20;
  bool one = false;
};

/* Of one job, in memory that it shares with its parent. Written by the job. */
struct Job {
  std::atomic<uint64_t> number;  // of the file at hand
  std::atomic<uint64_t> files, bytes, rows, engine_errors, engine_rows, reader_errors, reader_rows;
  std::atomic<uint64_t> slowest_us, slowest, largest_kb;
  std::atomic<bool> done;
};

std::vector<Base> read_bases(const Options& options) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(options.bases))
    if (entry.path().extension() == "." + options.format) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  if (paths.empty()) throw std::runtime_error("no bases *." + options.format + " in " + options.bases);
  std::vector<Base> bases;
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    Base base;
    base.name = std::filesystem::path(path).filename();
    base.content.assign(std::istreambuf_iterator<char>(file), {});
    base.places = metadata_places(base.content);
    base.engine = make_engine_user(base.content);
    base.file_reader = make_file_reader_user(base.content);
    bases.push_back(std::move(base));
  }
  return bases;
}

/* A sound file must be read: otherwise nothing behind its beginning would be tried. */
void check_bases(const std::vector<Base>& bases) {
  for (const Base& base : bases) {
    const MemoryFile file(base.content);
    for (uint64_t choice = 0; choice < 8; choice++)
      for (FileUser* user : {base.engine.get(), base.file_reader.get()}) {
        const Outcome outcome = user->use(file.fd(), choice);
        if (outcome.is_error) throw std::runtime_error(base.name + " as it was: " + outcome.message);
      }
  }
}

std::string spoilt(const std::vector<Base>& bases, uint64_t number) {
  const Base& base = bases[number % bases.size()];
  return spoil(base.content, base.places, number);
}

void count_outcome(const Outcome& outcome, std::atomic<uint64_t>& errors, std::atomic<uint64_t>& rows, Job& job) {
  (outcome.is_error ? errors : rows)++;
  job.rows += outcome.rows;
}

void use_file(const std::vector<Base>& bases, uint64_t number, Job& job) {
  const Base& base = bases[number % bases.size()];
  const std::string content = spoilt(bases, number);
  const MemoryFile file(content);
  const uint64_t choice = RandomNumbers(~number).next();
  const auto started = std::chrono::steady_clock::now();
  count_outcome(base.engine->use(file.fd(), choice), job.engine_errors, job.engine_rows, job);
  count_outcome(base.file_reader->use(file.fd(), choice), job.reader_errors, job.reader_rows, job);
  const auto taken = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - started);
  if (static_cast<uint64_t>(taken.count()) > job.slowest_us) {
    job.slowest_us = static_cast<uint64_t>(taken.count());
    job.slowest = number;
  }
  job.files++;
  job.bytes += content.size();
}

[[noreturn]] void run_job(const std::vector<Base>& bases, uint64_t end, int seconds, Job& job) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (uint64_t number = job.number; number < end; job.number = ++number) {
    alarm(static_cast<unsigned>(seconds));
    try {
      use_file(bases, number, job);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "file %llu: %s\n", static_cast<unsigned long long>(number), error.what());
      _exit(3);
    }
    if (number % 256 == 0) {
      rusage usage;
      getrusage(RUSAGE_SELF, &usage);
      job.largest_kb = static_cast<uint64_t>(usage.ru_maxrss);
    }
  }
  job.done = true;
  _exit(0);
}

class Run {
 public:
  Run(const Options& options, const std::vector<Base>& bases) : options_(options), bases_(bases) {
    jobs_ = static_cast<Job*>(
        mmap(nullptr, options.jobs * sizeof(Job), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (jobs_ == MAP_FAILED) throw std::bad_alloc();
  }

  /* Returns the failures. */
  uint64_t run() {
    const auto started = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < options_.jobs; i++) {
      new (&jobs_[i]) Job{};
      jobs_[i].number = options_.first + options_.count * i / options_.jobs;
      pids_.push_back(start(i));
    }
    auto printed = started;
    for (uint64_t running = options_.jobs; running > 0;) {
      running -= wait_for_one();
      const auto now = std::chrono::steady_clock::now();
      if (now - printed < std::chrono::seconds(30) && running > 0) continue;
      printed = now;
      print(std::chrono::duration<double>(now - started).count());
    }
    return failures_;
  }
  uint64_t files() const { return sum(&Job::files); }

 private:
  pid_t start(uint64_t i) {
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error("fork failed");
    if (pid == 0)
      run_job(bases_, options_.first + options_.count * (i + 1) / options_.jobs, options_.seconds, jobs_[i]);
    return pid;
  }

  /* Returns 1 if a job has done its share. */
  uint64_t wait_for_one() {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid <= 0) {
      usleep(50000);
      return 0;
    }
    const auto i = static_cast<uint64_t>(std::find(pids_.begin(), pids_.end(), pid) - pids_.begin());
    if (jobs_[i].done) return 1;
    fail(jobs_[i].number, status);
    jobs_[i].number++;
    pids_[i] = start(i);
    return 0;
  }

  void fail(uint64_t number, int status) {
    failures_++;
    const std::string ending = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "took too long"
                               : WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                                     : "exit status " + std::to_string(WEXITSTATUS(status));
    const Base& base = bases_[number % bases_.size()];
    const std::string path = options_.keep + "/failed-" + std::to_string(number) + "." + options_.format;
    const std::string content = spoilt(bases_, number);
    std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
    std::printf("FAILED: file %llu of %s: %s; kept as %s\n", static_cast<unsigned long long>(number), base.name.c_str(),
                ending.c_str(), path.c_str());
    std::fflush(stdout);
  }

  uint64_t sum(std::atomic<uint64_t> Job::* member) const {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < options_.jobs; i++) sum += jobs_[i].*member;
    return sum;
  }

  void print(double seconds) const {
    const Job* slowest = std::max_element(jobs_, jobs_ + options_.jobs,
                                          [](const Job& a, const Job& b) { return a.slowest_us < b.slowest_us; });
    uint64_t largest = 0;
    for (uint64_t i = 0; i < options_.jobs; i++) largest = std::max<uint64_t>(largest, jobs_[i].largest_kb);
    std::printf(
        "%s: %llu files in %.0f s, %.0f a second; turbined: %llu errors, %llu read; file reader: %llu errors, "
        "%llu read; %llu rows; slowest %.0f ms (file %llu); %.0f MB; %llu failed\n",
        options_.format.c_str(), static_cast<unsigned long long>(files()), seconds,
        static_cast<double>(files()) / seconds, static_cast<unsigned long long>(sum(&Job::engine_errors)),
        static_cast<unsigned long long>(sum(&Job::engine_rows)),
        static_cast<unsigned long long>(sum(&Job::reader_errors)),
        static_cast<unsigned long long>(sum(&Job::reader_rows)), static_cast<unsigned long long>(sum(&Job::rows)),
        static_cast<double>(slowest->slowest_us) / 1000, static_cast<unsigned long long>(slowest->slowest),
        static_cast<double>(largest) / 1024, static_cast<unsigned long long>(failures_));
    std::fflush(stdout);
  }

  const Options& options_;
  const std::vector<Base>& bases_;
  Job* jobs_;
  std::vector<pid_t> pids_;
  uint64_t failures_ = 0;
};

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--bases")
      options.bases = value;
    else if (name == "--format")
      options.format = value;
    else if (name == "--keep")
      options.keep = value;
    else if (name == "--first")
      options.first = std::stoull(value);
    else if (name == "--count")
      options.count = std::stoull(value);
    else if (name == "--jobs")
      options.jobs = std::stoull(value);
    else if (name == "--seconds")
      options.seconds = std::stoi(value);
    else if (name == "--one")
      options.first = std::stoull(value), options.one = true;
    else
      throw std::runtime_error("unknown option " + name);
  }
  if (options.bases.empty() || (options.format != "arrow" && options.format != "parquet") || options.jobs == 0)
    throw std::runtime_error("--bases FOLDER and --format arrow|parquet are needed");
  return options;
}

int run(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  arrow::util::InitializeUTF8();
  const std::vector<Base> bases = read_bases(options);
  check_bases(bases);
  if (options.one) {
    Job job{};
    use_file(bases, options.first, job);
    std::printf("%s: turbined: %s; file reader: %s\n", bases[options.first % bases.size()].name.c_str(),
                job.engine_errors > 0 ? "error" : "rows", job.reader_errors > 0 ? "error" : "rows");
    return 0;
  }
  std::printf("%zu bases\n", bases.size());
  Run all(options, bases);
  const uint64_t failures = all.run();
  std::printf("%llu passed, %llu failed\n", static_cast<unsigned long long>(all.files()),
              static_cast<unsigned long long>(failures));
  return failures > 0 || all.files() + failures != options.count;
}

}  // namespace
}  // namespace turbine::file_mutations

int main(int argc, char** argv) {
  try {
    return turbine::file_mutations::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "turbine_file_mutations: %s\n", error.what());
    return 2;
  }
}
