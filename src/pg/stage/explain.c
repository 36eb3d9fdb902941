/*
 * explain.c - see explain.h.
 *
 * A join is a group of its own, `Depth N`, with what its join table is made of; a join
 * table that is itself joined shows its joins within. In text format related figures share
 * a line, elsewhere each is a property of its own. Owns nothing. Called by the nodes'
 * explain.c.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "port/pg_bitutils.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "turbine/kernel.h"

#include "pg/settings/guc.h"
#include "pg/shmem/device_list.h"
#include "pg/stage/explain.h"
#include "pg/stage/explain_input.h"
#include "pg/stage/plan_private.h"
#include "pg/stage/stage_input.h"
#include "pg/topology/gpu_preference.h"

/* ---- Any node ---- */

char *
tb_explain_expr(Node *expr, PlanState *node, List *ancestors, ExplainState *es)
{
	List *context = set_deparse_context_plan(es->deparse_cxt, node->plan, ancestors);

	return deparse_expression(expr, context, TB_EXPLAINED_TABLES(es) > 1 || es->verbose,
							  false);
}

void
tb_explain_filter(const char *label, List *quals, PlanState *node, List *ancestors,
				  ExplainState *es)
{
	if (quals == NIL)
		return;
	ExplainPropertyText(label,
						tb_explain_expr((Node *) make_ands_explicit(quals), node, ancestors,
										es),
						es);
}

List *
tb_explain_texts(List *exprs, PlanState *node, List *ancestors, ExplainState *es)
{
	List	 *texts = NIL;
	ListCell *lc;

	foreach(lc, exprs)
		texts = lappend(texts, tb_explain_expr(lfirst(lc), node, ancestors, es));
	return texts;
}

void
tb_explain_list(const char *label, List *exprs, PlanState *node, List *ancestors,
				ExplainState *es)
{
	if (exprs != NIL)
		ExplainPropertyList(label, tb_explain_texts(exprs, node, ancestors, es), es);
}

/* "GPU0, GPU1 (2 x NVIDIA H100)"; of different ones "GPU0 (NVIDIA H100), GPU1 (NVIDIA L4)".
 */
static char *
gpu_list(uint32 gpus, const TbDeviceInfo *devices)
{
	StringInfoData text;
	int			   count = pg_popcount32(gpus);
	const char	  *name = devices[pg_rightmost_one_pos32(gpus) + 1].name;
	bool		   alike = true;

	for (uint32 left = gpus; left != 0; left &= left - 1)
		alike = alike && strcmp(devices[pg_rightmost_one_pos32(left) + 1].name, name) == 0;
	initStringInfo(&text);
	for (uint32 left = gpus; left != 0; left &= left - 1)
	{
		int gpu = pg_rightmost_one_pos32(left);

		appendStringInfo(&text, "%sGPU%d", text.len > 0 ? ", " : "", gpu);
		if (!alike)
			appendStringInfo(&text, " (%s)", devices[gpu + 1].name);
	}
	if (alike && count > 1)
		appendStringInfo(&text, " (%d x %s)", count, name);
	else if (alike)
		appendStringInfo(&text, " (%s)", name);
	return text.data;
}

/* The GPUs of which one or several run the node: of those that are allowed, those that the
 * table's tablespace prefers, if there are any. */
static void
explain_gpu_preference(Oid relid, ExplainState *es)
{
	TbDeviceInfo devices[TB_MAX_DEVICES] = {0};
	uint32		 gpus = tb_allowed_gpus();
	uint32		 preferred = gpus & tb_gpus_of_table(relid).gpus;

	if (preferred != 0)
		gpus = preferred;
	(void) tb_devices_snapshot(devices, TB_MAX_DEVICES);
	if (gpus != 0)
		ExplainPropertyText("GPU Preference", gpu_list(gpus, devices), es);
}

