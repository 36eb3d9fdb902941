/*
 * frames.h - frames that go to the backend.
 */
#pragma once

#include "file_reader/byte_buffer.h"
#include "file_reader/reader_error.h"
#include "turbine/file_reader.h"

namespace turbine::file_reader {

/* Writes one frame, and waits until the backend takes it. Ends the process if the backend
 * is gone. */
void send_frame(int pipe, TbReaderFrameKind kind, const ByteBuffer& payload);

void send_error(int pipe, const ReaderError& error);

}  // namespace turbine::file_reader
