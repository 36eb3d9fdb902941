/*
 * folder_file.cc - see folder_file.h.
 *
 * Owns nothing: descriptors are their streams'. Must never take more than a name from the backend.
 */
#include "export/backend/folder_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "export/export_error.h"
#include "turbine/file_writer.h"

namespace turbine::exporting {
namespace {

int open_there(const std::string& name, int flags) {
  /* More than one name would lead elsewhere. */
  if (name.empty() || name.find('/') != std::string::npos) {
    throw ExportError(ExitCode::kFile, "\"" + name + "\" is no name of a file");
  }
  const int file = openat(TB_WRITER_FOLDER, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) throw ExportError(ExitCode::kFile, "cannot open \"" + name + "\": " + strerror(errno));
  return file;
}

}  // namespace

std::shared_ptr<arrow::io::ReadableFile> open_in_folder(const std::string& name) {
  return value_of(arrow::io::ReadableFile::Open(open_there(name, O_RDONLY)));
}

FolderFile::FolderFile(const std::string& name, std::string old_name) : old_name_(std::move(old_name)) {
  stream_ = value_of(arrow::io::FileOutputStream::Open(open_there(name, O_WRONLY | O_CREAT | O_EXCL)));
}

int FolderFile::open_old() const { return open_there(old_name_, O_RDONLY); }

void FolderFile::commit(bool durable) {
  step();
  if (durable && fsync(stream_->file_descriptor()) != 0) {
    throw ExportError(ExitCode::kFile, std::string("cannot flush the new file: ") + strerror(errno));
  }
  check(stream_->Close());
}

}  // namespace turbine::exporting
