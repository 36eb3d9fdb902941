/*
 * reason_text.h - the text of a why-not reason.
 */
#ifndef TURBINE_PG_PLANNER_EXPRESSION_REASON_TEXT_H
#define TURBINE_PG_PLANNER_EXPRESSION_REASON_TEXT_H

#include "postgres.h"

#include <stdarg.h>

/* The format with its arguments, as psprintf would give it; `args` may be used again. */
extern char *tb_reason_text(const char *format, va_list args) pg_attribute_printf(1, 0);

#endif
