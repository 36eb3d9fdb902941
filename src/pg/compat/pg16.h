/*
 * pg16.h - what PostgreSQL 16 changed, for code that compiles for 15, too.
 *
 * The code uses names and arguments of 16 where one definition suffices to give them to 15,
 * else names with TB_ or tb_, which both sides define. Each entry says what changed.
 */
#ifndef TURBINE_PG_COMPAT_PG16_H
#define TURBINE_PG_COMPAT_PG16_H

#include "postgres.h"

#include "access/attmap.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "optimizer/appendinfo.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "pgstat.h"
#include "storage/buf_internals.h"
#include "storage/smgr.h"
#include "utils/acl.h"
#include "utils/datetime.h"
#include "utils/guc.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#if PG_VERSION_NUM >= 160000
#include "utils/relfilenumbermap.h"
#include "varatt.h" /* VARDATA and its like have a header of their own */
#else
#include "utils/relfilenodemap.h"
#endif

/* RelFileNode became RelFileLocator; its members are spcOid, dbOid and relNumber. */
#if PG_VERSION_NUM >= 160000
#define TB_LOCATOR_TABLESPACE(locator) ((locator).spcOid)
#define TB_LOCATOR_DATABASE(locator) ((locator).dbOid)
#define TB_LOCATOR_NUMBER(locator) ((locator).relNumber)
#define TB_SMGR_LOCATOR(rel) (RelationGetSmgr(rel)->smgr_rlocator.locator)
#else
typedef RelFileNode RelFileLocator;
#define TB_LOCATOR_TABLESPACE(locator) ((locator).spcNode)
#define TB_LOCATOR_DATABASE(locator) ((locator).dbNode)
#define TB_LOCATOR_NUMBER(locator) ((locator).relNode)
#define TB_SMGR_LOCATOR(rel) (RelationGetSmgr(rel)->smgr_rnode.node)
#define smgr_rlocator smgr_rnode
#define rd_locator rd_node
#define rd_newRelfilelocatorSubid rd_newRelfilenodeSubid
#define rd_firstRelfilelocatorSubid rd_firstRelfilenodeSubid
#define RelidByRelfilenumber RelidByRelfilenode
#endif

/* Macros for tags of buffers became functions that take pointers. */
#if PG_VERSION_NUM < 160000
#define InitBufferTag(tag, locator, fork, block) \
	INIT_BUFFERTAG(*(tag), *(locator), fork, block)
#define BufferTagsEqual(one, other) BUFFERTAGS_EQUAL(*(one), *(other))
#define BufTagMatchesRelFileLocator(tag, locator) \
	RelFileNodeEquals((tag)->rnode, *(locator))
#endif

/* Statistics of tables and sessions got plainer names. */
#if PG_VERSION_NUM >= 160000
#define TB_TABLE_COUNT(rel, field) ((rel)->pgstat_info->counts.field)
#else
#define TB_TABLE_COUNT(rel, field) ((rel)->pgstat_info->t_counts.t_##field)
#define last_vacuum_time vacuum_timestamp
#define last_autovacuum_time autovac_vacuum_timestamp
#define autovacuum_count autovac_vacuum_count
#define mod_since_analyze changes_since_analyze
#define pgstat_get_local_beentry_by_index pgstat_fetch_stat_local_beentry
#endif

/* force_parallel_mode was renamed, since it is no setting for users. */
#if PG_VERSION_NUM < 160000
#define debug_parallel_query force_parallel_mode
#define DEBUG_PARALLEL_OFF FORCE_PARALLEL_OFF
#endif

/* Values of settings have a memory context of their own. NULL: no memory is left. */
#if PG_VERSION_NUM >= 160000
#define tb_guc_malloc(size) guc_malloc(LOG, size)
#define tb_guc_free(value) guc_free(value)
#else
#define tb_guc_malloc(size) malloc(size)
#define tb_guc_free(value) free(value)
#endif

/* One function checks rights on objects of all catalogs. */
#if PG_VERSION_NUM < 160000
static inline bool
object_ownercheck(Oid catalog, Oid object, Oid role)
{
	return catalog == RelationRelationId ? pg_class_ownercheck(object, role) :
										   pg_proc_ownercheck(object, role);
}

static inline AclResult
object_aclcheck(Oid catalog, Oid object, Oid role, AclMode mode)
{
	return catalog == ForeignServerRelationId ?
		pg_foreign_server_aclcheck(object, role, mode) :
		pg_proc_aclcheck(object, role, mode);
}
#endif

/* Rights that a query needs are no longer in its range table, but in RTEPermissionInfo. */
#if PG_VERSION_NUM >= 160000
#define TB_CHECK_RIGHTS(stmt) ExecCheckPermissions((stmt)->rtable, (stmt)->permInfos, true)
#else
#define TB_CHECK_RIGHTS(stmt) ExecCheckRTPerms((stmt)->rtable, true)
#endif

/* Outer joins have range table entries, whose indexes are in relids: among those of a join
 * relation, and of all Vars that the join may set to NULL (varnullingrels). */
#if PG_VERSION_NUM >= 160000
#define TB_ALL_QUERY_RELS(root) ((root)->all_query_rels)
#define TB_IS_OUTER_JOIN(root, relid) bms_is_member(relid, (root)->outer_join_rels)
#define TB_ADD_NULLING_JOIN(var, rtindex) \
	((var)->varnullingrels = bms_add_member((var)->varnullingrels, rtindex))
