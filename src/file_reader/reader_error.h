/*
 * reader_error.h - what goes wrong with a file or a value of it, as PostgreSQL reports it.
 */
#pragma once

#include <stdexcept>
#include <string>

#include <arrow/result.h>
#include <arrow/status.h>

namespace turbine::file_reader {

namespace sqlstate {
inline constexpr const char* corrupt = "XX001";
inline constexpr const char* wrong_type = "HV004";    // fdw_invalid_data_type
inline constexpr const char* out_of_range = "22003";
inline constexpr const char* time_out_of_range = "22008";
inline constexpr const char* bad_text = "22021";      // character_not_in_repertoire
inline constexpr const char* ragged_array = "2202E";  // array_subscript_error
inline constexpr const char* too_large = "54000";
inline constexpr const char* out_of_memory = "53200";
inline constexpr const char* io_error = "58030";
inline constexpr const char* unsupported = "0A000";
inline constexpr const char* no_column = "HV005";     // fdw_column_name_not_found
inline constexpr const char* protocol = "08P01";
}  // namespace sqlstate

struct ReaderError : std::runtime_error {
  ReaderError(const char* state, const std::string& message, std::string error_detail = "", std::string error_hint = "")
      : std::runtime_error(message), sqlstate(state), detail(std::move(error_detail)), hint(std::move(error_hint)) {}

  const char* sqlstate;
  std::string detail;
  std::string hint;
};

/* What libarrow says of a file: malformed, unless it was memory, the drive or a feature. It
 * calls malformed files errors of input and output, too, but then no system call failed. */
[[noreturn]] inline void raise_status(const arrow::Status& status) {
  const char* state = status.IsOutOfMemory()                  ? sqlstate::out_of_memory
                      : status.IsIOError() && status.detail() ? sqlstate::io_error
                      : status.IsNotImplemented()             ? sqlstate::unsupported
                                                              : sqlstate::corrupt;
  throw ReaderError(state, status.message());
}

inline void check(const arrow::Status& status) {
  if (!status.ok()) raise_status(status);
}

template <typename T>
T check(arrow::Result<T> result) {
  if (!result.ok()) raise_status(result.status());
  return std::move(result).ValueUnsafe();
}

}  // namespace turbine::file_reader
