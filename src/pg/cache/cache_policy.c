/*
 * cache_policy.c - see cache_policy.h; and turbine.cache_policy(), which sets it.
 *
 * Owns the label provider, and a hash of the policies that this backend has looked up, with
 * their pins: a look into pg_seclabel takes longer than all else that a query asks of the
 * cache. Any relcache invalidation empties it; setting a label sends one. Must accept no
 * label that it cannot read, and change nothing for statements that do not name the
 * provider.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/objectaddress.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_seclabel.h"
#include "commands/seclabel.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "turbine/wire.h"

#include "pg/cache/cache_policy.h"
#include "pg/compat/pg16.h"
#include "pg/settings/guc.h"
#include "pg/shmem/pinned_databases.h"

#define PROVIDER "pg_turbine"
#define LABEL_PREFIX "cache "
#define PIN_PREFIX "pin "
#define PIN_COLUMNS " columns" /* behind the device: only those with labels */
#define PIN_COLUMN "pin"	   /* label of such a column */

extern PGDLLEXPORT Datum turbine_cache_policy(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_cache_policy);

static const char *const policy_names[] = {"auto", "off", "keep"};
/* What "keep" was called before. */
#define OLD_KEEP "pinned"

typedef struct KnownPolicy
{
	Oid			  relid;
	TbCachePolicy policy;
	TbPin		  pin; /* of TB_CACHE_PIN */
} KnownPolicy;

static HTAB			*known_policies = NULL;
static MemoryContext known_context = NULL; /* of the hash, and of pins' columns */
static ProcessUtility_hook_type previous_process_utility = NULL;
static bool						registered = false;
static bool						labels_changed = false; /* in this transaction */

/* A label as it is read. */
typedef struct ParsedLabel
{
	TbCachePolicy policy;
	int			  device;		/* of a pin */
	bool		  some_columns; /* of a pin: those that have labels */
} ParsedLabel;

/* False if there is no such policy. */
static bool
parse_policy(const char *name, TbCachePolicy *policy)
{
	if (strcmp(name, OLD_KEEP) == 0)
		name = policy_names[TB_CACHE_KEEP];
	for (int i = 0; i < (int) lengthof(policy_names); i++)
		if (strcmp(name, policy_names[i]) == 0)
		{
			*policy = (TbCachePolicy) i;
			return true;
		}
	return false;
}

bool
tb_pin_parse_device(const char *name, int *device)
{
	TbParsedDevice parsed;

	*device = TB_PIN_HOST;
	if (strcmp(name, "host") == 0)
		return true;
	if (!tb_parse_device(name, &parsed))
		return false;
	*device = parsed.choice == TB_CHOOSE_GPU ? TB_PIN_ANY_GPU :
		parsed.gpus != 0					 ? pg_rightmost_one_pos32(parsed.gpus) :
											   TB_PIN_HOST;
	return parsed.choice == TB_CHOOSE_GPU ||
		(parsed.choice == TB_CHOOSE_GPUS && pg_popcount32(parsed.gpus) == 1);
}

char *
tb_pin_device_name(int device)
{
	return device == TB_PIN_ANY_GPU ? pstrdup("gpu") :
		device == TB_PIN_HOST		? pstrdup("host") :
									  psprintf("gpu%d", device);
}

static bool
parse_pin(const char *name, ParsedLabel *parsed)
{
	char *device = pstrdup(name);
	char *end = strchr(device, ' ');

	parsed->policy = TB_CACHE_PIN;
	parsed->some_columns = end != NULL;
	if (end != NULL && strcmp(end, PIN_COLUMNS) != 0)
		return false;
	if (end != NULL)
		*end = '\0';
	return tb_pin_parse_device(device, &parsed->device);
}

static bool
parse_label(const char *label, ParsedLabel *parsed)
{
	if (strncmp(label, PIN_PREFIX, strlen(PIN_PREFIX)) == 0)
		return parse_pin(label + strlen(PIN_PREFIX), parsed);
	return strncmp(label, LABEL_PREFIX, strlen(LABEL_PREFIX)) == 0 &&
		parse_policy(label + strlen(LABEL_PREFIX), &parsed->policy);
}

/* Pins need storage whose blocks tell when they change. */
static void
check_can_be_pinned(Oid relid)
{
	char persistence = get_rel_persistence(relid);

	if (persistence != RELPERSISTENCE_PERMANENT)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot pin table \"%s\"", get_rel_name(relid)),
				 errdetail(persistence == RELPERSISTENCE_TEMP ? "It is a temporary table." :
																"It is an unlogged table."),
				 errhint("Only tables whose changes are logged can be pinned.")));
	if (IsCatalogRelationOid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot pin table \"%s\"", get_rel_name(relid)),
				 errdetail("It is a system catalog.")));
}

static char *
label_text(Oid relid, int attnum)
{
	ObjectAddress object;

	ObjectAddressSubSet(object, RelationRelationId, relid, attnum);
	return GetSecurityLabel(&object, PROVIDER);
}

