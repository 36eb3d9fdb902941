/*
 * heap_parts.c - see heap_parts.h.
 *
 * Owns the cursor over blocks and the readers of all parts. A layout is announced once,
 * before the first part that has it. Must never open a relation: that is done, under its
 * lock, by whoever made the input. Called by the heap source and by heap scans.
 */
#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "pg/settings/guc.h"
#include "pg/source/heap/heap_parts.h"
#include "pg/source/heap/relation_files.h"

static uint32 padding[2]; /* zeros */

/* The first block that is read from `block` on; at or beyond the end: none. */
static BlockNumber
block_from(const TbHeapPart *part, BlockNumber block)
{
	return part->blocks != NULL ? tb_block_set_next(part->blocks, block) : block;
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
	parts->layouts = input->layouts;
	parts->nlayouts = input->nlayouts;
	parts->nparts = partitioned ? input->nparts : 1;
	parts->parts = palloc0(sizeof(TbHeapPart) * Max(parts->nparts, 1));
	parts->layout_numbers = palloc0(sizeof(uint32) * (input->nlayouts + 1));
	for (uint32 i = 0; i < parts->nparts; i++)
	{
		TbHeapPart *part = &parts->parts[i];

		part->rel = partitioned ? input->parts[i].rel : input->rel;
		part->layout = partitioned ? input->parts[i].layout : 0;
		Assert(part->layout <= (uint32) input->nlayouts);
		part->nblocks = RelationGetNumberOfBlocks(part->rel);
		part->blocks = partitioned ? input->parts[i].blocks : input->blocks;
		part->blocks_to_read = part->blocks != NULL ? tb_block_set_count(part->blocks) :
													  part->nblocks;
		parts->total_blocks += part->blocks_to_read;
	}
	find_blocks(parts);
	return parts;
}

bool
tb_heap_parts_blocks_left(const TbHeapParts *parts)
{
	return parts->current != NULL && parts->next_block < parts->current->nblocks;
}

uint32
tb_heap_parts_take(TbHeapParts *parts, BlockNumber *blocks, uint32 capacity)
{
	uint32 count = 0;

	while (count < capacity && tb_heap_parts_blocks_left(parts))
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

bool
tb_heap_parts_classify(TbHeapParts *parts, TbServiceQuery *query)
{
	TbHeapPart *part = parts->current;

	part->direct = tb_direct_begin(part->rel, parts->snapshot, part->nblocks,
								   part->blocks_to_read);
	if (part->direct == NULL)
		return true;
	switch (tb_relation_files_send(query, part->rel, part->nblocks))
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

bool
tb_heap_parts_announce_layout(TbHeapParts *parts, TbServiceQuery *query)
{
	uint32 layout = parts->current != NULL ? parts->current->layout : 0;

	if (layout == 0 || parts->layout_numbers[layout] != 0)
		return true;
	parts->layout_numbers[layout] = ++parts->layouts_sent;
	return send_layout(query, &parts->layouts[layout - 1]);
}

bool
tb_heap_parts_more(TbHeapParts *parts, TbServiceQuery *query, bool *more)
{
	TbHeapPart *before = parts->current;

	find_blocks(parts);
	*more = tb_heap_parts_blocks_left(parts);
	if (!*more || parts->current == before)
		return true;
	/* Opening files and copying the visibility map take long: what is held goes first. */
	return tb_service_query_flush(query) && tb_heap_parts_classify(parts, query) &&
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

double
tb_heap_parts_buffered_blocks(const TbHeapParts *parts, const TbHeapPart *part)
{
	double		  all = part->blocks_to_read;
	Form_pg_class entry = part->rel->rd_rel;

	if (part == parts->current)
		return part->direct == NULL ? all : all * (1 - tb_direct_share(part->direct));
	/* Parts to come are as their last VACUUM or ANALYZE left them. */
	if (entry->relpages <= 0 ||
		part->blocks_to_read < (BlockNumber) tb_guc_direct_threshold)
		return all;
	return all * (1 - Min((double) entry->relallvisible / entry->relpages, 1));
}

bool
tb_heap_parts_most_is_buffered(const TbHeapParts *parts)
{
	double buffered = 0;

	for (uint32 i = 0; i < parts->nparts; i++)
		buffered += tb_heap_parts_buffered_blocks(parts, &parts->parts[i]);
	return buffered > parts->total_blocks / 2.0;
}

void
tb_heap_parts_end(TbHeapParts *parts)
{
	for (uint32 i = 0; i < parts->nparts; i++)
		tb_buffered_end(&parts->parts[i].reader);
}
