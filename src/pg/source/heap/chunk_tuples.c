/*
 * chunk_tuples.c - the current chunk's row ids and tuples.
 *
 * Pages of a slot are memory that the daemon can write: row ids are copied
 * once and checked, line pointers and tuples are copied before they are
 * checked, and only the copies are used. A tuple that is not sane is taken
 * from its page read anew; if that does not help, the table is corrupt, and
 * that is an error as it is anywhere in PostgreSQL.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "storage/bufpage.h"

#include "pg/source/heap/query_state.h"
#include "pg/source/heap/tuple_check.h"

#include "turbine/kernel.h"

static void
reserve_ids(TbHeapQuery *query, uint32 count)
{
	if (count <= query->ids_capacity)
		return;
	if (query->ids != NULL)
		pfree(query->ids);
	query->ids = MemoryContextAlloc(query->context, count * sizeof(uint32));
	query->ids_capacity = count;
}

/* Copies the slot's row ids and deferred ids; false if one is out of range. */
bool
tb_tuples_take_ids(TbHeapQuery *query, const TbSlot *slot, const char *base)
{
	uint32		count = slot->done.nrows + slot->done.ndeferred;

	reserve_ids(query, count);
	memcpy(query->ids, base + query->ready.ids_offset, count * sizeof(uint32));
	for (uint32 i = 0; i < count; i++)
	{
		uint32		id = query->ids[i];

		if (TB_ROWID_PAGE(id) >= slot->npages || TB_ROWID_OFFNUM(id) == 0 ||
			TB_ROWID_OFFNUM(id) > MaxHeapTuplesPerPage)
			return tb_query_protocol_error(query, "row id out of range");
	}
	return true;
}

void
tb_tuples_set_pages(TbHeapQuery *query, int slot, const BlockNumber *blocks,
					uint32 npages, const char *pages)
{
	query->current_slot = slot;
	query->current_part = slot >= 0 ? query->slots[slot].part : query->part;
	query->current_blocks = blocks;
	query->current_npages = npages;
	query->current_pages = pages;
}

/* Lists every tuple of the current pages in `ids`; returns how many. */
uint32
tb_tuples_list_visible(TbHeapQuery *query)
{
	uint32		count = 0;

	reserve_ids(query, query->current_npages * MaxHeapTuplesPerPage);
	for (uint32 page = 0; page < query->current_npages; page++)
	{
		Page		content = (Page) (query->current_pages + (Size) page * BLCKSZ);
		OffsetNumber lines = Min(PageGetMaxOffsetNumber(content),
								 MaxHeapTuplesPerPage);

		for (OffsetNumber offnum = FirstOffsetNumber; offnum <= lines; offnum++)
			if (ItemIdIsNormal(PageGetItemId(content, offnum)))
				query->ids[count++] = TB_ROWID(page, offnum);
	}
	return count;
}

/* Copies the tuple at a line pointer to the query's buffer, if it is sane. */
static bool
copy_tuple(TbHeapQuery *query, const char *page, OffsetNumber offnum)
{
	ItemIdData	lp = *PageGetItemId((Page) page, offnum);
	uint32		offset = ItemIdGetOffset(&lp);
	uint32		length = ItemIdGetLength(&lp);

	if (!ItemIdIsNormal(&lp) || offset != MAXALIGN(offset) ||
		offset + length > BLCKSZ)
		return false;
	memcpy(query->tuple_buffer, page + offset, length);
	query->tuple.t_len = length;
	return tb_tuple_check(RelationGetDescr(query->current_part->rel),
						  (HeapTupleHeader) query->tuple_buffer, length);
}

HeapTuple
tb_heap_query_tuple(TbHeapQuery *query, uint32 rowid)
{
	uint32		page = TB_ROWID_PAGE(rowid);
	OffsetNumber offnum = TB_ROWID_OFFNUM(rowid);
	BlockNumber block;

	Assert(page < query->current_npages);
	block = query->current_blocks[page];
	if (query->tuple_buffer == NULL)
		query->tuple_buffer = MemoryContextAlloc(query->context, BLCKSZ);
	if (!copy_tuple(query, query->current_pages + (Size) page * BLCKSZ, offnum))
	{
		if (query->reread_page == NULL)
			query->reread_page = MemoryContextAlloc(query->context, BLCKSZ);
		tb_buffered_read(&query->current_part->reader, block, query->reread_page);
		if (!copy_tuple(query, query->reread_page, offnum))
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("invalid tuple (%u,%u) in relation \"%s\"",
							block, offnum,
							RelationGetRelationName(query->current_part->rel))));
	}
	query->tuple.t_data = (HeapTupleHeader) query->tuple_buffer;
	query->tuple.t_tableOid = RelationGetRelid(query->current_part->rel);
	ItemPointerSet(&query->tuple.t_self, block, offnum);
	return &query->tuple;
}
