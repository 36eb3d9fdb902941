/*
 * file_scan.h - rows of the files of a file table, one after the other.
 */
#ifndef TURBINE_PG_FDW_FILE_SCAN_H
#define TURBINE_PG_FDW_FILE_SCAN_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/bitmapset.h"

#include "pg/fdw/scan_bounds.h"
#include "pg/files/file_table.h"

typedef struct TbFileScan TbFileScan;

typedef struct TbFileScanCounters
{
	int64 batches_read;
	int64 batches_skipped;
} TbFileScanCounters;

/*
 * Begins to read the attributes (attnums, all if they contain 0) of a table's files, or of
 * those that are wanted (by file; NULL: all). Bounds may be NIL; they are those that hold
 * when a file's turn comes. Everything is allocated in the current memory context.
 */
extern TbFileScan *tb_file_scan_begin(const TbFileTable *table, const bool *wanted,
									  TupleDesc attributes, const Bitmapset *attnums,
									  List *bounds);

/* The next row, as many values as attributes, those not asked for NULL; in the current
 * memory context. False: there is none. */
extern bool tb_file_scan_next(TbFileScan *scan, Datum *values, bool *nulls);

/* Begins from the first row, with other bounds. */
extern void tb_file_scan_restart(TbFileScan *scan, List *bounds);

extern TbFileScanCounters tb_file_scan_counters(const TbFileScan *scan);

extern void tb_file_scan_end(TbFileScan *scan);

#endif
