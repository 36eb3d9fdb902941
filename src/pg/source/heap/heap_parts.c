/*
 * heap_parts.c - see heap_parts.h.
 *
 * Files. The backend opens a relation's files, since it holds the relation's lock and knows
 * its path; turbined never opens one by name and never keeps one, since DROP and TRUNCATE
 * rely on everyone letting go. turbined's side: src/engine/source/heap/relation_files.h.
 *
 * Parts. Owns the cursor over blocks and the readers of all parts. A layout is announced
 * once, before the first part that has it. Must never open a relation: that is done, under
 * its lock, by whoever made the input. Called by the heap source and by heap scans.
 */
#include "postgres.h"

#include <fcntl.h>

#include "common/relpath.h"
#include "storage/fd.h"
#include "storage/smgr.h"
#include "utils/rel.h"

#include "pg/cache/cache_load.h"
#include "pg/cache/cache_policy.h"
#include "pg/compat/pg18.h"
#include "pg/settings/guc.h"
#include "pg/shmem/cache_advice.h"
#include "pg/shmem/cache_progress.h"
#include "pg/source/heap/heap_parts.h"
#include "pg/source/heap/relation_statistics.h"

typedef enum TbFilesSent
{
	TB_FILES_SENT,
	TB_FILES_NONE, /* could not open them all: read buffered */
	TB_FILES_LOST  /* the connection is closed */
} TbFilesSent;

/* Open at a time: a backend may have few descriptors to spare. */
#define FILES_A_MESSAGE 16

static int
open_file(Relation rel, uint32 number)
{
	char *base = tb_relation_path(rel);
	char *path = number == 0 ? base : psprintf("%s.%u", base, number);
	int	  fd = OpenTransientFile(path, O_RDONLY | PG_BINARY);

	if (path != base)
		pfree(path);
	pfree(base);
	return fd;
}

static TbFilesSent
send_batch(TbServiceQuery *query, Relation rel, uint32 first, uint32 count)
{
	int			 fds[FILES_A_MESSAGE];
	TbFiles		 message = {.first_file = first, .count = count};
	struct iovec part = {.iov_base = &message, .iov_len = sizeof(message)};
	TbFilesSent	 result = TB_FILES_SENT;
	uint32		 nopen = 0;

	while (nopen < count)
	{
		fds[nopen] = open_file(rel, first + nopen);
		if (fds[nopen] < 0)
			break;
		nopen++;
	}
	if (nopen < count)
		result = TB_FILES_NONE;
	else if (!tb_service_query_send_parts(query, TB_MSG_FILES, &part, 1, fds, count))
		result = TB_FILES_LOST;
	for (uint32 i = 0; i < nopen; i++)
		CloseTransientFile(fds[i]);
	return result;
}

/* Opens the main fork's relation files for reading, sends the descriptors, closes its
 * own. They are for the query to come, or for what the one under way reads next. */
static TbFilesSent
send_relation_files(TbServiceQuery *query, Relation rel, BlockNumber nblocks)
{
	uint32 nfiles = (nblocks - 1) / RELSEG_SIZE + 1;

	for (uint32 first = 0; first < nfiles; first += FILES_A_MESSAGE)
	{
		TbFilesSent sent = send_batch(query, rel, first,
									  Min(FILES_A_MESSAGE, nfiles - first));

		if (sent != TB_FILES_SENT)
			return sent;
	}
	return TB_FILES_SENT;
}

static uint32 padding[2]; /* zeros */

/* The first block that is read from `block` on; at or beyond the end: none. */
static BlockNumber
block_from(const TbHeapPart *part, BlockNumber block)
{
	for (;;)
	{
		BlockNumber next = part->blocks != NULL ? tb_block_set_next(part->blocks, block) :
												  block;

		if (part->cached == NULL || next >= part->nblocks)
			return next;
		block = tb_cached_segments_skip(part->cached, next);
		if (block == next)
			return next;
	}
}

/* Goes to the next part, as a sequential scan of it would begin. */
static void
enter_next(TbHeapParts *parts)
{
	TbHeapPart *part = &parts->parts[parts->next_part++];

	tb_buffered_begin(&part->reader, part->rel, parts->snapshot, part->blocks_to_read);
	parts->current = part;
	parts->next_block = block_from(part, 0);
}

/* On to one that has blocks left. */
static void
find_blocks(TbHeapParts *parts)
{
	while (!tb_heap_parts_blocks_left(parts) && parts->next_part < parts->nparts)
		enter_next(parts);
}

