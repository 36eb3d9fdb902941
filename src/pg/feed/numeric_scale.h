/*
 * numeric_scale.h - a numeric as a scaled 128-bit integer, exactly.
 */
#ifndef TURBINE_PG_NUMERIC_SCALE_H
#define TURBINE_PG_NUMERIC_SCALE_H

#include "postgres.h"

/* *result = value * 10^scale, of a detoasted numeric. False if the value is
 * NaN or infinite, has digits beyond the scale, or exceeds 128 bits. */
extern bool tb_numeric_scale(const struct varlena *value, int scale,
							 __int128 *result);

#endif
