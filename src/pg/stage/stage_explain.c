/*
 * stage_explain.c - see stage_explain.h.
 *
 * A join is a group of its own, `Depth N`, with what its join table is made of;
 * a join table that is itself joined shows its joins within. In text format
 * figures of one kind share a line. Called by the nodes' explain.c.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "turbine/kernel.h"

#include "pg/stage/plan_private.h"
#include "pg/stage/node_explain.h"
#include "pg/stage/partitions_input.h"
#include "pg/stage/stage_explain.h"

typedef struct Shower
{
	TbStageRun	 *run;
	bool		  ran;		   /* EXPLAIN ANALYZE */
	Bitmapset	 *join_tables; /* those that have been shown */
	List		 *ancestors;
	ExplainState *es;
} Shower;

static void show_joins(Shower *shower, int stage);

static CustomScan *
plan_of(const Shower *shower)
{
	return tb_stages_plan((CustomScan *) shower->run->css->ss.ps.plan);
}

static const char *
join_name(uint32 kind)
{
	switch (kind)
	{
		case TB_JOIN_LEFT:
			return "Left";
		case TB_JOIN_SEMI:
			return "Semi";
		case TB_JOIN_ANTI:
			return "Anti";
		case TB_JOIN_FULL:
			return "Full";
		default:
			return "Inner";
	}
}

static const char *
table_kind_name(uint32 kind)
{
	switch (kind)
	{
		case TB_TABLE_HASH:
			return "hash";
		case TB_TABLE_DIRECT:
			return "direct";
		case TB_TABLE_DENSE:
			return "dense";
		case TB_TABLE_ALL:
			return "list";
		default:
			return "none";
	}
}

/* "name" or "name alias", as EXPLAIN's own scans show it. */
static const char *
table_name(const Shower *shower, int stage)
{
	TbStageNotes   notes = tb_private_notes(plan_of(shower), stage);
	RangeTblEntry *rte = rt_fetch(notes.rti, shower->es->rtable);
	const char	  *name = OidIsValid(rte->relid) ? get_rel_name(rte->relid) : NULL;
	const char	  *alias = list_nth(shower->es->rtable_names, notes.rti - 1);

	if (alias == NULL)
		alias = rte->eref->aliasname;
	if (name == NULL || strcmp(name, alias) == 0)
		return quote_identifier(alias);
	return psprintf("%s %s", quote_identifier(name), quote_identifier(alias));
}

/* The filters that look at the stage's own table only, or the others. */
static List *
filters_of(const TbStageNotes *notes, bool own)
{
	List	 *result = NIL;
	ListCell *lc;

	foreach(lc, notes->filters)
	{
		Relids varnos = pull_varnos(NULL, lfirst(lc));
		bool   is_own = !bms_is_member(notes->rti, varnos) ?
			  bms_is_empty(varnos) :
			  bms_membership(varnos) == BMS_SINGLETON;

		if (is_own == own)
			result = lappend(result, lfirst(lc));
	}
	return result;
}

static int
stage_of_table(const TbStageRun *run, uint32 table)
{
	for (int i = 0; i < run->nstages - 1; i++)
		if (run->stages[i].info.join_table == table)
			return i;
	elog(ERROR, "no stage builds table %u", table);
}

static void
show_table(Shower *shower, const TbRunStats *stats)
{
	ExplainState	  *es = shower->es;
	const TbQueryDone *done = &stats->service.done;

	bool on_gpu = stats->service.ready.device != TB_DEVICE_HOST && done->table_kept == 0;

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		const char *place = on_gpu ? " on the GPU" : "";
		const char *times = done->table_kept ? " kept" :
			!es->timing ? psprintf("%s%s", on_gpu ? " built" : "", place) :
						  psprintf(" built in %.1f ms%s", done->finish_us / 1000.0, place);

		ExplainPropertyText("Inner Table",
							psprintf("%s rows=" UINT64_FORMAT " of " UINT64_FORMAT
									 " size=" UINT64_FORMAT "kB%s",
									 table_kind_name(done->table_kind), done->groups,
									 done->rows_in, (done->table_bytes + 1023) / 1024,
									 times),
							es);
		ExplainPropertyText("Inner Blocks",
							psprintf("buffered=" UINT64_FORMAT " direct=" UINT64_FORMAT
									 "%s%s",
									 stats->blocks.buffered, stats->blocks.direct,
									 stats->blocks.cached == 0 ?
										 "" :
										 psprintf(" cached=" UINT64_FORMAT,
												  stats->blocks.cached),
									 stats->feeders.launched == 0 ?
										 "" :
										 psprintf(" feeders=%u", stats->feeders.launched)),
							es);
		tb_explain_segments("Inner ", stats, es);
		return;
	}
	ExplainPropertyText("Inner Table", table_kind_name(done->table_kind), es);
	ExplainPropertyUInteger("Inner Rows", NULL, done->groups, es);
	ExplainPropertyUInteger("Inner Rows Read", NULL, done->rows_in, es);
	ExplainPropertyUInteger("Inner Table Size", "B", done->table_bytes, es);
	if (es->timing)
		ExplainPropertyFloat("Inner Build Time", "ms", done->finish_us / 1000.0, 3, es);
	ExplainPropertyUInteger("Inner Blocks Buffered", NULL, stats->blocks.buffered, es);
	ExplainPropertyUInteger("Inner Blocks Direct", NULL, stats->blocks.direct, es);
	ExplainPropertyUInteger("Inner Blocks Cached", NULL, stats->blocks.cached, es);
	tb_explain_segments("Inner ", stats, es);
	ExplainPropertyBool("Inner Table Kept", done->table_kept != 0, es);
	if (on_gpu)
		ExplainPropertyBool("Inner Table Built On GPU", true, es);
	if (stats->feeders.launched > 0)
		ExplainPropertyUInteger("Inner Feeders", NULL, stats->feeders.launched, es);
}

