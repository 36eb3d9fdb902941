/*
 * failure.h - fills a TbFailure: why the service could not do something.
 * Never raises; the text is cut to the struct's size.
 */
#ifndef TURBINE_PG_BRIDGE_FAILURE_H
#define TURBINE_PG_BRIDGE_FAILURE_H

#include "postgres.h"

#include "turbine/wire.h"

extern void tb_failure_set(TbFailure *failure, TbFallback reason, const char *format, ...)
	pg_attribute_printf(3, 4);

/* A copy of what the daemon sent: strings terminated, reason in range. */
extern void tb_failure_from_wire(TbFailure *failure, const void *payload, uint32 length);

/* Ends the daemon's text within its array and leaves printable ASCII: it goes
 * to logs, views and EXPLAIN in whatever encoding. */
extern void tb_clean_text(char *text, size_t size);

#endif
