/*
 * function_shape.h - what is known of a function of LANGUAGE plcuda before it is compiled:
 * its arguments, its result and its body.
 */
#ifndef TURBINE_PG_PLCUDA_FUNCTION_SHAPE_H
#define TURBINE_PG_PLCUDA_FUNCTION_SHAPE_H

#include "postgres.h"

#include "access/tupdesc.h"

#include "pg/plcuda/body_parser.h"
#include "pg/plcuda/value_types.h"

typedef struct TbPlcudaShape
{
	Oid			  function;
	char		 *name; /* for messages: schema and name */
	TbPlcudaBody *body;
	int			  nargs;
	TbPlcudaType *args;
	bool		  returns_set;
	bool		  returns_void;
	TupleDesc	  row;		  /* NULL: the result is a single value */
	int			  ncolumns;	  /* of a row without dropped ones; else 1, or 0 for void */
	TbPlcudaType *columns;
	int			 *attributes; /* of a row: from 0 on */
} TbPlcudaShape;

/* In the current memory context. Raises errors of types and bodies. */
extern TbPlcudaShape *tb_plcuda_shape_of(Oid function);

/* The one source file that the compiler gets. */
extern char *tb_plcuda_source_of(const TbPlcudaShape *shape);

#endif
