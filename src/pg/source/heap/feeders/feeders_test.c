/*
 * feeders_test.c - every page of every job is taken once, and a job is over when all
 * its pages are filled.
 */
#include "postgres.h"

#include "storage/latch.h"
#include "storage/proc.h"

#include "pg/source/heap/feeders/feeders.h"
#include "pg/testing/unit_test.h"

#define SLOTS 5
#define SLOT_PAGES 40

static TbFeederQueue *
make_queue(void)
{
	static PGPROC  leader;
	TbReady		   ready = {.nslots = SLOTS,
							.slot_pages = SLOT_PAGES,
							.slot_size = SLOT_PAGES * 8192};
	TbFeederQueue *queue = palloc0(tb_feeder_queue_size(&ready));

	/* The process that wakes up when a job is over: this one. */
	MyProc = &leader;
	InitLatch(&leader.procLatch);
	tb_feeder_queue_init(queue, &ready, 1);
	return queue;
}

static void
put_job(TbFeederQueue *queue, uint32 slot, uint32 npages)
{
	TbFeederPage *pages = tb_feeder_queue_pages(queue, slot);

	for (uint32 i = 0; i < npages; i++)
	{
		pages[i].page = i;
		pages[i].block = slot * 1000 + i;
	}
	tb_feeder_queue_put(queue, slot, slot % 2, npages);
}

TB_TEST(feeders_take_each_page_once)
{
	for (int round = 0; round < 200; round++)
	{
		TbFeederQueue *queue = make_queue();
		uint32		   npages[SLOTS];
		uint32		   taken[SLOTS] = {0};
		uint32		   filled[SLOTS] = {0};
		TbFeederUnit   units[SLOTS * SLOT_PAGES];
		int			   nunits = 0;

		for (uint32 slot = 0; slot < SLOTS; slot++)
		{
			npages[slot] = (uint32) tb_random_between(1, SLOT_PAGES);
			put_job(queue, slot, npages[slot]);
			CHECK(!tb_feeder_queue_is_over(queue, slot));
		}
		while (tb_feeder_queue_take(queue, &units[nunits]))
		{
			TbFeederUnit *unit = &units[nunits++];

			CHECK(unit->count > 0 && unit->part == unit->slot % 2);
			for (uint32 i = 0; i < unit->count; i++)
				CHECK(unit->pages[i].block == unit->slot * 1000 + taken[unit->slot] + i);
			taken[unit->slot] += unit->count;
		}
		for (uint32 slot = 0; slot < SLOTS; slot++)
			CHECK(taken[slot] == npages[slot]);
		/* Filled in another order than taken. */
		while (nunits > 0)
		{
			int	   i = (int) tb_random_between(0, nunits - 1);
			uint32 slot = units[i].slot;

			CHECK(!tb_feeder_queue_is_over(queue, slot));
			tb_feeder_queue_filled(queue, &units[i], true);
			filled[slot] += units[i].count;
			CHECK(tb_feeder_queue_is_over(queue, slot) == (filled[slot] == npages[slot]));
			units[i] = units[--nunits];
		}
		CHECK(queue->fed == npages[0] + npages[1] + npages[2] + npages[3] + npages[4]);
		MyProc = NULL;
		pfree(queue);
	}
}

/* A slot's next job begins anew. */
TB_TEST(feeders_take_a_slots_next_job)
{
	TbFeederQueue *queue = make_queue();
	TbFeederUnit   unit;

	for (uint32 job = 1; job < 20; job++)
	{
		uint32 count = 0;

		put_job(queue, 3, job);
		while (tb_feeder_queue_take(queue, &unit))
		{
			CHECK(unit.slot == 3);
			count += unit.count;
			tb_feeder_queue_filled(queue, &unit, false);
		}
		CHECK(count == job && tb_feeder_queue_is_over(queue, 3));
	}
	CHECK(queue->fed == 0);
	/* Nothing is taken from a queue that is abandoned. */
	put_job(queue, 0, 5);
	tb_feeder_queue_close(queue, true);
	CHECK(!tb_feeder_queue_take(queue, &unit));
	MyProc = NULL;
}