/* What each GPU has done of a query that ran on several. */
static void
explain_gpu_shares(const TbRunStats *stats, ExplainState *es)
{
	const TbGpuShare *shares = stats->service.done.gpus;

	Assert(stats->service.ready.gpus >> lengthof(stats->service.done.gpus) == 0);
	for (uint32 left = stats->service.ready.gpus; left != 0; left &= left - 1)
	{
		int			gpu = pg_rightmost_one_pos32(left);
		const char *label = psprintf("GPU%d", gpu);
		double		ms = shares[gpu].kernel_us / 1000.0;

		if (es->format != EXPLAIN_FORMAT_TEXT)
		{
			ExplainPropertyUInteger(psprintf("%s Rows", label), NULL, shares[gpu].rows_in,
									es);
			if (es->timing)
				ExplainPropertyFloat(psprintf("%s Kernel Time", label), "ms", ms, 3, es);
		}
		else if (es->timing)
			ExplainPropertyText(label,
								psprintf("rows=" UINT64_FORMAT " kernels=%.3f ms",
										 shares[gpu].rows_in, ms),
								es);
		else
			ExplainPropertyText(label, psprintf("rows=" UINT64_FORMAT, shares[gpu].rows_in),
								es);
	}
}

void
tb_explain_device_choice(Oid relid, const TbWork *work, ExplainState *es)
{
	TbDeviceInfo devices[TB_MAX_DEVICES];
	uint32		 device;
	const char	*reason;
	int			 count;

	if (!tb_choose_device(work, &device, &reason))
	{
		ExplainPropertyText("Device", psprintf("none: %s", reason), es);
		return;
	}
	count = tb_devices_snapshot(devices, TB_MAX_DEVICES);
	if ((int) device < count && devices[device].kind != 0)
	{
		ExplainPropertyText("Device",
							psprintf("GPU%u (%s)", device - 1, devices[device].name), es);
		explain_gpu_preference(relid, es);
	}
	else
		ExplainPropertyText("Device", "CPU", es);
}

/* Parallel workers that helped with the buffered blocks, and how many they took. */
static void
explain_feeders(const TbRunStats *stats, ExplainState *es)
{
	if (stats->feeders.planned == 0)
		return;
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText("Feeders",
							psprintf("planned=%u launched=%u blocks=" UINT64_FORMAT,
									 stats->feeders.planned, stats->feeders.launched,
									 stats->feeders.blocks),
							es);
		return;
	}
	ExplainPropertyUInteger("Feeders Planned", NULL, stats->feeders.planned, es);
	ExplainPropertyUInteger("Feeders Launched", NULL, stats->feeders.launched, es);
	ExplainPropertyUInteger("Blocks Fed", NULL, stats->feeders.blocks, es);
}

static void
explain_jit(const TbRunStats *stats, ExplainState *es)
{
	static const char *const sources[] = {"compiled", "cached in memory", "cached on disk"};
	const char				*source = sources[Min(stats->service.ready.code_source, 2)];

	if (es->format != EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText("JIT", source, es);
		if (es->timing)
			ExplainPropertyFloat("JIT Time", "ms", stats->service.ready.compile_ms, 3, es);
		return;
	}
	if (es->timing && stats->service.ready.code_source == 0)
		source = psprintf("compiled in %.1f ms", stats->service.ready.compile_ms);
	ExplainPropertyText("JIT", source, es);
}

static void
explain_transfer(const TbRunStats *stats, ExplainState *es)
{
	const TbQueryDone *done = &stats->service.done;

	if (done->bytes_to_device == 0 && done->bytes_from_device == 0)
		return;
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText("Transferred",
							psprintf("to device=" UINT64_FORMAT
									 "kB from device=" UINT64_FORMAT "kB",
									 (done->bytes_to_device + 1023) / 1024,
									 (done->bytes_from_device + 1023) / 1024),
							es);
		return;
	}
	ExplainPropertyUInteger("Transferred To Device", "B", done->bytes_to_device, es);
	ExplainPropertyUInteger("Transferred From Device", "B", done->bytes_from_device, es);
}

/* Where the service spent its time: sums over threads and over chunks that
 * overlap, so they may exceed the query's. */