static void
check_table_label(Oid relid, const char *label)
{
	ParsedLabel parsed = {0};
	char		kind = get_rel_relkind(relid);

	if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE &&
		kind != RELKIND_MATVIEW)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table", get_rel_name(relid)),
				 errdetail_relkind_not_supported(kind)));
	/* NULL removes the label. */
	if (label == NULL)
		return;
	if (!parse_label(label, &parsed))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid label \"%s\" for provider \"%s\"", label, PROVIDER),
				 errhint(
					 "Valid labels are \"cache auto\", \"cache off\", \"cache keep\", and "
					 "those that turbine.pin() sets.")));
	if (parsed.policy == TB_CACHE_PIN)
		check_can_be_pinned(relid);
}

/* Called by SECURITY LABEL, which has checked that the user owns the object. */
static void
check_label(const ObjectAddress *object, const char *label)
{
	if (object->classId != RelationRelationId)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("only tables can have labels of provider \"%s\"", PROVIDER)));
	if (object->objectSubId == 0)
		check_table_label(object->objectId, label);
	else if (label != NULL && strcmp(label, PIN_COLUMN) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid label \"%s\" of a column for provider \"%s\"", label,
						PROVIDER),
				 errhint("The only valid label of a column is \"%s\".", PIN_COLUMN)));
	/* Backends forget the old policy. */
	CacheInvalidateRelcacheByRelid(object->objectId);
	labels_changed = true;
}

/* Whoever keeps pinned tables loaded must see the label, so it hears of it when the
 * transaction has committed. */
static void
note_labels(XactEvent event, void *arg)
{
	if (labels_changed && event == XACT_EVENT_COMMIT)
		tb_pinned_databases_note(MyDatabaseId, true);
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT ||
		event == XACT_EVENT_PREPARE)
		labels_changed = false;
}

bool
tb_cache_has_pin(Oid relid)
{
	char	   *label = label_text(relid, 0);
	ParsedLabel parsed = {0};

	return label != NULL && parse_label(label, &parsed) && parsed.policy == TB_CACHE_PIN;
}

/* Whichever relation it is: its partitions may have taken over what it said. */
static void
forget_policies(Datum arg, Oid relid)
{
	known_policies = NULL;
	if (known_context != NULL)
		MemoryContextReset(known_context);
}

static int
column_count(Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	int		  count = 0;

	if (!HeapTupleIsValid(tuple))
		return 0;
	count = ((Form_pg_class) GETSTRUCT(tuple))->relnatts;
	ReleaseSysCache(tuple);
	return count;
}

/* The columns of a table that have labels. */
static Bitmapset *
labelled_columns(Oid relid)
{
	Bitmapset *columns = NULL;
	int		   natts = column_count(relid);

	for (int attnum = 1; attnum <= natts; attnum++)
		if (label_text(relid, attnum) != NULL)
			columns = bms_add_member(columns, attnum);
	return columns;
}

Bitmapset *
tb_columns_in_leaf(Oid top, Oid leaf, const Bitmapset *attnums)
{
	Bitmapset *result = NULL;
	int		   attnum = -1;

	while ((attnum = bms_next_member(attnums, attnum)) >= 0)
	{
		char	  *name = get_attname(top, attnum, true);
		AttrNumber number = name == NULL ? InvalidAttrNumber : get_attnum(leaf, name);

		/* One that was dropped has no name. */
		if (number > 0)
			result = bms_add_member(result, number);
	}
	return result;
}

/* If the table has a label, what it says of `relid`: the table, or a partition of it. */
static bool
look_up_label(Oid table, Oid relid, KnownPolicy *known)
{
	char	   *label = label_text(table, 0);
	ParsedLabel parsed = {0};

	if (label == NULL || !parse_label(label, &parsed))
		return false;
	known->policy = parsed.policy;
	known->pin.device = parsed.device;
	if (parsed.some_columns)
		known->pin.columns = tb_columns_in_leaf(table, relid, labelled_columns(table));
	/* Columns that were dropped since leave none. */
	if (parsed.some_columns && known->pin.columns == NULL)
		known->policy = TB_CACHE_AUTO;
	return true;
}

static void
look_up(Oid relid, KnownPolicy *known)
{
	List	 *ancestors;
	ListCell *lc;

	known->policy = TB_CACHE_AUTO;
	if (look_up_label(relid, relid, known) || !get_rel_relispartition(relid))
		return;
	ancestors = get_partition_ancestors(relid);
	foreach(lc, ancestors)
		if (look_up_label(lfirst_oid(lc), relid, known))
			return;
}

