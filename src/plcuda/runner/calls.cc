/*
 * calls.cc - see calls.h; include/turbine/plcuda.h has what is said.
 *
 * Owns loaded libraries, which stay for the process's life, and copies of tables. The backend is trusted; the
 * library is not: it may write to any memory here, so the backend checks all that it gets.
 */
#include "plcuda/runner/calls.h"

#include <dlfcn.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "plcuda/runner/kept_tables.h"
#include "turbine/plcuda.h"

namespace turbine {
namespace {

constexpr int kIdleMs = 60'000;

[[noreturn]] void end_with_backend() { _exit(0); }

void receive(void* to, size_t size) {
  auto* place = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t n = recv(TB_PLCUDA_SOCKET, place, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) end_with_backend();
    place += n;
    size -= n;
  }
}

void send_all(const void* from, size_t size) {
  const auto* place = static_cast<const char*>(from);
  while (size > 0) {
    const ssize_t n = send(TB_PLCUDA_SOCKET, place, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) end_with_backend();
    place += n;
    size -= n;
  }
}

/* Frames on their way: many small rows go together. */
struct Outcome {
  std::string bytes;
  bool has_failed = false;
  bool is_lost = false;

  void append(uint32_t kind, const void* first, size_t first_length, const void* second, size_t second_length) {
    const TbPlcudaFrame frame{kind, static_cast<uint32_t>(first_length + second_length)};
    bytes.append(reinterpret_cast<const char*>(&frame), sizeof frame);
    bytes.append(static_cast<const char*>(first), first_length);
    bytes.append(static_cast<const char*>(second), second_length);
    if (bytes.size() >= (64 << 10)) flush();
  }
  void flush() {
    send_all(bytes.data(), bytes.size());
    bytes.clear();
  }
};

void write_row(void* context, const void* bytes, size_t length) {
  static_cast<Outcome*>(context)->append(TB_PLCUDA_ROW, bytes, length, "", 0);
}

void write_failure(void* context, uint32_t failure, const char* message) {
  auto& outcome = *static_cast<Outcome*>(context);
  if (outcome.has_failed) return;
  outcome.has_failed = true;
  outcome.is_lost = failure == TB_PLCUDA_IS_LOST;
  outcome.append(TB_PLCUDA_FAILED, &failure, sizeof failure, message, strlen(message));
}

struct Library {
  TbPlcudaAllocate allocate = nullptr;
  TbPlcudaFunction function = nullptr;
  std::string error;
};

const Library& library_of(const std::string& path) {
  static std::map<std::string, Library> libraries;
  Library& library = libraries[path];
  if (library.function != nullptr) return library;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) {
    library.allocate = reinterpret_cast<TbPlcudaAllocate>(dlsym(handle, TB_PLCUDA_ALLOCATE));
    library.function = reinterpret_cast<TbPlcudaFunction>(dlsym(handle, TB_PLCUDA_FUNCTION));
  }
  if (library.allocate == nullptr || library.function == nullptr) {
    const char* error = dlerror();
    library.error = error != nullptr ? error : "it is no library of a function";
    library.function = nullptr;
  }
  return library;
}

/* Reads arguments that nobody can take. */
void discard(uint64_t bytes) {
  char buffer[65536];
  while (bytes > 0) {
    const size_t now = std::min<uint64_t>(bytes, sizeof buffer);
    receive(buffer, now);
    bytes -= now;
  }
}

KeptTables& tables() {
  static KeptTables kept;
  return kept;
}

/* Any thread of a function may be short of memory. */
int release_tables(void*) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  return tables().release();
}

/* Opens the tables among the arguments and calls. Failures before the call are written here. */
void run(const TbPlcudaRequest& request, const Library& library, char* arguments, Outcome& outcome) {
  const auto* args = reinterpret_cast<const TbPlcudaArgument*>(arguments);
  std::vector<void*> stores(request.nargs, nullptr);
  try {
    for (uint32_t i = 0; i < request.nargs; i++)
      if (args[i].kind == TB_PLCUDA_STORE && args[i].isnull == 0)
        stores[i] = tables().open(arguments + args[i].offset, args[i].length).mapping();
  } catch (const NoCopyError& error) {
    return write_failure(&outcome, TB_PLCUDA_NO_COPY, error.what());
  } catch (const TableMemoryError& error) {
    return write_failure(&outcome, TB_PLCUDA_NO_MEMORY, error.what());
  } catch (const TableError& error) {
    return write_failure(&outcome, TB_PLCUDA_RAISED, error.what());
  } catch (const std::bad_alloc&) {
    return write_failure(&outcome, TB_PLCUDA_NO_MEMORY, "there is no memory for a table's columns");
  }
  const TbPlcudaCall call{args, request.nargs, stores.data(), &outcome, write_row, write_failure, release_tables};
  library.function(&call);
}

}  // namespace

int serve_calls() {
  for (;;) {
    pollfd waiting{TB_PLCUDA_SOCKET, POLLIN, 0};
    const int ready = poll(&waiting, 1, kIdleMs);
    if (ready == 0) return TB_PLCUDA_EXIT_IDLE;
    if (ready < 0) continue;
    TbPlcudaRequest request;
    receive(&request, sizeof request);
    if (request.magic != TB_PLCUDA_MAGIC) return 1;
    if (request.drop != 0) {
      tables().drop(request.drop);
      continue;
    }
    std::string path(request.path_length, '\0');
    receive(path.data(), path.size());
    const Library& library = library_of(path);
    Outcome outcome;
    char* arguments = library.function != nullptr
                          ? static_cast<char*>(library.allocate(std::max<uint64_t>(request.bytes, 1)))
                          : nullptr;
    if (arguments != nullptr) {
      receive(arguments, request.bytes);
      run(request, library, arguments, outcome);
      tables().end_call();
    } else {
      discard(request.bytes);
      if (library.function == nullptr)
        write_failure(&outcome, TB_PLCUDA_NO_LIBRARY, library.error.c_str());
      else
        write_failure(&outcome, TB_PLCUDA_NO_MEMORY, "there is no memory for the arguments");
    }
    if (!outcome.has_failed) outcome.append(TB_PLCUDA_DONE, "", 0, "", 0);
    outcome.flush();
    if (outcome.is_lost) return 0;
  }
}

}  // namespace turbine
