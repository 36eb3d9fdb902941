/*
 * pins.h - what pinned tables ask of devices.
 */
#ifndef TURBINE_PG_CACHE_PINS_H
#define TURBINE_PG_CACHE_PINS_H

#include "postgres.h"

#include "pg/cache/cache_policy.h"

/* A usable device that a pin can be served from now, as pg_turbine.device names it: its
 * GPU, another one if any will do, or "cpu" where there is none. */
extern const char *tb_pin_device_setting(int device);

/* Labels a table and its columns; `columns` NULL: all. Raises errors for what cannot be
 * pinned, and for who may not. */
extern void tb_pin_table(Oid relid, const Bitmapset *columns, int device);

/* Says so if the GPU is not there that a table was pinned to. */
extern void tb_pin_note_absent_gpu(Oid relid, int device);

/* Takes the labels away; false: it was not pinned. */
extern bool tb_unpin_table(Oid relid);

#endif
