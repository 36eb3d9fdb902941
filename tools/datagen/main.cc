/*
 * main.cc - turbine-datagen: writes one table, or a part of it, as COPY BINARY
 * to standard output. The same arguments always give the same bytes.
 *
 *   turbine-datagen TABLE [--rows N] [--sf F] [--seed N] [--part I/N]
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

#include "tables.h"

namespace turbine::datagen {

namespace {

const TableWriter kTables[] = {
    {"t", point_units, write_points},
    {"lineorder", [](const Scale& s) { return s.orders(); }, write_lineorder},
    {"customer", [](const Scale& s) { return s.customers(); }, write_customer},
    {"supplier", [](const Scale& s) { return s.suppliers(); }, write_supplier},
    {"part", [](const Scale& s) { return s.parts(); }, write_part},
    {"date", [](const Scale&) { return Scale::kDates; }, write_date},
    {"page_views", page_view_units, write_page_views},
};

const TableWriter* find_table(std::string_view name) {
  for (const TableWriter& table : kTables)
    if (name == table.name) return &table;
  return nullptr;
}

int usage() {
  std::fputs(
      "usage: turbine-datagen t|lineorder|customer|supplier|part|date|page_views\n"
      "                       [--rows N] [--sf F] [--seed N] [--part I/N]\n",
      stderr);
  return 2;
}

int run(int argc, char** argv) {
  Scale scale{.factor = 1.0, .seed = 1, .points = 1'000'000};
  long part = 0, parts = 1;
  const TableWriter* table = argc > 1 ? find_table(argv[1]) : nullptr;
  if (!table || argc % 2 != 0) return usage();
  for (int i = 2; i < argc; i += 2) {
    std::string_view option = argv[i];
    if (option == "--rows")
      scale.points = std::strtoull(argv[i + 1], nullptr, 10);
    else if (option == "--sf")
      scale.factor = std::strtod(argv[i + 1], nullptr);
    else if (option == "--seed")
      scale.seed = std::strtoull(argv[i + 1], nullptr, 10);
    else if (option == "--part" && std::sscanf(argv[i + 1], "%ld/%ld", &part, &parts) == 2)
      continue;
    else
      return usage();
  }
  if (parts < 1 || part < 0 || part >= parts || !(scale.factor > 0)) return usage();

  int64_t units = table->units(scale);
  int64_t first = units * part / parts, end = units * (part + 1) / parts;
  CopyWriter out(STDOUT_FILENO);
  table->write(scale, first, end - first, out);
  out.finish();
  return 0;
}

}  // namespace
}  // namespace turbine::datagen

int main(int argc, char** argv) {
  try {
    return turbine::datagen::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "turbine-datagen: %s\n", error.what());
    return 1;
  }
}
