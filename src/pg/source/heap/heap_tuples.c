/*
 * heap_tuples.c - see heap_tuples.h.
 *
 * Slots are writable by turbined. Row ids are copied once and checked; line pointers and
 * tuples are copied before they are checked, and only the copies are used. Deforming trusts
 * the lengths inside a tuple, so a turbined gone mad could make a backend read beyond its
 * memory; the walk over each copy is what prevents that. It proves bounds, not meaning.
 *
 * A tuple that is not sane is taken from its page read anew; if that does not help, the
 * table is corrupt, and that is an error as it is anywhere in PostgreSQL. Called for the
 * rows that ROWS delivers and for the deferred rows of other sinks.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "storage/bufpage.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "turbine/kernel.h"
#include "pg/compat/pg16.h"
#include "pg/source/heap/heap_tuples.h"

/* Bytes of the varlena at `data`, of which `left` may be read; 0: not sane. */
static uint32
varlena_size(const char *data, uint32 left)
{
	if (left < 1)
		return 0;
	if (VARATT_IS_EXTERNAL(data))
	{
		if (left < VARHDRSZ_EXTERNAL || VARTAG_EXTERNAL(data) != VARTAG_ONDISK)
			return 0;
		return VARSIZE_EXTERNAL(data);
	}
	if (VARATT_IS_1B(data))
		return VARSIZE_1B(data);
	if (left < VARHDRSZ || VARSIZE_4B(data) < VARHDRSZ)
		return 0;
	if (VARATT_IS_4B_C(data) && VARSIZE_4B(data) < VARHDRSZ_COMPRESSED)
		return 0;
	return VARSIZE_4B(data);
}

static uint32
cstring_size(const char *data, uint32 left)
{
	uint32 length = strnlen(data, left);

	return length < left ? length + 1 : 0;
}

static bool
header_is_sane(HeapTupleHeader tuple, uint32 length)
{
	uint32 needed = SizeofHeapTupleHeader;

	if (length < SizeofHeapTupleHeader)
		return false;
	if (tuple->t_infomask & HEAP_HASNULL)
		needed += BITMAPLEN(HeapTupleHeaderGetNatts(tuple));
	return tuple->t_hoff >= needed && tuple->t_hoff <= length &&
		tuple->t_hoff == MAXALIGN(tuple->t_hoff);
}

bool
tb_tuple_check(TupleDesc desc, HeapTupleHeader tuple, uint32 length)
{
	const char *data;
	bits8	   *nulls;
	uint32		left;
	uint32		offset = 0;
	int			natts;

	if (!header_is_sane(tuple, length))
		return false;
	data = (const char *) tuple + tuple->t_hoff;
	left = length - tuple->t_hoff;
	nulls = (tuple->t_infomask & HEAP_HASNULL) ? tuple->t_bits : NULL;
	natts = Min((int) HeapTupleHeaderGetNatts(tuple), desc->natts);
	for (int i = 0; i < natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		uint32			  size;

		if (nulls != NULL && att_isnull(i, nulls))
			continue;
		/* The padding byte that att_align_pointer looks at must be there. */
		if (att->attlen == -1 && offset >= left)
			return false;
		offset = att_align_pointer(offset, att->attalign, att->attlen, data + offset);
		if (offset > left)
			return false;
		if (att->attlen > 0)
			size = att->attlen;
		else if (att->attlen == -1)
			size = varlena_size(data + offset, left - offset);
		else
			size = cstring_size(data + offset, left - offset);
		if (size == 0 || size > left - offset)
			return false;
		offset += size;
	}
	return true;
}

struct TbHeapTuples
{
	/* The current chunk. */
	TbHeapPart		  *part;
	const BlockNumber *blocks; /* of each page */
	uint32			   npages;
	const char		  *pages;

	uint32		 *ids; /* the last that were taken or listed */
	uint32		  ids_capacity;
	HeapTupleData tuple;
	char		 *tuple_buffer; /* BLCKSZ */
	char		 *read_page;	/* BLCKSZ, made when first needed */
	BlockNumber	  read_block;	/* of the current chunk, that it holds; or invalid */
};

TbHeapTuples *
tb_heap_tuples_make(void)
{
	return palloc0(sizeof(TbHeapTuples));
}

void
tb_heap_tuples_set_pages(TbHeapTuples *tuples, TbHeapPart *part, const BlockNumber *blocks,
						 uint32 npages, const char *pages)
{
	tuples->part = part;
	tuples->blocks = blocks;
	tuples->npages = npages;
	tuples->pages = pages;
	tuples->read_block = InvalidBlockNumber;
}

