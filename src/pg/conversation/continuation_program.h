/*
 * continuation_program.h - a program over the rows of another and its result plan
 * (wire.h: TbContinuation).
 */
#ifndef TURBINE_PG_CONVERSATION_CONTINUATION_PROGRAM_H
#define TURBINE_PG_CONVERSATION_CONTINUATION_PROGRAM_H

#include "postgres.h"

#include "turbine/program.h"
#include "turbine/result.h"

typedef struct TbContinuationProgram
{
	TbProgram *program;
	uint32	  *columns; /* of the rows: which each of its source's columns is */
	uint32	   ncolumns;
	double	   groups;	/* estimated */
	uint64	  *sets;	/* a bit for each of `columns`, of which those that lack it are NULL
						 * in the rows of the set, and TB_NONE is its number */
	uint32	   nsets;	/* 0: each row comes once */
	const TbResultPlan *result; /* of its rows; NULL: none */
} TbContinuationProgram;

#endif
