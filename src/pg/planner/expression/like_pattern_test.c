/*
 * like_pattern_test.c - kinds of LIKE patterns.
 */
#include "postgres.h"

#include "pg/planner/expression/like_pattern.h"
#include "pg/testing/unit_test.h"

static void
check(const char *pattern, TbLikeKind kind, const char *literal)
{
	char found[64];
	int	 length = 0;

	CHECK(tb_like_classify(pattern, (int) strlen(pattern), found, &length) == kind);
	if (literal != NULL)
		CHECK(length == (int) strlen(literal) && memcmp(found, literal, length) == 0);
}

TB_TEST(like_patterns_by_kind)
{
	check("abc%", TB_LIKE_PREFIX, "abc");
	check("%abc", TB_LIKE_SUFFIX, "abc");
	check("%abc%", TB_LIKE_CONTAINS, "abc");
	check("a%c", TB_LIKE_GENERAL, NULL);
	check("a_c", TB_LIKE_GENERAL, NULL);
	check("%a_c%", TB_LIKE_GENERAL, NULL);
	check("100\\%%", TB_LIKE_PREFIX, "100%");
	check("%a\\_b%", TB_LIKE_CONTAINS, "a_b");
	check("%a\\\\b%", TB_LIKE_CONTAINS, "a\\b");
	check("abc\\", TB_LIKE_INVALID, NULL);
}
