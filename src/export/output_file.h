/*
 * output_file.h - a file that is there in whole or not at all.
 *
 * It is written under a temporary name beside its own and renamed when it is complete.
 * On errors, SIGINT, SIGTERM and SIGHUP the temporary file is removed.
 */
#pragma once

#include <arrow/io/file.h>

#include <memory>
#include <string>

namespace turbine::exporting {

class OutputFile {
 public:
  /* Throws ExportError, as all functions here do. */
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::shared_ptr<arrow::io::FileOutputStream>& stream() const { return stream_; }
  /* Begins the file with the first `bytes` bytes of the file at its path; shares blocks where
   * the file system can. */
  void start_with_copy(int64_t bytes);
  /* Closes and renames it. `durable`: it is on disk before it replaces an older file. */
  void commit(bool durable);

 private:
  std::string path_, temporary_;
  std::shared_ptr<arrow::io::FileOutputStream> stream_;
};

}  // namespace turbine::exporting
