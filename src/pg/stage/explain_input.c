/*
 * explain_input.c - see explain_input.h.
 *
 * In text format related figures share a line, elsewhere each is a property of its own.
 * Owns nothing. Called by explain.c.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "turbine/kernel.h"

#include "pg/stage/explain_input.h"

/* Names as users know them from VACUUM. */
static const char *const why_buffered[TB_WHY_COUNT] = {
	[TB_WHY_NOT_ALL_VISIBLE] = "not all-visible",
	[TB_WHY_DIRTY] = "dirty",
	[TB_WHY_CHANGED] = "changed",
	[TB_WHY_UNDECIDED] = "undecided",
	[TB_WHY_NO_LSN] = "no LSN",
};

/* Why blocks were buffered, where there is more to say than that the table is small. */
void
tb_explain_why_buffered(const char *prefix, const TbBlockStats *blocks, ExplainState *es)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < TB_WHY_COUNT; i++)
	{
		if (blocks->why[i] == 0)
			continue;
		if (es->format == EXPLAIN_FORMAT_TEXT)
			appendStringInfo(&text, "%s%s=" UINT64_FORMAT, text.len > 0 ? " " : "",
							 why_buffered[i], blocks->why[i]);
		else
			ExplainPropertyUInteger(psprintf("%sBlocks Buffered, %s", prefix,
											 why_buffered[i]),
									NULL, blocks->why[i], es);
	}
	if (text.len > 0)
		ExplainPropertyText(psprintf("%sBuffered Because", prefix), text.data, es);
	pfree(text.data);
}

void
tb_explain_blocks(const TbRunStats *stats, ExplainState *es)
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
		tb_explain_why_buffered("", &stats->blocks, es);
		return;
	}
	ExplainPropertyUInteger("Blocks Buffered", NULL, stats->blocks.buffered, es);
	ExplainPropertyUInteger("Blocks Direct", NULL, stats->blocks.direct, es);
	ExplainPropertyUInteger("Blocks Cached", NULL, stats->blocks.cached, es);
	ExplainPropertyUInteger("Blocks Excluded", NULL, stats->blocks.excluded, es);
	ExplainPropertyUInteger("Blocks Moved", NULL, stats->blocks.moved, es);
	tb_explain_why_buffered("", &stats->blocks, es);
}

static double
gigabytes_per_second(uint64 bytes, uint64 us)
{
	return us > 0 ? (double) bytes / 1e3 / (double) us : 0;
}

/* How the drive was reached, if it was. */
static const char *
method_name(const TbQueryDone *done)
{
	if (done->drive_bytes == 0)
		return "page cache";
	return done->storage_method == TB_STORAGE_IO_URING ? "io_uring" : "threads";
}

/* One way that blocks came from files, and how fast while it was in use. */
static void
append_way(StringInfo text, const char *label, uint64 bytes, uint64 us,
		   const ExplainState *es)
{
	appendStringInfo(text, ", %s=" UINT64_FORMAT " blocks", label, bytes / BLCKSZ);
	if (es->timing && us > 0)
		appendStringInfo(text, ", %.2f GB/s", gigabytes_per_second(bytes, us));
}

/* How direct blocks were read: from the drive past the page cache, and by the page cache.
 * These are all that the service has read, blocks that have moved since included. */