/* What is left out of the stage's table. */
static void
show_index(Shower *shower, int stage, const char *prefix)
{
	TbStageNotes   notes = tb_private_notes(plan_of(shower), stage);
	const TbInput *input = shower->run->stages[stage].input;
	TbIndexUse	   use;

	if (input->methods->index_use == NULL)
		return;
	use = input->methods->index_use(input);
	tb_explain_index(&use, prefix, notes.brin_condition, &shower->run->css->ss.ps,
					 shower->ancestors, shower->es);
}

/* What one leaf has delivered. */
static void
show_leaf(Shower *shower, const TbPartitionsShown *run, int leaf)
{
	ExplainState	  *es = shower->es;
	const TbPartStats *stats = &run->stats[leaf];
	const char		  *name = get_rel_name(rt_fetch(run->rtis[leaf], es->rtable)->relid);

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText("Partition",
							psprintf("%s buffered=" UINT64_FORMAT " direct=" UINT64_FORMAT
									 " rows=" UINT64_FORMAT,
									 quote_identifier(name ? name : "?"),
									 stats->blocks_buffered, stats->blocks_direct,
									 stats->rows),
							es);
		return;
	}
	ExplainOpenGroup("Partition", NULL, true, es);
	ExplainPropertyText("Partition Name", name ? name : "?", es);
	ExplainPropertyUInteger("Blocks Buffered", NULL, stats->blocks_buffered, es);
	ExplainPropertyUInteger("Blocks Direct", NULL, stats->blocks_direct, es);
	ExplainPropertyUInteger("Rows Read", NULL, stats->rows, es);
	ExplainCloseGroup("Partition", NULL, true, es);
}

/* How many partitions of the stage's table are read, of how many there are. */
static void
show_partitions(Shower *shower, int stage)
{
	const TbRunStage *of = &shower->run->stages[stage];
	ExplainState	 *es = shower->es;
	int				  all = of->info.nleaves + of->info.pruned;
	TbPartitionsShown run;
	bool has_stats = shower->ran && tb_stage_run_stats(shower->run, stage) != NULL;
	bool has_run;
	int	 left;

	if (!tb_partitions_input_shown(of->input, &run))
		return;
	has_run = shower->ran && (has_stats || run.removed_by_join > 0);
	left = has_run ? run.nread : run.nvalid;
	if (es->format == EXPLAIN_FORMAT_TEXT)
		ExplainPropertyText("Partitions", psprintf("%d of %d", left, all), es);
	else
	{
		ExplainPropertyInteger("Partitions Read", NULL, left, es);
		ExplainPropertyInteger("Partitions Pruned", NULL, all - left, es);
	}
	if (has_run && run.prunes_by_joins &&
		(run.removed_by_join > 0 || es->format != EXPLAIN_FORMAT_TEXT))
		ExplainPropertyInteger("Partitions Removed by Join", NULL, run.removed_by_join, es);
	if (!has_run || !es->verbose)
		return;
	ExplainOpenGroup("Partitions", "Partitions", false, es);
	for (int i = 0; i < run.nread; i++)
		show_leaf(shower, &run, run.read[i]);
	ExplainCloseGroup("Partitions", "Partitions", false, es);
}

