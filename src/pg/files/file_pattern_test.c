/* file_pattern_test.c - which names a part of a pattern matches, and what ${name} takes. */
#include "postgres.h"

#include "pg/files/file_pattern.h"
#include "pg/testing/unit_test.h"

/* What the keys of a match took, separated by bars; NULL: no match. */
static const char *
taken(const char *part, const char *name)
{
	TbFileKeys keys = {0};
	char	  *text = pstrdup("");

	if (!tb_file_pattern_match(part, name, &keys))
	{
		CHECK(keys.nkeys == 0);
		return NULL;
	}
	for (int i = 0; i < keys.nkeys; i++)
		text = psprintf("%s%s=%s|", text, keys.keys[i].name, keys.keys[i].value);
	return text;
}

static bool
takes(const char *part, const char *name, const char *expected)
{
	const char *found = taken(part, name);

	return found != NULL && strcmp(found, expected) == 0;
}

TB_TEST(file_patterns)
{
	CHECK(takes("a.arrow", "a.arrow", ""));
	CHECK(taken("a.arrow", "a.arrows") == NULL);
	CHECK(takes("*.arrow", "x.arrow", ""));
	CHECK(takes("*.arrow", ".arrow", "") == false); /* hidden */
	CHECK(takes(".*", ".x", ""));
	CHECK(taken("*", "..") == NULL);
	CHECK(taken(".?", "..") == NULL);
	CHECK(takes("a?c", "abc", ""));
	CHECK(taken("a?c", "ac") == NULL);
	CHECK(takes("*b*d", "abcbd", ""));
	CHECK(takes("${y}-${m}.x", "2024-01.x", "y=2024|m=01|"));
	CHECK(takes("${a}-${b}", "1-2-3", "a=1|b=2-3|"));
	CHECK(takes("${a}${b}", "123", "a=1|b=23|"));
	CHECK(taken("${a}x", "x") == NULL);
	CHECK(takes("*${a}", "123", "a=123|"));
	CHECK(takes("p${a}*", "p123", "a=1|"));
	CHECK(tb_file_pattern_is_open("a*"));
	CHECK(tb_file_pattern_is_open("${x}"));
	CHECK(!tb_file_pattern_is_open("$x{}"));
}
