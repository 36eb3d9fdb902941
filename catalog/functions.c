/*
 * functions.c - the rows of functions.def as the table of functions.h.
 *
 * Owns nothing else: functions.def is the only place where a function is described. Read by
 * the backend, the compiler and the engine alike, so it must include no header of theirs.
 */
#include "turbine/functions.h"

#define INVALID TB_TYPE_INVALID
#define BOOL TB_TYPE_BOOL
#define INT2 TB_TYPE_INT2
#define INT4 TB_TYPE_INT4
#define INT8 TB_TYPE_INT8
#define FLOAT4 TB_TYPE_FLOAT4
#define FLOAT8 TB_TYPE_FLOAT8
#define DATE TB_TYPE_DATE
#define TIMESTAMP TB_TYPE_TIMESTAMP
#define TIMESTAMPTZ TB_TYPE_TIMESTAMPTZ
#define NUM64 TB_TYPE_NUM64
#define NUM128 TB_TYPE_NUM128
#define TEXT TB_TYPE_TEXT
#define BPCHAR TB_TYPE_BPCHAR
#define GEOMETRY TB_TYPE_GEOMETRY

#define RAISES TB_FN_RAISES
#define SCALED TB_FN_SCALED
#define INEXACT TB_FN_INEXACT
#define BUILDS TB_FN_BUILDS
#define NULLS TB_FN_NULLS

#define COUNT_ARGS_(a, b, c, d, e, n, ...) n
#define COUNT_ARGS(...) COUNT_ARGS_(__VA_ARGS__, 5, 4, 3, 2, 1, 0)
#define LIST(...) {__VA_ARGS__}

const TbFunction tb_functions[] = {
#define TB_FUNCTION(id, symbol, result, args, flags, cost, variant, pg_oid, signature) \
	{#id, #symbol, result, COUNT_ARGS args, LIST args, flags, 0, cost, variant, signature},
#include "functions.def"
#undef TB_FUNCTION
};
