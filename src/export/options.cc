/*
 * options.cc - reads the command line, and says what there is (--help).
 *
 * What options mean together is checked here; what they mean to a server, is not.
 */
#include "export/options.h"

#include <getopt.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "export/export_error.h"

namespace turbine::exporting {
namespace {

/* Options without a letter. */
enum Long {
  kAppend = 256,
  kStat,
  kParquet,
  kCompression,
  kDictionary,
  kNumeric,
  kEnum,
  kInvalid,
  kSet,
  kDump,
  kProgress,
  kHelp
};

constexpr option kLongOptions[] = {
    {"dbname", required_argument, nullptr, 'd'},
    {"host", required_argument, nullptr, 'h'},
    {"port", required_argument, nullptr, 'p'},
    {"username", required_argument, nullptr, 'U'},
    {"user", required_argument, nullptr, 'u'},
    {"no-password", no_argument, nullptr, 'w'},
    {"password", no_argument, nullptr, 'W'},
    {"command", required_argument, nullptr, 'c'},
    {"table", required_argument, nullptr, 't'},
    {"output", required_argument, nullptr, 'o'},
    {"segment-size", required_argument, nullptr, 's'},
    {"num-workers", required_argument, nullptr, 'n'},
    {"append", required_argument, nullptr, kAppend},
    {"stat", optional_argument, nullptr, kStat},
    {"parquet", no_argument, nullptr, kParquet},
    {"compression", required_argument, nullptr, kCompression},
    {"dictionary", required_argument, nullptr, kDictionary},
    {"numeric", required_argument, nullptr, kNumeric},
    {"enum", required_argument, nullptr, kEnum},
    {"invalid", required_argument, nullptr, kInvalid},
    {"set", required_argument, nullptr, kSet},
    {"dump", required_argument, nullptr, kDump},
    {"progress", no_argument, nullptr, kProgress},
    {"help", no_argument, nullptr, kHelp},
    {nullptr, 0, nullptr, 0},
};

constexpr char kHelpText[] =
    "%s exports a table or a query's result of %s to an Arrow IPC or Parquet file.\n"
    "\n"
    "  %s [CONNECTION] {-t TABLE | -c QUERY} [-o FILE | --append FILE] [OPTIONS] %s\n"
    "  %s --dump FILE\n"
    "\n"
    "Connection:\n"
    "  -d, --dbname=NAME        database\n"
    "  -h, --host=HOST          %s\n"
    "  -p, --port=PORT          port\n"
    "  -u, -U, --username=NAME  user\n"
    "  -w, --no-password        never ask for a password\n"
    "  -W, --password           ask for a password first\n"
    "      --set=NAME:VALUE     SET NAME to VALUE before the query; may be repeated\n"
    "Rows:\n"
    "  -t, --table=TABLE        export a table\n"
    "  -c, --command=QUERY      export what a query returns\n"
    "  -n, --num-workers=N      read a table through N connections with one snapshot (default 1)\n"
    "File:\n"
    "  -o, --output=FILE        write a new file; without it a temporary one, whose name is printed\n"
    "      --append=FILE        append record batches to an Arrow IPC file of the same columns\n"
    "  -s, --segment-size=SIZE  size of a record batch, with k, m or g (default 256m)\n"
    "      --stat[=COLUMNS]     store least and greatest values of each record batch\n"
    "      --parquet            write Parquet instead of Arrow IPC\n"
    "      --compression=KIND   zstd, snappy (Parquet only), lz4 or none (default: zstd for Parquet, else none)\n"
    "      --dictionary=on|off  dictionary encoding of Parquet columns (default on)\n"
    "Values:\n"
    "      --numeric=text|float8     numeric without a precision (default text)\n"
    "      --enum=dictionary|text    enumerations (default dictionary)\n"
    "      --invalid=error|null      values that the file's type cannot hold\n"
    "Other:\n"
    "      --dump=FILE          describe a file: schema, record batches, statistics\n"
    "      --progress           show a progress bar\n"
    "      --help               this text\n"
    "\n"
    "Exit status: 0 done, 1 wrong options, 2 no connection, 3 the server refused, 4 a value that cannot be held,\n"
    "5 a file that cannot be read or written.\n";

[[noreturn]] void refuse(const std::string& message) { throw ExportError(ExitCode::kUsage, message); }

/* A number with an optional k, m or g, with b or without. */
int64_t read_size(const std::string& text) {
  char* end = nullptr;
  const long long number = strtoll(text.c_str(), &end, 10);
  std::string unit = end;
  for (char& c : unit) c = static_cast<char>(tolower(c));
  if (unit.size() == 2 && unit[1] == 'b') unit.pop_back();
  const int shift = unit == "" || unit == "b" ? 0 : unit == "k" ? 10 : unit == "m" ? 20 : unit == "g" ? 30 : -1;
  if (end == text.c_str() || shift < 0 || number <= 0 || number > (1 << 30) || (number << shift) > (1 << 30)) {
    refuse("-s takes a size of up to 1g, not \"" + text + "\"");
  }
  return number << shift;
}

/* The place of `text` among the choices; refuses others. */
int choice_of(const std::string& name, const std::string& text, const std::vector<std::string>& choices) {
  std::string all;
  for (size_t i = 0; i < choices.size(); i++) {
    if (text == choices[i]) return static_cast<int>(i);
    all += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + choices[i];
  }
  refuse("--" + name + " takes " + all + ", not \"" + text + "\"");
}

std::set<std::string> read_names(const std::string& list) {
  std::set<std::string> names;
  size_t start = 0;
  for (size_t comma; (comma = list.find(',', start)) != std::string::npos; start = comma + 1) {
    names.insert(list.substr(start, comma - start));
  }
  names.insert(list.substr(start));
  return names;
}

void read_connection_option(Options& options, int letter, const std::string& value) {
  switch (letter) {
    case 'd': options.database = value; break;
    case 'h': options.host = value; break;
    case 'p': options.port = value; break;
    case 'u':
    case 'U': options.user = value; break;
    case 'w': options.password = Password::kNever; break;
    case 'W': options.password = Password::kAsk; break;
    case kSet: {
      const size_t colon = value.find_first_of(":=");
      if (colon == std::string::npos || colon == 0) refuse("--set takes NAME:VALUE, not \"" + value + "\"");
      options.settings.emplace_back(value.substr(0, colon), value.substr(colon + 1));
      break;
    }
  }
}

void read_file_option(Options& options, int letter, const std::string& value, bool& compression_given) {
  switch (letter) {
    case kAppend:
    case 'o':
      if (!options.output.empty()) refuse("give one of -o and --append, once");
      options.output = value;
      options.append = letter == kAppend;
      break;
    case 's': options.segment_bytes = read_size(value); break;
    case kStat:
      options.statistics = true;
      if (!value.empty()) options.statistics_columns.merge(read_names(value));
      break;
    case kParquet: options.parquet = true; break;
    case kCompression: {
      constexpr arrow::Compression::type kKinds[] = {arrow::Compression::ZSTD, arrow::Compression::SNAPPY,
                                                     arrow::Compression::LZ4, arrow::Compression::UNCOMPRESSED};
      options.compression = kKinds[choice_of("compression", value, {"zstd", "snappy", "lz4", "none"})];
      compression_given = true;
      break;
    }
    case kDictionary: options.dictionary = choice_of("dictionary", value, {"on", "off"}) == 0; break;
  }
}

void read_other_option(Options& options, int letter, const std::string& value) {
  switch (letter) {
    case 'c': options.command = value; break;
    case 't': options.table = value; break;
    case 'n': {
      char* end = nullptr;
      const long workers = strtol(value.c_str(), &end, 10);
      if (*end != 0 || workers < 1 || workers > 256) refuse("-n takes a number from 1 to 256, not \"" + value + "\"");
      options.workers = static_cast<int>(workers);
      break;
    }
    case kNumeric:
      options.numeric = choice_of("numeric", value, {"text", "float8"}) == 0 ? NumericAs::kText : NumericAs::kFloat8;
      break;
    case kEnum:
      options.enums = choice_of("enum", value, {"dictionary", "text"}) == 0 ? EnumAs::kDictionary : EnumAs::kText;
      break;
    case kInvalid:
      options.invalid = choice_of("invalid", value, {"error", "null"}) == 0 ? InvalidValue::kError
                                                                            : InvalidValue::kNull;
      options.invalid_is_given = true;
      break;
    case kDump: options.dump = value; break;
    case kProgress: options.progress = true; break;
  }
}

/* What stands without an option: the database and then the user, of those that no option has named. */
void read_arguments(Options& options, const Program& program, int argc, char** argv) {
  std::vector<std::string*> places = {&options.database, &options.user};
  places.resize(static_cast<size_t>(program.most_arguments));
  std::erase_if(places, [](const std::string* place) { return !place->empty(); });
  for (size_t i = 0; optind < argc; optind++, i++) {
    if (i >= places.size()) refuse("\"" + std::string(argv[optind]) + "\" is no option; --help lists those there are");
    *places[i] = argv[optind];
  }
}

void check_together(Options& options, bool compression_given) {
  if (!options.dump.empty()) return;
  if (options.command.empty() == options.table.empty()) refuse("give one of -t TABLE and -c QUERY");
  if (options.workers > 1 && options.table.empty()) refuse("-n divides a table: it needs -t");
  if (options.parquet && options.append) refuse("--append is for Arrow IPC files, not for Parquet");
  if (!options.parquet && options.compression == arrow::Compression::SNAPPY) {
    refuse("--compression=snappy needs --parquet");
  }
  if (options.parquet && !compression_given) options.compression = arrow::Compression::ZSTD;
  if (!options.parquet && options.compression == arrow::Compression::LZ4) {
    options.compression = arrow::Compression::LZ4_FRAME;
  }
}

}  // namespace

Options read_options(const Program& program, int argc, char** argv) {
  Options options;
  bool compression_given = false;
  opterr = 0;
  int letter;
  while ((letter = getopt_long(argc, argv, ":d:h:p:u:U:wWc:t:o:s:n:", kLongOptions, nullptr)) >= 0) {
    const std::string value = optarg == nullptr ? "" : optarg;
    switch (letter) {
      case kHelp:
        printf(kHelpText, program.name, program.server, program.name, program.arguments, program.name,
               program.host_help);
        exit(0);
      case ':': refuse(std::string(argv[optind - 1]) + " needs a value");
      case '?': refuse("unknown option " + std::string(argv[optind - 1]) + "; --help lists those there are");
      default:
        read_connection_option(options, letter, value);
        read_file_option(options, letter, value, compression_given);
        read_other_option(options, letter, value);
    }
  }
  read_arguments(options, program, argc, argv);
  options.temporary_name = program.name;
  check_together(options, compression_given);
  return options;
}

std::string ask_password(const std::string& user) {
  FILE* terminal = fopen("/dev/tty", "r+");
  if (terminal == nullptr) throw ExportError(ExitCode::kConnection, "a password is needed, and there is no terminal");
  fprintf(terminal, "Password%s%s: ", user.empty() ? "" : " for ", user.c_str());
  fflush(terminal);
  termios before{};
  tcgetattr(fileno(terminal), &before);
  termios silent = before;
  silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  tcsetattr(fileno(terminal), TCSAFLUSH, &silent);
  char line[1024] = "";
  const bool read = fgets(line, sizeof line, terminal) != nullptr;
  tcsetattr(fileno(terminal), TCSAFLUSH, &before);
  fputc('\n', terminal);
  fclose(terminal);
  if (!read) throw ExportError(ExitCode::kConnection, "no password was given");
  std::string password = line;
  if (password.ends_with('\n')) password.pop_back();
  return password;
}

}  // namespace turbine::exporting
