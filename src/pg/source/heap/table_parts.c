/*
 * table_parts.c - the relations that a query reads: its table, or of a partitioned
 * one the partitions, one after the other.
 *
 * A chunk's blocks are of one part. Each part has its own reader, its own
 * classification of blocks and its own files, which are sent when its turn comes;
 * chunks of earlier parts may still be under way then, and point to theirs. A
 * layout is announced once, before the first part that has it. Called by the
 * query's start and by the input of blocking sinks.
 */
#include "postgres.h"

#include "storage/bufmgr.h"

#include "pg/source/heap/block_set.h"
#include "pg/source/heap/query_state.h"
#include "pg/source/heap/relation_files.h"
#include "pg/settings/guc.h"

static uint32 padding[2];		/* zeros */

/* Goes to the next part, as a sequential scan of it would begin. */
static void
enter_next(TbHeapQuery *query)
{
	TbTablePart *part = &query->parts[query->next_part++];

	tb_buffered_begin(&part->reader, part->rel, query->snapshot, part->blocks_to_read);
	query->part = part;
	tb_blocks_begin(query);
}

/* On to one that has blocks left. */
static void
find_blocks(TbHeapQuery *query)
{
	while (!tb_blocks_left(query) && query->next_part < query->nparts)
		enter_next(query);
}

void
tb_parts_make(TbHeapQuery *query)
{
	const TbHeapQuerySpec *spec = &query->spec;
	bool		partitioned = spec->parts != NULL;

	query->nparts = partitioned ? spec->nparts : 1;
	query->parts = palloc0(sizeof(TbTablePart) * Max(query->nparts, 1));
	query->layout_numbers = palloc0(sizeof(uint32) * (spec->nlayouts + 1));
	for (uint32 i = 0; i < query->nparts; i++)
	{
		TbTablePart *part = &query->parts[i];

		part->rel = partitioned ? spec->parts[i].rel : query->rel;
		part->layout = partitioned ? spec->parts[i].layout : 0;
		part->nblocks = RelationGetNumberOfBlocks(part->rel);
		part->blocks = partitioned ? spec->parts[i].blocks : spec->blocks;
		part->blocks_to_read = part->blocks != NULL ? tb_block_set_count(part->blocks) :
			part->nblocks;
		query->total_blocks += part->blocks_to_read;
	}
	find_blocks(query);
}

/* Decides what of the part is read directly; the service gets its files then. */
bool
tb_part_begin(TbHeapQuery *query)
{
	TbTablePart *part = query->part;

	part->direct = tb_direct_begin(part->rel, query->snapshot, part->nblocks,
								   part->blocks_to_read);
	if (part->direct == NULL)
		return true;
	switch (tb_relation_files_send(query->conn, part->rel, part->nblocks,
								   &query->failure))
	{
		case TB_FILES_LOST:
			query->conn = NULL;
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
send_layout(TbHeapQuery *query, const TbHeapLayout *layout)
{
	TbLayout	header = {0};
	struct iovec parts[4];

	header.program_size = layout->program->total_size;
	header.params_size = layout->params->total_size;
	parts[0].iov_base = &header;
	parts[0].iov_len = sizeof(header);
	parts[1].iov_base = unconstify(TbProgram *, layout->program);
	parts[1].iov_len = layout->program->total_size;
	parts[2].iov_base = padding;
	parts[2].iov_len = TYPEALIGN(8, layout->program->total_size) - layout->program->total_size;
	parts[3].iov_base = unconstify(TbParamBlock *, layout->params);
	parts[3].iov_len = layout->params->total_size;
	if (tb_connection_send(query->conn, TB_MSG_LAYOUT, parts, 4, NULL, 0,
						   &query->failure))
		return true;
	query->conn = NULL;
	return false;
}

bool
tb_part_announce_layout(TbHeapQuery *query)
{
	uint32		layout = query->part != NULL ? query->part->layout : 0;

	if (layout == 0 || query->layout_numbers[layout] != 0)
		return true;
	query->layout_numbers[layout] = ++query->layouts_sent;
	return send_layout(query, &query->spec.layouts[layout - 1]);
}

bool
tb_parts_more(TbHeapQuery *query, bool *more)
{
	TbTablePart *before = query->part;

	find_blocks(query);
	*more = tb_blocks_left(query);
	if (!*more || query->part == before)
		return true;
	/* The files are opened and the visibility map is copied: what is held goes first. */
	return tb_query_flush(query) && tb_part_begin(query) && tb_part_announce_layout(query);
}

static bool
is_in_use(const TbHeapQuery *query, uint32 layout)
{
	for (uint32 i = 0; i < query->nparts; i++)
		if (query->parts[i].layout == layout && query->parts[i].nblocks > 0)
			return true;
	return false;
}

bool
tb_parts_prepare_layouts(TbHeapQuery *query)
{
	for (int i = 0; i < query->spec.nlayouts; i++)
	{
		if (is_in_use(query, i + 1) &&
			!tb_program_prepare(query->conn, query->spec.layouts[i].program,
								query->spec.device, &query->failure))
		{
			query->conn = NULL;
			return false;
		}
	}
	return true;
}

double
tb_part_buffered_blocks(const TbHeapQuery *query, const TbTablePart *part)
{
	double		all = part->blocks_to_read;
	Form_pg_class entry = part->rel->rd_rel;

	if (part == query->part)
		return part->direct == NULL ? all :
			all * (1 - tb_direct_share(part->direct));
	/* Of partitions to come, as their last VACUUM or ANALYZE left them. */
	if (entry->relpages <= 0 || part->blocks_to_read < (BlockNumber) tb_guc_direct_threshold)
		return all;
	return all * (1 - Min((double) entry->relallvisible / entry->relpages, 1));
}

const TbProgram *
tb_part_layout(const TbHeapQuery *query, const TbTablePart *part)
{
	return part->layout == 0 ? query->spec.program :
		query->spec.layouts[part->layout - 1].program;
}

void
tb_parts_end(TbHeapQuery *query)
{
	for (uint32 i = 0; i < query->nparts; i++)
		tb_buffered_end(&query->parts[i].reader);
}
