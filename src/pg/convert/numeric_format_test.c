/*
 * numeric_format_test.c - numerics as scaled integers, against PostgreSQL's own input and
 * output.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

#include "turbine/types.h"

#include "pg/convert/numeric_format.h"
#include "pg/testing/unit_test.h"

static Numeric
numeric_of(const char *text)
{
	return DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(text),
											   ObjectIdGetDatum(InvalidOid),
											   Int32GetDatum(-1)));
}

static const char *
text_of(Datum numeric)
{
	return DatumGetCString(DirectFunctionCall1(numeric_out, numeric));
}

/* So many random digits, the first not zero unless it is the only one. */
static char *
random_digits(int count)
{
	char *digits = palloc(count + 1);

	for (int i = 0; i < count; i++)
		digits[i] = (char) ('0' + tb_random_between(i == 0 && count > 1 ? 1 : 0, 9));
	digits[count] = '\0';
	return digits;
}

TB_TEST(numerics_there_and_back)
{
	for (int i = 0; i < 20000; i++)
	{
		int			scale = (int) tb_random_between(0, 18);
		int			whole = (int) tb_random_between(1, 38 - scale);
		const char *text = scale == 0 ?
			random_digits(whole) :
			psprintf("%s.%s", random_digits(whole), random_digits(scale));
		const char *sign = tb_random_between(0, 1) == 0 ? "" : "-";
		Numeric		numeric = numeric_of(psprintf("%s%s", sign, text));
		tb_int128	value;

		CHECK(tb_numeric_display_scale(numeric) == scale);
		CHECK(tb_numeric_to_int128(numeric, scale, &value));
		CHECK(strcmp(text_of(tb_numeric_from_int128(value, scale, scale)),
					 text_of(NumericGetDatum(numeric))) == 0);
		/* More digits after the point hold it as well, as long as there is room. */
		if (whole + scale <= 30)
		{
			tb_int128 wider;

			CHECK(tb_numeric_to_int128(numeric, scale + 8, &wider));
			CHECK(wider == value * 100000000);
		}
	}
}

TB_TEST(numerics_that_have_no_form)
{
	tb_int128 value;

	CHECK(!tb_numeric_to_int128(numeric_of("NaN"), 2, &value));
	CHECK(!tb_numeric_to_int128(numeric_of("Infinity"), 2, &value));
	CHECK(!tb_numeric_to_int128(numeric_of("-Infinity"), 2, &value));
	CHECK(tb_numeric_display_scale(numeric_of("NaN")) == -1);
	/* A digit would be lost. */
	CHECK(!tb_numeric_to_int128(numeric_of("1.005"), 2, &value));
	CHECK(tb_numeric_to_int128(numeric_of("1.000"), 2, &value) && value == 100);
	/* 39 digits and more do not fit. */
	CHECK(!tb_numeric_to_int128(numeric_of("1000000000000000000000000000000000000000"), 0,
								&value));
	CHECK(!tb_numeric_to_int128(numeric_of("1"), 39, &value));
}

TB_TEST(numerics_at_the_borders_of_types)
{
	tb_int128 value;

	CHECK(tb_numeric_to_int128(numeric_of("999999999999999999"), 0, &value));
	CHECK(tb_int128_fits(value, TB_TYPE_NUM64) && tb_int128_digits(value) == 18);
	CHECK(tb_int128_fits(-value, TB_TYPE_NUM64) && tb_int128_digits(-value) == 18);
	CHECK(!tb_int128_fits(value + 1, TB_TYPE_NUM64) && tb_int128_digits(value + 1) == 19);
	CHECK(tb_int128_digits(0) == 0 && tb_int128_digits(9) == 1 &&
		  tb_int128_digits(10) == 2);
	CHECK(tb_numeric_fits(numeric_of("-1.5"), TB_TYPE_NUM64, 1));
	CHECK(!tb_numeric_fits(numeric_of("-1.55"), TB_TYPE_NUM64, 1));
}
