/*
 * layout_program.h - programs that decode the tuples of partitions which are laid out
 * otherwise than the program of their table says (LAYOUT in wire.h).
 */
#ifndef TURBINE_PG_PLANNER_PROGRAM_LAYOUT_PROGRAM_H
#define TURBINE_PG_PLANNER_PROGRAM_LAYOUT_PROGRAM_H

#include "postgres.h"

#include "turbine/program.h"

#include "pg/planner/partitions.h"

typedef struct TbLayoutProgram
{
	TbProgram *program;
	List	  *params; /* Const: missing values */
} TbLayoutProgram;

/*
 * The layouts of the partitions, each once, and for each leaf its number: from 1, or
 * 0 where the table's own `program` fits. False, with *reason, if the engine can not
 * hold a missing value, or they are too many.
 */
extern bool tb_layout_programs(const TbProgram *program, const TbPartitions *partitions,
							   List **layouts, List **leaf_layouts, const char **reason);

#endif
