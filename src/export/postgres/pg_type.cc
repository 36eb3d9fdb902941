/*
 * pg_type.cc - the types that we know.
 *
 * Object ids below 10,000 are fixed in every PostgreSQL, so these types are known by theirs.
 */
#include "export/postgres/pg_type.h"

#include <algorithm>
#include <map>

namespace turbine::exporting {
namespace {

const std::map<uint32_t, PgKind>& known_kinds() {
  static const std::map<uint32_t, PgKind> kinds = {
      {16, PgKind::kBool},          {17, PgKind::kBytes},      {19, PgKind::kText},      {20, PgKind::kInt8},
      {21, PgKind::kInt2},          {23, PgKind::kInt4},       {25, PgKind::kText},      {26, PgKind::kOid},
      {114, PgKind::kText},         {700, PgKind::kFloat4},    {701, PgKind::kFloat8},   {1042, PgKind::kText},
      {1043, PgKind::kText},        {1082, PgKind::kDate},     {1083, PgKind::kTime},    {1114, PgKind::kTimestamp},
      {1184, PgKind::kTimestampTz}, {1186, PgKind::kInterval}, {1700, PgKind::kNumeric}, {2950, PgKind::kUuid},
      {3802, PgKind::kJsonb},
  };
  return kinds;
}

}  // namespace

PgKind kind_of(uint32_t oid) {
  const auto found = known_kinds().find(oid);
  return found == known_kinds().end() ? PgKind::kOther : found->second;
}

bool PgType::numeric_form(int& precision, int& scale) const {
  constexpr int32_t kHeader = 4; /* VARHDRSZ, which every numeric modifier has added */
  if (kind != PgKind::kNumeric || modifier < kHeader) return false;
  precision = ((modifier - kHeader) >> 16) & 0xffff;
  scale = (((modifier - kHeader) & 0x7ff) ^ 1024) - 1024;
  /* Arrow's and Parquet's scales lie between 0 and the precision. */
  if (scale < 0) {
    precision -= scale;
    scale = 0;
  }
  precision = std::max(precision, scale);
  return true;
}

bool is_readable(const PgType& type) {
  return type.kind != PgKind::kOther && std::all_of(type.parts.begin(), type.parts.end(), is_readable);
}

bool contains(const PgType& type, PgKind kind) {
  return type.kind == kind ||
         std::any_of(type.parts.begin(), type.parts.end(), [&](const PgType& part) { return contains(part, kind); });
}

}  // namespace turbine::exporting
