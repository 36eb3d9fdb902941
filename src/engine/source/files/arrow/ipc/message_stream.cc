/*
 * message_stream.cc - see message_stream.h.
 *
 * Owns a place in the messages. Called by libarrow's reader of streams.
 */
#include "engine/source/files/arrow/ipc/message_stream.h"

#include <algorithm>

#include <arrow/buffer.h>

#include "engine/source/files/arrow/arrow_file.h"

namespace turbine {

arrow::Result<int64_t> MessageStream::Read(int64_t count, void* to) {
  int64_t all = 0;
  while (all < count && message_ < messages_.size()) {
    const IpcMessage& message = messages_[message_];
    const int64_t wanted = std::min(count - all, message.bytes - at_);
    ARROW_ASSIGN_OR_RAISE(const int64_t got,
                          file_.ReadAt(message.offset + at_, wanted, static_cast<uint8_t*>(to) + all));
    if (got != wanted) return arrow::Status::IOError("the file ends before its messages");
    all += got;
    at_ += got;
    if (at_ == message.bytes) {
      message_++;
      at_ = 0;
    }
  }
  told_ += all;
  return all;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> MessageStream::Read(int64_t count) {
  ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(count, file_memory()));
  ARROW_ASSIGN_OR_RAISE(const int64_t got, Read(count, buffer->mutable_data()));
  ARROW_RETURN_NOT_OK(buffer->Resize(got));
  return std::shared_ptr<arrow::Buffer>(std::move(buffer));
}

}  // namespace turbine
