/*
 * cache_policy.c - see cache_policy.h; and turbine.cache_policy(), which sets it.
 *
 * Owns the label provider, and a hash of the policies that this backend has looked up: a
 * look into pg_seclabel takes longer than all else that a query asks of the cache. Any
 * relcache invalidation empties it; setting a label sends one. Must accept no label that
 * it cannot read, and change nothing for statements that do not name the provider.
 */
#include "postgres.h"

#include "catalog/objectaddress.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
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

#include "pg/cache/cache_policy.h"

#define PROVIDER "pg_turbine"
#define LABEL_PREFIX "cache "

extern PGDLLEXPORT Datum turbine_cache_policy(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_cache_policy);

static const char *const policy_names[] = {"auto", "off", "pinned"};

typedef struct KnownPolicy
{
	Oid			  relid;
	TbCachePolicy policy;
} KnownPolicy;

static HTAB					   *known_policies = NULL;
static ProcessUtility_hook_type previous_process_utility = NULL;
static bool						registered = false;

/* False if there is no such policy. */
static bool
parse_policy(const char *name, TbCachePolicy *policy)
{
	for (int i = 0; i < (int) lengthof(policy_names); i++)
		if (strcmp(name, policy_names[i]) == 0)
		{
			*policy = (TbCachePolicy) i;
			return true;
		}
	return false;
}

static bool
parse_label(const char *label, TbCachePolicy *policy)
{
	return strncmp(label, LABEL_PREFIX, strlen(LABEL_PREFIX)) == 0 &&
		parse_policy(label + strlen(LABEL_PREFIX), policy);
}

/* Called by SECURITY LABEL, which has checked that the user owns the object. */
static void
check_label(const ObjectAddress *object, const char *label)
{
	TbCachePolicy policy;
	char		  kind;

	/* Only whole tables have a policy. */
	if (object->classId != RelationRelationId || object->objectSubId != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("only tables can have labels of provider \"%s\"", PROVIDER)));
	kind = get_rel_relkind(object->objectId);
	if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE &&
		kind != RELKIND_MATVIEW)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table", get_rel_name(object->objectId))));
	/* NULL removes the label. */
	if (label != NULL && !parse_label(label, &policy))
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid label \"%s\" for provider \"%s\"", label, PROVIDER),
			 errhint(
				 "Valid labels are \"cache auto\", \"cache off\" and \"cache pinned\".")));
	/* Backends forget the old policy. */
	CacheInvalidateRelcacheByRelid(object->objectId);
}

/* Whichever relation it is: its partitions may have taken over what it said. */
static void
forget_policies(Datum arg, Oid relid)
{
	if (known_policies != NULL)
		hash_destroy(known_policies);
	known_policies = NULL;
}

static bool
label_of(Oid relid, TbCachePolicy *policy)
{
	ObjectAddress object;
	char		 *label;

	ObjectAddressSet(object, RelationRelationId, relid);
	label = GetSecurityLabel(&object, PROVIDER);
	return label != NULL && parse_label(label, policy);
}

static TbCachePolicy
look_up(Oid relid)
{
	TbCachePolicy policy;
	List		 *ancestors;
	ListCell	 *lc;

	if (label_of(relid, &policy))
		return policy;
	if (!get_rel_relispartition(relid))
		return TB_CACHE_AUTO;
	ancestors = get_partition_ancestors(relid);
	foreach(lc, ancestors)
		if (label_of(lfirst_oid(lc), &policy))
			return policy;
	return TB_CACHE_AUTO;
}

TbCachePolicy
tb_cache_policy_of(Oid relid)
{
	KnownPolicy	 *known = NULL;
	TbCachePolicy policy;

	if (known_policies != NULL)
		known = hash_search(known_policies, &relid, HASH_FIND, NULL);
	if (known != NULL)
		return known->policy;
	/* It may bring an invalidation, so nothing is kept before it. */
	policy = look_up(relid);
	if (known_policies == NULL)
	{
		HASHCTL control = {.keysize = sizeof(Oid),
						   .entrysize = sizeof(KnownPolicy),
						   .hcxt = TopMemoryContext};

		known_policies = hash_create("pg_turbine cache policies", 64, &control,
									 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	known = hash_search(known_policies, &relid, HASH_ENTER, NULL);
	known->policy = policy;
	return policy;
}

Datum
turbine_cache_policy(PG_FUNCTION_ARGS)
{
	Oid			  relid = PG_GETARG_OID(0);
	char		 *name = text_to_cstring(PG_GETARG_TEXT_PP(1));
	ObjectAddress object;
	TbCachePolicy policy;

	/* Are the arguments valid? */
	if (get_rel_name(relid) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (!parse_policy(name, &policy))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid cache policy \"%s\"", name),
				 errhint("Valid policies are \"auto\", \"off\" and \"pinned\".")));
	/* As SECURITY LABEL would check. */
	if (!pg_class_ownercheck(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relid)),
					   get_rel_name(relid));
	/* The policy is kept as a label. */
	ObjectAddressSet(object, RelationRelationId, relid);
	name = psprintf("%s%s", LABEL_PREFIX, name);
	check_label(&object, name);
	SetSecurityLabel(&object, PROVIDER, name);
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
}
