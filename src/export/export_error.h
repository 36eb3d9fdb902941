/*
 * export_error.h - how an export fails: one exception, whose code becomes the exit status.
 */
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace turbine::exporting {

enum class ExitCode : int {
  kDone = 0,
  kUsage = 1,      /* options that make no sense together, or a file of another schema */
  kConnection = 2, /* no connection, or it was lost */
  kServer = 3,     /* the server refused a query */
  kValue = 4,      /* a value that the file's type cannot hold */
  kFile = 5,       /* reading or writing a file */
};

class ExportError : public std::runtime_error {
 public:
  ExportError(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/* A value that its column cannot hold; whoever knows the column's name adds it. */
class ValueError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/* Statuses of Arrow: those of files by default. */
inline void check(const arrow::Status& status, ExitCode code = ExitCode::kFile) {
  if (!status.ok()) throw ExportError(code, status.message());
}

template <typename T>
T value_of(arrow::Result<T> result, ExitCode code = ExitCode::kFile) {
  check(result.status(), code);
  return std::move(result).MoveValueUnsafe();
}

}  // namespace turbine::exporting
