/*
 * main.cc - mysql2arrow: exports tables and queries of MySQL and MariaDB to Arrow IPC and
 * Parquet files.
 *
 * Errors go to standard error, their kind to the exit status (export_error.h).
 */
#include <mysql.h>

#include <cstdio>

#include "export/dump.h"
#include "export/export_error.h"
#include "export/export_run.h"
#include "export/mysql/mysql_source.h"
#include "export/options.h"

using namespace turbine::exporting;

int main(int argc, char** argv) {
  choose_allocator();
  try {
    const Options options = read_options(
        {"mysql2arrow", "MySQL or MariaDB", "host, or path of the unix socket", "[DATABASE]", 1}, argc, argv);
    /* Before there are threads; each thread's own part comes with its first call. */
    mysql_library_init(0, nullptr, nullptr);
    if (!options.dump.empty()) {
      dump_file(options.dump);
    } else {
      MysqlSource source(options);
      run_export(source, options);
    }
    return 0;
  } catch (const ExportError& error) {
    fprintf(stderr, "mysql2arrow: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    fprintf(stderr, "mysql2arrow: %s\n", error.what());
    return static_cast<int>(ExitCode::kFile);
  }
}
