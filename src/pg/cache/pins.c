/*
 * pins.c - see pins.h; and turbine.pin() and turbine.unpin().
 *
 * A pin is labels (cache_policy.h); this sets them, and reads the table so that it is there
 * at once. pin_keeper.c reads what comes later. Must leave the table as it was if anything
 * fails: labels are rows of a catalog, so the transaction does.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pg/cache/cache_load.h"
#include "pg/cache/pins.h"
#include "pg/shmem/device_list.h"

extern PGDLLEXPORT Datum turbine_pin(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_unpin(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_pin);
PG_FUNCTION_INFO_V1(turbine_unpin);

/* Whether turbined offers this GPU, or any. */
static bool
gpu_is_there(int device)
{
	TbDeviceInfo devices[TB_MAX_DEVICES];
	int			 count = tb_devices_snapshot(devices, TB_MAX_DEVICES);

	/* GPU 0 is device 1. */
	for (int i = 1; i < count; i++)
		if (devices[i].usable && (device == TB_PIN_ANY_GPU || device == i - 1))
			return true;
	return false;
}

const char *
tb_pin_device_setting(int device)
{
	if (device == TB_PIN_HOST || !gpu_is_there(device))
		return "cpu";
	return tb_pin_device_name(device);
}

void
tb_pin_table(Oid relid, const Bitmapset *columns, int device)
{
	Relation  rel;
	TupleDesc desc;
	char	 *name = tb_pin_device_name(device);

	/* Nobody else may even ask for the lock. */
	tb_cache_require_owner(relid);
	rel = relation_open(relid, ShareUpdateExclusiveLock);
	desc = RelationGetDescr(rel);
	tb_cache_set_label(relid, 0,
					   psprintf("pin %s%s", name, columns != NULL ? " columns" : ""));
	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped)
			tb_cache_set_label(relid, i + 1, bms_is_member(i + 1, columns) ? "pin" : NULL);
	/* This command's load must see them. */
	CommandCounterIncrement();
	relation_close(rel, NoLock);
}

bool
tb_unpin_table(Oid relid)
{
	Relation  rel;
	TupleDesc desc;

	if (!tb_cache_has_pin(relid))
		return false;
	rel = relation_open(relid, ShareUpdateExclusiveLock);
	desc = RelationGetDescr(rel);
	tb_cache_set_label(relid, 0, NULL);
	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped)
			tb_cache_set_label(relid, i + 1, NULL);
	CommandCounterIncrement();
	relation_close(rel, NoLock);
	return true;
}

static int
device_of_argument(const char *name)
{
	int device;

	if (!tb_pin_parse_device(name, &device))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid device \"%s\"", name),
				 errhint(
					 "Valid devices are \"gpu\", \"gpu\" with a number, and \"host\".")));
	return device;
}

void
tb_pin_note_absent_gpu(Oid relid, int device)
{
	if (device >= 0 && tb_service_is_up() && !gpu_is_there(device))
		ereport(NOTICE,
				(errmsg("table \"%s\" is kept in host memory", get_rel_name(relid)),
				 errdetail("There is no usable GPU %d.", device)));
}

/* The memory that the table takes then. Where nothing can be loaded now, a keeper does. */
static uint64
load(Oid relid, const Bitmapset *columns, int device)
{
	const char *setting = tb_pin_device_setting(device);
	List	   *tables;

	if (!tb_service_is_up())
	{
		ereport(NOTICE,
				(errmsg("table \"%s\" is not loaded yet", get_rel_name(relid)),
				 errdetail("The pg_turbine service is not running.")));
		return 0;
	}
	tb_pin_note_absent_gpu(relid, device);
	/* Children that inherit in the old way are not pinned with it. */
	tables = get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE ?
		find_all_inheritors(relid, AccessShareLock, NULL) :
		list_make1_oid(relid);
	return tb_cache_load_tables(relid, tables, columns, setting);
}

Datum
turbine_pin(PG_FUNCTION_ARGS)
{
	Oid		   relid = PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0);
	Bitmapset *columns = NULL;
	int		   device = TB_PIN_ANY_GPU;

	if (!OidIsValid(relid))
		PG_RETURN_NULL();
	tb_cache_require_relation(relid);
	if (!PG_ARGISNULL(2))
		device = device_of_argument(text_to_cstring(PG_GETARG_TEXT_PP(2)));
	if (!PG_ARGISNULL(1))
		columns = tb_columns_of_names(relid, PG_GETARG_ARRAYTYPE_P(1));
	tb_pin_table(relid, columns, device);
	PG_RETURN_INT64((int64) load(relid, columns, device));
}

Datum
turbine_unpin(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);

	tb_cache_require_relation(relid);
	tb_cache_require_owner(relid);
	if (!tb_unpin_table(relid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" is not pinned", get_rel_name(relid)),
				 get_rel_relispartition(relid) ?
					 errhint("A partition is pinned with the table that it is a part of.") :
					 0));
	PG_RETURN_VOID();
}
