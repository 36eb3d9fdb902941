/*
 * progress.cc - draws the progress bar: on a terminal in place, elsewhere a line now and then.
 *
 * Called by export_run.cc, from one thread.
 */
#include "export/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace turbine::exporting {
namespace {

constexpr int kBarWidth = 24;
constexpr auto kLinesApart = std::chrono::seconds(2);

std::string text_of(const char* format, double value) {
  char buffer[48];
  snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

std::string size_of(double bytes) {
  return bytes < 1e9 ? text_of("%.1f MB", bytes / 1e6) : text_of("%.2f GB", bytes / 1e9);
}

}  // namespace

Progress::Progress(bool shown, int64_t expected_rows)
    : shown_(shown),
      terminal_(isatty(STDERR_FILENO) == 1),
      expected_rows_(expected_rows),
      started_(std::chrono::steady_clock::now()),
      drawn_(started_) {}

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

std::string Progress::line(int64_t rows, int64_t expected_rows, int64_t bytes, double seconds) {
  std::string text;
  const double part = expected_rows > 0 ? std::min(1.0, static_cast<double>(rows) / expected_rows) : 0;
  if (expected_rows > 0) {
    const int filled = static_cast<int>(std::lround(part * kBarWidth));
    text += "[" + std::string(filled, '#') + std::string(kBarWidth - filled, '.') + "]" +
            text_of(" %3.0f %%  ", part * 100);
  }
  text += std::to_string(rows) + " rows, " + size_of(static_cast<double>(bytes));
  if (seconds > 0) text += ", " + text_of("%.0f rows/s", static_cast<double>(rows) / seconds);
  if (part > 0 && part < 1) text += ", " + text_of("%.0f s left", seconds * (1 - part) / part);
  return text;
}

void Progress::show(int64_t bytes) {
  const auto now = std::chrono::steady_clock::now();
  if (!shown_ || (!terminal_ && now - drawn_ < kLinesApart)) return;
  drawn_ = now;
  fprintf(stderr, terminal_ ? "\r%s\033[K" : "%s\n", line(rows(), expected_rows_, bytes, seconds()).c_str());
  fflush(stderr);
}

void Progress::finish(int64_t bytes) {
  if (!shown_) return;
  fprintf(stderr, "%s%s in %.2f s%s\n", terminal_ ? "\r" : "", line(rows(), rows(), bytes, seconds()).c_str(),
          seconds(), terminal_ ? "\033[K" : "");
}

}  // namespace turbine::exporting
