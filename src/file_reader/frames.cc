/*
 * frames.cc - writes frames: see frames.h. Nothing is buffered here, so a backend that reads
 * slowly holds the reader up, and memory stays flat.
 */
#include "file_reader/frames.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

namespace turbine::file_reader {

void send_frame(int pipe, TbReaderFrameKind kind, const ByteBuffer& payload) {
  TbReaderFrame frame = {kind, static_cast<uint32_t>(payload.size())};
  iovec parts[2] = {{&frame, sizeof(frame)}, {const_cast<uint8_t*>(payload.data()), payload.size()}};
  iovec* part = parts;
  while (part < parts + 2) {
    ssize_t written = writev(pipe, part, static_cast<int>(parts + 2 - part));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) _exit(0);
    while (part < parts + 2 && static_cast<size_t>(written) >= part->iov_len) {
      written -= static_cast<ssize_t>(part->iov_len);
      part++;
    }
    if (part < parts + 2) {
      part->iov_base = static_cast<char*>(part->iov_base) + written;
      part->iov_len -= static_cast<size_t>(written);
    }
  }
}

void send_error(int pipe, const ReaderError& error) {
  ByteBuffer payload;
  payload.bytes(error.sqlstate, 5);
  payload.text(error.what());
  payload.text(error.detail);
  payload.text(error.hint);
  send_frame(pipe, TB_FRAME_ERROR, payload);
}

}  // namespace turbine::file_reader
