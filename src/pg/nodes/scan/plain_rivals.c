/*
 * plain_rivals.c - see plain_rivals.h.
 *
 * PostgreSQL charges several times what pages take that are in memory. Our costs are
 * times. So a GpuScan would look much cheaper than PostgreSQL's scan, even if it takes
 * longer because it forms many rows. It is then given the rival's cost times the
 * proportion of their times. A GpuScan that is faster keeps its own cost, which is
 * compared with those of other nodes of ours. The rival is the path that PostgreSQL would
 * take without us: only a GpuScan that wins against that one can make a query slower.
 *
 * Owns nothing. Must never make a GpuScan cheaper. Called by plan.c.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"

#include "pg/nodes/offer/plan_rivals.h"
#include "pg/nodes/scan/plain_rivals.h"
#include "pg/convert/function_lookup.h"
#include "pg/planner/plain_evaluation.h"
#include "pg/planner/plain_path_time.h"
#include "pg/planner/planning.h"
#include "pg/source/heap/feeders/feeder_count.h"

/* So much of the rival's cost makes add_path() take another path instead, and changes
 * nothing else: costs that are 1 % apart are equal to it. */
#define INSTEAD_OF_RIVAL 0.98

/* Statistics are believed if so much of the table has not changed since. */
#define NEW_SHARE 0.5

typedef struct Rival
{
	Cost   cost;
	double us; /* -1: nobody to compare with */
} Rival;

/* Of those that depend on no other table. */
static const Path *
cheapest(const List *paths)
{
	const Path *best = NULL;
	ListCell   *lc;

	foreach(lc, paths)
	{
		const Path *path = lfirst(lc);

		if (path->param_info == NULL &&
			(best == NULL || path->total_cost < best->total_cost))
			best = path;
	}
	return best;
}

/* Whether the table's rows are what the query returns, and no join is beside it. */
static bool
returns_rows(const PlannerInfo *root)
{
	return bms_membership(root->all_baserels) == BMS_SINGLETON &&
		tb_returns_joined_rows(root);
}

static Rival
rival_of(PlannerInfo *root, RelOptInfo *rel, const Path *path)
{
	Rival rival = {.us = -1};

	if (path == NULL || path->total_cost >= disable_cost)
		return rival;
	rival.cost = path->total_cost;
	rival.us = tb_plain_path_us(root, rel, path);
	return rival;
}

/* What stands above a Gather that PostgreSQL would put over its partial path. */
static Rival
gathered_rival(PlannerInfo *root, RelOptInfo *rel)
{
	Rival  rival = rival_of(root, rel, cheapest(rel->partial_pathlist));
	double rows = returns_rows(root) ? rel->rows : 0;

	if (rival.us < 0)
		return rival;
	rival.cost += parallel_setup_cost + rows * parallel_tuple_cost;
	rival.us += tb_plain_gather_us(rows);
	return rival;
}

/* The cheapest path by an index that nested loops would run for each row of other tables:
 * all runs of it. */
static Rival
looped_rival(PlannerInfo *root, RelOptInfo *rel)
{
	Rival	  best = {.us = -1};
	ListCell *lc;

	foreach(lc, rel->pathlist)
	{
		const Path *path = lfirst(lc);
		double runs = path->param_info != NULL ? tb_planning_runs_in_loops(root, path) : 0;

		if (runs > 0 && (best.us < 0 || path->total_cost * runs < best.cost))
		{
			best.cost = path->total_cost * runs;
			best.us = tb_plain_path_us(root, rel, path) * runs;
		}
	}
	return best;
}

static bool
count_calls(Node *node, int *calls)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) && !tb_function_is_known(((FuncExpr *) node)->funcid))
		(*calls)++;
	return expression_tree_walker(node, count_calls, calls);
}

/* What one process takes to call the functions of the query's results, where each row of
 * the table meets them: workers would share that. */
static double
results_us(const PlannerInfo *root, const RelOptInfo *rel)
{
	int calls = 0;

	if (bms_membership(root->all_baserels) != BMS_SINGLETON)
		return 0;
	(void) count_calls((Node *) root->processed_tlist, &calls);
	return calls * tb_cost_function() * TB_US_PER_UNIT * rel->rows;
}

static double
our_us(PlannerInfo *root, RelOptInfo *rel, const TbWork *work, List *others,
	   double processes, const Rival *rival)
{
	double evaluation = work->passing * tb_plain_filters_us(root, rel, others) / processes;
	double now = evaluation + tb_cost_scan_us(work, processes, false);
	double later = evaluation + tb_cost_scan_us(work, processes, true);

	return tb_cost_weighed_us(now, later, rival->us);
}

Cost
tb_plain_rivals_bound(PlannerInfo *root, RelOptInfo *rel, const TbWork *work, List *others,
					  int workers)
{
	Rival  rival = rival_of(root, rel,
							cheapest(workers > 0 ? rel->partial_pathlist : rel->pathlist));
	double processes = workers > 0 ? tb_plain_busy_processes(workers) : 1;
	double above = 0; /* the scan, in one process */
	Rival  looped;
	double us;

	/* Both wait for the drive then. */
	if (rel->pages > effective_cache_size)
		return 0;
	if (workers == 0)
	{
		Rival gathered = gathered_rival(root, rel);

		if (gathered.us > 0 && (rival.us < 0 || gathered.cost < rival.cost))
		{
			const Path *partial = cheapest(rel->partial_pathlist);

			rival = gathered;
			above = results_us(root, rel);
			rival.us += above / tb_plain_busy_processes(partial->parallel_workers);
		}
	}
	if (rival.us <= 0)
		return 0;
	us = our_us(root, rel, work, others, processes, &rival) + above;
	if (us >= rival.us)
		return rival.cost * us / rival.us;
	/* Where PostgreSQL would loop over an index instead of scanning, and be faster, it is
	 * to choose as it would between those two. */
	looped = looped_rival(root, rel);
	if (looped.us < 0 || looped.us >= us || looped.cost >= rival.cost)
		return 0;
	return Min(looped.cost * us / looped.us, rival.cost * INSTEAD_OF_RIVAL);
}

static bool
calls_function(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return IsA(node, FuncExpr) || expression_tree_walker(node, calls_function, context);
}

static bool
is_newer_than_statistics(Oid relid, const RelOptInfo *rel)
{
	const PgStat_StatTabEntry *entry = pgstat_fetch_stat_tabentry(relid);

	return entry != NULL && entry->changes_since_analyze > NEW_SHARE * Max(rel->tuples, 1);
}

bool
tb_plain_rivals_gamble(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	const Path *serial = cheapest(rel->pathlist);
	const Path *partial = cheapest(rel->partial_pathlist);

	return partial != NULL &&
		(serial == NULL ||
		 partial->total_cost + parallel_setup_cost < serial->total_cost) &&
		(bms_membership(root->all_baserels) == BMS_MULTIPLE ||
		 calls_function((Node *) root->processed_tlist, NULL)) &&
		is_newer_than_statistics(relid, rel);
}
