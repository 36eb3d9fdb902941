/*
 * like_pattern.c - what a LIKE pattern looks for.
 *
 * Works on bytes, which is right where the encoding is searchable: '%', '_'
 * and '\' are never part of another character there.
 */
#include "postgres.h"

#include "pg/planner/expression/like_pattern.h"

TbLikeKind
tb_like_classify(const char *pattern, int length, char *literal, int *literal_length)
{
	bool leading = false;  /* a % before the literal */
	bool trailing = false; /* a % after it */
	bool general = false;
	int	 out = 0;

	for (int i = 0; i < length; i++)
	{
		char c = pattern[i];

		if (c == '%')
		{
			if (out == 0)
				leading = true;
			else
				trailing = true;
			continue;
		}
		if (c == '\\' && ++i == length)
			return TB_LIKE_INVALID;
		if (c == '_' || trailing)
			general = true;
		literal[out++] = pattern[i];
	}
	*literal_length = out;
	if (general)
		return TB_LIKE_GENERAL;
	if (leading)
		return trailing || out == 0 ? TB_LIKE_CONTAINS : TB_LIKE_SUFFIX;
	return trailing ? TB_LIKE_PREFIX : TB_LIKE_EXACT;
}

const char *
tb_like_kind_name(TbLikeKind kind)
{
	switch (kind)
	{
		case TB_LIKE_EXACT:
			return "exact";
		case TB_LIKE_PREFIX:
			return "prefix";
		case TB_LIKE_SUFFIX:
			return "suffix";
		case TB_LIKE_CONTAINS:
			return "contains";
		default:
			return "general";
	}
}