TbHeapParts *
tb_heap_parts_make(const TbHeapInput *input)
{
	TbHeapParts *parts = palloc0(sizeof(TbHeapParts));
	bool		 partitioned = input->parts != NULL;

	parts->snapshot = input->snapshot;
	parts->attributes = input->attributes;
	parts->created_before = input->created_before;
	parts->beside_others = input->beside_others;
	parts->layouts = input->layouts;
	parts->nlayouts = input->nlayouts;
	parts->nparts = partitioned ? input->nparts : 1;
	parts->parts = palloc0(sizeof(TbHeapPart) * Max(parts->nparts, 1));
	parts->layout_numbers = palloc0(sizeof(uint32) * (input->nlayouts + 1));
	/* Count each part's blocks */
	for (uint32 i = 0; i < parts->nparts; i++)
	{
		TbHeapPart *part = &parts->parts[i];

		part->rel = partitioned ? input->parts[i].rel : input->rel;
		part->layout = partitioned ? input->parts[i].layout : 0;
		Assert(part->layout <= (uint32) input->nlayouts);
		part->nblocks = RelationGetNumberOfBlocks(part->rel);
		part->blocks = partitioned ? input->parts[i].blocks : input->blocks;
		if (part->blocks == NULL)
			part->nblocks = tb_blocks_with_rows(part->rel, part->nblocks);
		part->blocks_to_read = part->blocks != NULL ? tb_block_set_count(part->blocks) :
													  part->nblocks;
		parts->total_blocks += part->blocks_to_read;
	}
	/* Go to the first block */
	find_blocks(parts);
	return parts;
}

bool
tb_heap_parts_blocks_left(const TbHeapParts *parts)
{
	return parts->current != NULL && parts->next_block < parts->current->nblocks;
}

/* Blocks from this one on that a chunk of segments may have. */
static uint32
run_from(const TbHeapParts *parts, BlockNumber block, uint32 most)
{
	const TbCachedSegments *cached = parts->current->cached;

	return cached == NULL ? 0 : tb_cached_segments_run(cached, block, most);
}

uint32
tb_heap_parts_take_run(TbHeapParts *parts, BlockNumber *blocks, uint32 capacity)
{
	uint32 count = run_from(parts, parts->next_block, capacity);

	for (uint32 i = 0; i < count; i++)
		blocks[i] = parts->next_block + i;
	if (count > 0)
		parts->next_block = block_from(parts->current, blocks[count - 1] + 1);
	return count;
}

uint32
tb_heap_parts_take(TbHeapParts *parts, BlockNumber *blocks, uint32 capacity)
{
	uint32 count = 0;

	/* Blocks of one map page, so that those of a segment come together. */
	while (count < capacity && tb_heap_parts_blocks_left(parts) &&
		   (count == 0 || TB_VM_PAGE(parts->next_block) == TB_VM_PAGE(blocks[0])) &&
		   run_from(parts, parts->next_block, 1) == 0)
	{
		blocks[count++] = parts->next_block;
		parts->next_block = block_from(parts->current, parts->next_block + 1);
	}
	return count;
}

void
tb_heap_parts_go_back(TbHeapParts *parts, BlockNumber block)
{
	/* Within the current part, hence for sources of one part. */
	Assert(parts->nparts == 1 && block <= parts->next_block);
	parts->next_block = block;
}

void
tb_heap_parts_classify(TbHeapParts *parts)
{
	for (uint32 i = 0; i < parts->nparts; i++)
	{
		TbHeapPart *part = &parts->parts[i];

		if (part->nblocks > 0)
			part->direct = tb_direct_begin(part->rel, parts->snapshot, part->nblocks,
										   part->blocks_to_read, tb_guc_enable_cache,
										   parts->created_before);
	}
}

static bool
send_files(TbHeapPart *part, TbServiceQuery *query)
{
	if (tb_direct_is_small(part->direct))
		return true;
	switch (send_relation_files(query, part->rel, part->nblocks))
	{
		case TB_FILES_LOST:
			return false;
		case TB_FILES_NONE:
			part->direct = NULL;
			break;
		case TB_FILES_SENT:
			break;
	}
	return true;
}

bool
tb_heap_parts_send_files(TbHeapParts *parts, TbServiceQuery *query)
{
	if (!tb_heap_parts_blocks_left(parts) || parts->current->direct == NULL)
		return true;
	return send_files(parts->current, query);
}

static bool
send_layout(TbServiceQuery *query, const TbHeapLayout *layout)
{
	TbLayout	 header = {0};
	struct iovec parts[4];

	header.program_size = layout->program->total_size;
	header.params_size = layout->params->total_size;
	parts[0].iov_base = &header;
	parts[0].iov_len = sizeof(header);
	parts[1].iov_base = unconstify(TbProgram *, layout->program);
	parts[1].iov_len = layout->program->total_size;
	parts[2].iov_base = padding;
	parts[2].iov_len = TYPEALIGN(8, layout->program->total_size) -
		layout->program->total_size;
	parts[3].iov_base = unconstify(TbParamBlock *, layout->params);
	parts[3].iov_len = layout->params->total_size;
	return tb_service_query_send_parts(query, TB_MSG_LAYOUT, parts, 4, NULL, 0);
}

