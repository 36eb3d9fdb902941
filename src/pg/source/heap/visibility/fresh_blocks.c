/*
 * fresh_blocks.c - see fresh_blocks.h.
 *
 * What is decided, by xmin:
 *   - frozen: inserted for everybody;
 *   - committed, and seen by the snapshot: the row counts, and xmin among the block's
 * transactions;
 *   - aborted, or cut off by a crash: the row is nobody's, and depends on nothing;
 *   - in progress, committed after the snapshot, our own, moved by an old VACUUM FULL: the
 * block is not fresh. By xmax of a row that counts:
 *   - none, aborted, or one that only locks, alone or as a multixact: the row stays;
 *   - committed, and seen: the row is left out, and xmax counts among the block's
 * transactions;
 *   - in progress, committed after the snapshot, our own, a multixact with an updater: the
 * block is not fresh. In progress is tested before committed: a transaction leaves the list
 * of those that run only after its commit is in the commit log, so one that neither runs
 * nor has committed has aborted.
 *
 * Called with the buffer's content lock held, after PostgreSQL's own test of the row, which
 * has set hint bits. Must never call a block fresh of which a row may still come to life or
 * die without the page's LSN moving: whoever inserts, deletes or locks a row stamps the
 * page.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "pg/source/heap/visibility/fresh_blocks.h"
#include "turbine/mutant.h"

StaticAssertDecl(sizeof(TbFreshHeader) == SizeOfPageHeaderData &&
					 offsetof(TbFreshHeader, least_low) ==
						 offsetof(PageHeaderData, pd_checksum) &&
					 offsetof(TbFreshHeader, flags) == offsetof(PageHeaderData, pd_flags) &&
					 offsetof(TbFreshHeader, least_high) ==
						 offsetof(PageHeaderData, pd_pagesize_version) &&
					 offsetof(TbFreshHeader, greatest) ==
						 offsetof(PageHeaderData, pd_prune_xid),
				 "header of a page");
StaticAssertDecl((PD_VALID_FLAG_BITS & TB_PAGE_IS_FRESH) == 0,
				 "a flag that PostgreSQL does not have");

typedef enum XidFate
{
	XID_SEEN,	  /* committed, and the snapshot sees it */
	XID_ABORTED,
	XID_UNDECIDED /* it may commit, or the snapshot does not see that it has */
} XidFate;

/* Of a transaction of which hint bits may say that it has committed. */
static XidFate
fate_of(TransactionId xid, bool known_committed, Snapshot snapshot)
{
	if (!known_committed)
	{
		/* Our own transactions are such. */
		if (TransactionIdIsInProgress(xid))
			return TB_MUTANT(fresh_in_progress) ? XID_ABORTED : XID_UNDECIDED;
		if (!TransactionIdDidCommit(xid))
			return XID_ABORTED;
	}
	if (XidInMVCCSnapshot(xid, snapshot) && !TB_MUTANT(fresh_unseen))
		return XID_UNDECIDED;
	return XID_SEEN;
}

void
tb_fresh_begin(TbFreshPage *page)
{
	page->decided = true;
	page->least = page->greatest = InvalidTransactionId;
}

void
tb_fresh_note(TbFreshPage *page, TransactionId xid)
{
	if (page->greatest == InvalidTransactionId)
		page->least = page->greatest = xid;
	else if (TransactionIdPrecedes(xid, page->least))
		page->least = xid;
	else if (TransactionIdFollows(xid, page->greatest))
		page->greatest = xid;
}

/* Inserted? *counts: for the snapshot, and for others that see its transactions. */
static bool
look_at_xmin(TbFreshPage *page, HeapTupleHeader tuple, Snapshot snapshot, bool *counts)
{
	TransactionId xmin = HeapTupleHeaderGetRawXmin(tuple);

	*counts = false;
	if ((tuple->t_infomask & HEAP_MOVED) != 0)
		return false;
	/* An aborted speculative insertion has no xmin. */
	if (HeapTupleHeaderXminInvalid(tuple) || xmin == InvalidTransactionId)
		return true;
	*counts = true;
	if (HeapTupleHeaderXminFrozen(tuple) || !TransactionIdIsNormal(xmin))
		return true;
	switch (fate_of(xmin, HeapTupleHeaderXminCommitted(tuple), snapshot))
	{
		case XID_SEEN:
			tb_fresh_note(page, xmin);
			return true;
		case XID_ABORTED:
			*counts = false;
			return true;
		case XID_UNDECIDED:
			break;
	}
	return false;
}

