/*
 * deferred_rows.h - rows that the engine could not decode from their pages: a value that
 * the program needs is compressed or out of line.
 *
 * The backend copies them, detoasts them into a chunk of columns, and sends that when it
 * is full or nothing else is left.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_DEFERRED_ROWS_H
#define TURBINE_PG_SOURCE_HEAP_DEFERRED_ROWS_H

#include "postgres.h"

#include "pg/source/heap/heap_chunks.h"
#include "pg/source/heap/heap_parts.h"

typedef struct TbDeferredRows TbDeferredRows;

/* In the current memory context. */
extern TbDeferredRows *tb_deferred_rows_make(TbServiceQuery *query, TbSlots *slots,
											 TbHeapParts *parts);

/* Copies the deferred rows of a slot's chunk, which is DONE; the slot is not freed. */
extern bool tb_deferred_rows_take(TbDeferredRows *deferred, const TbHeapChunks *chunks,
								  uint32 slot);

/* Moves rows into the chunk of columns until it is full. */
extern bool tb_deferred_rows_gather(TbDeferredRows *deferred);

/* Whether the chunk is full, and whether it has rows at all. */
extern bool tb_deferred_rows_are_full(const TbDeferredRows *deferred);
extern bool tb_deferred_rows_are_there(const TbDeferredRows *deferred);

/* Sends the chunk in a free slot. */
extern bool tb_deferred_rows_send(TbDeferredRows *deferred, uint32 slot);

/* Rows taken so far. */
extern uint64 tb_deferred_rows_count(const TbDeferredRows *deferred);

#endif