void
tb_explain_direct(const char *prefix, const TbRunStats *stats, ExplainState *es)
{
	const TbQueryDone *done = &stats->service.done;
	uint64			   cached = done->bytes_read - Min(done->drive_bytes, done->bytes_read);
	StringInfoData	   text;

	if (stats->files > 0 || done->bytes_read == 0)
		return;
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		initStringInfo(&text);
		appendStringInfo(&text, "enabled (%s)", method_name(done));
		if (done->drive_bytes > 0)
			append_way(&text, "load", done->drive_bytes, done->drive_us, es);
		if (cached > 0)
			append_way(&text, done->drive_bytes > 0 ? "page cache" : "load", cached,
					   done->page_cache_us, es);
		ExplainPropertyText(psprintf("%sDirect SQL", prefix), text.data, es);
		pfree(text.data);
		return;
	}
	ExplainPropertyText(psprintf("%sDirect SQL", prefix), method_name(done), es);
	ExplainPropertyUInteger(psprintf("%sDrive Blocks", prefix), NULL,
							done->drive_bytes / BLCKSZ, es);
	ExplainPropertyUInteger(psprintf("%sPage Cache Blocks", prefix), NULL, cached / BLCKSZ,
							es);
	if (!es->timing)
		return;
	ExplainPropertyFloat(psprintf("%sDrive Rate", prefix), "GB/s",
						 gigabytes_per_second(done->drive_bytes, done->drive_us), 3, es);
	ExplainPropertyFloat(psprintf("%sPage Cache Rate", prefix), "GB/s",
						 gigabytes_per_second(cached, done->page_cache_us), 3, es);
}

static const char *
left_out(const char *by, uint64 segments)
{
	return segments == 0 ? "" : psprintf(" %s=" UINT64_FORMAT, by, segments);
}

/* Of cached columns: what was left out, and by what; and what was read. Labels begin with
 * the prefix. Nothing if none were taken. */
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

/* Whole blocks of the drive, so more than the columns' bytes. */
static void
explain_direct_files(const TbQueryDone *done, ExplainState *es)
{
	const char *rate = "";

	if (done->drive_bytes == 0 || es->format != EXPLAIN_FORMAT_TEXT)
		return;
	if (es->timing && done->drive_us > 0)
		rate = psprintf(", %.2f GB/s",
						gigabytes_per_second(done->drive_bytes, done->drive_us));
	ExplainPropertyText("Direct SQL",
						psprintf("enabled (%s), load=" UINT64_FORMAT "kB%s",
								 method_name(done), (done->drive_bytes + 1023) / 1024,
								 rate),
						es);
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
void
tb_explain_files(const TbRunStats *stats, ExplainState *es)
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
		explain_direct_files(done, es);
		explain_file_indexes(done, es);
		return;
	}
	ExplainPropertyUInteger("Files", NULL, stats->files, es);
	ExplainPropertyUInteger("File Batches", NULL, done->file_batches, es);
	ExplainPropertyUInteger("File Batches Excluded", NULL, done->file_batches_excluded, es);
	ExplainPropertyUInteger("File Batches Cached", NULL, done->file_batches_cached, es);
	explain_file_indexes(done, es);
	ExplainPropertyUInteger("File Bytes Read", "B", done->bytes_read, es);
	ExplainPropertyUInteger("File Drive Bytes", "B", done->drive_bytes, es);
}

void
tb_explain_file_columns(Oid relid, const TbProgram *program, const TbRunStats *stats,
						ExplainState *es)
{
	const TbColumn *columns = (const TbColumn *) ((const char *) program +
												  program->columns.offset);
	const uint64   *bytes = stats->service.done.column_bytes;
	StringInfoData	text;

	if (!es->verbose || stats->files == 0)
		return;
	initStringInfo(&text);
	ExplainOpenGroup("File Columns", "File Columns", true, es);
	for (uint32 i = 0; i < program->columns.count && columns[i].join == 0; i++)
	{
		const char *name = get_attname(relid, columns[i].attnum, false);

		if (es->format == EXPLAIN_FORMAT_TEXT)
			appendStringInfo(&text, "%s%s=" UINT64_FORMAT "kB", i > 0 ? " " : "",
							 quote_identifier(name), (bytes[i] + 1023) / 1024);
		else
			ExplainPropertyUInteger(name, "B", bytes[i], es);
	}
	ExplainCloseGroup("File Columns", "File Columns", true, es);
	if (text.len > 0)
		ExplainPropertyText("File Columns", text.data, es);
}
