/*
 * parquet_errors.h - what libparquet throws becomes the engine's errors.
 */
#pragma once

#include <string>

#include <parquet/exception.h>

#include "engine/source/files/arrow/arrow_file.h"

namespace turbine {

/* What libparquet throws is a FileError, or bad_alloc. */
template <class F>
auto translated(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const parquet::ParquetStatusException& e) {
    check_status(e.status());
    throw FileError(e.what());
  } catch (const parquet::ParquetException& e) {
    throw FileError(e.what());
  }
}

/* The same, of one column: the error names it. */
template <class F>
auto translated(const std::string& column, F&& f) -> decltype(f()) {
  try {
    return translated(f);
  } catch (const FileError& e) {
    throw FileError("column \"" + column + "\": " + e.what());
  }
}

}  // namespace turbine