static bool
look_at_xmax(TbFreshPage *page, HeapTupleHeader tuple, Snapshot snapshot)
{
	TransactionId xmax = HeapTupleHeaderGetRawXmax(tuple);

	if ((tuple->t_infomask & HEAP_XMAX_INVALID) != 0 ||
		HEAP_XMAX_IS_LOCKED_ONLY(tuple->t_infomask))
		return true;
	if ((tuple->t_infomask & HEAP_XMAX_IS_MULTI) != 0)
		return TB_MUTANT(fresh_multixact);
	if (!TransactionIdIsNormal(xmax))
		return xmax == InvalidTransactionId;
	switch (fate_of(xmax, (tuple->t_infomask & HEAP_XMAX_COMMITTED) != 0, snapshot))
	{
		case XID_SEEN:
			if (!TB_MUTANT(fresh_xmax_uncounted))
				tb_fresh_note(page, xmax);
			return true;
		case XID_ABORTED:
			return true;
		case XID_UNDECIDED:
			break;
	}
	return TB_MUTANT(fresh_xmax_ignored);
}

void
tb_fresh_row(TbFreshPage *page, HeapTupleHeader tuple, Snapshot snapshot)
{
	bool counts;

	if (!page->decided)
		return;
	page->decided = look_at_xmin(page, tuple, snapshot, &counts) &&
		(!counts || look_at_xmax(page, tuple, snapshot));
}

void
tb_fresh_mark(const TbFreshPage *page, Page copy)
{
	TbFreshHeader *header = (TbFreshHeader *) copy;

	if (!page->decided || PageGetLSN(copy) == InvalidXLogRecPtr)
		return;
	header->flags = TB_PAGE_IS_FRESH | (header->flags & PD_ALL_VISIBLE);
	header->least_low = (uint16) page->least;
	header->least_high = (uint16) (page->least >> 16);
	header->greatest = page->greatest;
}

bool
tb_fresh_suits(Snapshot snapshot)
{
	return snapshot->snapshot_type == SNAPSHOT_MVCC;
}

/* The snapshot is none of the future: its transactions are within 2^31 of the next one. */
static uint64
whole_xid(TransactionId xid, FullTransactionId next)
{
	uint64 whole = U64FromFullTransactionId(next);

	return whole + (int64) (int32) (xid - (TransactionId) whole);
}

static int
compare_xids(const void *a, const void *b)
{
	uint64 left = *(const uint64 *) a;
	uint64 right = *(const uint64 *) b;

	return left < right ? -1 : left > right;
}

TbSnapshot *
tb_fresh_export_snapshot(Snapshot snapshot, Size *size)
{
	FullTransactionId next = ReadNextFullTransactionId();
	uint32			  room = snapshot->xcnt + snapshot->subxcnt;
	TbSnapshot		 *exported = palloc0(sizeof(TbSnapshot) + room * sizeof(uint64));
	uint64			 *open = (uint64 *) (exported + 1);
	uint32			  count = 0;

	exported->xmin = whole_xid(snapshot->xmin, next);
	exported->xmax = whole_xid(snapshot->xmax, next);
	if (snapshot->suboverflowed)
		exported->flags |= TB_SNAPSHOT_OVERFLOWED;
	if (snapshot->takenDuringRecovery)
		exported->flags |= TB_SNAPSHOT_RECOVERY;
	if (TransactionIdIsValid(GetTopTransactionIdIfAny()))
		exported->flags |= TB_SNAPSHOT_WRITES;
	/* In an order of its own, so that snapshots can be compared. */
	for (uint32 i = 0; i < snapshot->xcnt; i++)
		open[count++] = whole_xid(snapshot->xip[i], next);
	for (int32 i = 0; i < snapshot->subxcnt; i++)
		open[count++] = whole_xid(snapshot->subxip[i], next);
	qsort(open, count, sizeof(uint64), compare_xids);
	for (uint32 i = 0; i < count; i++)
		if ((exported->nopen == 0 || open[exported->nopen - 1] != open[i]) &&
			open[i] >= exported->xmin && open[i] < exported->xmax)
			open[exported->nopen++] = open[i];
	*size = sizeof(TbSnapshot) + exported->nopen * sizeof(uint64);
	return exported;
}
