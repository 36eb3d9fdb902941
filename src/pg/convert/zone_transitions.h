/*
 * zone_transitions.h - a time zone as devices read it (turbine/zone.h).
 */
#ifndef TURBINE_PG_CONVERT_ZONE_TRANSITIONS_H
#define TURBINE_PG_CONVERT_ZONE_TRANSITIONS_H

#include "postgres.h"

/*
 * The table of the zone that AT TIME ZONE means by the name; of the session's
 * zone if it is NULL. It covers nothing if devices do not know such a zone
 * (or nobody does: PostgreSQL must say so, and only if it gets that far).
 */
extern bytea *tb_zone_transitions(const text *name);

/* Whether it covers something. */
extern bool tb_zone_is_known(const text *name);

#endif