static bool
announce_layout(TbHeapParts *parts, TbServiceQuery *query, uint32 layout)
{
	if (layout == 0 || parts->layout_numbers[layout] != 0)
		return true;
	parts->layout_numbers[layout] = ++parts->layouts_sent;
	return send_layout(query, &parts->layouts[layout - 1]);
}

bool
tb_heap_parts_announce_layout(TbHeapParts *parts, TbServiceQuery *query)
{
	return announce_layout(parts, query,
						   parts->current != NULL ? parts->current->layout : 0);
}

static TbCachedSegments *
ask_for_part(TbHeapParts *parts, TbServiceQuery *query, TbHeapPart *part, uint32 number,
			 bool *ok)
{
	TbCachedQuestion question = {
		.rel = part->rel,
		.direct = part->direct,
		.nblocks = part->nblocks,
		.wanted = part->blocks,
		.number = number,
		.layout = tb_heap_parts_layout_number(parts, part),
		.in_chunks = parts->rows,
		.alone = parts->nparts == 1 && !parts->beside_others,
		.snapshot = parts->snapshot,
	};
	TbCachedSegments *segments = tb_cached_segments_ask(query, &question,
														&parts->snapshot_sent, ok);

	part->reader.marks_fresh = segments != NULL && segments->fresh_bits != NULL;
	return segments;
}

bool
tb_heap_parts_ask_for_cached(TbHeapParts *parts, TbServiceQuery *query)
{
	uint32 asked = 0;
	bool   ok = true;

	parts->snapshot_sent = false;

	for (uint32 i = 0; i < parts->nparts && ok; i++)
	{
		TbHeapPart *part = &parts->parts[i];

		if (part->direct == NULL || asked >= TB_MAX_PARTS)
			continue;
		if (!announce_layout(parts, query, part->layout))
			return false;
		part->cached = ask_for_part(parts, query, part, asked + 1, &ok);
		if (part->cached != NULL)
			asked++;
	}
	return ok;
}

/* Where VACUUM has been, turbined must look at pages' headers. */
static bool
ask_for_doubtful(TbHeapParts *parts, TbServiceQuery *query)
{
	for (uint32 i = 0; i < parts->nparts; i++)
	{
		TbHeapPart *part = &parts->parts[i];

		if (part->cached == NULL || part->cached->doubtful == 0)
			continue;
		if (!send_files(part, query))
			return false;
		if (part->direct != NULL && !tb_cached_segments_ask_again(part->cached, query))
			return false;
	}
	return true;
}

bool
tb_heap_parts_take_cached(TbHeapParts *parts, TbServiceQuery *query)
{
	/* Await the answers */
	for (uint32 i = 0; i < parts->nparts; i++)
	{
		TbHeapPart *part = &parts->parts[i];

		if (part->cached == NULL)
			continue;
		if (!tb_cached_segments_await(part->cached, query))
			return false;
	}
	/* Ask again where VACUUM was */
	if (!ask_for_doubtful(parts, query))
		return false;
	for (uint32 i = 0; i < parts->nparts; i++)
	{
		TbHeapPart *part = &parts->parts[i];

		if (part->cached == NULL)
			continue;
		part->stats.rows += parts->rows ? part->cached->excluded_rows : part->cached->rows;
		tb_cache_progress_add(part->cached->blocks);
		tb_count_cached_blocks(part->rel,
							   parts->rows ? part->cached->excluded : part->cached->blocks);
	}
	/* Pass over what is taken */
	if (parts->current != NULL)
		parts->next_block = block_from(parts->current, parts->next_block);
	find_blocks(parts);
	return true;
}

bool
tb_heap_parts_end_by_themselves(const TbHeapParts *parts)
{
	return parts->nparts == 1 && parts->parts[0].cached != NULL &&
		parts->parts[0].cached->input_ended;
}

bool
tb_heap_parts_more(TbHeapParts *parts, TbServiceQuery *query, bool *more)
{
	TbHeapPart *before = parts->current;

	find_blocks(parts);
	*more = tb_heap_parts_blocks_left(parts);
	if (!*more || parts->current == before)
		return true;
	/* Opening files takes long: what is held goes first. */
	return tb_service_query_flush(query) && tb_heap_parts_send_files(parts, query) &&
		tb_heap_parts_announce_layout(parts, query);
}

