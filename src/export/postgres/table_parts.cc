/*
 * table_parts.cc - divides a table into ranges of ctid, leaf by leaf.
 *
 * Called by postgres_source.cc in the transaction whose snapshot the workers share. Rows
 * that are added meanwhile, also in blocks beyond the last range, are not in it; still the
 * last range has no upper end, since the size is asked for after the snapshot was taken.
 */
#include "export/postgres/table_parts.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "export/export_error.h"

namespace turbine::exporting {
namespace {

/* Of 8 kB: small enough to balance workers, large enough that queries cost nothing. */
constexpr int64_t kMaxBlocks = 16384;
constexpr int64_t kMinBlocks = 64;
constexpr int64_t kPartsPerWorker = 8;

}  // namespace

NamedTable find_table(PgConnection& connection, const std::string& table) {
  const auto found = connection.run("SELECT $1::pg_catalog.regclass::pg_catalog.oid, $1::pg_catalog.regclass", {table});
  return {PQgetvalue(found.get(), 0, 0), PQgetvalue(found.get(), 0, 1)};
}

bool is_copied_by_name(PgConnection& connection, const NamedTable& table) {
  const auto found = connection.run(
      "SELECT 1 FROM pg_catalog.pg_class c WHERE c.oid = $1::pg_catalog.oid AND c.relkind = 'r' "
      "AND NOT c.relhassubclass AND NOT c.relrowsecurity AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a "
      "WHERE a.attrelid = c.oid AND a.attgenerated <> '')",
      {table.oid});
  return PQntuples(found.get()) == 1;
}

std::vector<std::string> divide_table(PgConnection& connection, const NamedTable& table, const std::string& columns,
                                      int workers) {
  const std::string select = "SELECT " + columns + " FROM ";
  if (workers == 1) return {select + table.name};
  const auto leaves = connection.run(
      "WITH RECURSIVE tree AS (SELECT $1::pg_catalog.oid AS relation UNION ALL "
      "SELECT i.inhrelid FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.relation) "
      "SELECT c.oid::pg_catalog.regclass, c.relkind, c.relrowsecurity, "
      "CASE WHEN c.relkind IN ('r', 'm') THEN pg_catalog.pg_relation_size(c.oid) ELSE 0 END "
      "/ pg_catalog.current_setting('block_size')::pg_catalog.int8 "
      "FROM (SELECT DISTINCT relation FROM tree) t JOIN pg_catalog.pg_class c ON c.oid = t.relation",
      {table.oid});
  struct Leaf {
    std::string name;
    int64_t blocks;
  };
  std::vector<Leaf> found;
  int64_t all_blocks = 0;
  for (int i = 0; i < PQntuples(leaves.get()); i++) {
    const char kind = PQgetvalue(leaves.get(), i, 1)[0];
    const bool secured = PQgetvalue(leaves.get(), i, 2)[0] == 't';
    if (secured || strchr("prm", kind) == nullptr) return {select + table.name};
    if (kind == 'p') continue;
    found.push_back({PQgetvalue(leaves.get(), i, 0), strtoll(PQgetvalue(leaves.get(), i, 3), nullptr, 10)});
    all_blocks += found.back().blocks;
  }
  const int64_t step = std::clamp(all_blocks / (workers * kPartsPerWorker), kMinBlocks, kMaxBlocks);
  std::vector<std::string> queries;
  for (const Leaf& leaf : found) {
    for (int64_t block = 0; block == 0 || block < leaf.blocks; block += step) {
      std::string query = select + "ONLY " + leaf.name + " WHERE ctid >= '(" + std::to_string(block) + ",0)'";
      if (block + step < leaf.blocks) query += " AND ctid < '(" + std::to_string(block + step) + ",0)'";
      queries.push_back(query);
    }
  }
  return queries;
}

}  // namespace turbine::exporting
