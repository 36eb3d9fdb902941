/*
 * zone.h - a time zone as a parameter: the bytes of a TEXT parameter whose shape
 * has TB_PARAM_ZONE.
 *
 * The backend writes it when the query starts (src/pg/convert/zone_transitions.c), the
 * device library reads it (src/rt/zone.h). Times are microseconds since
 * 2000-01-01 UTC; the bytes may lie at any address.
 *
 * OFFSET SIZE  FIELD
 *      0    8  begin      first moment that the table covers
 *      8    8  end        first moment after those; begin if the zone has no table
 *     16    4  nentries   at least 1
 *     20    4  nbuckets   one for each 2^TB_ZONE_BUCKET_BITS us from begin to end
 *     24   16  nentries times: int64 start, int64 local time - UTC from then on;
 *              starts ascend, the first is begin
 *      -    2  nbuckets times: uint16 index of the entry in force at its start
 */
#ifndef TURBINE_ZONE_H
#define TURBINE_ZONE_H

#include <stdint.h>

#define TB_ZONE_HEADER_SIZE 24
#define TB_ZONE_ENTRY_SIZE 16
#define TB_ZONE_BUCKET_BITS 43 /* 102 days: few transitions in each */

#endif
