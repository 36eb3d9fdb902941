/*
 * arrow_fdw.h - the callbacks of the foreign data wrapper, a file for each of its duties.
 */
#ifndef TURBINE_PG_FDW_ARROW_FDW_H
#define TURBINE_PG_FDW_ARROW_FDW_H

#include "postgres.h"

#include "commands/explain.h"
#include "foreign/fdwapi.h"

/* ForeignScan.fdw_private; fdw_exprs are two lists: the values of bounds, and filters of
 * files. */
typedef enum TbArrowPrivate
{
	TB_ARROW_ATTNUMS,		 /* int: columns that the query refers to; 0: all */
	TB_ARROW_BOUND_ATTNUMS,	 /* int */
	TB_ARROW_BOUND_COMPARES, /* int */
	TB_ARROW_PRIVATE_ITEMS
} TbArrowPrivate;

/* in plan.c */
extern void			tb_arrow_rel_size(PlannerInfo *root, RelOptInfo *baserel, Oid relid);
extern void			tb_arrow_paths(PlannerInfo *root, RelOptInfo *baserel, Oid relid);
extern ForeignScan *tb_arrow_plan(PlannerInfo *root, RelOptInfo *baserel, Oid relid,
								  ForeignPath *best_path, List *tlist, List *scan_clauses,
								  Plan *outer_plan);

/* in exec.c */
extern void			   tb_arrow_begin(ForeignScanState *node, int eflags);
extern TupleTableSlot *tb_arrow_next(ForeignScanState *node);
extern void			   tb_arrow_rescan(ForeignScanState *node);
extern void			   tb_arrow_end(ForeignScanState *node);
extern void			   tb_arrow_explain(ForeignScanState *node, ExplainState *es);

/* in analyze.c */
extern bool tb_arrow_analyze(Relation relation, AcquireSampleRowsFunc *func,
							 BlockNumber *totalpages);

/* in modify.c */
extern int	 tb_arrow_updatable(Relation relation);
extern List *tb_arrow_plan_modify(PlannerInfo *root, ModifyTable *plan,
								  Index resultRelation, int subplan_index);
extern void	 tb_arrow_begin_modify(ModifyTableState *mtstate, ResultRelInfo *rinfo,
								   List *fdw_private, int subplan_index, int eflags);
extern TupleTableSlot *tb_arrow_insert(EState *estate, ResultRelInfo *rinfo,
									   TupleTableSlot *slot, TupleTableSlot *planSlot);
extern void tb_arrow_begin_insert(ModifyTableState *mtstate, ResultRelInfo *rinfo);
extern void tb_arrow_end_insert(EState *estate, ResultRelInfo *rinfo);
extern void tb_arrow_truncate(List *relations, DropBehavior behavior,
							  bool restart_sequences);

/* in import.c */
extern List *tb_arrow_import(ImportForeignSchemaStmt *stmt, Oid server);

#endif
