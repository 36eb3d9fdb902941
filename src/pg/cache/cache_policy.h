/*
 * cache_policy.h - what a table's owner wants of the column cache.
 *
 * A policy is a security label of the provider "pg_turbine": so PostgreSQL keeps it with
 * the table, drops it with the table, and pg_dump saves it. A partition without a label of
 * its own has that of the nearest table above it that has one.
 *
 * A pinned table's label is "pin DEVICE", or "pin DEVICE columns" if only some of its
 * columns are pinned; these have the label "pin" themselves.
 *
 * The provider is registered only once a session names it: SECURITY LABEL without a
 * provider means what it meant before, as long as nobody else's provider is there, or one.
 */
#ifndef TURBINE_PG_CACHE_CACHE_POLICY_H
#define TURBINE_PG_CACHE_CACHE_POLICY_H

#include "postgres.h"

#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"

typedef enum TbCachePolicy
{
	TB_CACHE_AUTO, /* kept as long as there is room */
	TB_CACHE_OFF,  /* neither kept nor taken */
	TB_CACHE_KEEP, /* gives way after others */
	TB_CACHE_PIN   /* does not give way */
} TbCachePolicy;

/* Where a pinned table is to be. */
#define TB_PIN_ANY_GPU (-1) /* a GPU, if there is one */
#define TB_PIN_HOST (-2)

typedef struct TbPin
{
	int		   device;	/* a GPU's number, or one of the above */
	Bitmapset *columns; /* attribute numbers; NULL: all */
} TbPin;

/* Called by the module's init. */
extern void tb_cache_policy_init(void);

/* Of a table that is open. Raises PostgreSQL's errors. */
extern TbCachePolicy tb_cache_policy_of(Oid relid);

/* False if it is not pinned. A partition's columns have its own numbers. In the current
 * memory context. */
extern bool tb_cache_pin_of(Oid relid, TbPin *pin);

/* Whether the table has a pin's label itself. */
extern bool tb_cache_has_pin(Oid relid);

/* Labels a table, which the user must own, or a column of it (`attnum` not 0): as SECURITY
 * LABEL does. `label` NULL: none. */
extern void tb_cache_set_label(Oid relid, int attnum, const char *label);

/* Raises an error if there is no such relation, or if the user does not own it. */
extern void tb_cache_require_relation(Oid relid);
extern void tb_cache_require_owner(Oid relid);

/* The columns of a table by their numbers in a partition or child of it. */
extern Bitmapset *tb_columns_in_leaf(Oid top, Oid leaf, const Bitmapset *attnums);

/* A device's name in labels and arguments: "gpu", "gpu0", "host"; false: it is none. */
extern bool	 tb_pin_parse_device(const char *name, int *device);
extern char *tb_pin_device_name(int device);

/* Tables of this database that have a label of a pin, in the current memory context. */
extern List *tb_cache_pinned_tables(void);

#endif
