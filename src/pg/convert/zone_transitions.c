/*
 * zone_transitions.c - a time zone as devices read it (turbine/zone.h).
 *
 * Transitions are PostgreSQL's own, asked for one by one from 1700 to 2400. The
 * SQL session's table is kept while its zone stays the same, in TopMemoryContext.
 * Called when parameters are made.
 */
#include "postgres.h"

#include "datatype/timestamp.h"
#include "lib/stringinfo.h"
#include "parser/scansup.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/memutils.h"

#include "turbine/zone.h"

#include "pg/compat/pg16.h"
#include "pg/convert/zone_transitions.h"

/* Seconds since 1970: 1700-01-01 and 2400-01-01. */
#define FIRST_SECOND INT64CONST(-8520336000)
#define END_SECOND INT64CONST(13569465600)

typedef struct Transitions
{
	StringInfoData entries; /* as the table has them */
	int64		   end;		/* UTC microseconds since 2000 */
	bool		   valid;
} Transitions;

static int64
moment_of(pg_time_t second)
{
	const pg_time_t epoch = (pg_time_t) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) *
		SECS_PER_DAY;

	return (second - epoch) * USECS_PER_SEC;
}

static void
append_entry(Transitions *t, pg_time_t start, long int offset)
{
	int64 entry[2] = {moment_of(start), (int64) offset * USECS_PER_SEC};

	appendBinaryStringInfo(&t->entries, (char *) entry, sizeof(entry));
}

static void
begin_transitions(Transitions *t)
{
	initStringInfo(&t->entries);
	t->end = moment_of(END_SECOND);
	t->valid = true;
}

static Transitions
transitions_of(const pg_tz *zone)
{
	Transitions t;
	pg_time_t	at = FIRST_SECOND - 1;
	pg_time_t	boundary;
	long int	before;
	long int	after;
	long int	offset = 0;
	int			before_isdst;
	int			after_isdst;
	int			found;

	begin_transitions(&t);
	for (;;)
	{
		found = pg_next_dst_boundary(&at, &before, &before_isdst, &boundary, &after,
									 &after_isdst, zone);
		if (at < FIRST_SECOND)
			append_entry(&t, FIRST_SECOND, before);
		else if (before != offset)
			found = -1; /* not what the last call said */
		if (found != 1 || boundary >= END_SECOND)
			break;
		append_entry(&t, boundary, after);
		at = boundary;
		offset = after;
	}
	/* At the last transition that it has written down PostgreSQL finds no next
	 * one, though a second later it may. */
	if (found == 0 && at >= FIRST_SECOND)
	{
		pg_time_t later = at + 1;

		if (pg_next_dst_boundary(&later, &before, &before_isdst, &boundary, &after,
								 &after_isdst, zone) != 0)
			t.end = moment_of(at);
	}
	t.valid = found >= 0;
	return t;
}

static Transitions
fixed_offset(int seconds)
{
	Transitions t;

	begin_transitions(&t);
	append_entry(&t, FIRST_SECOND, seconds);
	return t;
}

/* The index of the entry in force at the start of each bucket. */
static void
append_buckets(StringInfo table, const Transitions *t, uint32 nentries, uint32 nbuckets)
{
	const int64 *entries = (const int64 *) t->entries.data;
	uint32		 entry = 0;

	for (uint32 i = 0; i < nbuckets; i++)
	{
		int64  start = entries[0] + ((int64) i << TB_ZONE_BUCKET_BITS);
		uint16 index;

		while (entry + 1 < nentries && entries[2 * (entry + 1)] <= start)
			entry++;
		index = entry;
		appendBinaryStringInfo(table, (char *) &index, sizeof(index));
	}
}

static bytea *
write_table(const Transitions *t)
{
	StringInfoData table;
	int64		   range[2] = {0, 0};
	uint32		   counts[2] = {0, 0};
	bytea		  *result;

	initStringInfo(&table);
	appendStringInfoSpaces(&table, VARHDRSZ);
	/* Find range and counts */
	if (t->valid && t->entries.len / TB_ZONE_ENTRY_SIZE <= PG_UINT16_MAX)
	{
		range[0] = *(const int64 *) t->entries.data;
		range[1] = t->end;
		counts[0] = t->entries.len / TB_ZONE_ENTRY_SIZE;
		counts[1] = ((range[1] - range[0]) >> TB_ZONE_BUCKET_BITS) + 1;
	}
	/* Write head, entries, buckets */
	appendBinaryStringInfo(&table, (char *) range, sizeof(range));
	appendBinaryStringInfo(&table, (char *) counts, sizeof(counts));
	if (counts[0] > 0)
	{
		appendBinaryStringInfo(&table, t->entries.data, t->entries.len);
		append_buckets(&table, t, counts[0], counts[1]);
	}
	result = (bytea *) table.data;
	SET_VARSIZE(result, table.len);
	return result;
}

/* The SQL session's zone, whose table is kept. */
static bytea *
session_table(void)
{
	static pg_tz *kept_zone = NULL;
	static bytea *kept_table = NULL;

	if (kept_zone != session_timezone)
	{
		Transitions t = transitions_of(session_timezone);
		bytea	   *table = write_table(&t);
		bytea	   *copy = MemoryContextAlloc(TopMemoryContext, VARSIZE(table));

		memcpy(copy, table, VARSIZE(table));
		if (kept_table != NULL)
			pfree(kept_table);
		kept_zone = session_timezone;
		kept_table = copy;
	}
	return kept_table;
}

/* As timestamptz_zone() looks a name up: first among the abbreviations. Those
 * whose meaning depends on the date are left to it. */
static Transitions
named_transitions(const text *name)
{
	char		zone_name[TZ_STRLEN_MAX + 1];
	char	   *lowered;
	int			type;
	int			offset;
	pg_tz	   *zone;
	Transitions none = {.valid = false};

	text_to_cstring_buffer(name, zone_name, sizeof(zone_name));
	lowered = downcase_truncate_identifier(zone_name, strlen(zone_name), false);
	type = tb_decode_timezone_abbrev(lowered, &offset, &zone);
	if (type == TZ || type == DTZ)
		return fixed_offset(offset);
	if (type == DYNTZ)
		return none;
	zone = pg_tzset(zone_name);
	return zone != NULL && pg_tz_acceptable(zone) ? transitions_of(zone) : none;
}

bytea *
tb_zone_transitions(const text *name)
{
	Transitions t;

	if (name == NULL)
		return session_table();
	t = named_transitions(name);
	return write_table(&t);
}

bool
tb_zone_is_known(const text *name)
{
	return named_transitions(name).valid;
}
