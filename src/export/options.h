/*
 * options.h - the command line of the export programs, which is the same for all of them.
 */
#pragma once

#include <arrow/util/type_fwd.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "export/column_decoder.h"

namespace turbine::exporting {

enum class Password { kIfNeeded, kNever, kAsk };
enum class NumericAs { kText, kFloat8 };
enum class EnumAs { kDictionary, kText };

struct Options {
  /* Connection; empty where the client library decides. */
  std::string database, host, port, user;
  Password password = Password::kIfNeeded;
  std::vector<std::pair<std::string, std::string>> settings; /* SET before the query */

  /* What to export: one of the two. */
  std::string command, table;
  int workers = 1;

  /* Where to. */
  std::string output;         /* empty: a temporary file, whose name is printed */
  std::string temporary_name; /* how it begins */
  bool append = false;
  bool parquet = false;
  bool dictionary = true;
  arrow::Compression::type compression = arrow::Compression::UNCOMPRESSED;
  int64_t segment_bytes = 256 << 20;
  bool statistics = false;
  std::set<std::string> statistics_columns; /* none: all */

  /* How values are mapped. `invalid_is_given`: the user chose it. */
  NumericAs numeric = NumericAs::kText; /* numeric without precision */
  EnumAs enums = EnumAs::kDictionary;
  InvalidValue invalid = InvalidValue::kError;
  bool invalid_is_given = false;

  std::string dump; /* a file to describe instead of an export */
  bool progress = false;
};

/* Names of a program for its help and messages. */
struct Program {
  const char* name;      /* "pg2arrow" */
  const char* server;    /* "PostgreSQL" */
  const char* host_help; /* what -h takes */
  const char* arguments; /* what may stand without an option, as its own client has it: "[DATABASE [USER]]" */
  int most_arguments;    /* how many of them: 1 or 2 */
};

/* Reads the command line. Prints and exits for --help and --version. Throws ExportError of
 * kUsage if it makes no sense. */
Options read_options(const Program& program, int argc, char** argv);

/* Asks on the terminal, without showing what is typed. */
std::string ask_password(const std::string& user);

}  // namespace turbine::exporting