#else
#define TB_ALL_QUERY_RELS(root) ((root)->all_baserels)
#define TB_IS_OUTER_JOIN(root, relid) false
#define TB_ADD_NULLING_JOIN(var, rtindex) ((void) (rtindex))
#endif

/* A table's range table entry in another query takes the rights to be checked along. */
#if PG_VERSION_NUM >= 160000
static inline RangeTblEntry *
tb_copy_entry_to(Query *to, const Query *from, const RangeTblEntry *entry)
{
	RangeTblEntry *copy = copyObject(unconstify(RangeTblEntry *, entry));

	if (entry->perminfoindex > 0)
	{
		to->rteperminfos = lappend(to->rteperminfos,
								   copyObject(list_nth(from->rteperminfos,
													   entry->perminfoindex - 1)));
		copy->perminfoindex = list_length(to->rteperminfos);
	}
	return copy;
}
#else
#define tb_copy_entry_to(to, from, entry) copyObject(entry)
#endif

/* Since Vars above an outer join differ from those below it, each class of equal
 * expressions holds wherever its members can be computed. */
#if PG_VERSION_NUM >= 160000
#define TB_EC_BELOW_OUTER_JOIN(ec) false
#else
#define TB_EC_BELOW_OUTER_JOIN(ec) ((ec)->ec_below_outer_join)
#endif

/* A clause of security level 0 that no outer join concerns. Its flags and relids changed.
 */
#if PG_VERSION_NUM >= 160000
#define TB_PLAIN_RESTRICTINFO(root, clause) \
	make_restrictinfo(root, clause, true, false, false, false, 0, NULL, NULL, NULL)
#else
#define TB_PLAIN_RESTRICTINFO(root, clause) \
	make_restrictinfo(root, clause, true, false, false, 0, NULL, NULL, NULL)
#endif

/* A join may keep rows of its right side by more than JOIN_RIGHT: JOIN_RIGHT_ANTI since 16,
 * JOIN_RIGHT_SEMI since 18. Returns the same join with its sides swapped. */
static inline bool
tb_join_is_right(JoinType *jointype)
{
	switch (*jointype)
	{
		case JOIN_RIGHT:
			*jointype = JOIN_LEFT;
			return true;
#if PG_VERSION_NUM >= 160000
		case JOIN_RIGHT_ANTI:
			*jointype = JOIN_ANTI;
			return true;
#endif
#if PG_VERSION_NUM >= 180000
		case JOIN_RIGHT_SEMI:
			*jointype = JOIN_SEMI;
			return true;
#endif
		default:
			return false;
	}
}

/* Whether a hash join returns rows of its table that have no match. */
static inline bool
tb_join_returns_unmatched_inner(JoinType jointype)
{
#if PG_VERSION_NUM >= 160000
	if (jointype == JOIN_RIGHT_ANTI)
		return true;
#endif
	return jointype == JOIN_RIGHT || jointype == JOIN_FULL;
}

/* Aggregates with DISTINCT or ORDER BY may expect their input in this order, behind the
 * order of the groups (aggpresorted); not over grouping sets. */
#if PG_VERSION_NUM >= 160000
#define TB_PRESORTED_PATHKEYS(root) \
	((root)->numOrderedAggs > 0 && (root)->parse->groupingSets == NIL ? \
		 (root)->group_pathkeys : \
		 NIL)
#else
#define TB_PRESORTED_PATHKEYS(root) NIL
#endif

/* Keys that are constant or depend on others stay in the query's GROUP BY. What remains,
 * maybe nothing, is what the planner marks in the target below the aggregation. */
#if PG_VERSION_NUM >= 160000
#define TB_PLANNED_GROUP_CLAUSE(root) ((root)->processed_groupClause)
#else
#define TB_PLANNED_GROUP_CLAUSE(root) ((root)->parse->groupClause)
#endif

/* More arguments: an error context, flags, the outer join whose clauses are wanted. */
#if PG_VERSION_NUM < 160000
#define stringToQualifiedNameList(string, escontext) stringToQualifiedNameList(string)
#define build_attrmap_by_name(in, out, missing_ok) build_attrmap_by_name(in, out)
#define generate_join_implied_equalities(root, joined, outer, inner, sjinfo) \
	generate_join_implied_equalities(root, joined, outer, inner)
#endif

/* The estimated number of groups, which was not used, is no argument any more. */
#if PG_VERSION_NUM < 160000
#define create_groupingsets_path(root, rel, input, having, strategy, rollups, costs) \
	create_groupingsets_path(root, rel, input, having, strategy, rollups, costs, 0)
#endif

/* Takes relations instead of their relids. */
#if PG_VERSION_NUM < 160000
#define adjust_appendrel_attrs_multilevel(root, node, child, parent) \
	adjust_appendrel_attrs_multilevel(root, node, (child)->relids, (parent)->relids)
#endif

/* Returns the type by an argument, so that its result can say that the zone is
 * misconfigured. `token` is in lower case. */
static inline int
tb_decode_timezone_abbrev(char *token, int *offset, pg_tz **zone)
{
#if PG_VERSION_NUM >= 160000
	DateTimeErrorExtra extra;
	int				   type;

	return DecodeTimezoneAbbrev(0, token, &type, offset, zone, &extra) == 0 ? type :
																			  UNKNOWN_FIELD;
#else
	return DecodeTimezoneAbbrev(0, token, offset, zone);
#endif
}

#endif
