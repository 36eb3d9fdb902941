/*
 * heap_scan.h - a ROWS program over one heap relation: the rows that pass its filters, in
 * the order of their blocks. What GpuScan runs, and not PostgreSQL's own scan of a heap.
 *
 * A scan never fails for a device's sake: chunks that the engine can not filter come back
 * for the node to evaluate, and without the service all chunks do.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_HEAP_SCAN_H
#define TURBINE_PG_SOURCE_HEAP_HEAP_SCAN_H

#include "postgres.h"

#include "access/htup.h"

#include "pg/source/heap/heap_input.h"
#include "pg/source/run_stats.h"

typedef struct TbHeapScan TbHeapScan;

extern TbHeapScan *tb_heap_scan_begin(const TbProgramSpec *spec, const TbHeapInput *input);

/*
 * A chunk of visible tuples. Row ids refer to the chunk's pages. With `evaluate`, the
 * engine did not filter this chunk: `rowids` lists EVERY visible tuple, and the node
 * evaluates the device's quals itself. Otherwise `rowids` are those that passed, and
 * `deferred` those that the node must evaluate. It must evaluate those of `rowids` that
 * are marked with TB_ROWID_UNDECIDED, too.
 */
typedef struct TbRowChunk
{
	bool		  evaluate;
	uint32		  verdict; /* TB_ERR_*, why; 0 with evaluate: no service */
	uint32		  nrows;
	const uint32 *rowids;
	uint32		  ndeferred;
	const uint32 *deferred;
	uint64		  rows_in;
} TbRowChunk;

/* The next chunk, in block order; false at the end. The one before is gone. */
extern bool tb_heap_scan_next(TbHeapScan *scan, TbRowChunk *chunk);

/* The tuple of a row id of the current chunk, copied to a buffer that the next call uses
 * again; t_self and t_tableOid are set. */
extern HeapTuple tb_heap_scan_tuple(TbHeapScan *scan, uint32 rowid);

/* No further chunk will be asked for: parallel workers end, the current chunk stays. */
extern void tb_heap_scan_shut_down(TbHeapScan *scan);

/* For EXPLAIN, at any time before the end. */
extern void tb_heap_scan_stats(const TbHeapScan *scan, TbRunStats *stats);

extern void tb_heap_scan_end(TbHeapScan *scan);

#endif
