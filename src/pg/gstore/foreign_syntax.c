/*
 * foreign_syntax.c - see foreign_syntax.h.
 *
 * CREATE FOREIGN TABLE with a server of gstore_fdw becomes CREATE TABLE and a pin. Other
 * statements about foreign tables become those about tables if they name a pinned table.
 * PostgreSQL runs the new statement in place of the old one, so rights, locks, event
 * triggers and rollback are those of a table.
 *
 * Owns a place in ProcessUtility_hook. Must never change the tree that it is given, which
 * may be kept in a plan, nor a statement that names no pinned table: PostgreSQL's own
 * errors must stay what they are.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_inherits.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pg/cache/pins.h"
#include "pg/compat/pg16.h"
#include "pg/gstore/foreign_syntax.h"
#include "pg/gstore/gstore_fdw.h"

static ProcessUtility_hook_type next_utility = NULL;

/* The hook's arguments. */
typedef struct UtilityCall
{
	PlannedStmt			 *planned;
	const char			 *text;
	bool				  read_only_tree;
	ProcessUtilityContext context;
	ParamListInfo		  params;
	QueryEnvironment	 *environment;
	DestReceiver		 *receiver;
	QueryCompletion		 *completion;
} UtilityCall;

/* Runs the statement of the call, or another one, which is ours, in its place. */
static void
run_utility(const UtilityCall *call, Node *statement)
{
	PlannedStmt				 planned = *call->planned;
	bool					 is_given = statement == planned.utilityStmt;
	ProcessUtility_hook_type run = next_utility != NULL ? next_utility :
														  standard_ProcessUtility;

	planned.utilityStmt = statement;
	run(is_given ? call->planned : &planned, call->text, is_given && call->read_only_tree,
		call->context, call->params, call->environment, call->receiver, call->completion);
}

/* The relation of that name, or none. Nothing is locked: PostgreSQL does that, and looks
 * again, when it runs the statement. */
static Oid
relation_named(const RangeVar *name)
{
	/* Within a transaction others may have pinned it since. */
	AcceptInvalidationMessages();
	return RangeVarGetRelid(name, NoLock, true);
}

static Oid
pinned_table(const RangeVar *name)
{
	Oid relid = relation_named(name);

	return tb_is_gstore(relid, true) ? relid : InvalidOid;
}

/* == CREATE FOREIGN TABLE == */

/* A table of that name may have come from elsewhere since we looked. */
static bool
is_made_here(Oid relid)
{
	Relation rel = try_relation_open(relid, AccessShareLock);
	bool	 is_new = rel != NULL && rel->rd_createSubid != InvalidSubTransactionId;

	if (rel != NULL)
		relation_close(rel, NoLock);
	return is_new;
}

static void
refuse_column_options(List *elements)
{
	ListCell *lc;

	foreach(lc, elements)
		if (IsA(lfirst(lc), ColumnDef))
			tb_gstore_check_column(lfirst_node(ColumnDef, lc)->fdwoptions);
}

static void
create_pinned_table(const UtilityCall *call, CreateForeignTableStmt *foreign,
					const ForeignServer *server)
{
	CreateStmt *create = makeNode(CreateStmt);
	AclResult	rights;
	int			device;
	Oid			schema;
	Oid			relid;

	/* The same table, without its server. */
	foreign = copyObject(foreign);
	*create = foreign->base;
	create->type = T_CreateStmt;

	/* The name is looked up once: later a temporary table could hide the new one. */
	schema = RangeVarGetAndCheckCreationNamespace(create->relation, NoLock, &relid);
	create->relation->schemaname = get_namespace_name(schema);
	if (OidIsValid(relid))
	{
		/* An error, or the NOTICE of IF NOT EXISTS. */
		run_utility(call, (Node *) create);
		return;
	}

	/* What CREATE FOREIGN TABLE would check. */
	rights = object_aclcheck(ForeignServerRelationId, server->serverid, GetUserId(),
							 ACL_USAGE);
	if (rights != ACLCHECK_OK)
		aclcheck_error(rights, OBJECT_FOREIGN_SERVER, server->servername);
	device = tb_gstore_device(TB_PIN_ANY_GPU, foreign->options);
	refuse_column_options(create->tableElts);

	/* The table, and its pin. */
	run_utility(call, (Node *) create);
	CommandCounterIncrement();
	relid = get_relname_relid(create->relation->relname, schema);
	if (OidIsValid(relid) && is_made_here(relid))
	{
		tb_pin_table(relid, NULL, device);
		tb_pin_note_absent_gpu(relid, device);
	}
}

