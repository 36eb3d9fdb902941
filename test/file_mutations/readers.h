/*
 * readers.h - the two readers of files that the product has, run over one file.
 *
 * Both are asked for columns as a foreign table over the sound file would have declared them. What a spoilt file's
 * value means nobody knows; but a reader either throws an error of its own or gives as many rows as it says, every
 * byte of which can be read.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace turbine::file_mutations {

/* What became of one file in one reader. */
struct Outcome {
  bool is_error = false;
  std::string message;  // of the error
  uint64_t rows = 0;
  uint64_t digest = 0;  // of all values
};

/* Is made from a sound file, whose columns it declares. */
class FileUser {
 public:
  virtual ~FileUser() = default;
  /* `choice`: random bits, which choose columns, and lengths of runs. Throws std::logic_error if the reader breaks its
   * word; every error of the reader's own is an Outcome. */
  virtual Outcome use(int fd, uint64_t choice) = 0;
};

/* turbined's: open_table_file.h. */
std::unique_ptr<FileUser> make_engine_user(const std::string& content);
/* turbine-file-reader's, which the backend starts: answer.h. */
std::unique_ptr<FileUser> make_file_reader_user(const std::string& content);

}  // namespace turbine::file_mutations
