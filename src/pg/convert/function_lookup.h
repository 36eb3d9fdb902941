/*
 * function_lookup.h - PostgreSQL functions as rows of the catalogue.
 *
 * Built-in functions have fixed OIDs: of them catalog/functions.def and never_raises.def
 * answer alone, and no system catalog is read. PostGIS's functions are postgis.h's.
 */
#ifndef TURBINE_PG_CONVERT_FUNCTION_LOOKUP_H
#define TURBINE_PG_CONVERT_FUNCTION_LOOKUP_H

#include "postgres.h"

#include "turbine/functions.h"

/* The row (TbFunctionId) of the function with that variant ("" for none) that
 * takes exactly these types; -1 if there is none. */
extern int tb_function_find(Oid funcid, const char *variant, int nargs,
							const uint8 *argtypes);

/* Whether any row is of this function. */
extern bool tb_function_is_known(Oid funcid);

/* Whether a function or an aggregate of PostgreSQL is known to raise no error, whatever its
 * arguments: catalog/never_raises.def lists it, or none of its rows may raise. */
extern bool tb_function_never_raises(Oid funcid);

/* Whether a row of this function has a variant that begins like this. */
extern bool tb_function_has_variants(Oid funcid, const char *prefix);

#endif