static void *
allocate(TbHeapTuples *tuples, Size size)
{
	return MemoryContextAlloc(GetMemoryChunkContext(tuples), size);
}

static void
reserve_ids(TbHeapTuples *tuples, uint32 count)
{
	if (count <= tuples->ids_capacity && tuples->ids != NULL)
		return;
	if (tuples->ids != NULL)
		pfree(tuples->ids);
	tuples->ids = allocate(tuples, Max(count, 1) * sizeof(uint32));
	tuples->ids_capacity = count;
}

const uint32 *
tb_heap_tuples_take_ids(TbHeapTuples *tuples, const uint32 *ids, uint32 count)
{
	reserve_ids(tuples, count);
	memcpy(tuples->ids, ids, count * sizeof(uint32));
	for (uint32 i = 0; i < count; i++)
	{
		uint32 id = tuples->ids[i];

		if (TB_ROWID_PAGE(id) >= tuples->npages || TB_ROWID_OFFNUM(id) == 0 ||
			TB_ROWID_OFFNUM(id) > MaxHeapTuplesPerPage)
			return NULL;
	}
	return tuples->ids;
}

const uint32 *
tb_heap_tuples_list_visible(TbHeapTuples *tuples, uint32 *count)
{
	reserve_ids(tuples, tuples->npages * MaxHeapTuplesPerPage);
	*count = 0;
	for (uint32 page = 0; page < tuples->npages; page++)
	{
		Page		 content = (Page) (tuples->pages + (Size) page * BLCKSZ);
		OffsetNumber lines = Min(PageGetMaxOffsetNumber(content), MaxHeapTuplesPerPage);

		/* Tuples that the snapshot does not see are blanked in the copy. */
		for (OffsetNumber offnum = FirstOffsetNumber; offnum <= lines; offnum++)
			if (ItemIdIsNormal(PageGetItemId(content, offnum)))
				tuples->ids[(*count)++] = TB_ROWID(page, offnum);
	}
	return tuples->ids;
}

/* Copies the tuple at a line pointer to the buffer, if it is sane. */
static bool
copy_tuple(TbHeapTuples *tuples, const char *page, OffsetNumber offnum)
{
	ItemIdData lp = *PageGetItemId((Page) page, offnum);
	uint32	   offset = ItemIdGetOffset(&lp);
	uint32	   length = ItemIdGetLength(&lp);

	if (!ItemIdIsNormal(&lp) || offset != MAXALIGN(offset) || offset + length > BLCKSZ)
		return false;
	memcpy(tuples->tuple_buffer, page + offset, length);
	tuples->tuple.t_len = length;
	return tb_tuple_check(RelationGetDescr(tuples->part->rel),
						  (HeapTupleHeader) tuples->tuple_buffer, length);
}

static void
read_block(TbHeapTuples *tuples, BlockNumber block)
{
	if (tuples->read_page == NULL)
		tuples->read_page = allocate(tuples, BLCKSZ);
	tuples->read_block = InvalidBlockNumber;
	tb_buffered_read(&tuples->part->reader, block, tuples->read_page);
	tuples->read_block = block;
}

HeapTuple
tb_heap_tuples_get(TbHeapTuples *tuples, uint32 rowid)
{
	uint32		 page = TB_ROWID_PAGE(rowid);
	OffsetNumber offnum = TB_ROWID_OFFNUM(rowid);
	BlockNumber	 block;

	Assert(page < tuples->npages);
	block = tuples->blocks[page];
	if (tuples->tuple_buffer == NULL)
		tuples->tuple_buffer = allocate(tuples, BLCKSZ);
	/* Copy it, if sane */
	if (tuples->pages == NULL ||
		!copy_tuple(tuples, tuples->pages + (Size) page * BLCKSZ, offnum))
	{
		/* Read its page anew */
		if (tuples->read_block != block)
			read_block(tuples, block);
		if (!copy_tuple(tuples, tuples->read_page, offnum))
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("invalid tuple (%u,%u) in relation \"%s\"", block, offnum,
							RelationGetRelationName(tuples->part->rel))));
	}
	/* Say where it stands */
	tuples->tuple.t_data = (HeapTupleHeader) tuples->tuple_buffer;
	tuples->tuple.t_tableOid = RelationGetRelid(tuples->part->rel);
	ItemPointerSet(&tuples->tuple.t_self, block, offnum);
	return &tuples->tuple;
}
