/*
 * kept_copies.c - see kept_copies.h.
 *
 * Owns the list of what the session's process is believed to keep. The list is a guess: the
 * process drops copies if memory is short, and says so at the next call, which is then made
 * again with new copies.
 *
 * A copy serves a call if the table's revision is the same (results/table_revision.h), and
 * so are its columns. Rights are checked for each call: the copy may have been made for
 * another role. Tables with a column whose text depends on settings or catalogs are copied
 * for each call. Called by language.c.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "turbine/plcuda.h"

#include "pg/compat/pg16.h"
#include "pg/plcuda/kept_copies.h"
#include "pg/plcuda/runner.h"
#include "pg/results/table_export.h"
#include "pg/results/table_revision.h"

/* Copies that were missing in a row before the process is believed to keep none. */
#define MOST_MISSING 3

typedef struct KeptCopy
{
	Oid				 relation; /* InvalidOid: none */
	uint64			 serial;
	uint64			 used;	   /* the larger, the later */
	TbTableRevision *revision;
	StringInfoData	 columns;  /* as they were sent */
} KeptCopy;

static KeptCopy copies[TB_PLCUDA_MOST_KEPT];
static uint64	nused = 0; /* calls and copies, for their order */
static int		nmissing = 0;

static void
forget_kept(KeptCopy *copy)
{
	if (copy->relation == InvalidOid)
		return;
	tb_table_revision_free(copy->revision);
	pfree(copy->columns.data);
	*copy = (KeptCopy) {0};
}

void
tb_plcuda_copies_ended(void)
{
	for (int i = 0; i < (int) TB_PLCUDA_MOST_KEPT; i++)
		forget_kept(&copies[i]);
	nmissing = 0;
}

void
tb_plcuda_copies_missing(void)
{
	int before = nmissing;

	tb_plcuda_copies_ended();
	nmissing = before + 1;
}

void
tb_plcuda_copies_found(void)
{
	if (nmissing < MOST_MISSING)
		nmissing = 0;
}

/* Whether values of the type, as exported, are the same whatever the session's settings are
 * and whatever objects are renamed. */
static bool
is_plain_type(Oid type)
{
	switch (getBaseType(type))
	{
		case BOOLOID:
		case CHAROID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case UUIDOID:
		case NAMEOID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case BYTEAOID:
		case JSONOID:
		case JSONBOID:
			return true;
		default:
			return false;
	}
}

/* The columns by their numbers. False: one of them keeps copies from being used again. */
static bool
describe_columns(StringInfo to, TupleDesc desc)
{
	uint32 exported = 0;
	bool   plain = true;

	initStringInfo(to);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute	att = TupleDescAttr(desc, i);
		TbPlcudaStoreColumn column = {0};

		if (!att->attisdropped)
		{
			column = (TbPlcudaStoreColumn) {.type = att->atttypid,
											.modifier = att->atttypmod,
											.length = att->attlen,
											.byval = att->attbyval,
											.align = att->attalign,
											.exported = exported++};
			plain = plain && is_plain_type(att->atttypid);
		}
		appendBinaryStringInfo(to, (char *) &column, sizeof(column));
	}
	return plain;
}

static KeptCopy *
find_kept(Oid relation)
{
	for (int i = 0; i < (int) TB_PLCUDA_MOST_KEPT; i++)
		if (copies[i].relation == relation)
			return &copies[i];
	return NULL;
}

/* A place for another table's copy: that of the one which was not used for longest, which
 * the process drops likewise. */
static KeptCopy *
place_for_kept(Oid relation)
{
	KeptCopy *place = find_kept(InvalidOid);

	if (place == NULL)
	{
		place = &copies[0];
		for (int i = 1; i < (int) TB_PLCUDA_MOST_KEPT; i++)
			if (copies[i].used < place->used)
				place = &copies[i];
		forget_kept(place);
	}
	place->relation = relation;
	return place;
}

/* A new copy is on its way to the process, made between both revisions. Its number. */
static uint64
note_kept(Oid relation, const TbTableRevision *before, const TbTableRevision *after,
		  const StringInfoData *columns)
{
	static uint64	 last_serial = 0;
	MemoryContext	 old = MemoryContextSwitchTo(TopMemoryContext);
	TbTableRevision *revision = tb_table_revision_between(before, after);
	StringInfoData	 described;
	KeptCopy		*copy;

	initStringInfo(&described);
	appendBinaryStringInfo(&described, columns->data, columns->len);
	MemoryContextSwitchTo(old);
	copy = place_for_kept(relation);
	copy->serial = ++last_serial;
	copy->used = ++nused;
	copy->revision = revision;
	copy->columns = described;
	return copy->serial;
}

/* The copy that the process has, if it is right for the active snapshot, or NULL. */
static KeptCopy *
find_right(Oid relation, const TbTableRevision *now, const StringInfoData *columns)
{
	KeptCopy		*copy = find_kept(relation);
	TbTableRevision *newest;
	MemoryContext	 old;

	if (copy == NULL || now == NULL || !tb_table_revision_is(copy->revision, now) ||
		copy->columns.len != columns->len ||
		memcmp(copy->columns.data, columns->data, columns->len) != 0)
		return NULL;
	/* What was proved of it now may prove the next time. */
	old = MemoryContextSwitchTo(TopMemoryContext);
	newest = tb_table_revision_between(now, now);
	MemoryContextSwitchTo(old);
	tb_table_revision_free(copy->revision);
	copy->revision = newest;
	copy->used = ++nused;
	return copy;
}

void
tb_plcuda_encode_store(StringInfo to, Oid relid)
{
	Relation		 rel = relation_open(relid, AccessShareLock);
	TbPlcudaStore	 store = {.ncolumns = RelationGetDescr(rel)->natts, .relation = relid};
	StringInfoData	 columns;
	TbTableRevision *before = NULL;
	KeptCopy		*copy;
	bytea			*token = NULL;

	if (describe_columns(&columns, RelationGetDescr(rel)) && nmissing < MOST_MISSING &&
		tb_export_table_is_allowed(rel))
		before = tb_table_revision_of(rel);
	copy = find_right(relid, before, &columns);
	if (copy != NULL)
	{
		store.serial = copy->serial;
		elog(DEBUG1, "table \"%s\" is taken from the copy of an earlier call",
			 RelationGetRelationName(rel));
	}
	else
	{
		/* The old copy's memory is free before the new one takes its own. */
		copy = find_kept(relid);
		if (copy != NULL)
		{
			forget_kept(copy);
			tb_plcuda_drop_copy(relid);
		}
		token = tb_export_table_once(relid);
		store.token_length = VARSIZE(token) - VARHDRSZ;
		if (before != NULL)
			store.serial = note_kept(relid, before, tb_table_revision_of(rel), &columns);
	}
	appendBinaryStringInfo(to, (char *) &store, sizeof(store));
	appendBinaryStringInfo(to, columns.data, columns.len);
	if (token != NULL)
		appendBinaryStringInfo(to, VARDATA(token), store.token_length);
	relation_close(rel, NoLock);
}
