/*
 * main.cc - turbine-file-reader: reads Arrow and Parquet files for one backend.
 *
 *   turbine-file-reader --memory BYTES
 *
 * Serves requests on its standard input until the backend closes it (file_reader.h says
 * what both say), and dies with the backend. It exists so that nothing a file holds can
 * harm a backend: whatever happens here is an error of one query there. It owns no state
 * between requests.
 */
#include <arrow/memory_pool.h>
#include <arrow/util/utf8.h>
#include <parquet/exception.h>

#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "file_reader/answer.h"
#include "file_reader/batch_file.h"
#include "file_reader/frames.h"
#include "file_reader/reader_error.h"
#include "file_reader/request.h"

namespace turbine::file_reader {

namespace {

constexpr int kSocket = STDIN_FILENO, kPipe = STDOUT_FILENO;
/* Address space besides what is read: code, stacks, libarrow's own objects. */
constexpr rlim_t kOwnAddressSpace = 1ull << 30;

std::unique_ptr<arrow::CappedMemoryPool> pool;

void limit_memory(int64_t bytes) {
#if !defined(__SANITIZE_ADDRESS__)  // whose shadow memory takes terabytes of it
  rlimit space = {static_cast<rlim_t>(bytes) + kOwnAddressSpace, static_cast<rlim_t>(bytes) + kOwnAddressSpace};
  setrlimit(RLIMIT_AS, &space);
#endif
  rlimit core = {0, 0};
  setrlimit(RLIMIT_CORE, &core);
  pool = std::make_unique<arrow::CappedMemoryPool>(arrow::system_memory_pool(), bytes);
}

/* Of all processes this one is to go first when the machine runs out of memory. */
void offer_to_oom_killer() {
  std::FILE* file = std::fopen("/proc/self/oom_score_adj", "w");
  if (file == nullptr) return;
  std::fputs("500", file);
  std::fclose(file);
}

void answer(const Request& request) {
  const auto file = check(arrow::io::ReadableFile::Open(request.file, pool.get()));
  const auto batches = open_batch_file(file);
  if (request.kind == TB_READER_DESCRIBE)
    describe(*batches, kPipe);
  else
    scan(*batches, request, kPipe);
}

/* An error says which file it is about. */
ReaderError with_file(const ReaderError& error, const std::string& name) {
  if (!error.detail.empty() || error.sqlstate == sqlstate::no_column) return error;
  if (error.sqlstate == sqlstate::corrupt)
    return ReaderError(error.sqlstate, "file \"" + name + "\" is malformed", error.what(), error.hint);
  return ReaderError(error.sqlstate, "could not read file \"" + name + "\"", error.what(), error.hint);
}

void serve() {
  while (const auto request = receive_request(kSocket)) {
    try {
      answer(*request);
    } catch (const ReaderError& error) {
      send_error(kPipe, with_file(error, request->name));
    } catch (const std::bad_alloc&) {
      send_error(kPipe, with_file(ReaderError(sqlstate::out_of_memory, "out of memory", "",
                                              "Raise pg_turbine.file_reader_memory."),
                                  request->name));
    } catch (const parquet::ParquetStatusException& error) {
      const auto& status = error.status();
      send_error(kPipe, with_file(ReaderError(status.IsOutOfMemory() ? sqlstate::out_of_memory : sqlstate::corrupt,
                                              status.message()),
                                  request->name));
    } catch (const std::exception& error) {
      send_error(kPipe, with_file(ReaderError(sqlstate::corrupt, error.what()), request->name));
    }
    malloc_trim(0);  // an idle reader holds no memory of its last file
  }
}

}  // namespace

arrow::MemoryPool* reader_pool() { return pool.get(); }

}  // namespace turbine::file_reader

int main(int argc, char** argv) {
  using namespace turbine::file_reader;
  if (argc != 3 || std::strcmp(argv[1], "--memory") != 0) {
    std::fprintf(stderr, "usage: turbine-file-reader --memory BYTES (started by PostgreSQL backends)\n");
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  /* The backend was gone before prctl: its end of the socket is closed, which serve() sees. */
  setenv("ARROW_DEFAULT_MEMORY_POOL", "system", 1);
  offer_to_oom_killer();
  arrow::util::InitializeUTF8();
  limit_memory(std::atoll(argv[2]));
  serve();
  return 0;
}