static void
explain_run_stages(const TbRunStats *stats, ExplainState *es)
{
	const TbQueryDone *done = &stats->service.done;

	if (!es->timing || !es->verbose)
		return;
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText(
			"Stages",
			psprintf("read=%.3f transfer=%.3f decode=%.3f compute=%.3f finish=%.3f ms",
					 done->read_us / 1000.0, done->transfer_us / 1000.0,
					 done->decode_us / 1000.0, done->compute_us / 1000.0,
					 done->finish_us / 1000.0),
			es);
		return;
	}
	ExplainPropertyFloat("Read Time", "ms", done->read_us / 1000.0, 3, es);
	ExplainPropertyFloat("Transfer Time", "ms", done->transfer_us / 1000.0, 3, es);
	ExplainPropertyFloat("Decode Time", "ms", done->decode_us / 1000.0, 3, es);
	ExplainPropertyFloat("Compute Time", "ms", done->compute_us / 1000.0, 3, es);
	ExplainPropertyFloat("Finish Time", "ms", done->finish_us / 1000.0, 3, es);
}

/* Of expressions over one text that were computed once for each entry. */
static void
explain_dictionaries(const TbQueryDone *done, ExplainState *es)
{
	if (!es->verbose || done->dictionaries == 0)
		return;
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText("Texts Looked Up",
							psprintf("dictionaries=%u entries=" UINT64_FORMAT,
									 done->dictionaries, done->dictionary_entries),
							es);
		return;
	}
	ExplainPropertyUInteger("Dictionaries Looked Up", NULL, done->dictionaries, es);
	ExplainPropertyUInteger("Dictionary Entries", NULL, done->dictionary_entries, es);
}

void
tb_explain_stats(Oid relid, const TbRunStats *stats, ExplainState *es)
{
	bool ran = stats->service.device_name[0] != '\0';

	ExplainPropertyText("Device", ran ? stats->service.device_name : "none", es);
	if (ran && stats->service.ready.device != TB_DEVICE_HOST)
	{
		explain_gpu_preference(relid, es);
		explain_gpu_shares(stats, es);
	}
	if (stats->files == 0)
		tb_explain_blocks(stats, es);
	tb_explain_direct("", stats, es);
	tb_explain_files(stats, es);
	tb_explain_segments("", stats, es);
	explain_feeders(stats, es);
	if (ran)
	{
		explain_jit(stats, es);
		explain_transfer(stats, es);
		explain_run_stages(stats, es);
		explain_dictionaries(&stats->service.done, es);
	}
	if (stats->rows_deferred > 0)
		ExplainPropertyUInteger("Rows Detoasted", NULL, stats->rows_deferred, es);
	if (stats->undecided > 0)
		ExplainPropertyUInteger("Sent to PostGIS", NULL, stats->undecided, es);
	if (stats->chunks_evaluated > 0)
		ExplainPropertyUInteger("Chunks Evaluated By PostgreSQL", NULL,
								stats->chunks_evaluated, es);
	if (stats->service.fallback != TB_FALLBACK_NONE)
		ExplainPropertyText("Fallback", stats->service.fallback_message, es);
}

void
tb_explain_times(TbProfile *profile, ExplainState *es)
{
	static const char *const names[TB_PHASE_COUNT] = {
		[TB_PHASE_PLAN] = "Plan",		[TB_PHASE_COMPILE] = "Compile",
		[TB_PHASE_WAIT] = "Wait",		[TB_PHASE_READ] = "Read",
		[TB_PHASE_DECODE] = "Decode",	[TB_PHASE_COPY] = "Copy",
		[TB_PHASE_COMPUTE] = "Compute", [TB_PHASE_RESULT] = "Result",
	};
	uint64		   phases[TB_PHASE_COUNT];
	uint64		   fallback;
	StringInfoData text;

	if (profile == NULL || !es->timing)
		return;
	tb_profile_phases(profile, phases, &fallback);
	if (es->format != EXPLAIN_FORMAT_TEXT)
	{
		ExplainOpenGroup("Time", "Time", true, es);
		for (int i = 0; i < TB_PHASE_COUNT; i++)
			ExplainPropertyFloat(names[i], "ms", phases[i] / 1e6, 3, es);
		ExplainPropertyFloat("PostgreSQL", "ms", fallback / 1e6, 3, es);
		ExplainCloseGroup("Time", "Time", true, es);
		return;
	}
	initStringInfo(&text);
	for (int i = 0; i < TB_PHASE_COUNT; i++)
	{
		char *name = pstrdup(names[i]);

		name[0] = pg_tolower((unsigned char) name[0]);
		appendStringInfo(&text, "%s=%.3f ", name, phases[i] / 1e6);
	}
	if (fallback > 0)
		appendStringInfo(&text, "PostgreSQL=%.3f ", fallback / 1e6);
	appendStringInfoString(&text, "ms");
	ExplainPropertyText("Time", text.data, es);
}

