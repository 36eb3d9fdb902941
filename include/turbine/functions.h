/*
 * functions.h - the catalogue of device functions as a C table.
 * The rows, and what their fields mean, are in catalog/functions.def.
 */
#ifndef TURBINE_FUNCTIONS_H
#define TURBINE_FUNCTIONS_H

#include "types.h"

#define TB_FN_RAISES 0x01u
#define TB_FN_SCALED 0x02u
#define TB_FN_INEXACT 0x04u
#define TB_FN_BUILDS 0x08u
#define TB_FN_NULLS 0x10u
#define TB_FN_MAX_ARGS 5

/* Bytes that a body with TB_FN_BUILDS may write its result to: a point of four coordinates.
 */
#define TB_BUILT_BYTES 48

typedef enum TbFunctionId
{
#define TB_FUNCTION(id, symbol, result, args, flags, cost, variant, pg_oid, signature) \
	TB_FN_##id,
#include "../../catalog/functions.def"
#undef TB_FUNCTION
	TB_FUNCTION_COUNT
} TbFunctionId;

typedef struct TbFunction
{
	const char *name;				  /* the row's id, "INT4PL" */
	const char *symbol;				  /* "rt_int4pl" */
	uint8_t		result;				  /* TbType */
	uint8_t		nargs;
	uint8_t		args[TB_FN_MAX_ARGS]; /* TbType */
	uint8_t		flags;
	uint8_t		reserved;
	uint32_t	cost;
	const char *variant;
	const char *signature;
} TbFunction;

#ifdef __cplusplus
extern "C"
{
#endif
	/* The table, TB_FUNCTION_COUNT rows; defined in catalog/functions.c. */
	extern const TbFunction tb_functions[];
#ifdef __cplusplus
}
#endif

#endif
