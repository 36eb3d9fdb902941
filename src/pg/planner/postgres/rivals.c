/*
 * rivals.c - see rivals.h.
 *
 * Our costs are times. PostgreSQL's are not: it charges many times what a page in memory
 * takes, above all a page that an index leads to (postgres_time.h). So a node of ours might
 * cost less than PostgreSQL's plan, and take longer: nested loops over indexes, or a scan
 * that forms many rows. Such a node is given the rival's cost times the proportion of their
 * times. A node that is faster keeps its own cost, which is compared with those of other
 * nodes of ours. The rival is the path that PostgreSQL would take: only a node that wins
 * against that one can make a query slower.
 *
 * Owns nothing. Must never make a path cheaper, except one that has been paid for
 * (is_paid_for). Called where nodes are offered.
 */
#include "postgres.h"

#include "catalog/pg_am.h"
#include "common/hashfn.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"

#include "pg/compat/pg18.h"
#include "pg/convert/function_lookup.h"
#include "pg/planner/cost.h"
#include "pg/planner/planning.h"
#include "pg/planner/postgres/postgres_time.h"
#include "pg/planner/postgres/rivals.h"
#include "pg/planner/program/column_hints.h"
#include "pg/planner/program/compile_hints.h"
#include "pg/planner/program/stage.h"
#include "pg/settings/guc.h"
#include "pg/shmem/cache_advice.h"
#include "pg/source/heap/feeders/feeder_count.h"

/* PostgreSQL's path that ours is compared with. */
typedef struct Rival
{
	Cost   cost;
	double us; /* -1: nobody to compare with */
} Rival;

/* With a Gather above, which PostgreSQL puts over a partial path later; `rows` come through
 * it. */
static Rival
gathered_rival(Rival partial, double rows)
{
	if (partial.us < 0)
		return partial;
	partial.cost += parallel_setup_cost + rows * parallel_tuple_cost;
	partial.us += tb_postgres_gather_us(rows);
	return partial;
}

/* ---- Plans: joins, aggregations, sorts, scans of files ---- */

/* Whether the joined rows are what the query returns, more or less: else it groups them, or
 * wants only some, and workers would do that before they send any. */
static bool
returns_joined_rows(const PlannerInfo *root)
{
	const Query *parse = root->parse;

	return !parse->hasAggs && parse->groupClause == NIL && parse->groupingSets == NIL &&
		parse->distinctClause == NIL && parse->limitCount == NULL;
}

static bool
is_of_step(const PlannerInfo *root, const RelOptInfo *rel, UpperRelationKind step)
{
	return list_member_ptr(root->upper_rels[step], rel);
}

/* Whether LIMIT stands right above the relation. */
static bool
is_limited(const PlannerInfo *root, const RelOptInfo *rel)
{
	const Query *parse = root->parse;

	if (root->limit_tuples <= 0)
		return false;
	if (parse->sortClause != NIL)
		return is_of_step(root, rel, UPPERREL_ORDERED);
	if (parse->distinctClause != NIL)
		return is_of_step(root, rel, UPPERREL_DISTINCT);
	if (parse->hasWindowFuncs)
		return is_of_step(root, rel, UPPERREL_WINDOW);
	if (parse->hasAggs || parse->groupClause != NIL || parse->groupingSets != NIL)
		return is_of_step(root, rel, UPPERREL_GROUP_AGG);
	return true;
}

Cost
tb_rivals_wanted_cost(const PlannerInfo *root, const RelOptInfo *rel, const Path *path)
{
	double part = 1;

	if (is_limited(root, rel))
		part = Min(root->limit_tuples / Max(path->rows, 1), 1);
	return path->startup_cost + (path->total_cost - path->startup_cost) * part;
}

