/*
 * plan_private.h - what GpuScan and GpuPreAgg keep in CustomScan's
 * custom_private: only nodes that PostgreSQL can copy.
 */
#ifndef TURBINE_PG_PLAN_PRIVATE_H
#define TURBINE_PG_PLAN_PRIVATE_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "turbine/program.h"

#include "pg/planner/cost.h"

/* Indexes into custom_private. */
typedef enum TbPrivateIndex
{
	TB_PRIVATE_RELID,				/* the table's OID */
	TB_PRIVATE_PROGRAM,				/* Const, bytea */
	TB_PRIVATE_WORK,				/* Const, bytea: TbWork, for the device's choice */
	TB_PRIVATE_GROUPS,				/* Const, float8: estimated groups */
	TB_PRIVATE_OUTPUTS,				/* GpuPreAgg: Const, bytea: TbOutput[] */
	TB_PRIVATE_COUNT
} TbPrivateIndex;

extern List *tb_private_make(Oid relid, const TbProgram *program,
							 const TbWork *work, double groups,
							 const void *outputs, Size outputs_size);

extern Oid	tb_private_relid(const CustomScan *plan);

/* 8-aligned copies in the current context. */
extern TbProgram *tb_private_program(const CustomScan *plan);
extern TbWork tb_private_work(const CustomScan *plan);
extern double tb_private_groups(const CustomScan *plan);
extern void *tb_private_outputs(const CustomScan *plan, Size *size);

#endif
