/*
 * progress.h - the bar on standard error: rows, bytes, rate and the time that is left.
 *
 * Workers count rows; one thread calls show().
 */
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace turbine::exporting {

class Progress {
 public:
  /* `expected_rows`: an estimate, 0 if unknown. Without `shown` it only counts. */
  Progress(bool shown, int64_t expected_rows);

  void add_rows(int64_t rows) { rows_.fetch_add(rows, std::memory_order_relaxed); }
  int64_t rows() const { return rows_.load(std::memory_order_relaxed); }

  /* Draws the bar again; `bytes`: what the file has so far. */
  void show(int64_t bytes);
  /* The last line, of what was done. */
  void finish(int64_t bytes);

  /* One line of the bar, without its end. */
  static std::string line(int64_t rows, int64_t expected_rows, int64_t bytes, double seconds);

 private:
  double seconds() const;

  bool shown_, terminal_;
  int64_t expected_rows_;
  std::atomic<int64_t> rows_{0};
  std::chrono::steady_clock::time_point started_, drawn_;
};

}  // namespace turbine::exporting
