/*
 * append_relations.h - which partition is whose child, in plans that hold a subquery twice.
 *
 * A join of ours keeps PostgreSQL's plan of the same join beside its own children. A
 * subquery among them is then part of both, and the planner numbers its tables anew for
 * each: the range table gets an entry for each, but the AppendRelInfos are the same ones,
 * renumbered twice, and point past its end, where EXPLAIN writes.
 */
#ifndef TURBINE_PG_NODES_HOOKS_APPEND_RELATIONS_H
#define TURBINE_PG_NODES_HOOKS_APPEND_RELATIONS_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* Notes a query level whose paths are complete. */
extern void tb_append_relations_note(PlannerInfo *root);

/* Of levels that were noted: each range table entry of a child gets an AppendRelInfo of
 * its own. */
extern void tb_append_relations_separate(PlannedStmt *stmt);

#endif