double
tb_rivals_wanted_us(PlannerInfo *root, const Path *path, Cost wanted)
{
	double		us = tb_postgres_plan_us(root, path);
	const Path *node = path;
	double		first;
	double		part;

	if (wanted >= path->total_cost || path->total_cost <= path->startup_cost)
		return us;
	while (IsA(node, ProjectionPath))
		node = ((const ProjectionPath *) node)->subpath;
	if (!IsA(node, GatherMergePath))
		return us * wanted / path->total_cost;
	/* Workers sort all of their rows before the first one comes through it. */
	first = Min(tb_postgres_plan_us(root, ((const GatherMergePath *) node)->subpath), us);
	part = (wanted - path->startup_cost) / (path->total_cost - path->startup_cost);
	return first + (us - first) * Max(part, 0);
}

/* The cheapest of those that depend on no other table. */
static Rival
rival_in(PlannerInfo *root, const RelOptInfo *rel, const List *paths)
{
	const Path *best = NULL;
	Rival		rival = {.us = -1};
	ListCell   *lc;

	foreach(lc, paths)
	{
		const Path *path = lfirst(lc);
		Cost		cost = tb_rivals_wanted_cost(root, rel, path);

		if (path->param_info != NULL || tb_path_is_disabled(path) ||
			(best != NULL && cost >= rival.cost))
			continue;
		best = path;
		rival.cost = cost;
	}
	if (best != NULL && best->total_cost > 0)
		rival.us = tb_rivals_wanted_us(root, best, rival.cost);
	return rival;
}

/* A tuple whose values go into columns. */
#define TAKEN_APART_US 0.05

/* What PostgreSQL would take for the relation, as far as its paths are there. */
static Rival
rival_of(PlannerInfo *root, const RelOptInfo *rel)
{
	Rival rival = rival_in(root, rel, rel->pathlist);
	Rival gathered = {.us = -1};

	if (rel->reloptkind == RELOPT_JOINREL)
		gathered = gathered_rival(rival_in(root, rel, rel->partial_pathlist),
								  returns_joined_rows(root) ? rel->rows : 0);
	if (gathered.us >= 0 && (rival.us < 0 || gathered.cost < rival.cost))
		rival = gathered;
	/* Its tuples would be taken apart again. */
	if (rival.us >= 0 && tb_planning()->wants_columns)
	{
		rival.us += rel->rows * TAKEN_APART_US;
		rival.cost += rel->rows * TAKEN_APART_US / TB_US_PER_UNIT;
	}
	return rival;
}

/* The tables that it reads, and the pages and rows that it has to read whatever they are
 * asked for: of those that are not cached and have no index that leaves pages out. */
static TbLeastWork
least_work(const PlannerInfo *root, const RelOptInfo *input)
{
	TbLeastWork work = {0};
	int			relid = -1;

	while ((relid = bms_next_member(input->relids, relid)) >= 0)
	{
		const RelOptInfo	*table = root->simple_rel_array[relid];
		const RangeTblEntry *rte = root->simple_rte_array[relid];

		if (rte->rtekind != RTE_RELATION || table == NULL)
			continue;
		work.tables++;
		if ((tb_guc_enable_cache && tb_advice_has_columns(rte->relid)) ||
			tb_block_index_exists(table))
			continue;
		work.pages += table->pages;
		work.rows += Max(table->tuples, 0);
	}
	return work;
}

bool
tb_rivals_leave_room(PlannerInfo *root, const RelOptInfo *rel, const RelOptInfo *input)
{
	TbLeastWork work;
	Rival		rival;

	if (tb_guc_debug_force_offload || tb_planning_is_recording() || input->relids == NULL)
		return true;
	work = least_work(root, input);
	/* A join or a scan by itself. */
	if (rel == input)
		work.returned = rel->rows;
	if (work.pages > effective_cache_size)
		return true;
	rival = rival_of(root, rel);
	return rival.us < 0 ||
		tb_cost_weighed_us(tb_cost_least_us(&work, false), tb_cost_least_us(&work, true),
						   rival.us) < rival.us;
}

/* Less than this, and waiting for PostgreSQL is not worth a compilation. */
#define SLOW_US 5000.0

