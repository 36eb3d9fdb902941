/*
 * planning.c - the state of the current statement's planning.
 *
 * Owns what holds while the planner runs: whether accelerated plans may be made, and the
 * reasons that turbine.why_not collects. The planner's hooks set it, and set it back
 * around nested planning; whoever plans a part of a query asks. Must never
 * look at what kinds of nodes there are.
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "utils/lsyscache.h"

#include "pg/compat/pg16.h"
#include "pg/planner/cost.h"
#include "pg/planner/expression/reason_text.h"
#include "pg/planner/planning.h"
#include "pg/settings/guc.h"
#include "pg/shmem/cache_advice.h"

/* What is around everything. */
static TbPlanning  nothing;
static TbPlanning *current = &nothing;

void
tb_planning_push(TbPlanning *planning)
{
	planning->outer = current;
	/* Another command within an EXPLAIN is none. */
	if (planning->runs)
	{
		planning->plain_explain = current->plain_explain;
		planning->wants_columns = current->wants_columns && !current->runs;
	}
	if (planning->record == NULL)
		planning->record = current->record;
	current = planning;
}

void
tb_planning_pop(TbPlanning *planning)
{
	Assert(current == planning);
	current = planning->outer;
}

TbPlanning *
tb_planning(void)
{
	return current;
}

bool
tb_planning_is_recording(void)
{
	return current->record != NULL;
}

bool
tb_planning_is_wanted(void)
{
	return tb_guc_enabled && !(current->plain_explain && tb_guc_debug_plain_explain);
}

bool
tb_planning_enabled(void)
{
	return current->runs && tb_planning_is_wanted();
}

bool
tb_planning_may_run_backward(void)
{
	return current->may_run_backward;
}

/* Nested loops are followed through so many tables. */
#define MAX_LOOP_DEPTH 6

static double runs_in_loops(const PlannerInfo *root, const Path *path, int depth);

/* Rows of the table that nested loops would fetch: all that its own filters
 * let pass, or fewer where a cheaper loop leads to it. */
static double
rows_in_loops(const PlannerInfo *root, int relid, int depth)
{
	const RelOptInfo *rel = relid < root->simple_rel_array_size ?
		root->simple_rel_array[relid] :
		NULL;
	ListCell		 *lc;

	if (rel == NULL || rel->rows <= 0)
		return 0;
	foreach(lc, rel->pathlist)
	{
		const Path *path = lfirst(lc);
		double		runs;

		if (path->param_info == NULL || depth >= MAX_LOOP_DEPTH)
			continue;
		/* The first is the cheapest. */
		runs = runs_in_loops(root, path, depth + 1);
		return runs > 0 ? Min(rel->rows, path->rows * runs) : rel->rows;
	}
	return rel->rows;
}

/* How often the path would run: once, or for each row of the tables that it
 * depends on; 0 if that cannot be known here. */
static double
runs_in_loops(const PlannerInfo *root, const Path *path, int depth)
{
	double runs = 1;
	int	   relid = -1;

	if (path->param_info == NULL)
		return 1;
	if (!enable_nestloop)
		return 0;
	while ((relid = bms_next_member(PATH_REQ_OUTER(path), relid)) >= 0)
		if (!TB_IS_OUTER_JOIN(root, relid))
			runs *= rows_in_loops(root, relid, depth);
	return runs;
}

double
tb_planning_runs_in_loops(const PlannerInfo *root, const Path *path)
{
	return runs_in_loops(root, path, 0);
}

static bool has_cached_columns(const PlannerInfo *root, const RelOptInfo *rel);

/* Whether columns of the table or of its partitions are likely to be cached. */
static bool
table_has_cached_columns(const PlannerInfo *root, int relid)
{
	const RelOptInfo *table = root->simple_rel_array[relid];

	if (root->simple_rte_array[relid]->rtekind != RTE_RELATION || table == NULL)
		return false;
	if (tb_advice_has_columns(root->simple_rte_array[relid]->relid))
		return true;
	for (int i = 0; i < table->nparts; i++)
		if (table->part_rels[i] != NULL && has_cached_columns(root, table->part_rels[i]))
			return true;
	return false;
}

/* Whether columns of any of its tables, or of their partitions, are likely to be cached.
 * Asked for each join that is considered, so answers are kept for the first 64 tables. */
static bool
has_cached_columns(const PlannerInfo *root, const RelOptInfo *rel)
{
	/* What is above scans and joins names no tables. */
	const Relids relids = rel->relids != NULL ? rel->relids : root->all_baserels;
	int			 relid = -1;

	if (current->cached_of != root)
	{
		current->cached_of = root;
		current->asked = current->cached = 0;
	}
	while ((relid = bms_next_member(relids, relid)) >= 0)
	{
		uint64 bit = relid < 64 ? UINT64CONST(1) << relid : 0;

		if ((current->asked & bit) == 0 && table_has_cached_columns(root, relid))
		{
			current->asked |= bit;
			current->cached |= bit;
			return true;
		}
		current->asked |= bit;
		if ((current->cached & bit) != 0)
			return true;
	}
	return false;
}

bool
tb_planning_may_win(const PlannerInfo *root, const RelOptInfo *rel, const List *paths)
{
	Cost	  least = -1; /* unknown */
	ListCell *lc;

	if (tb_guc_debug_force_offload || tb_planning_is_recording())
		return true;
	foreach(lc, paths)
	{
		const Path *path = lfirst(lc);
		double		runs = runs_in_loops(root, path, 0);

		if (runs == 0 || path->total_cost * runs > tb_cost_least(false))
			continue;
		if (least < 0)
			least = tb_cost_least(tb_guc_enable_cache && has_cached_columns(root, rel));
		if (path->total_cost * runs <= least)
			return false;
	}
	return true;
}

void
tb_planning_note(const char *part, const char *format, ...)
{
	TbReason *reason;
	ListCell *lc;
	va_list	  args;
	char	 *text;

	if (!tb_planning_is_recording() || part == NULL)
		return;
	va_start(args, format);
	text = tb_reason_text(format, args);
	va_end(args);
	/* The planner may look at one part several times. */
	foreach(lc, current->record->reasons)
	{
		TbReason *seen = lfirst(lc);

		if (strcmp(seen->part, part) == 0 && strcmp(seen->reason, text) == 0)
			return;
	}
	reason = palloc(sizeof(TbReason));
	reason->part = pstrdup(part);
	reason->reason = text;
	current->record->reasons = lappend(current->record->reasons, reason);
}

const char *
tb_planning_part(const char *what, Oid relid)
{
	char *schema;

	if (!tb_planning_is_recording())
		return NULL;
	schema = get_namespace_name(get_rel_namespace(relid));
	return psprintf("%s %s.%s", what, schema ? schema : "?", get_rel_name(relid));
}
