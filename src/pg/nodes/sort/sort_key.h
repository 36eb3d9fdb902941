/*
 * sort_key.h - clauses of ORDER BY, PARTITION BY and DISTINCT ON as keys of a result
 * plan.
 */
#ifndef TURBINE_PG_NODES_SORT_SORT_KEY_H
#define TURBINE_PG_NODES_SORT_SORT_KEY_H

#include "postgres.h"

#include "pg/nodes/sort/gpu_sort.h"

/*
 * Appends keys (TbSortKey *) for clauses (SortGroupClause) that the planner has not
 * found to say nothing, and that are not among the keys yet. `order`: what comes
 * first matters, not only what is equal. False, with *reason, if an engine's order
 * would be another.
 */
extern bool tb_sort_keys_add(PlannerInfo *root, const TbSortInput *input, List *clauses,
							 bool order, List **keys, const char **reason);

/* Of one: TB_SORT_*. False, with *reason, if its operator is not the type's usual one. */
extern bool tb_sort_key_flags(const SortGroupClause *clause, Expr *expr, uint32 *flags,
							  const char **reason);

#endif