/* Stages that lose to PostgreSQL's path now, but would not if their programs had been
 * compiled. */
static void
note_missing_code(PlannerInfo *root, List *stages, Cost cost, const Rival *rival)
{
	double	  compilation = 0;
	double	  charged = 0;
	double	  us;
	ListCell *lc;

	if (rival->us < SLOW_US)
		return;
	foreach(lc, stages)
	{
		const TbWork *work = &((const TbStage *) lfirst(lc))->info.work;
		bool		  builds = lnext(stages, lc) != NULL;

		compilation += tb_cost_kept_compilation_us(work, builds, true);
		charged += tb_cost_kept_compilation_us(work, builds, false);
	}
	if (compilation <= 0 || cost - compilation / TB_US_PER_UNIT >= rival->cost)
		return;
	us = tb_stages_us(root, stages, cost, false) - (compilation - charged);
	if (tb_cost_weighed_us(us, tb_stages_us(root, stages, cost, true), rival->us) <
		rival->us)
		tb_compile_hints_note(stages);
}

/* What a plan costs that is to be taken before another of this cost. */
#define TAKEN_SHARE 0.9

/* Stages whose columns are worth a load in the background. */
static void
note_missing_columns(List *stages, double now, double later, const Rival *rival)
{
	ListCell *lc;

	if (!tb_cost_load_pays(now, later, rival->us))
		return;
	foreach(lc, stages)
	{
		const TbStage *stage = lfirst(lc);

		tb_column_hints_note(stage->info.relid, stage->program, &stage->info.work,
							 rival->us < SLOW_US ? NIL : stages);
	}
}

/*
 * Stages that lose only because their columns are not cached yet would lose for ever, and
 * the rival, cheap as it is, would take its time each time. Where the rival scans the
 * tables, they are loaded in the background (program/column_hints.c). Where it does not,
 * nothing can be loaded, or a load does not get on because sessions run one statement after
 * another, what the plans made so far would have saved pays for reading the columns once,
 * and again if they do not stay.
 */
static bool
is_paid_for(PlannerInfo *root, List *stages, Cost cost, const Rival *rival)
{
	TbPlanning		  *planning = tb_planning();
	const TbStageInfo *last = &((const TbStage *) llast(stages))->info;
	/* The same query of another table pays for itself. */
	uint64			   shape = hash_combine64(last->work.program.shape, last->relid);
	double			   now = tb_stages_us(root, stages, cost, false);
	double			   later = tb_stages_us(root, stages, cost, true);
	double			   extra;
	double			   foregone;

	if (!tb_guc_enable_cache || last->work.program.shape == 0 ||
		tb_planning_is_recording() || !tb_stages_stay_cached(stages))
		return false;
	note_missing_columns(stages, now, later, rival);
	if (!tb_cost_is_promising(later, rival->us))
		return false;
	/* Nodes of one shape are offered several times in a run, which pays and saves once. */
	if (planning->foregone_shape == shape)
		return planning->foregone_paid;
	extra = Max(now - rival->us, 0);
	foregone = tb_advice_foregone_us(shape);
	planning->foregone_shape = shape;
	planning->foregone_paid = foregone > 0 && foregone > extra;
	/* Plans that are only shown save nothing. */
	if (!planning->plain_explain)
		tb_advice_note_foregone(shape,
								planning->foregone_paid ? -extra : rival->us - later);
	return planning->foregone_paid;
}

static void
undercut(Path *path, const Rival *rival)
{
	path->total_cost = Min(path->total_cost, rival->cost * TAKEN_SHARE);
	path->startup_cost = Min(path->startup_cost, path->total_cost);
}

