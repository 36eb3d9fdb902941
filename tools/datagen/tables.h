/*
 * tables.h - the tables that turbine-datagen can write.
 *
 * Each writer writes rows [first, first + count) of its table; the unit of
 * lineorder is an order (1 to 7 lines). Column order is that of the CREATE
 * TABLE statements in tools/workload.py.
 */
#pragma once

#include <cstdint>

#include "copy_writer.h"

namespace turbine::datagen {

struct Scale {
  double factor;   // scale factor of the Star Schema Benchmark and of the web log
  uint64_t seed;
  uint64_t points;  // rows of t

  /* The benchmark's published cardinalities; below 1 they shrink in proportion. */
  int64_t customers() const;
  int64_t suppliers() const;
  int64_t parts() const;
  int64_t orders() const;
  static constexpr int64_t kDates = 2556;
};

struct TableWriter {
  const char* name;
  int64_t (*units)(const Scale&);
  void (*write)(const Scale&, int64_t first, int64_t count, CopyWriter&);
};

/* points.cc: t(id, x, y, z, memo) */
int64_t point_units(const Scale&);
void write_points(const Scale&, int64_t first, int64_t count, CopyWriter&);

/* ssb.cc, ssb_dimensions.cc */
void write_lineorder(const Scale&, int64_t first, int64_t count, CopyWriter&);
void write_customer(const Scale&, int64_t first, int64_t count, CopyWriter&);
void write_supplier(const Scale&, int64_t first, int64_t count, CopyWriter&);
void write_part(const Scale&, int64_t first, int64_t count, CopyWriter&);
void write_date(const Scale&, int64_t first, int64_t count, CopyWriter&);

/* web_log.cc: page_views, with 1,000,000 rows a scale factor */
int64_t page_view_units(const Scale&);
void write_page_views(const Scale&, int64_t first, int64_t count, CopyWriter&);

/* yyyymmdd of the day `n` days after 1992-01-01. */
int32_t date_key(int32_t n);
/* Price of a part in cents, as TPC-H defines it. */
int64_t retail_price(int64_t partkey);

}  // namespace turbine::datagen
