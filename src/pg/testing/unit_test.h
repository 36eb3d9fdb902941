/*
 * unit_test.h - unit tests of the extension's parts that need no running server.
 *
 * A test is a function in some *_test.c beside the part: TB_TEST(name) { CHECK(...); }.
 * All of them become one module, pg_turbine_unit_test.so, which is compiled with
 * assertions. `postgres -C` loads it before it would print a setting: PostgreSQL's memory
 * contexts, lists, numerics and time zones are there, but neither catalogs nor buffers.
 */
#ifndef TURBINE_PG_TESTING_UNIT_TEST_H
#define TURBINE_PG_TESTING_UNIT_TEST_H

#include "postgres.h"

#include "common/pg_prng.h"

typedef struct TbUnitTest
{
	const char		  *name;
	void			   (*body)(void);
	struct TbUnitTest *next;
} TbUnitTest;

extern void tb_unit_test_add(TbUnitTest *test);
extern void tb_unit_test_failed(const char *file, int line, const char *text);

/* The same numbers in every run; each test begins anew. */
extern pg_prng_state *tb_unit_test_random(void);

/* Between lowest and highest, both included. */
extern int64 tb_random_between(int64 lowest, int64 highest);

#define TB_TEST(test_name) \
	static void								 test_name(void); \
	static void __attribute__((constructor)) add_##test_name(void) \
	{ \
		static TbUnitTest test = {#test_name, test_name, NULL}; \
		tb_unit_test_add(&test); \
	} \
	static void test_name(void)

#define CHECK(condition) \
	do \
	{ \
		if (!(condition)) \
			tb_unit_test_failed(__FILE__, __LINE__, #condition); \
	} while (0)

#endif
