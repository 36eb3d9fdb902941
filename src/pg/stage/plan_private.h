/*
 * plan_private.h - what our nodes keep in CustomScan's custom_private: only nodes that
 * PostgreSQL can copy.
 *
 * A node runs one program or several, the stages. All stages but the last build a join
 * table, which later ones probe. Expressions with Vars travel in custom_scan_tlist
 * instead, as an entry behind the node's columns. There the planner renumbers tables, and
 * looks no columns up.
 *
 * Written by the nodes' planning, read by their execution and EXPLAIN.
 */
#ifndef TURBINE_PG_STAGE_PLAN_PRIVATE_H
#define TURBINE_PG_STAGE_PLAN_PRIVATE_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "turbine/program.h"
#include "turbine/result.h"

#include "pg/plans/our_nodes.h"
#include "pg/conversation/continuation_program.h"
#include "pg/planner/program/stage.h"

/* Indexes into custom_private. */
typedef enum TbPrivateIndex
{
	TB_PRIVATE_RELIDS,		 /* OID list: the tables, in the order of stages */
	TB_PRIVATE_STAGES,		 /* list of TbPrivateStage lists */
	TB_PRIVATE_GROUPS,		 /* Const, float8: estimated groups */
	TB_PRIVATE_OUTPUTS,		 /* Const, bytea: TbOutput[] */
	TB_PRIVATE_SETS,		 /* NIL, or a list of TbPrivateSets */
	TB_PRIVATE_RESULT,		 /* Const, bytea: TbResultPlan, or nothing */
	TB_PRIVATE_CONTINUATION, /* NIL, or a list: Const, bytea: the program; Const, bytea:
							  * uint32[], columns; Const, float8: estimated groups; Const,
							  * bytea: uint64[], sets; Const, bytea: TbResultPlan of its
							  * rows, or nothing */
	TB_PRIVATE_COUNT
} TbPrivateIndex;

/* `stages`: TbStages. */
extern List *tb_private_make(List *stages, double groups, const void *outputs,
							 Size outputs_size);

/* Bytes as a node that PostgreSQL can copy; and a copy of those at an index of a list,
 * 8-aligned, in the current context. */
extern Const *tb_bytes_node(const void *bytes, Size size);
extern void	 *tb_node_bytes(const List *list, int index, Size *size);

/* Gives what tb_private_make made a result plan for the last stage. */
extern void tb_private_set_result(List *custom_private, const TbResultPlan *result);

/* The same of a continuation, over the last stage's rows. */
extern void tb_private_set_continuation(List						*custom_private,
										const TbContinuationProgram *continuation);

/* A single stage of a program over one table; child plan number `index_plan` scans
 * its indexes, -1: none does. */
extern List *tb_stages_of_program(Oid relid, const TbProgram *program, const TbWork *work,
								  int index_plan);

/* The plan that has the stages which the node runs: its own, or that of a node of ours
 * below it, whose rows it aggregates in the engine and which is never executed itself. The
 * functions that ask for stages, relids and the estimate of groups want this one. */
extern CustomScan *tb_stages_plan(const CustomScan *plan);

extern List *tb_private_relids(const CustomScan *plan);
extern int	 tb_private_nstages(const CustomScan *plan);

/* How the leaves of a stage's partitioned table are laid out: a number for each, from
 * 1 or 0 for the stage's own program; and the layouts. */
extern int32	   *tb_private_leaf_layouts(const CustomScan *plan, int stage);
/* The child plan that scans the indexes of each leaf, -1: none; NULL: of no leaf. */
extern int32	   *tb_private_leaf_indexes(const CustomScan *plan, int stage);
/* The keys of joins that prune leaves; of each the leaves' own attnums. */
extern int			tb_private_npruning_keys(const CustomScan *plan, int stage);
extern TbPruningKey tb_private_pruning_key(const CustomScan *plan, int stage, int key,
										   AttrNumber **leaf_attnums);
extern int			tb_private_nlayouts(const CustomScan *plan, int stage);
extern TbProgram   *tb_private_layout(const CustomScan *plan, int stage, int layout,
									  List **params);

/* 8-aligned copies in the current context. */
extern TbProgram	*tb_private_program(const CustomScan *plan, int stage);
extern TbStageInfo	 tb_private_stage(const CustomScan *plan, int stage);
extern int32		*tb_private_source_columns(const CustomScan *plan, int stage);
extern double		 tb_private_groups(const CustomScan *plan);
extern void			*tb_private_outputs(const CustomScan *plan, Size *size);
extern TbResultPlan *tb_private_result(const CustomScan *plan); /* NULL: none */
extern TbContinuationProgram *
tb_private_continuation(const CustomScan *plan);				/* the same */

/* Lists of the parameters of each stage, for custom_exprs. */
extern List *tb_stage_params(List *stages);

/* OIDs of the tables that stages read. */
extern List *tb_stage_relids(List *stages);

/* The entry of custom_scan_tlist that tells about the stages, and what it tells. */
extern TargetEntry *tb_stage_notes(List *stages, AttrNumber resno);

typedef struct TbStageNotes
{
	Index rti;			   /* of the stage's table, in the range table */
	List *leaves;		   /* int: the same of its leaf partitions */
	List *filters;		   /* Expr */
	List *index_condition; /* Expr */
	List *joins;		   /* TbStageJoin */
} TbStageNotes;
extern TbStageNotes tb_private_notes(const CustomScan *plan, int stage);

#endif
