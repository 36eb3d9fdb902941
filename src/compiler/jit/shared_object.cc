/*
 * shared_object.cc - a relocatable object to a shared object, by lld inside
 * this process.
 *
 * Input and output are memfds. lld replaces output files by renaming, which a
 * descriptor can not be, but writes "-" to standard output as it stands: so
 * standard output is the memfd meanwhile. libc and libm are not named: whoever
 * loads the object has them.
 */
#include <lld/Common/CommonLinkerContext.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "compiler/jit/compile_program.h"
#include "compiler/jit/targets.h"

LLD_HAS_DRIVER(elf)

namespace turbine {

namespace {

[[noreturn]] void fail(const char* what) { throw CompileError(std::string(what) + ": " + std::strerror(errno)); }

/* An anonymous file, closed at the end of the scope. */
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {
    if (fd_ < 0) fail("memfd_create");
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int fd() const { return fd_; }

  void write(const std::vector<char>& bytes) {
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t n = ::write(fd_, bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno != EINTR) fail("write of object");
      if (n > 0) done += static_cast<size_t>(n);
    }
  }

  std::vector<char> read() const {
    const off_t size = lseek(fd_, 0, SEEK_END);
    if (size < 0) fail("size of shared object");
    std::vector<char> bytes(static_cast<size_t>(size));
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t n = pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
      if (n == 0 || (n < 0 && errno != EINTR)) fail("read of shared object");
      if (n > 0) done += static_cast<size_t>(n);
    }
    return bytes;
  }

 private:
  int fd_;
};

/* Standard output is `fd` while one of these lives. */
class StandardOutputTo {
 public:
  explicit StandardOutputTo(int fd) {
    std::fflush(stdout);
    llvm::outs().flush();
    saved_ = dup(STDOUT_FILENO);  // -1: it was closed
    if (dup2(fd, STDOUT_FILENO) < 0) fail("dup2");
  }
  ~StandardOutputTo() {
    llvm::outs().flush();
    if (saved_ < 0) {
      close(STDOUT_FILENO);
    } else {
      dup2(saved_, STDOUT_FILENO);
      close(saved_);
    }
  }
  StandardOutputTo(const StandardOutputTo&) = delete;
  StandardOutputTo& operator=(const StandardOutputTo&) = delete;

 private:
  int saved_;
};

}  // namespace

std::vector<char> link_shared_object(const std::vector<char>& object) {
  MemoryFile input("turbine-object");
  MemoryFile output("turbine-shared-object");
  input.write(object);
  const std::string path = "/proc/self/fd/" + std::to_string(input.fd());
  const char* args[] = {"ld.lld",
                        "-shared",
                        "--build-id=none",
                        "--threads=1",
                        "--gc-sections",
                        "-Bsymbolic",
                        "--hash-style=gnu",
                        "--strip-all",
                        "--no-rosegment",
                        "-z",
                        "noexecstack",
                        "-o",
                        "-",
                        path.c_str()};
  std::string words;
  llvm::raw_string_ostream messages(words);
  bool linked;
  {
    StandardOutputTo redirect(output.fd());
    linked = lld::elf::link(args, messages, messages, /*exitEarly=*/false,
                            /*disableOutput=*/false);
    lld::CommonLinkerContext::destroy();
  }
  if (!linked) throw CompileError("lld: " + words);
  return output.read();
}

}  // namespace turbine
