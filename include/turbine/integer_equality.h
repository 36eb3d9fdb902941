/*
 * integer_equality.h - which device functions say that two values are the same integer: of
 * numbers without a fraction or of one scale, of dates and of times.
 */
#ifndef TURBINE_INTEGER_EQUALITY_H
#define TURBINE_INTEGER_EQUALITY_H

#include <stdbool.h>

#include "functions.h"

/* Their values are stored as integers of at most 64 bits, of either width. */
static inline bool
tb_function_equals_integers(uint32_t function)
{
	switch (function)
	{
		case TB_FN_INT2EQ:
		case TB_FN_INT4EQ:
		case TB_FN_INT8EQ:
		case TB_FN_INT24EQ:
		case TB_FN_INT42EQ:
		case TB_FN_INT28EQ:
		case TB_FN_INT82EQ:
		case TB_FN_INT48EQ:
		case TB_FN_INT84EQ:
		case TB_FN_NUM64EQ:
		case TB_FN_DATE_EQ:
		case TB_FN_TIMESTAMP_EQ:
		case TB_FN_TIMESTAMPTZ_EQ:
			return true;
		default:
			return false;
	}
}

#endif
