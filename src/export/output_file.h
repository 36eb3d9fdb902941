/*
 * output_file.h - a file that is there in whole or not at all.
 *
 * A ReplacingFile is written under a temporary name beside its own and renamed when it is
 * complete. A TemporaryFile has no name of the user's choice, so nobody looks for it before
 * it is told. On errors, SIGINT, SIGTERM and SIGHUP the file that is being written is removed.
 */
#pragma once

#include <arrow/io/file.h>

#include <cstdint>
#include <memory>
#include <string>

namespace turbine::exporting {

/* A file that is being written, and the older one that it may begin with. */
class OutputFile {
 public:
  OutputFile() = default;
  virtual ~OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::shared_ptr<arrow::io::FileOutputStream>& stream() const { return stream_; }
  /* Adds to the stream. */
  void write(const void* data, int64_t bytes);
  /* Begins the file with the first `bytes` bytes of the older one; shares blocks where the file
   * system can. Throws ExportError, as all functions here do. */
  void start_with_copy(int64_t bytes);

  /* A descriptor of the older file, which is the caller's. */
  virtual int open_old() const = 0;
  /* What it is called, for messages. */
  virtual const std::string& old_name() const = 0;
  /* Closes the file, and gives it its name if it has another one. `durable`: it is on disk before that. */
  virtual void commit(bool durable) = 0;

  /* For tests: the process stops itself (SIGSTOP) before step `stop` from now on, counted from 1; 0: never. */
  void stop_before(uint32_t stop) { steps_left_ = stop; }

 protected:
  /* A step of writing begins. */
  void step();

  std::shared_ptr<arrow::io::FileOutputStream> stream_;

 private:
  uint32_t steps_left_ = 0;
};

class ReplacingFile final : public OutputFile {
 public:
  explicit ReplacingFile(const std::string& path);
  ~ReplacingFile() override;

  int open_old() const override;
  const std::string& old_name() const override { return path_; }
  void commit(bool durable) override;

 private:
  std::string path_, temporary_;
};

class TemporaryFile final : public OutputFile {
 public:
  /* In TMPDIR, or /tmp; called "NAME.XXXXXXSUFFIX". */
  TemporaryFile(const std::string& name, const std::string& suffix);
  ~TemporaryFile() override;

  int open_old() const override;
  const std::string& old_name() const override { return path_; }
  void commit(bool durable) override;

 private:
  std::string path_;
  bool is_complete_ = false;
};

}  // namespace turbine::exporting
