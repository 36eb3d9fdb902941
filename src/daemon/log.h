/*
 * log.h - the daemon's log: lines on stderr, which the supervisor leaves to be
 * PostgreSQL's log. Thread-safe; never throws.
 */
#pragma once

namespace turbine {

enum class LogLevel { kError = 0, kInfo = 1, kDebug = 2 };

void set_log_level(LogLevel level);

void log_message(LogLevel level, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace turbine
