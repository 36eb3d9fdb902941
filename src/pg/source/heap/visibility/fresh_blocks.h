/*
 * fresh_blocks.h - blocks that are not all-visible, but whose rows are decided.
 *
 * Rows that were just written are not all-visible until VACUUM has been there. Their
 * columns may be cached all the same once every transaction that a block's rows depend on
 * has ended: those that inserted its rows, and those that deleted the rows that are left
 * out. They are right for any snapshot to which none of them is open, as long as the page
 * has the same LSN. Whoever copies a page finds out, row by row, and writes it into the
 * copy's header. turbined keeps the block with the least and the greatest of its
 * transactions.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_VISIBILITY_FRESH_BLOCKS_H
#define TURBINE_PG_SOURCE_HEAP_VISIBILITY_FRESH_BLOCKS_H

#include "postgres.h"

#include "access/htup_details.h"
#include "storage/bufpage.h"
#include "utils/snapshot.h"

#include "turbine/wire.h"

/* What the rows of a page depend on, as far as they have been looked at. */
typedef struct TbFreshPage
{
	bool		  decided; /* so far */
	TransactionId least;   /* InvalidTransactionId: on none */
	TransactionId greatest;
} TbFreshPage;

extern void tb_fresh_begin(TbFreshPage *page);

/* Notes a transaction that has committed and that the snapshot sees. */
extern void tb_fresh_note(TbFreshPage *page, TransactionId xid);

/* Looks at a row, whose page is locked: has all that decides on it ended, and does the
 * snapshot see how? */
extern void tb_fresh_row(TbFreshPage *page, HeapTupleHeader tuple, Snapshot snapshot);

/* Writes what was found into the header of the page's copy; nothing where not all is
 * decided, or the page's LSN says nothing. */
extern void tb_fresh_mark(const TbFreshPage *page, Page copy);

/* Whether blocks may be fresh for queries under this snapshot. */
extern bool tb_fresh_suits(Snapshot snapshot);

/* The snapshot for turbined: palloc'd, of *size bytes. */
extern TbSnapshot *tb_fresh_export_snapshot(Snapshot snapshot, Size *size);

#endif
