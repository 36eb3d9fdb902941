/*
 * numeric_format.h - PostgreSQL's numeric values as scaled 128-bit integers,
 * and back.
 *
 * PostgreSQL does not export numeric's layout (it is on disk, hence stable); this file
 * and its .c are the only ones of src/pg that know it. src/rt/decode_numeric.cc reads the
 * same layout on devices.
 */
#ifndef TURBINE_PG_CONVERT_NUMERIC_FORMAT_H
#define TURBINE_PG_CONVERT_NUMERIC_FORMAT_H

#include "postgres.h"

#include "utils/numeric.h"

#include "turbine/types.h"

typedef __int128		  tb_int128;
typedef unsigned __int128 tb_uint128;

/* value * 10^scale. False for NaN and infinities, where digits beyond the
 * scale would be lost, or where 128 bits do not hold it. */
extern bool tb_numeric_to_int128(Numeric numeric, int scale, tb_int128 *value);

/* Whether the type (NUM64: 18 digits, or NUM128) holds it. */
extern bool tb_int128_fits(tb_int128 value, uint32 type);

/* As the first, and it fits the type. */
extern bool tb_numeric_fits(Numeric numeric, uint32 type, int scale);

/* The largest display scale that a value can carry with it: see
 * tb_numeric_with_display() in planner/expression/expression.h. */
#define TB_MOST_PACKED_DISPLAY 999

/* Digits after the point that PostgreSQL prints; -1 for NaN and infinities. */
extern int tb_numeric_display_scale(Numeric numeric);

/* value / 10^scale, printed with display_scale digits; digits beyond the
 * display scale must be zero. Allocated in the current context. */
extern Datum tb_numeric_from_int128(tb_int128 value, int scale, int display_scale);

/* Decimal digits of the value's magnitude; 0 for 0. */
extern int tb_int128_digits(tb_int128 value);

#endif
