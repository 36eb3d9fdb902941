/*
 * folder_file.h - files of the folder that a backend has opened for its writer.
 *
 * Names are looked up in the folder itself and through no symbolic link. The backend, which has the lock on
 * the table's file, renames and removes files; this never does.
 */
#pragma once

#include <arrow/io/file.h>

#include <memory>
#include <string>

#include "export/output_file.h"

namespace turbine::exporting {

/* Throws ExportError. */
std::shared_ptr<arrow::io::ReadableFile> open_in_folder(const std::string& name);

class FolderFile final : public OutputFile {
 public:
  /* A new file, readable by its owner alone until the backend decides otherwise. `old_name`: of the older one,
   * or empty. */
  FolderFile(const std::string& name, std::string old_name);

  int open_old() const override;
  const std::string& old_name() const override { return old_name_; }
  void commit(bool durable) override;

 private:
  std::string old_name_;
};

}  // namespace turbine::exporting
