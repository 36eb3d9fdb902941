/*
 * log.cc - the daemon's log.
 *
 * Writes whole lines with one call, so that lines of threads do not mix. Called from
 * everywhere in the daemon; it must never allocate much or throw, since it also tells of what
 * went wrong.
 */
#include "daemon/log.h"

#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace turbine {
namespace {

std::atomic<LogLevel> current_level{LogLevel::kInfo};

const char* name_of(LogLevel level) {
  switch (level) {
    case LogLevel::kError: return "ERROR";
    case LogLevel::kInfo: return "LOG";
    default: return "DEBUG";
  }
}

}  // namespace

void set_log_level(LogLevel level) { current_level = level; }

void log_message(LogLevel level, const char* format, ...) {
  if (level > current_level.load()) return;
  char line[1024];
  timeval now;
  gettimeofday(&now, nullptr);
  tm local;
  localtime_r(&now.tv_sec, &local);
  size_t at = strftime(line, sizeof line, "%Y-%m-%d %H:%M:%S", &local);
  at += static_cast<size_t>(snprintf(line + at, sizeof line - at, ".%03ld [%d] turbined %s:  ",
                                     static_cast<long>(now.tv_usec / 1000), getpid(), name_of(level)));
  va_list arguments;
  va_start(arguments, format);
  const int n = vsnprintf(line + at, sizeof line - at - 1, format, arguments);
  va_end(arguments);
  at = std::min(at + static_cast<size_t>(std::max(n, 0)), sizeof line - 2);
  line[at++] = '\n';
  // One write, so that lines of threads do not mix. A closed stderr is no reason to fail.
  if (write(STDERR_FILENO, line, at) < 0) return;
}

}  // namespace turbine
