/*
 * message_stream.h - some messages of an Arrow stream, as a stream of their own.
 *
 * libarrow reads a stream from its begin to its end. To read one batch of it, it gets the schema, the dictionaries up
 * to the batch, and the batch.
 */
#pragma once

#include <memory>
#include <vector>

#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include "engine/source/files/arrow/ipc/batch_layout.h"

namespace turbine {

/* Borrows the file. */
class MessageStream final : public arrow::io::InputStream {
 public:
  MessageStream(arrow::io::RandomAccessFile& file, std::vector<IpcMessage> messages)
      : file_(file), messages_(std::move(messages)) {}

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return told_; }
  arrow::Result<int64_t> Read(int64_t count, void* to) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t count) override;

 private:
  arrow::io::RandomAccessFile& file_;
  const std::vector<IpcMessage> messages_;
  size_t message_ = 0;
  int64_t at_ = 0;  // within it
  int64_t told_ = 0;
  bool closed_ = false;
};

}  // namespace turbine
