/*
 * main.cc - pg2arrow: exports tables and queries of PostgreSQL to Arrow IPC and Parquet files.
 *
 * Errors go to standard error, their kind to the exit status (export_error.h).
 */
#include <cstdio>
#include <cstdlib>

#include "export/dump.h"
#include "export/export_error.h"
#include "export/export_run.h"
#include "export/options.h"
#include "export/postgres/postgres_source.h"

using namespace turbine::exporting;

int main(int argc, char** argv) {
  choose_allocator();
  try {
    const Options options = read_options(
        {"pg2arrow", "PostgreSQL", "host, or folder of the unix socket", "[DATABASE [USER]]", 2}, argc, argv);
    if (!options.dump.empty()) {
      dump_file(options.dump);
    } else {
      PostgresSource source(options);
      run_export(source, options);
    }
    return 0;
  } catch (const ExportError& error) {
    fprintf(stderr, "pg2arrow: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    fprintf(stderr, "pg2arrow: %s\n", error.what());
    return static_cast<int>(ExitCode::kFile);
  }
}
