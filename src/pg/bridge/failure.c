/*
 * failure.c - see failure.h.
 *
 * Called wherever the service may fail a query, in places that must not raise. The text
 * is cut to the struct, whose bytes behind it are zero.
 */
#include "postgres.h"

#include "pg/bridge/failure.h"

static const char *
sqlstate_of(TbFallback reason)
{
	switch (reason)
	{
		case TB_FALLBACK_DEVICE_MEMORY:
		case TB_FALLBACK_HOST_MEMORY:
			return "53200";
		case TB_FALLBACK_NO_SERVICE:
		case TB_FALLBACK_DEVICE_LOST:
			return "58000";
		case TB_FALLBACK_PROTOCOL:
			return "08P01";
		case TB_FALLBACK_ADMISSION:
			return "53000";
		default:
			return "0A000";
	}
}

void
tb_failure_set(TbFailure *failure, TbFallback reason, const char *format, ...)
{
	va_list args;

	memset(failure, 0, sizeof(*failure));
	strlcpy(failure->sqlstate, sqlstate_of(reason), sizeof(failure->sqlstate));
	failure->reason = reason;
	va_start(args, format);
	vsnprintf(failure->message, sizeof(failure->message), format, args);
	va_end(args);
}

void
tb_clean_text(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (char *p = text; *p != '\0'; p++)
		if (IS_HIGHBIT_SET(*p) || *p < ' ')
			*p = '?';
}

void
tb_failure_from_wire(TbFailure *failure, const void *payload, uint32 length)
{
	if (length != sizeof(TbFailure))
	{
		tb_failure_set(failure, TB_FALLBACK_PROTOCOL, "failure message of %u bytes",
					   length);
		return;
	}
	memcpy(failure, payload, sizeof(*failure));
	tb_clean_text(failure->sqlstate, sizeof(failure->sqlstate));
	tb_clean_text(failure->message, sizeof(failure->message));
	if (failure->reason == TB_FALLBACK_NONE || failure->reason >= TB_FALLBACK_COUNT)
		failure->reason = TB_FALLBACK_PROTOCOL;
}
