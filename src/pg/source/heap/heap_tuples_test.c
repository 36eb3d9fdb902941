/*
 * heap_tuples_test.c - tuples from shared memory that are whole, cut off or damaged.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "pg/compat/pg16.h"
#include "pg/source/heap/heap_tuples.h"
#include "pg/testing/unit_test.h"

static TupleDesc
make_desc(void)
{
	TupleDesc desc = CreateTemplateTupleDesc(4);

	TupleDescInitBuiltinEntry(desc, 1, "a", INT4OID, -1, 0);
	TupleDescInitBuiltinEntry(desc, 2, "b", TEXTOID, -1, 0);
	TupleDescInitBuiltinEntry(desc, 3, "c", INT8OID, -1, 0);
	TupleDescInitBuiltinEntry(desc, 4, "d", TEXTOID, -1, 0);
	return desc;
}

static HeapTuple
make_tuple(TupleDesc desc)
{
	Datum values[4];
	bool  nulls[4];
	char  text[301];

	for (int i = 0; i < 4; i++)
		nulls[i] = tb_random_between(0, 3) == 0;
	memset(text, 'x', sizeof(text));
	text[tb_random_between(0, 300)] = '\0';
	text[300] = '\0';
	values[0] = Int32GetDatum(7);
	values[1] = CStringGetTextDatum(text);
	values[2] = Int64GetDatum(8);
	values[3] = CStringGetTextDatum("end");
	return heap_form_tuple(desc, values, nulls);
}

TB_TEST(whole_tuples_are_sane)
{
	TupleDesc desc = make_desc();

	for (int i = 0; i < 500; i++)
	{
		HeapTuple tuple = make_tuple(desc);

		CHECK(tb_tuple_check(desc, tuple->t_data, tuple->t_len));
	}
}

/* A tuple whose last attribute is there has no byte too many. */
TB_TEST(tuples_that_are_cut_off_are_not_sane)
{
	TupleDesc desc = make_desc();

	for (int i = 0; i < 200; i++)
	{
		HeapTuple tuple = make_tuple(desc);

		if (heap_attisnull(tuple, 4, desc))
			continue;
		for (uint32 length = 0; length < tuple->t_len; length++)
			CHECK(!tb_tuple_check(desc, tuple->t_data, length));
	}
}

/* Whatever a damaged tuple's bytes say: what is called sane can be deformed within them. */
TB_TEST(damaged_tuples_stay_within_their_bytes)
{
	TupleDesc desc = make_desc();

	for (int i = 0; i < 20000; i++)
	{
		HeapTuple tuple = make_tuple(desc);
		char	 *bytes = (char *) tuple->t_data;
		Datum	  values[4];
		bool	  nulls[4];

		for (int j = 0; j < 3; j++)
			bytes[tb_random_between(0, tuple->t_len - 1)] = (char) tb_random_between(0,
																					 255);
		if (!tb_tuple_check(desc, tuple->t_data, tuple->t_len))
			continue;
		heap_deform_tuple(tuple, desc, values, nulls);
		for (int j = 1; j < 4; j += 2)
		{
			char *value = DatumGetPointer(values[j]);

			if (nulls[j])
				continue;
			CHECK(value >= bytes && value + VARSIZE_ANY(value) <= bytes + tuple->t_len);
		}
		heap_freetuple(tuple);
	}
}