static bool
is_in_use(const TbHeapParts *parts, uint32 layout)
{
	for (uint32 i = 0; i < parts->nparts; i++)
		if (parts->parts[i].layout == layout && parts->parts[i].nblocks > 0)
			return true;
	return false;
}

bool
tb_heap_parts_prepare_layouts(TbHeapParts *parts, TbServiceQuery *query)
{
	for (int i = 0; i < parts->nlayouts; i++)
		if (is_in_use(parts, i + 1) &&
			!tb_service_query_prepare(query, parts->layouts[i].program))
			return false;
	return true;
}

uint32
tb_heap_parts_layout_number(const TbHeapParts *parts, const TbHeapPart *part)
{
	Assert(part->layout == 0 || parts->layout_numbers[part->layout] != 0);
	return parts->layout_numbers[part->layout];
}

const TbProgram *
tb_heap_parts_layout(const TbHeapParts *parts, const TbHeapPart *part,
					 const TbProgram *program)
{
	return part->layout == 0 ? program : parts->layouts[part->layout - 1].program;
}

void
tb_heap_parts_count_cached(const TbHeapParts *parts, TbRunStats *stats)
{
	for (uint32 i = 0; i < parts->nparts; i++)
	{
		const TbCachedSegments *cached = parts->parts[i].cached;

		if (cached == NULL)
			continue;
		stats->blocks.cached += cached->blocks;
		stats->blocks.excluded += cached->excluded;
		stats->segments.taken += cached->segments;
		stats->segments.by_filter += cached->excluded_by_filter;
		stats->segments.by_join += cached->excluded_by_join;
	}
}

void
tb_heap_parts_note_cached(const TbHeapParts *parts)
{
	TbAttributes attributes = parts->attributes;

	if (tb_cache_is_loading())
		tb_cache_load_note_read();
	if (!tb_guc_enable_cache)
		return;
	/* A load has kept tuple ids, too, unless it was of a pinned table. */
	if (tb_cache_is_loading() && parts->nparts > 0 &&
		tb_cache_policy_of(RelationGetRelid(parts->parts[0].rel)) != TB_CACHE_PIN)
		attributes |= tb_attribute(0);
	for (uint32 i = 0; i < parts->nparts; i++)
	{
		const TbHeapPart *part = &parts->parts[i];
		double			  found = part->cached != NULL ? part->cached->blocks : 0;
		double			  all = part->blocks_to_read;

		if (part->cached != NULL && part->cached->not_looked)
			continue;
		/* What is true of few blocks need not be so of the table. */
		if (all < tb_guc_direct_threshold || all < part->nblocks / 2.0)
			continue;
		tb_advice_note_columns(RelationGetRelid(part->rel), attributes, found / all,
							   Min(found + part->stats.blocks_direct +
									   part->stats.blocks_kept,
								   all) /
								   all);
	}
}

double
tb_heap_parts_buffered_blocks(const TbHeapPart *part)
{
	double all = part->blocks_to_read;
	double left = all - (part->cached != NULL ? part->cached->blocks : 0);

	if (part->direct == NULL)
		return all;
	if (tb_direct_is_small(part->direct))
		return left;
	return Min(all * (1 - tb_direct_share(part->direct)), left);
}

bool
tb_heap_parts_most_is_buffered(const TbHeapParts *parts)
{
	double buffered = 0;

	for (uint32 i = 0; i < parts->nparts; i++)
		buffered += tb_heap_parts_buffered_blocks(&parts->parts[i]);
	return buffered > parts->total_blocks / 2.0;
}

/* Partitions of one tablespace count together if they follow each other. */
void
tb_heap_parts_prefer_gpus(const TbHeapParts *parts, TbServiceQuery *query)
{
	uint64 blocks = 0;

	if (tb_service_query_spec(query)->device == TB_DEVICE_HOST)
		return;
	for (uint32 i = 0; i < parts->nparts; i++)
	{
		Oid tablespace = TB_LOCATOR_TABLESPACE(parts->parts[i].rel->rd_locator);

		blocks += parts->parts[i].blocks_to_read;
		if (i + 1 == parts->nparts ||
			TB_LOCATOR_TABLESPACE(parts->parts[i + 1].rel->rd_locator) != tablespace)
		{
			TbGpuPreference preference = tb_gpus_of_tablespace(tablespace);

			tb_service_query_prefer(query, &preference, blocks);
			blocks = 0;
		}
	}
}

void
tb_heap_parts_end(TbHeapParts *parts)
{
	for (uint32 i = 0; i < parts->nparts; i++)
		tb_buffered_end(&parts->parts[i].reader);
}
