/*
 * main.cc - turbine-file-writer: makes files of the rows that a backend sends.
 *
 * Started by src/pg/export/ and src/pg/fdw/. What is wrong goes back as an answer; standard error is the server's log.
 */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "export/backend/backend_source.h"
#include "export/backend/additions.h"
#include "export/export_run.h"
#include "turbine/file_writer.h"

using namespace turbine::exporting;

namespace {

void write_all(const void* from, size_t size) {
  const auto* place = static_cast<const char*>(from);
  while (size > 0) {
    const ssize_t n = write(STDOUT_FILENO, place, size);
    if (n <= 0) return;  // nobody waits for it
    place += n;
    size -= static_cast<size_t>(n);
  }
}

int answer(TbWriterResult result, const std::string& message, int64_t rows, int64_t bytes) {
  const TbWriterAnswer head{result, static_cast<uint32_t>(message.size()), rows, bytes};
  write_all(&head, sizeof head);
  write_all(message.data(), message.size());
  return result == TB_WRITER_DONE ? 0 : 1;
}

TbWriterResult result_of(ExitCode code) {
  if (code == ExitCode::kValue) return TB_WRITER_BAD_VALUE;
  return code == ExitCode::kUsage ? TB_WRITER_BAD_COLUMN : TB_WRITER_BAD_FILE;
}

void answer_request(const WriterRequest& request) {
  if (request.flags & TB_WRITER_MERGE) {
    answer(TB_WRITER_DONE, "", merge_additions(request), 0);
  } else if (request.flags & TB_WRITER_ADDITION) {
    answer(TB_WRITER_DONE, "", write_addition(STDIN_FILENO, request), 0);
  } else {
    BackendSource source(STDIN_FILENO, request);
    run_export(source, request.options);
    struct stat status{};
    (void)stat(request.options.output.c_str(), &status);
    answer(TB_WRITER_DONE, "", source.rows(), status.st_size);
  }
}

}  // namespace

int main() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file that becomes too large is an error
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // whose handler removes what is there of the file
  choose_allocator();
  try {
    for (WriterRequest request; read_request(STDIN_FILENO, request);) answer_request(request);
    return 0;
  } catch (const ExportError& error) {
    return answer(result_of(error.code()), error.what(), 0, 0);
  } catch (const std::exception& error) {
    return answer(TB_WRITER_BAD_FILE, error.what(), 0, 0);
  }
}