void
tb_explain_index(const TbIndexUse *use, const char *prefix, List *condition,
				 PlanState *node, List *ancestors, ExplainState *es)
{
	const char *kind = use->of_brin ? "BRIN" : "Index";
	const char *skipped = psprintf("%s%s skipped", prefix, kind);

	if (!use->used)
		return;
	tb_explain_filter(psprintf("%s%s cond", prefix, kind), condition, node, ancestors, es);
	if (!es->analyze || !use->ran)
		return;
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText(skipped,
							psprintf(UINT64_FORMAT " blocks (of " UINT64_FORMAT ")",
									 use->skipped, use->blocks),
							es);
		return;
	}
	ExplainPropertyUInteger(skipped, NULL, use->skipped, es);
	ExplainPropertyUInteger(psprintf("%s%s blocks", prefix, kind), NULL, use->blocks, es);
}

/* ---- The stages of a node ---- */

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

/* The join of the stage's program that has a row for each cell of a grid; -1: it has none.
 */
static int
series_of(const TbStageRun *run, int stage)
{
	const TbProgram *program = run->stages[stage].program;
	const TbJoin *joins = (const TbJoin *) ((const char *) program + program->joins.offset);

	for (uint32 i = 0; i < program->joins.count; i++)
		if (joins[i].kind == TB_JOIN_SERIES)
			return (int) i;
	return -1;
}

/* The last one with a table. */
static uint32
last_join(const TbProgram *program)
{
	const TbJoin *joins = (const TbJoin *) ((const char *) program + program->joins.offset);
	uint32		  last = 0;

	for (uint32 i = 0; i < program->joins.count; i++)
		if (joins[i].kind != TB_JOIN_SERIES)
			last = i;
	return last;
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
		tb_explain_why_buffered("Inner ", &stats->blocks, es);
		tb_explain_direct("Inner ", stats, es);
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
	tb_explain_why_buffered("Inner ", &stats->blocks, es);
	tb_explain_direct("Inner ", stats, es);
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
	tb_explain_index(&use, prefix, notes.index_condition, &shower->run->css->ss.ps,
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

/* What was planned of a join table, beside what show_table() says of it. */
static void
show_planned_table(const TbWork *work, ExplainState *es)
{
	double bytes = tb_cost_table_bytes(work);

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText("Inner Table Plan",
							psprintf("rows=%.0f size=%.0fkB", work->built, bytes / 1024),
							es);
		return;
	}
	ExplainPropertyFloat("Inner Rows Planned", NULL, work->built, 0, es);
	ExplainPropertyFloat("Inner Table Size Planned", "B", bytes, 0, es);
}

/* Rows that come out of a join. Only of the last one the plan keeps an estimate, `planned`;
 * -1: there is none. */
static void
show_joined_rows(double planned, uint64 rows, ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		const char *plan = planned < 0 ? "" : psprintf(" (plan %.0f)", planned);

		ExplainPropertyText("Joined Rows", psprintf(UINT64_FORMAT "%s", rows, plan), es);
		return;
	}
	ExplainPropertyUInteger("Joined Rows", NULL, rows, es);
	if (planned >= 0)
		ExplainPropertyFloat("Joined Rows Planned", NULL, planned, 0, es);
}

/* Rows of the outer table that pass its filters, and the time that threads took to read
 * and decode them. */
static void
show_outer_rows(const TbWork *work, const TbQueryDone *done, ExplainState *es)
{
	double ms = (done->read_us + done->decode_us) / 1000.0;

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		const char *time = es->timing ? psprintf(" in %.1f ms", ms) : "";

		ExplainPropertyText("Outer Scan Rows",
							psprintf(UINT64_FORMAT " of " UINT64_FORMAT " (plan %.0f)%s",
									 done->rows_passed, done->rows_in, work->passing, time),
							es);
		return;
	}
	ExplainPropertyUInteger("Outer Scan Rows", NULL, done->rows_passed, es);
	ExplainPropertyUInteger("Outer Scan Rows Read", NULL, done->rows_in, es);
	ExplainPropertyFloat("Outer Scan Rows Planned", NULL, work->passing, 0, es);
	if (es->timing)
		ExplainPropertyFloat("Outer Scan Time", "ms", ms, 3, es);
}

