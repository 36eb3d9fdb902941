/*
 * plain_plan_time.h - how long a plan of PostgreSQL's own takes, if its tables are in
 * memory: plain_path_time.h for joins and for what stands above them.
 */
#ifndef TURBINE_PG_PLANNER_PLAIN_PLAN_TIME_H
#define TURBINE_PG_PLANNER_PLAIN_PLAN_TIME_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* Microseconds of one run of the path; of a partial path until all its processes are
 * through. */
extern double tb_plain_plan_us(PlannerInfo *root, const Path *path);

#endif
