/*
 * node_explain.c - what EXPLAIN shows of any accelerated node.
 *
 * In text format related figures share a line, elsewhere each is a property of
 * its own. Called by the nodes' explain.c.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/ruleutils.h"

#include "pg/settings/guc.h"
#include "pg/stage/node_explain.h"
#include "pg/shmem/device_list.h"

char *
tb_explain_expr(Node *expr, PlanState *node, List *ancestors, ExplainState *es)
{
	List *context = set_deparse_context_plan(es->deparse_cxt, node->plan, ancestors);

	return deparse_expression(expr, context, list_length(es->rtable) > 1 || es->verbose,
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

void
tb_explain_device_choice(const TbWork *work, ExplainState *es)
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
		ExplainPropertyText("Device",
							psprintf("GPU%u (%s)", device - 1, devices[device].name), es);
	else
		ExplainPropertyText("Device", "CPU", es);
}

static void
explain_blocks(const TbRunStats *stats, ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText("Blocks",
							psprintf("buffered=" UINT64_FORMAT " direct=" UINT64_FORMAT
									 "%s%s%s",
									 stats->blocks.buffered, stats->blocks.direct,
									 stats->blocks.cached == 0 ?
										 "" :
										 psprintf(" cached=" UINT64_FORMAT,
												  stats->blocks.cached),
									 stats->blocks.excluded == 0 ?
										 "" :
										 psprintf(" excluded=" UINT64_FORMAT,
												  stats->blocks.excluded),
									 stats->blocks.moved == 0 ?
										 "" :
										 psprintf(" moved=" UINT64_FORMAT,
												  stats->blocks.moved)),
							es);
		return;
	}
	ExplainPropertyUInteger("Blocks Buffered", NULL, stats->blocks.buffered, es);
	ExplainPropertyUInteger("Blocks Direct", NULL, stats->blocks.direct, es);
	ExplainPropertyUInteger("Blocks Cached", NULL, stats->blocks.cached, es);
	ExplainPropertyUInteger("Blocks Excluded", NULL, stats->blocks.excluded, es);
	ExplainPropertyUInteger("Blocks Moved", NULL, stats->blocks.moved, es);
}

static const char *
left_out(const char *by, uint64 segments)
{
	return segments == 0 ? "" : psprintf(" %s=" UINT64_FORMAT, by, segments);
}

void
tb_explain_segments(const char *prefix, const TbRunStats *stats, ExplainState *es)
{
	const TbSegmentStats *segments = &stats->segments;
	const TbQueryDone	 *done = &stats->service.done;
	bool left = segments->by_filter + segments->by_join + done->excluded_by_order > 0;

	if (segments->taken == 0)
		return;
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText(psprintf("%sSegments", prefix),
							psprintf("taken=" UINT64_FORMAT "%s%s%s%s", segments->taken,
									 left ? " excluded by" : "",
									 left_out("filter", segments->by_filter),
									 left_out("join", segments->by_join),
									 left_out("order", done->excluded_by_order)),
							es);
		if (done->cached_bytes > 0)
			ExplainPropertyText(psprintf("%sCached Columns", prefix),
								psprintf("%u read=" UINT64_FORMAT "kB",
										 done->cached_columns,
										 (done->cached_bytes + 1023) / 1024),
								es);
		return;
	}
	ExplainPropertyUInteger(psprintf("%sSegments Taken", prefix), NULL, segments->taken,
							es);
	ExplainPropertyUInteger(psprintf("%sSegments Excluded by Filter", prefix), NULL,
							segments->by_filter, es);
	ExplainPropertyUInteger(psprintf("%sSegments Excluded by Join", prefix), NULL,
							segments->by_join, es);
	ExplainPropertyUInteger(psprintf("%sSegments Excluded by Order", prefix), NULL,
							done->excluded_by_order, es);
	ExplainPropertyUInteger(psprintf("%sCached Columns", prefix), NULL,
							done->cached_columns, es);
	ExplainPropertyUInteger(psprintf("%sCached Bytes Read", prefix), "B",
							done->cached_bytes, es);
}

/* What indexes in files have left out: Bloom filters, and least and greatest values of
 * pages. */
static void
explain_file_indexes(const TbQueryDone *done, ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		if (done->file_batches_excluded_by_bloom + done->file_batches_excluded_by_pages +
				done->file_pages_excluded >
			0)
			ExplainPropertyText("Excluded by File Indexes",
								psprintf("batches by Bloom filter=" UINT64_FORMAT
										 " by pages=" UINT64_FORMAT " pages=" UINT64_FORMAT
										 " of " UINT64_FORMAT,
										 done->file_batches_excluded_by_bloom,
										 done->file_batches_excluded_by_pages,
										 done->file_pages_excluded, done->file_pages),
								es);
		return;
	}
	ExplainPropertyUInteger("File Batches Excluded by Bloom Filter", NULL,
							done->file_batches_excluded_by_bloom, es);
	ExplainPropertyUInteger("File Batches Excluded by Pages", NULL,
							done->file_batches_excluded_by_pages, es);
	ExplainPropertyUInteger("File Pages", NULL, done->file_pages, es);
	ExplainPropertyUInteger("File Pages Excluded", NULL, done->file_pages_excluded, es);
}

/* Files of columns, and their batches: those that statistics or indexes exclude are not
 * read. */
static void
explain_files(const TbRunStats *stats, ExplainState *es)
{
	const TbQueryDone *done = &stats->service.done;

	if (stats->files == 0)
		return;
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText("Files",
							psprintf(UINT64_FORMAT
									 " batches=" UINT64_FORMAT " excluded=" UINT64_FORMAT
									 " cached=" UINT64_FORMAT " read=" UINT64_FORMAT "kB",
									 stats->files, done->file_batches,
									 done->file_batches_excluded, done->file_batches_cached,
									 (done->bytes_read + 1023) / 1024),
							es);
		explain_file_indexes(done, es);
		return;
	}
	ExplainPropertyUInteger("Files", NULL, stats->files, es);
	ExplainPropertyUInteger("File Batches", NULL, done->file_batches, es);
	ExplainPropertyUInteger("File Batches Excluded", NULL, done->file_batches_excluded, es);
	ExplainPropertyUInteger("File Batches Cached", NULL, done->file_batches_cached, es);
	explain_file_indexes(done, es);
	ExplainPropertyUInteger("File Bytes Read", "B", done->bytes_read, es);
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

void
tb_explain_stats(const TbRunStats *stats, ExplainState *es)
{
	bool ran = stats->service.device_name[0] != '\0';

	ExplainPropertyText("Device", ran ? stats->service.device_name : "none", es);
	if (stats->files == 0)
		explain_blocks(stats, es);
	explain_files(stats, es);
	tb_explain_segments("", stats, es);
	explain_feeders(stats, es);
	if (ran)
	{
		explain_jit(stats, es);
		explain_transfer(stats, es);
		explain_run_stages(stats, es);
	}
	if (stats->rows_deferred > 0)
		ExplainPropertyUInteger("Rows Detoasted", NULL, stats->rows_deferred, es);
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
	const char *skipped = psprintf("%sBRIN skipped", prefix);

	if (!use->used)
		return;
	tb_explain_filter(psprintf("%sBRIN cond", prefix), condition, node, ancestors, es);
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
	ExplainPropertyUInteger(psprintf("%sBRIN blocks", prefix), NULL, use->blocks, es);
}
