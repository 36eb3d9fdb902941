/*
 * result_cost.c - what a result plan costs (windows, order), in PostgreSQL's units; part of
 * cost.h.
 *
 * The host's threads share the work, unless a GPU does it over rows that stay there: then
 * it is charged with the program's (cost.c). Owns nothing.
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/cost.h"

#include "pg/source/heap/feeders/feeder_count.h"
#include "pg/planner/cost.h"

/* Sorting, a row and a doubling of the rows that are kept: the first key; each further
 * one. Of the first few rows of many most cost one comparison. A window function's
 * value. */
#define SORT_ROW_NS 3.5
#define SORT_KEY_NS 0.5
#define WINDOW_VALUE_NS 60.0
#define SORT_THREADS 8

/* Rows that are kept where the first of an order are wanted: for each of these; and before
 * a bound is known. */
#define FIRST_ROWS 10.0
#define SPARE_FIRST_ROWS 10000.0

/* A tuple by its id, each on another page in shared buffers: by the backend. */
#define FETCHED_ROW_US 1.7

/* Of work that the host's threads share. */
static Cost
cost_of_result_work(double ns)
{
	return ns / 1000.0 / Min(tb_cost_processors(), SORT_THREADS) / TB_US_PER_UNIT;
}

Cost
tb_cost_sort(double rows, int nkeys, double kept)
{
	double sorted = Min(rows, kept);
	double row_ns = SORT_ROW_NS + SORT_KEY_NS * Max(nkeys - 1, 0);

	return cost_of_result_work((rows + sorted * log2(Max(sorted, 2))) * row_ns);
}

void
tb_cost_first_rows(TbWork *work, double kept)
{
	work->projected = Min(work->projected, SPARE_FIRST_ROWS + kept * FIRST_ROWS);
}

Cost
tb_cost_fetched_rows(double rows)
{
	return rows * FETCHED_ROW_US / TB_US_PER_UNIT;
}

Cost
tb_cost_windows(double rows, int values)
{
	return cost_of_result_work(rows * values * WINDOW_VALUE_NS);
}

void
tb_cost_result_on_gpu(TbWork *work, Cost cost, double left)
{
	work->result_us = cost * TB_US_PER_UNIT;
	work->left = left;
}
