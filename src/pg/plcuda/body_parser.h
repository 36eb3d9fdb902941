/*
 * body_parser.h - the blocks of a function's body in LANGUAGE plcuda.
 *
 * Lines that begin with #plcuda_ divide the body: declarations, host code, and names of
 * libraries and headers. Nothing else may stand outside of blocks.
 */
#ifndef TURBINE_PG_PLCUDA_BODY_PARSER_H
#define TURBINE_PG_PLCUDA_BODY_PARSER_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* Lines of the body that are passed to the compiler. */
typedef struct TbPlcudaBlock
{
	int	  first_line; /* from 1 on: the line of the body's first character */
	char *text;
} TbPlcudaBlock;

typedef struct TbPlcudaBody
{
	List *libraries;	/* char *: names, as -l takes them */
	List *declarations; /* TbPlcudaBlock *, in their order; an include is one, too */
	TbPlcudaBlock host; /* text NULL: there is none */
	/* The first defect; NULL: none. */
	char		 *error;
	int			  error_line;
} TbPlcudaBody;

/* palloc'd. Raises nothing. */
extern TbPlcudaBody *tb_plcuda_parse_body(const char *text);

#endif