/* == ALTER FOREIGN TABLE == */

static bool
alters_foreign_table(const AlterTableStmt *alter)
{
	ListCell *lc;

	if (alter->objtype != OBJECT_TABLE)
		return alter->objtype == OBJECT_FOREIGN_TABLE;
	/* ALTER TABLE takes OPTIONS of foreign tables, too. */
	foreach(lc, alter->cmds)
		if (lfirst_node(AlterTableCmd, lc)->subtype == AT_GenericOptions)
			return true;
	return false;
}

/* Takes the options of the table out of the commands, and refuses those of columns. */
static List *
take_options(AlterTableStmt *alter)
{
	List	 *options = NIL;
	ListCell *lc;

	foreach(lc, alter->cmds)
	{
		AlterTableCmd *command = lfirst_node(AlterTableCmd, lc);

		if (command->subtype == AT_AddColumn)
			tb_gstore_check_column(castNode(ColumnDef, command->def)->fdwoptions);
		if (command->subtype == AT_AlterColumnGenericOptions)
			tb_gstore_check_column((List *) command->def);
		if (command->subtype != AT_GenericOptions)
			continue;
		options = list_concat(options, (List *) command->def);
		alter->cmds = foreach_delete_current(alter->cmds, lc);
	}
	return options;
}

static void
alter_pinned_table(const UtilityCall *call, AlterTableStmt *foreign, Oid relid)
{
	AlterTableStmt *alter = copyObject(foreign);
	List		   *options = take_options(alter);
	TbPin			pin;

	alter->objtype = OBJECT_TABLE;
	/* Even without commands PostgreSQL checks that the user may, and locks the table. */
	run_utility(call, (Node *) alter);
	if (options == NIL)
		return;
	CommandCounterIncrement();
	if (!tb_cache_pin_of(relid, &pin))
		return;
	pin.device = tb_gstore_device(pin.device, options);
	tb_pin_table(relid, pin.columns, pin.device);
	tb_pin_note_absent_gpu(relid, pin.device);
}

/* == DROP FOREIGN TABLE == */

/* Tables of one statement that are dropped together. */
typedef struct DropPart
{
	ObjectType type;
	List	  *names;
	List	  *oids; /* invalid: there is no such table */
	bool	   has_children;
} DropPart;

static void
add_to_part(DropPart *part, List *name, Oid relid)
{
	part->names = lappend(part->names, name);
	part->oids = lappend_oid(part->oids, relid);
	part->has_children |= OidIsValid(relid) && has_subclass(relid);
}

/* Leaves out tables that another part's CASCADE has dropped. */
static void
drop_part(const UtilityCall *call, DropStmt *drop, const DropPart *part)
{
	DropStmt *own = copyObject(drop);
	ListCell *name;
	ListCell *oid;

	own->removeType = part->type;
	own->objects = NIL;
	forboth(name, part->names, oid, part->oids)
		if (!OidIsValid(lfirst_oid(oid)) || get_rel_name(lfirst_oid(oid)) != NULL)
			own->objects = lappend(own->objects, copyObject(lfirst(name)));
	if (own->objects != NIL)
		run_utility(call, (Node *) own);
	CommandCounterIncrement();
}