/* Entries of a join table by cells: a row for each cell that its box overlaps. */
static void
show_grid(Shower *shower, int stage, const TbQueryDone *done)
{
	int series = series_of(shower->run, stage);

	if (series >= 0 && !done->table_kept)
		ExplainPropertyUInteger("Grid Entries", NULL, done->join_rows[series], shower->es);
}

/* Pairs of a point and a shape in its cell. */
static void
show_candidates(Shower *shower, const TbQueryDone *done, uint32 number, double rows)
{
	uint64 candidates = done->join_candidates[number];

	if (shower->es->format == EXPLAIN_FORMAT_TEXT)
		ExplainPropertyText("Grid Candidates",
							psprintf(UINT64_FORMAT " (%.2f per row)", candidates,
									 rows > 0 ? candidates / rows : 0),
							shower->es);
	else
		ExplainPropertyUInteger("Grid Candidates", NULL, candidates, shower->es);
}

/* Join `number` of the stage, between what goes in and what comes out. `depth` counts those
 * that are shown. */
static void
show_join(Shower *shower, int stage, const TbJoin *join, uint32 number, int depth,
		  const TbStageJoin *conditions)
{
	ExplainState	 *es = shower->es;
	PlanState		 *node = &shower->run->css->ss.ps;
	int				  inner = stage_of_table(shower->run, join->join_table);
	TbStageNotes	  notes = tb_private_notes(plan_of(shower), inner);
	const TbRunStats *outer_stats = tb_stage_run_stats(shower->run, stage);
	const TbRunStats *stats = tb_stage_run_stats(shower->run, inner);
	const char		 *label = psprintf("Depth %d", depth);
	const char		 *method = series_of(shower->run, inner) >= 0 ? "GpuGiSTJoin" :
			  join->nkeys > 0									  ? "GpuHashJoin" :
																	"GpuNestLoop";
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
		{
			show_planned_table(&shower->run->stages[inner].info.work, es);
			show_table(shower, stats);
			show_grid(shower, inner, &stats->service.done);
		}
	}
	if (shower->ran && outer_stats != NULL &&
		number < lengthof(outer_stats->service.done.join_rows))
	{
		const TbRunStage  *outer = &shower->run->stages[stage];
		bool			   is_last = number == last_join(outer->program);
		const TbQueryDone *done = &outer_stats->service.done;

		if (series_of(shower->run, inner) >= 0)
			show_candidates(shower, done, number,
							number == 0 ? done->rows_passed : done->join_rows[number - 1]);
		show_joined_rows(is_last ? outer->info.work.reaching : -1, done->join_rows[number],
						 es);
	}
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

	int depth = 0;

	for (uint32 i = 0; i < program->joins.count; i++)
		if (joins[i].kind != TB_JOIN_SERIES)
		{
			const TbStageJoin *conditions = list_nth(notes.joins, depth);

			show_join(shower, stage, &joins[i], i, ++depth, conditions);
		}
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
	if (shower->ran)
	{
		const TbRunStage *outer = &shower->run->stages[shower->run->nstages - 1];
		const TbRunStats *stats = tb_stage_run_stats(shower->run, shower->run->nstages - 1);

		if (stats != NULL && stats->service.device_name[0] != '\0')
			show_outer_rows(&outer->info.work, &stats->service.done, es);
	}
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
	Oid				  relid = rt_fetch(notes.rti, es->rtable)->relid;

	show_filters(&shower, last > 0);
	if (!es->analyze)
	{
		tb_explain_device_choice(relid, &run->stages[last].info.work, es);
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
	tb_explain_stats(relid, stats, es);
	tb_explain_file_columns(relid,
							tb_private_program(tb_stages_plan(
												   (CustomScan *) run->css->ss.ps.plan),
											   last),
							stats, es);
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
