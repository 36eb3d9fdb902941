/*
 * heap_tuples.h - tuples out of a chunk's pages, by row id.
 *
 * One chunk at a time is the current one. Its pages may lie in a slot, which is memory
 * that another process can write; what is read there is copied before it is checked.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_HEAP_TUPLES_H
#define TURBINE_PG_SOURCE_HEAP_HEAP_TUPLES_H

#include "postgres.h"

#include "access/htup.h"
#include "access/htup_details.h"
#include "access/tupdesc.h"

#include "pg/source/heap/heap_parts.h"

typedef struct TbHeapTuples TbHeapTuples;

/* In the current memory context, without a current chunk. */
extern TbHeapTuples *tb_heap_tuples_make(void);

/* Makes these pages the current chunk: blocks of `part`, which stay valid until the next
 * call. `pages` NULL: each page is read from shared buffers when a tuple of it is wanted.
 * No part: there is no current chunk. */
extern void tb_heap_tuples_set_pages(TbHeapTuples *tuples, TbHeapPart *part,
									 const BlockNumber *blocks, uint32 npages,
									 const char *pages);

/* Copies row ids of the current chunk; NULL if one is out of range. Valid until the next
 * call, or the next tb_heap_tuples_list_visible. */
extern const uint32 *tb_heap_tuples_take_ids(TbHeapTuples *tuples, const uint32 *ids,
											 uint32 count);

/* The row ids of all tuples of the current chunk. */
extern const uint32 *tb_heap_tuples_list_visible(TbHeapTuples *tuples, uint32 *count);

/* The tuple of a row id of the current chunk, copied to a buffer that the next call
 * uses again; t_self and t_tableOid are set. */
extern HeapTuple tb_heap_tuples_get(TbHeapTuples *tuples, uint32 rowid);

/* True if header, null bitmap and every attribute lie within `length` bytes. */
extern bool tb_tuple_check(TupleDesc desc, HeapTupleHeader tuple, uint32 length);

#endif
