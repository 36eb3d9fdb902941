/*
 * reason_text.c - see reason_text.h. Called where a part of a query is refused
 * (tb_refuse) and where a reason is noted (tb_planning_note).
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "pg/planner/expression/reason_text.h"

char *
tb_reason_text(const char *format, va_list args)
{
	StringInfoData text;

	initStringInfo(&text);
	for (;;)
	{
		va_list again;
		int		needed;

		va_copy(again, args);
		needed = appendStringInfoVA(&text, format, again);
		va_end(again);
		if (needed == 0)
			return text.data;
		enlargeStringInfo(&text, needed);
	}
}
