/*
 * run_unit_test.c - runs the unit tests when PostgreSQL loads the module, and ends the
 * process.
 *
 * Each test has a memory context of its own and the same random numbers in every run. An
 * error that a test lets out fails it. Exit status 0 if all have passed; the last line is
 * `N passed, N failed`. Called by test/pg_units.py.
 */
#include "postgres.h"

#include <unistd.h>

#include "fmgr.h"
#include "utils/memutils.h"

#include "pg/testing/unit_test.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

static TbUnitTest	*tests;
static bool			 failed;
static pg_prng_state random_state;

void
tb_unit_test_add(TbUnitTest *test)
{
	test->next = tests;
	tests = test;
}

void
tb_unit_test_failed(const char *file, int line, const char *text)
{
	failed = true;
	printf("%s:%d: %s is not so\n", file, line, text);
}

pg_prng_state *
tb_unit_test_random(void)
{
	return &random_state;
}

int64
tb_random_between(int64 lowest, int64 highest)
{
	uint64 span = (uint64) highest - (uint64) lowest;

	return (int64) ((uint64) lowest + pg_prng_uint64_range(&random_state, 0, span));
}

static bool
run(const TbUnitTest *test)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "unit test",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	failed = false;
	pg_prng_seed(&random_state, 20260101);
	PG_TRY();
	{
		test->body();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		printf("%s: %s\n", test->name, CopyErrorData()->message);
		FlushErrorState();
		failed = true;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	printf("%s: %s\n", test->name, failed ? "FAILED" : "ok");
	return !failed;
}

void
_PG_init(void)
{
	int npassed = 0;
	int nfailed = 0;

	/* A test that crashes is named by the lines before it. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (const TbUnitTest *test = tests; test != NULL; test = test->next)
	{
		if (run(test))
			npassed++;
		else
			nfailed++;
	}
	printf("%d passed, %d failed\n", npassed, nfailed);
	fflush(stdout);
	_exit(nfailed == 0 && npassed > 0 ? 0 : 1);
}
