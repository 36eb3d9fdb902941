/*
 * tuple_check.c - see tuple_check.h.
 *
 * Slots are writable by the daemon. Deforming trusts the lengths inside a
 * tuple, so a daemon gone mad could make a backend read beyond its memory;
 * this walk, on a private copy, is what prevents that. It proves bounds, not
 * meaning. Called for every tuple that a node takes from a chunk.
 */
#include "postgres.h"

#include "access/tupmacs.h"

#include "pg/source/heap/tuple_check.h"

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
