/*
 * parser.h - bodies of LANGUAGE turbine as routines.
 */
#ifndef TURBINE_PG_LANGUAGE_PARSER_H
#define TURBINE_PG_LANGUAGE_PARSER_H

#include "postgres.h"

#include "pg/language/routine.h"

/* Limits of a body; docs/language-turbine.md names them. */
#define TB_BODY_MAX_BYTES 65536
#define TB_BODY_MAX_NESTING 200
#define TB_BODY_MAX_EXPRESSIONS 5000
#define TB_BODY_MAX_VARIABLES 200

/*
 * Fills in registers beyond the arguments, steps, result, callees, size and depth.
 * Registers of the arguments, `nargs` and `name` are there. `schema` is the function's,
 * `result` its type. Raises errors with their places (errposition).
 */
extern void tb_parse_body(TbRoutine *routine, const char *source, Oid schema, Oid result,
						  TbCompilation *compilation);

#endif
