/*
 * pg_type.h - what a column's type is made of, down to types whose binary form we read.
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace turbine::exporting {

enum class PgKind {
  kBool,
  kInt2,
  kInt4,
  kInt8,
  kOid,
  kFloat4,
  kFloat8,
  kNumeric,
  kText,
  kJsonb,
  kBytes,
  kDate,
  kTime,
  kTimestamp,
  kTimestampTz,
  kInterval,
  kUuid,
  kEnum,
  kArray,
  kComposite,
  kOther, /* read through its text output */
};

struct PgType {
  PgKind kind = PgKind::kOther;
  uint32_t oid = 0;
  int32_t modifier = -1;
  std::vector<PgType> parts;            /* an array's element, or a composite's columns */
  std::vector<std::string> part_names;  /* of a composite */
  std::vector<std::string> enum_labels; /* in their order */

  /* Digits and scale that the modifier of a numeric gives; false if there is none. */
  bool numeric_form(int& precision, int& scale) const;
};

/* Of a type that we know by its object id; kOther: of none. */
PgKind kind_of(uint32_t oid);

/* Whether no part of it is kOther. */
bool is_readable(const PgType& type);
bool contains(const PgType& type, PgKind kind);

}  // namespace turbine::exporting