/* Join `number` of the stage, between what goes in and what comes out. */
static void
show_join(Shower *shower, int stage, const TbJoin *join, uint32 number,
		  const TbStageJoin *conditions)
{
	ExplainState	 *es = shower->es;
	PlanState		 *node = &shower->run->css->ss.ps;
	int				  inner = stage_of_table(shower->run, join->join_table);
	TbStageNotes	  notes = tb_private_notes(plan_of(shower), inner);
	const TbRunStats *outer_stats = tb_stage_run_stats(shower->run, stage);
	const TbRunStats *stats = tb_stage_run_stats(shower->run, inner);
	const char		 *label = psprintf("Depth %u", number + 1);
	const char		 *method = join->nkeys > 0 ? "GpuHashJoin" : "GpuNestLoop";
	/* Another join's table, which filters what is built after it. */
	bool			  shared = bms_is_member(join->join_table, shower->join_tables);

	shower->join_tables = bms_add_member(shower->join_tables, join->join_table);
	ExplainOpenGroup(label, label, true, es);
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText(label,
							psprintf("%s (%s%s) on %s", method, join_name(join->kind),
									 (join->flags & TB_JOIN_UNIQUE) ? " Unique" : "",
									 table_name(shower, inner)),
							es);
		es->indent++;
	}
	else
	{
		ExplainPropertyText("Join", method, es);
		ExplainPropertyText("Join Type", join_name(join->kind), es);
		ExplainPropertyBool("Inner Unique", (join->flags & TB_JOIN_UNIQUE) != 0, es);
		ExplainPropertyText("Inner Relation", table_name(shower, inner), es);
	}
	tb_explain_list("HashKeys", conditions->keys, node, shower->ancestors, es);
	tb_explain_filter("JoinQuals", conditions->others, node, shower->ancestors, es);
	if (!shared)
	{
		tb_explain_filter("Inner Filter", filters_of(&notes, true), node, shower->ancestors,
						  es);
		show_index(shower, inner, "Inner ");
		show_partitions(shower, inner);
		if (shower->ran && stats != NULL && stats->service.device_name[0] != '\0')
			show_table(shower, stats);
	}
	if (shower->ran && outer_stats != NULL &&
		number < lengthof(outer_stats->service.done.join_rows))
		ExplainPropertyUInteger("Joined Rows", NULL,
								outer_stats->service.done.join_rows[number], es);
	if (!shared)
	{
		show_joins(shower, inner);
		tb_explain_filter("Inner Join Filter", filters_of(&notes, false), node,
						  shower->ancestors, es);
	}
	if (es->format == EXPLAIN_FORMAT_TEXT)
		es->indent--;
	ExplainCloseGroup(label, label, true, es);
}

static void
show_joins(Shower *shower, int stage)
{
	const TbProgram *program = shower->run->stages[stage].program;
	const TbJoin *joins = (const TbJoin *) ((const char *) program + program->joins.offset);
	TbStageNotes  notes = tb_private_notes(plan_of(shower), stage);

	for (uint32 i = 0; i < program->joins.count; i++)
		show_join(shower, stage, &joins[i], i, list_nth(notes.joins, i));
}

static void
show_filters(Shower *shower, bool joined)
{
	ExplainState *es = shower->es;
	PlanState	 *node = &shower->run->css->ss.ps;
	TbStageNotes  notes = tb_private_notes(plan_of(shower), shower->run->nstages - 1);

	if (!joined)
	{
		tb_explain_filter("GPU Filter", notes.filters, node, shower->ancestors, es);
		show_index(shower, shower->run->nstages - 1, "");
		show_partitions(shower, 0);
		return;
	}
	ExplainPropertyText("Outer Scan", table_name(shower, shower->run->nstages - 1), es);
	tb_explain_filter("Outer Scan Filter", filters_of(&notes, true), node,
					  shower->ancestors, es);
	show_index(shower, shower->run->nstages - 1, "");
	show_partitions(shower, shower->run->nstages - 1);
	show_joins(shower, shower->run->nstages - 1);
	tb_explain_filter("Join Filter", filters_of(&notes, false), node, shower->ancestors,
					  es);
}

static void
explain_stages(TbStageRun *run, bool falling_back, List *ancestors, ExplainState *es)
{
	Shower shower = {.run = run, .ran = es->analyze, .ancestors = ancestors, .es = es};
	int	   last = run->nstages - 1;
	const TbRunStats *stats = tb_stage_run_stats(run, last);
	TbStageNotes	  notes = tb_private_notes(tb_stages_plan(
											   (CustomScan *) run->css->ss.ps.plan),
											   last);

	show_filters(&shower, last > 0);
	if (!es->analyze)
	{
		tb_explain_device_choice(&run->stages[last].info.work, es);
		return;
	}
	if (stats == NULL)
	{
		ExplainPropertyText("Device", "none", es);
		return;
	}
	if (notes.filters != NIL && !falling_back && last == 0)
		ExplainPropertyUInteger("Rows Removed by GPU Filter", NULL,
								stats->service.done.rows_in -
									stats->service.done.rows_passed,
								es);
	tb_explain_stats(stats, es);
}

void
tb_explain_run(const TbRunCursor *cursor, List *ancestors, ExplainState *es)
{
	explain_stages(cursor->run, cursor->falling_back, ancestors, es);
	if (cursor->falling_back)
		ExplainPropertyText("Fallback To PostgreSQL", cursor->fallback_message, es);
	if (es->analyze)
		tb_explain_times(cursor->run->profile, es);
}
