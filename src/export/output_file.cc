/*
 * output_file.cc - temporary names, and the removal of their files when a signal ends the program.
 *
 * Owns the handlers of SIGINT, SIGTERM and SIGHUP, which do nothing but unlink and exit.
 * A program writes one file, so there is one name to remove.
 */
#include "export/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <filesystem>

#include "export/export_error.h"

namespace turbine::exporting {
namespace {

/* The temporary file, for the signal handler; empty if there is none. */
char to_remove[PATH_MAX];

void remove_and_exit(int signal_number) {
  if (to_remove[0] != 0) unlink(to_remove);
  _exit(128 + signal_number);
}

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  throw ExportError(ExitCode::kFile, what + " \"" + path + "\": " + strerror(errno));
}

/* Through symbolic links: the file itself is replaced, not a link to it. */
std::string resolved(const std::string& path) {
  char buffer[PATH_MAX];
  return realpath(path.c_str(), buffer) != nullptr ? buffer : path;
}

/* While the file is written, signals remove it. */
void remove_on_signals(const std::string& path) {
  if (path.size() >= sizeof to_remove) throw ExportError(ExitCode::kFile, "the name of the file is too long");
  struct sigaction action{};
  action.sa_handler = remove_and_exit;
  strcpy(to_remove, path.c_str());
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal_number, &action, nullptr);
}

}  // namespace

ReplacingFile::ReplacingFile(const std::string& path) : path_(resolved(path)) {
  struct stat found{};
  const bool exists = stat(path_.c_str(), &found) == 0;
  if (exists && !S_ISREG(found.st_mode)) throw ExportError(ExitCode::kFile, "\"" + path + "\" is not a regular file");
  const std::filesystem::path target(path_);
  temporary_ = (target.parent_path() / ("." + target.filename().string() + "." + std::to_string(getpid()))).string();
  remove_on_signals(temporary_);
  auto opened = arrow::io::FileOutputStream::Open(temporary_);
  if (!opened.ok()) {
    to_remove[0] = 0;
    throw ExportError(ExitCode::kFile, "cannot write \"" + path + "\": " + opened.status().message());
  }
  stream_ = opened.MoveValueUnsafe();
  if (exists) fchmod(stream_->file_descriptor(), found.st_mode & 07777);
}

ReplacingFile::~ReplacingFile() {
  if (temporary_.empty()) return;
  unlink(temporary_.c_str());
  to_remove[0] = 0;
}

void OutputFile::step() {
  if (steps_left_ > 0 && --steps_left_ == 0) raise(SIGSTOP);
}

void OutputFile::write(const void* data, int64_t bytes) {
  step();
  check(stream_->Write(data, bytes));
}

void OutputFile::start_with_copy(int64_t bytes) {
  step();
  const int from = open_old();
  const int to = stream_->file_descriptor();
  bool copied = ioctl(to, FICLONE, from) == 0 && ftruncate(to, bytes) == 0;
  if (!copied) {
    loff_t in = 0, out = 0;
    ssize_t n = 1;
    while (in < bytes && n > 0) n = copy_file_range(from, &in, to, &out, static_cast<size_t>(bytes - in), 0);
    copied = in == bytes;
    /* Between file systems that the kernel does not copy for: by hand. */
    char buffer[1 << 16];
    while (!copied && (n = pread(from, buffer, std::min<int64_t>(sizeof buffer, bytes - in), in)) > 0) {
      if (pwrite(to, buffer, static_cast<size_t>(n), in) != n) break;
      in += n;
      copied = in == bytes;
    }
  }
  close(from);
  if (!copied) fail("cannot copy", old_name());
  if (lseek(to, bytes, SEEK_SET) < 0) fail("cannot seek in a copy of", old_name());
}

int ReplacingFile::open_old() const {
  const int file = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail("cannot open", path_);
  return file;
}

void ReplacingFile::commit(bool durable) {
  step();
  if (durable && fsync(stream_->file_descriptor()) != 0) fail("cannot flush", temporary_);
  check(stream_->Close());
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot rename the new file to", path_);
  temporary_.clear();
  to_remove[0] = 0;
}

TemporaryFile::TemporaryFile(const std::string& name, const std::string& suffix) {
  const char* folder = getenv("TMPDIR");
  path_ = std::string(folder == nullptr || *folder == 0 ? "/tmp" : folder) + "/" + name + ".XXXXXX" + suffix;
  const int file = mkostemps(path_.data(), static_cast<int>(suffix.size()), O_CLOEXEC);
  if (file < 0) fail("cannot make a temporary file", path_);
  auto opened = arrow::io::FileOutputStream::Open(file);
  if (!opened.ok()) {
    close(file);
    unlink(path_.c_str());
    throw ExportError(ExitCode::kFile, "cannot write \"" + path_ + "\": " + opened.status().message());
  }
  stream_ = opened.MoveValueUnsafe();
  remove_on_signals(path_);
}

TemporaryFile::~TemporaryFile() {
  if (is_complete_) return;
  unlink(path_.c_str());
  to_remove[0] = 0;
}

int TemporaryFile::open_old() const { throw ExportError(ExitCode::kFile, "a temporary file begins with nothing"); }

void TemporaryFile::commit(bool durable) {
  step();
  if (durable && fsync(stream_->file_descriptor()) != 0) fail("cannot flush", path_);
  check(stream_->Close());
  is_complete_ = true;
  to_remove[0] = 0;
}

}  // namespace turbine::exporting