/* False: no table of the statement is pinned. */
static bool
drop_pinned_tables(const UtilityCall *call, DropStmt *drop)
{
	DropPart  tables = {.type = OBJECT_TABLE};
	DropPart  others = {.type = OBJECT_FOREIGN_TABLE};
	ListCell *lc;

	foreach(lc, drop->objects)
	{
		List *name = lfirst(lc);
		Oid	  relid = relation_named(makeRangeVarFromNameList(name));

		add_to_part(tb_is_gstore(relid, true) ? &tables : &others, name, relid);
	}
	if (tables.names == NIL)
		return false;
	/* Children first: without CASCADE their parents are not dropped. */
	drop_part(call, drop, others.has_children ? &tables : &others);
	drop_part(call, drop, others.has_children ? &others : &tables);
	return true;
}

/* == Statements that only name the kind of a relation == */

/* Where a statement says that it is about a foreign table, and the table's name; NULL: it
 * says no such thing. */
static ObjectType *
foreign_table_named(Node *statement, RangeVar **name)
{
	ObjectType *type = NULL;
	List	   *names = NIL;

	switch (nodeTag(statement))
	{
		case T_RenameStmt:
		{
			RenameStmt *rename = (RenameStmt *) statement;

			*name = rename->relation;
			type = rename->renameType == OBJECT_FOREIGN_TABLE ? &rename->renameType :
																&rename->relationType;
			break;
		}
		case T_AlterObjectSchemaStmt:
			*name = ((AlterObjectSchemaStmt *) statement)->relation;
			type = &((AlterObjectSchemaStmt *) statement)->objectType;
			break;
		case T_CommentStmt:
			names = (List *) ((CommentStmt *) statement)->object;
			type = &((CommentStmt *) statement)->objtype;
			break;
		case T_SecLabelStmt:
			names = (List *) ((SecLabelStmt *) statement)->object;
			type = &((SecLabelStmt *) statement)->objtype;
			break;
		case T_AlterExtensionContentsStmt:
			names = (List *) ((AlterExtensionContentsStmt *) statement)->object;
			type = &((AlterExtensionContentsStmt *) statement)->objtype;
			break;
		default:
			break;
	}
	if (type == NULL || *type != OBJECT_FOREIGN_TABLE)
		return NULL;
	if (names != NIL)
		*name = makeRangeVarFromNameList(names);
	return type;
}

/* The statement as one about a table, or as it was. */
static Node *
as_statement_of_table(Node *statement)
{
	RangeVar   *name = NULL;
	ObjectType *type = foreign_table_named(statement, &name);

	if (type == NULL || !OidIsValid(pinned_table(name)))
		return statement;
	statement = copyObject(statement);
	*foreign_table_named(statement, &name) = OBJECT_TABLE;
	return statement;
}

static void
process_foreign_syntax(PlannedStmt *planned, const char *text, bool read_only_tree,
					   ProcessUtilityContext context, ParamListInfo params,
					   QueryEnvironment *environment, DestReceiver *receiver,
					   QueryCompletion *completion)
{
	UtilityCall call = {planned, text,		  read_only_tree, context,
						params,	 environment, receiver,		  completion};
	Node	   *statement = planned->utilityStmt;

	if (IsA(statement, CreateForeignTableStmt))
	{
		CreateForeignTableStmt *create = (CreateForeignTableStmt *) statement;
		ForeignServer		   *server = GetForeignServerByName(create->servername, true);

		if (server != NULL && tb_is_gstore_server(server))
		{
			create_pinned_table(&call, create, server);
			return;
		}
	}
	else if (IsA(statement, AlterTableStmt) &&
			 alters_foreign_table((AlterTableStmt *) statement))
	{
		AlterTableStmt *alter = (AlterTableStmt *) statement;
		Oid				relid = pinned_table(alter->relation);

		if (OidIsValid(relid))
		{
			alter_pinned_table(&call, alter, relid);
			return;
		}
	}
	else if (IsA(statement, DropStmt) &&
			 ((DropStmt *) statement)->removeType == OBJECT_FOREIGN_TABLE)
	{
		if (drop_pinned_tables(&call, (DropStmt *) statement))
			return;
	}
	run_utility(&call, as_statement_of_table(statement));
}

void
tb_foreign_syntax_init(void)
{
	next_utility = ProcessUtility_hook;
	ProcessUtility_hook = process_foreign_syntax;
}
