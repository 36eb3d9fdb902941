/*
 * zone_transitions_test.c - the bytes that devices read of a time zone, against what
 * PostgreSQL computes for the same moments.
 */
#include "postgres.h"

#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "turbine/zone.h"

#include "pg/compat/pg16.h"
#include "pg/convert/zone_transitions.h"
#include "pg/testing/unit_test.h"

static int64
number_at(const char *bytes, Size offset)
{
	int64 number;

	memcpy(&number, bytes + offset, sizeof(number));
	return number;
}

/* Local time - UTC in microseconds, as PostgreSQL has it. */
static int64
expected_offset(pg_tz *zone, int64 moment)
{
	pg_time_t seconds = (pg_time_t) (moment / USECS_PER_SEC) +
		(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;
	long		  offset;
	struct pg_tm *tm;

	if (moment < 0 && moment % USECS_PER_SEC != 0)
		seconds--;
	tm = pg_localtime(&seconds, zone);
	offset = tm->tm_gmtoff;
	return offset * USECS_PER_SEC;
}

/* The entry in force: the last that starts at or before the moment. */
static int64
offset_of(const char *bytes, uint32 nentries, int64 moment)
{
	uint32 entry = 0;

	while (entry + 1 < nentries &&
		   number_at(bytes, TB_ZONE_HEADER_SIZE + (entry + 1) * TB_ZONE_ENTRY_SIZE) <=
			   moment)
		entry++;
	return number_at(bytes, TB_ZONE_HEADER_SIZE + entry * TB_ZONE_ENTRY_SIZE + 8);
}

static void
check_zone(const char *name)
{
	bytea	   *table = tb_zone_transitions(cstring_to_text(name));
	const char *bytes = VARDATA(table);
	pg_tz	   *zone = pg_tzset(name);
	int64		begin = number_at(bytes, 0);
	int64		end = number_at(bytes, 8);
	uint32		nentries;

	memcpy(&nentries, bytes + 16, sizeof(nentries));
	CHECK(tb_zone_is_known(cstring_to_text(name)));
	CHECK(begin < end && nentries >= 1);
	for (int i = 0; i < 300; i++)
	{
		int64 moment = tb_random_between(begin, end - 1);

		CHECK(offset_of(bytes, nentries, moment) == expected_offset(zone, moment));
	}
	/* Around each transition. */
	for (uint32 i = 1; i < nentries; i++)
	{
		int64 start = number_at(bytes, TB_ZONE_HEADER_SIZE + i * TB_ZONE_ENTRY_SIZE);

		CHECK(offset_of(bytes, nentries, start) == expected_offset(zone, start));
		CHECK(offset_of(bytes, nentries, start - 1) == expected_offset(zone, start - 1));
	}
}

TB_TEST(zones_have_postgresqls_offsets)
{
	static const char *const names[] = {"UTC",
										"Europe/Berlin",
										"America/New_York",
										"Asia/Kolkata",
										"Australia/Lord_Howe",
										"Pacific/Apia",
										"Africa/Casablanca",
										"America/Sao_Paulo",
										"Asia/Tehran"};

	for (int i = 0; i < lengthof(names); i++)
		check_zone(names[i]);
}

TB_TEST(zones_that_nobody_knows_cover_nothing)
{
	bytea *table = tb_zone_transitions(cstring_to_text("Europe/Nowhere"));

	CHECK(number_at(VARDATA(table), 0) == number_at(VARDATA(table), 8));
	CHECK(!tb_zone_is_known(cstring_to_text("Europe/Nowhere")));
}
