/*
 * tuple_check.h - whether a tuple from shared memory can be deformed.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_TUPLE_CHECK_H
#define TURBINE_PG_SOURCE_HEAP_TUPLE_CHECK_H

#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupdesc.h"

/* True if header, null bitmap and every attribute lie within `length` bytes. */
extern bool tb_tuple_check(TupleDesc desc, HeapTupleHeader tuple, uint32 length);

#endif
