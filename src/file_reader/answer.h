/*
 * answer.h - answers requests, with frames up the pipe to the backend (turbine/file_reader.h). Called by
 * main.cc.
 */
#pragma once

#include "file_reader/batch_file.h"
#include "file_reader/request.h"

namespace turbine::file_reader {

/* All of an answer but an error's frame: throws ReaderError. */
void describe(BatchFile& file, int pipe);
void scan(BatchFile& file, const Request& request, int pipe);

}  // namespace turbine::file_reader