void
tb_rivals_bound(PlannerInfo *root, const RelOptInfo *rel, List *stages, Path *path)
{
	Rival  rival;
	Cost   cost = tb_rivals_wanted_cost(root, rel, path);
	double us;

	/* If the drive decides, both wait for it. */
	if (tb_guc_debug_force_offload || path->total_cost >= disable_cost ||
		!tb_stages_stay_in_memory(stages))
		return;
	rival = rival_of(root, rel);
	if (rival.us <= 0)
		return;
	if (cost >= rival.cost)
	{
		if (is_paid_for(root, stages, cost, &rival))
			undercut(path, &rival);
		else
			note_missing_code(root, stages, cost, &rival);
		return;
	}
	us = tb_cost_weighed_us(tb_stages_us(root, stages, cost, false),
							tb_stages_us(root, stages, cost, true), rival.us);
	if (us < rival.us || is_paid_for(root, stages, cost, &rival))
		return;
	note_missing_code(root, stages, cost, &rival);
	path->total_cost = Max(path->total_cost, rival.cost * us / rival.us);
	path->startup_cost = Max(path->startup_cost, Min(path->total_cost, rival.cost));
}

/* ---- Scans of heap tables, which return rows ---- */

/* So much of the rival's cost makes add_path() take another path instead, and changes
 * nothing else: costs that are 1 % apart are equal to it. */
#define INSTEAD_OF_RIVAL 0.98

/* Statistics are believed if so much of the table has not changed since. */
#define NEW_SHARE 0.5

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
	return bms_membership(root->all_baserels) == BMS_SINGLETON && returns_joined_rows(root);
}

static Rival
scan_rival(PlannerInfo *root, RelOptInfo *rel, const Path *path)
{
	Rival rival = {.us = -1};

	if (path == NULL || tb_path_is_disabled(path))
		return rival;
	rival.cost = path->total_cost;
	rival.us = tb_postgres_scan_us(root, rel, path);
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
			best.us = tb_postgres_scan_us(root, rel, path) * runs;
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
our_us(PlannerInfo *root, RelOptInfo *rel, const TbWork *work, const TbProgram *program,
	   List *others, double processes, const Rival *rival)
{
	double evaluation = work->passing * tb_postgres_filters_us(root, rel, others) /
		processes;
	double now = evaluation + tb_cost_scan_us(work, processes, false);
	double later = evaluation + tb_cost_scan_us(work, processes, true);
	double us = tb_cost_weighed_us(now, later, rival->us);

	if (us >= rival->us && tb_guc_enable_cache && work->stays_cached &&
		!tb_planning_is_recording() && tb_cost_load_pays(now, later, rival->us))
		tb_column_hints_note(root->simple_rte_array[rel->relid]->relid, program, work, NIL);
	return us;
}

Cost
tb_rivals_bound_scan(PlannerInfo *root, RelOptInfo *rel, const TbWork *work,
					 const TbProgram *program, List *others, int workers)
{
	Rival  rival = scan_rival(root, rel,
							  cheapest(workers > 0 ? rel->partial_pathlist : rel->pathlist));
	double processes = workers > 0 ? tb_postgres_busy_processes(workers) : 1;
	double above = 0; /* the scan, in one process */
	Rival  looped;
	double us;

	/* Both wait for the drive then. */
	if (rel->pages > effective_cache_size)
		return 0;
	if (workers == 0)
	{
		Rival gathered = gathered_rival(scan_rival(root, rel,
												   cheapest(rel->partial_pathlist)),
										returns_rows(root) ? rel->rows : 0);

		if (gathered.us > 0 && (rival.us < 0 || gathered.cost < rival.cost))
		{
			const Path *partial = cheapest(rel->partial_pathlist);

			rival = gathered;
			above = results_us(root, rel);
			rival.us += above / tb_postgres_busy_processes(partial->parallel_workers);
		}
	}
	if (rival.us <= 0)
		return 0;
	us = our_us(root, rel, work, program, others, processes, &rival) + above;
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

	return entry != NULL && entry->mod_since_analyze > NEW_SHARE * Max(rel->tuples, 1);
}

bool
tb_rivals_gamble_of_scan(PlannerInfo *root, RelOptInfo *rel, Oid relid)
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
