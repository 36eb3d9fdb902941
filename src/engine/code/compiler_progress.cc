/*
 * compiler_progress.cc - see compiler_progress.h; reads /proc.
 *
 * Called by compiler_client.cc, by the thread that waits for a reply. What cannot be read
 * counts as progress: it must never give up a compiler that may be working.
 */
#include "engine/code/compiler_progress.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace turbine {
namespace {

namespace fs = std::filesystem;

struct Look {
  bool complete = true;  // everything could be read
  bool busy = false;     // some thread runs, or waits for a processor or a disk
  uint64_t used_ns = 0;
};

std::string read_line(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/* "pid (name) STATE ...", where the name may hold anything. */
char state_of(const std::string& stat) {
  const size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= stat.size() ? '\0' : stat[name_end + 2];
}

void look_at_thread(const fs::path& thread, Look& look) {
  const char state = state_of(read_line(thread / "stat"));
  const std::string schedstat = read_line(thread / "schedstat");
  unsigned long long used_ns = 0;
  if (state == '\0' || sscanf(schedstat.c_str(), "%llu", &used_ns) != 1) {
    look.complete = false;
    return;
  }
  look.busy |= state == 'R' || state == 'D';
  look.used_ns += used_ns;
}

/* Threads of one process, and its children with theirs. */
void look_at_process(const std::string& pid, Look& look, int depth) {
  std::error_code error;
  const fs::path threads = "/proc/" + pid + "/task";
  for (fs::directory_iterator it(threads, error), end; !error && it != end; it.increment(error))
    look_at_thread(it->path(), look);
  std::ifstream children(threads / pid / "children");
  if (error || !children) {
    look.complete = false;
    return;
  }
  std::string child;
  while (depth > 0 && children >> child) look_at_process(child, look, depth - 1);
}

}  // namespace

CompilerProgress::CompilerProgress(pid_t zygote) : zygote_(zygote), moved_(Clock::now()) {}

std::chrono::milliseconds CompilerProgress::standstill() {
  Look look;
  look_at_process(std::to_string(zygote_), look, 1);
  // A child that ended takes its time along: any other sum is progress.
  if (!look.complete || look.busy || look.used_ns != used_ns_) moved_ = Clock::now();
  used_ns_ = look.used_ns;
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - moved_);
}

}  // namespace turbine
