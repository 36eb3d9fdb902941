/*
 * column_chunk.h - rows that the backend has, as a chunk of columns.
 *
 * A row with a compressed or out-of-line value in a referenced column can not
 * be decoded by the engine, and rows of a plan of PostgreSQL's are not on pages.
 * The backend detoasts them and adds them here; a full chunk is written into a
 * slot as TbColumnsChunk and sent.
 */
#ifndef TURBINE_PG_CONVERSATION_COLUMN_CHUNK_H
#define TURBINE_PG_CONVERSATION_COLUMN_CHUNK_H

#include "postgres.h"

#include "access/htup.h"
#include "access/tupdesc.h"

#include "turbine/program.h"
#include "turbine/wire.h"

typedef struct TbColumnChunk TbColumnChunk;

typedef enum TbRowAdded
{
	TB_ROW_ADDED,
	TB_ROW_NO_SPACE,  /* write the chunk and try again */
	TB_ROW_IMPOSSIBLE /* the engine can not hold it: see *why */
} TbRowAdded;

/* `capacity`: bytes of a slot's page area. */
extern TbColumnChunk *tb_column_chunk_make(const TbProgram *program, Size capacity);

/* A tuple of `desc`, in which the columns have the attnums that `layout` says. */
extern TbRowAdded tb_column_chunk_add(TbColumnChunk *rows, HeapTuple tuple, TupleDesc desc,
									  const TbProgram *layout, TbFailure *why);
/* The same of a row whose values are `datums` and `nulls`, by the program's attnums. */
extern TbRowAdded tb_column_chunk_add_values(TbColumnChunk *rows, const Datum *datums,
											 const bool *nulls, TbFailure *why);
extern uint32	  tb_column_chunk_count(const TbColumnChunk *rows);

/* Writes the rows to a slot and empties the chunk. */
extern void tb_column_chunk_write(TbColumnChunk *rows, char *slot);

#endif