static const KnownPolicy *
known_policy(Oid relid)
{
	KnownPolicy	 *known = NULL;
	KnownPolicy	  found = {.relid = relid};
	MemoryContext old;

	if (known_policies != NULL)
		known = hash_search(known_policies, &relid, HASH_FIND, NULL);
	if (known != NULL)
		return known;
	/* It may bring an invalidation, so nothing is kept before it. */
	look_up(relid, &found);
	if (known_context == NULL)
		known_context = AllocSetContextCreate(TopMemoryContext, "pg_turbine cache policies",
											  ALLOCSET_SMALL_SIZES);
	if (known_policies == NULL)
	{
		HASHCTL control = {.keysize = sizeof(Oid),
						   .entrysize = sizeof(KnownPolicy),
						   .hcxt = known_context};

		known_policies = hash_create("pg_turbine cache policies", 64, &control,
									 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	old = MemoryContextSwitchTo(known_context);
	found.pin.columns = bms_copy(found.pin.columns);
	MemoryContextSwitchTo(old);
	known = hash_search(known_policies, &relid, HASH_ENTER, NULL);
	*known = found;
	/* It may have come by a replica's log, or another way. */
	if (found.policy == TB_CACHE_PIN)
		tb_pinned_databases_note(MyDatabaseId, false);
	return known;
}

TbCachePolicy
tb_cache_policy_of(Oid relid)
{
	return known_policy(relid)->policy;
}

bool
tb_cache_pin_of(Oid relid, TbPin *pin)
{
	const KnownPolicy *known = known_policy(relid);

	if (known->policy != TB_CACHE_PIN)
		return false;
	/* The next invalidation may free what is known. */
	*pin = (TbPin) {.device = known->pin.device, .columns = bms_copy(known->pin.columns)};
	return true;
}

List *
tb_cache_pinned_tables(void)
{
	List	   *tables = NIL;
	Relation	labels = table_open(SecLabelRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(labels, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		FormData_pg_seclabel *form = (FormData_pg_seclabel *) GETSTRUCT(tuple);
		bool				  null;
		Datum				  provider = heap_getattr(tuple, Anum_pg_seclabel_provider,
													  RelationGetDescr(labels), &null);
		Datum				  label;

		if (form->classoid != RelationRelationId || form->objsubid != 0 || null ||
			strcmp(TextDatumGetCString(provider), PROVIDER) != 0)
			continue;
		label = heap_getattr(tuple, Anum_pg_seclabel_label, RelationGetDescr(labels),
							 &null);
		if (!null &&
			strncmp(TextDatumGetCString(label), PIN_PREFIX, strlen(PIN_PREFIX)) == 0)
			tables = lappend_oid(tables, form->objoid);
	}
	systable_endscan(scan);
	table_close(labels, AccessShareLock);
	return tables;
}

void
tb_cache_require_relation(Oid relid)
{
	if (get_rel_name(relid) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
}

void
tb_cache_require_owner(Oid relid)
{
	if (!object_ownercheck(RelationRelationId, relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relid)),
					   get_rel_name(relid));
}

void
tb_cache_set_label(Oid relid, int attnum, const char *label)
{
	ObjectAddress object;

	/* As SECURITY LABEL would check. */
	tb_cache_require_owner(relid);
	ObjectAddressSubSet(object, RelationRelationId, relid, attnum);
	check_label(&object, label);
	SetSecurityLabel(&object, PROVIDER, label);
}

Datum
turbine_cache_policy(PG_FUNCTION_ARGS)
{
	Oid			  relid = PG_GETARG_OID(0);
	char		 *name = text_to_cstring(PG_GETARG_TEXT_PP(1));
	TbCachePolicy policy;

	/* Are the arguments valid? */
	tb_cache_require_relation(relid);
	if (!parse_policy(name, &policy))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid cache policy \"%s\"", name),
				 errhint("Valid policies are \"auto\", \"off\" and \"keep\".")));
	/* A partition may have another policy than its pinned table. */
	if (tb_cache_has_pin(relid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" is pinned", get_rel_name(relid)),
				 errhint("Call turbine.unpin() first.")));
	/* The policy is kept as a label. */
	tb_cache_set_label(relid, 0, psprintf("%s%s", LABEL_PREFIX, policy_names[policy]));
	PG_RETURN_VOID();
}

static bool
names_provider(const Node *statement)
{
	const char *provider = IsA(statement, SecLabelStmt) ?
		((const SecLabelStmt *) statement)->provider :
		NULL;

	return provider != NULL && strcmp(provider, PROVIDER) == 0;
}

static void
process_utility(PlannedStmt *statement, const char *text, bool read_only_tree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *environment, DestReceiver *receiver,
				QueryCompletion *completion)
{
	if (!registered && names_provider(statement->utilityStmt))
	{
		register_label_provider(PROVIDER, check_label);
		registered = true;
	}
	if (previous_process_utility)
		previous_process_utility(statement, text, read_only_tree, context, params,
								 environment, receiver, completion);
	else
		standard_ProcessUtility(statement, text, read_only_tree, context, params,
								environment, receiver, completion);
}

void
tb_cache_policy_init(void)
{
	previous_process_utility = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
	CacheRegisterRelcacheCallback(forget_policies, (Datum) 0);
	RegisterXactCallback(note_labels, NULL);
}
