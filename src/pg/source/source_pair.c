/*
 * source_pair.c - see source_pair.h.
 *
 * What the first has to send, it sends when it begins: before all chunks of the second, so
 * that the service is at work on it meanwhile. All slots are the second's. Called through
 * the methods of source.h.
 */
#include "postgres.h"

#include "pg/source/source_pair.h"

typedef struct SourcePair
{
	TbSource  base;
	TbSource *first;
	TbSource *second;
} SourcePair;

#define FIRST(source) (((const SourcePair *) (source))->first)
#define SECOND(source) (((const SourcePair *) (source))->second)

static bool
pair_announce(TbSource *source, TbServiceQuery *query, TbInputSize *size)
{
	TbInputSize of_first = {0};

	return FIRST(source)->methods->announce(FIRST(source), query, &of_first) &&
		SECOND(source)->methods->announce(SECOND(source), query, size);
}

static bool
pair_ask(TbSource *source, TbServiceQuery *query)
{
	TbSource *second = SECOND(source);

	return second->methods->ask == NULL || second->methods->ask(second, query);
}

static bool
pair_begin(TbSource *source, TbServiceQuery *query, TbSlots *slots)
{
	return FIRST(source)->methods->begin(FIRST(source), query, slots) &&
		SECOND(source)->methods->begin(SECOND(source), query, slots);
}

static void
pair_begin_input(TbSource *source)
{
	if (SECOND(source)->methods->begin_input != NULL)
		SECOND(source)->methods->begin_input(SECOND(source));
}

static void
pair_end_input(TbSource *source, bool abandon)
{
	if (SECOND(source)->methods->end_input != NULL)
		SECOND(source)->methods->end_input(SECOND(source), abandon);
}

static TbSourceFill
pair_fill(TbSource *source, int slot)
{
	return SECOND(source)->methods->fill(SECOND(source), slot);
}

static bool
pair_chunk_read(TbSource *source, uint32 slot, TbReadOutcome outcome)
{
	return SECOND(source)->methods->chunk_read(SECOND(source), slot, outcome);
}

static bool
pair_chunk_done(TbSource *source, uint32 slot)
{
	return SECOND(source)->methods->chunk_done(SECOND(source), slot);
}

static bool
pair_poll(TbSource *source, bool *any)
{
	*any = false;
	return SECOND(source)->methods->poll == NULL ||
		SECOND(source)->methods->poll(SECOND(source), any);
}

static TbSourceHelp
pair_help(TbSource *source)
{
	if (SECOND(source)->methods->help == NULL)
		return TB_HELP_NONE;
	return SECOND(source)->methods->help(SECOND(source));
}

static void
pair_report(const TbSource *source, TbRunStats *stats)
{
	if (SECOND(source)->methods->report != NULL)
		SECOND(source)->methods->report(SECOND(source), stats);
	if (FIRST(source)->methods->report != NULL)
		FIRST(source)->methods->report(FIRST(source), stats);
}

static void
pair_count_rows(TbSource *source)
{
	if (SECOND(source)->methods->count_rows != NULL)
		SECOND(source)->methods->count_rows(SECOND(source));
}

static void
pair_end(TbSource *source)
{
	if (FIRST(source)->methods->end != NULL)
		FIRST(source)->methods->end(FIRST(source));
	if (SECOND(source)->methods->end != NULL)
		SECOND(source)->methods->end(SECOND(source));
}

static const TbSourceMethods pair_methods = {
	.announce = pair_announce,
	.ask = pair_ask,
	.begin = pair_begin,
	.begin_input = pair_begin_input,
	.end_input = pair_end_input,
	.fill = pair_fill,
	.chunk_read = pair_chunk_read,
	.chunk_done = pair_chunk_done,
	.poll = pair_poll,
	.help = pair_help,
	.report = pair_report,
	.count_rows = pair_count_rows,
	.end = pair_end,
};

TbSource *
tb_source_pair_make(TbSource *first, TbSource *second)
{
	SourcePair *pair = palloc0(sizeof(SourcePair));

	pair->base.methods = &pair_methods;
	pair->first = first;
	pair->second = second;
	return &pair->base;
}
