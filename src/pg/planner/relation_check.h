/*
 * relation_check.h - may this table of this query be read by us at all?
 */
#ifndef TURBINE_PG_PLANNER_RELATION_CHECK_H
#define TURBINE_PG_PLANNER_RELATION_CHECK_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "pg/planner/partitions.h"

/* False, with *reason set, if PostgreSQL must read it. */
extern bool tb_relation_qualifies(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte,
								  const char **reason);

/* The same of a partitioned table, all of whose leaves the engine must read. */
extern bool tb_partitioned_qualifies(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte,
									 const TbPartitions *partitions, const char **reason);

/* The same of the statement alone, whatever it reads. */
extern bool tb_statement_qualifies(PlannerInfo *root, const char **reason);

/* Whether rows of PostgreSQL's own plan of this relation may be sent instead: it
 * may run a second time if the device gives up. */
extern bool tb_rows_qualify(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte,
							const char **reason);

/* The clauses (RestrictInfo) of the table without those that hold no column,
 * in the order in which PostgreSQL evaluates them. */
extern List *tb_ordered_clauses(PlannerInfo *root, RelOptInfo *rel);

/* Whether the isolation level lets a query read past heapam. Asked again when
 * a query starts, for a cached plan may meet another level. */
extern bool tb_isolation_qualifies(void);

#endif
