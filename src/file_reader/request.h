/*
 * request.h - requests that the backend sends, with the file that each is about.
 */
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "turbine/file_reader.h"

namespace turbine::file_reader {

/* What PostgreSQL expects of a column. */
struct Target {
  TbReaderTarget kind;
  std::vector<Target> parts;       // the element of an array, the fields of a composite
  std::vector<std::string> names;  // of the fields
};

struct WantedColumn {
  std::string name;
  Target target;
};

struct Bound {
  uint32_t column;  // of the wanted ones
  TbReaderCompare compare;
  std::vector<std::string> values;
};

struct Request {
  TbReaderRequest kind;
  int file;  // a descriptor, the receiver's to close
  std::string name;
  std::vector<WantedColumn> columns;
  std::vector<Bound> bounds;
};

/* Waits for the next request. Nothing: the backend has closed the socket. Throws
 * ReaderError if the request is not what file_reader.h says. */
std::optional<Request> receive_request(int socket);

}  // namespace turbine::file_reader
