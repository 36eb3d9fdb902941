/*
 * parser.c - see parser.h: words, variables, if, statements. Expressions are in
 * parse_expression.c. The grammar is in docs/language-turbine.md.
 *
 * Recursive descent. A body becomes typed while it is read: an operand's type is known
 * before its operator is chosen. So no tree of the text is kept.
 *
 * "if" with nothing but values is an expression (CASE). "if" with statements is a step;
 * where it has values too, it may stand only where a whole value stands, and each arm sets
 * the register of that value.
 *
 * Called by routine.c. Every recursion goes through `deeper`, every expression through
 * `count`, so that no body takes more stack, time or memory than its limits allow.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_node.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pg/language/parser_internal.h"
#include "pg/language/typing.h"

static Value parse_value(Parser *p, List **steps);
static Value parse_block(Parser *p, List **steps, const char *const *ends);

/* ---- Words ---- */

void
tb_parser_fail(Parser *p, int at, int code, const char *message)
{
	ereport(ERROR,
			(errcode(code), errmsg("%s", message), parser_errposition(p->pstate, at)));
}

static void
fail_word(void *context, int at, const char *message)
{
	tb_parser_fail(context, at, ERRCODE_SYNTAX_ERROR, message);
}

void
tb_parser_advance(Parser *p)
{
	p->token = p->next;
	p->next = tb_lexer_next(&p->lexer, fail_word, p);
}

void
tb_parser_fail_here(Parser *p, const char *expected)
{
	const TbToken *t = &p->token;
	const char	  *source = p->lexer.source;

	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR),
			 t->kind == TB_TOKEN_END ?
				 errmsg("syntax error at end of body") :
				 errmsg("syntax error at or near \"%s\"",
						pnstrdup(source + t->start,
								 pg_mbcliplen(source + t->start, t->end - t->start, 60))),
			 errdetail("Expected %s.", expected), parser_errposition(p->pstate, t->start)));
}

bool
tb_parser_accept_symbol(Parser *p, const char *symbol)
{
	if (!is_symbol(&p->token, symbol))
		return false;
	tb_parser_advance(p);
	return true;
}

bool
tb_parser_accept_word(Parser *p, const char *word)
{
	if (!is_word(&p->token, word))
		return false;
	tb_parser_advance(p);
	return true;
}

void
tb_parser_expect_symbol(Parser *p, const char *symbol)
{
	if (!tb_parser_accept_symbol(p, symbol))
		tb_parser_fail_here(p, psprintf("\"%s\"", symbol));
}

void
tb_parser_expect_word(Parser *p, const char *word)
{
	if (!tb_parser_accept_word(p, word))
		tb_parser_fail_here(p, psprintf("\"%s\"", word));
}

bool
tb_parser_is_reserved(const TbToken *token)
{
	static const char *const words[] = {"let",	"if",	   "then", "elsif", "else",
										"end",	"do",	   "and",  "or",	"not",
										"is",	"in",	   "true", "like",	"false",
										"null", "between", "while"};

	for (int i = 0; i < (int) lengthof(words); i++)
		if (is_word(token, words[i]))
			return true;
	return false;
}

/* A limit for each step down. */
void
tb_parser_deeper(Parser *p)
{
	if (++p->nesting > TB_BODY_MAX_NESTING)
		ereport(ERROR,
				(errcode(ERRCODE_STATEMENT_TOO_COMPLEX),
				 errmsg("body is nested too deeply"),
				 errdetail("The limit is %d levels.", TB_BODY_MAX_NESTING),
				 parser_errposition(p->pstate, p->token.start)));
}

void
tb_parser_count(Parser *p, int expressions)
{
	p->expressions += expressions;
	if (p->expressions > TB_BODY_MAX_EXPRESSIONS)
		ereport(ERROR,
				(errcode(ERRCODE_STATEMENT_TOO_COMPLEX), errmsg("body is too long"),
				 errdetail("The limit is %d expressions.", TB_BODY_MAX_EXPRESSIONS),
				 parser_errposition(p->pstate, p->token.start)));
}

/* ---- Registers and names ---- */

static int
add_register(Parser *p, const char *name, Oid type, int32 typmod)
{
	TbRoutine  *routine = p->routine;
	TbRegister *reg;
	Oid			given = routine->nargs > 0 ? routine->registers[0].collation : InvalidOid;

	if (routine->nregisters - routine->nargs >= TB_BODY_MAX_VARIABLES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("body has too many variables"),
				 errdetail("The limit is %d.", TB_BODY_MAX_VARIABLES),
				 parser_errposition(p->pstate, p->token.start)));
	if (routine->nregisters == p->room)
	{
		p->room *= 2;
		routine->registers = repalloc(routine->registers, sizeof(TbRegister) * p->room);
	}
	reg = &routine->registers[routine->nregisters];
	reg->name = name;
	reg->type = type;
	reg->typmod = typmod;
	reg->collation = get_typcollation(type);
	/* As for the arguments: the collation of the call. */
	for (int i = 0; i < routine->nargs && OidIsValid(reg->collation); i++)
		if (OidIsValid(given = routine->registers[i].collation))
			reg->collation = given;
	get_typlenbyval(type, &reg->length, &reg->byval);
	return routine->nregisters++;
}

const ScopeName *
tb_parser_find_name(const Parser *p, const char *name)
{
	for (int i = list_length(p->names) - 1; i >= 0; i--)
	{
		const ScopeName *known = list_nth(p->names, i);

		if (strcmp(known->name, name) == 0)
			return known;
	}
	return NULL;
}

static void
declare(Parser *p, const char *name, int reg)
{
	ScopeName *declared = palloc(sizeof(ScopeName));

	declared->name = name;
	declared->reg = reg;
	declared->block = p->block;
	p->names = lappend(p->names, declared);
}

Expr *
tb_parser_read_register(Parser *p, int reg, int location)
{
	const TbRegister *s = &p->routine->registers[reg];
	Var *var = makeVar(TB_ROUTINE_VARNO, reg + 1, s->type, s->typmod, s->collation, 0);

	var->location = location;
	return (Expr *) var;
}

static Expr *
finish(Parser *p, Expr *expr)
{
	TbDependence depends = {0};

	expr = tb_finish_expression(p->pstate, expr, &depends);
	p->routine->is_stable |= depends.stable;
	p->routine->has_session_constants |= depends.session_constants;
	return expr;
}

static TbStep *
make_set(Parser *p, int reg, Expr *expr)
{
	TbStep *step = palloc0(sizeof(TbStep));

	step->kind = TB_STEP_SET;
	step->reg = reg;
	step->expr = expr;
	return step;
}

/* ---- if ---- */

typedef struct Arm
{
	Expr *condition; /* NULL: else */
	List *steps;
	Value value;
} Arm;

/* From "if" to "end". */
static List *
parse_arms(Parser *p)
{
	static const char *const ends[] = {"elsif", "else", "end", NULL};
	List					*arms = NIL;

	tb_parser_deeper(p);
	do
	{
		Arm *arm = palloc0(sizeof(Arm));

		tb_parser_advance(p); /* if, elsif */
		arm->condition = tb_make_condition(p->pstate, tb_parse_expression(p), "IF");
		tb_parser_expect_word(p, "then");
		arm->value = parse_block(p, &arm->steps, ends);
		arms = lappend(arms, arm);
	} while (is_word(&p->token, "elsif"));
	if (tb_parser_accept_word(p, "else"))
	{
		static const char *const end[] = {"end", NULL};
		Arm						*arm = palloc0(sizeof(Arm));

		arm->value = parse_block(p, &arm->steps, end);
		arms = lappend(arms, arm);
	}
	tb_parser_expect_word(p, "end");
	p->nesting--;
	return arms;
}

static bool
has_value(const Arm *arm)
{
	return arm->value.expr != NULL || arm->value.pending != NIL;
}

/* Whether the arms have values: all of them or none. */
static bool
arms_have_values(Parser *p, const List *arms, int start)
{
	int		  values = 0;
	ListCell *lc;

	foreach(lc, arms)
		values += has_value(lfirst(lc)) ? 1 : 0;
	if (values != 0 && values != list_length(arms))
		tb_parser_fail(p, start, ERRCODE_SYNTAX_ERROR,
					   "some branches of if have a value, and some have none");
	return values != 0;
}

static bool
arms_have_steps(const List *arms)
{
	ListCell *lc;

	foreach(lc, arms)
		if (((Arm *) lfirst(lc))->steps != NIL)
			return true;
	return false;
}

/* Arms that are nothing but values. */
static Expr *
choice_of(Parser *p, const List *arms, int start)
{
	List	 *conditions = NIL;
	List	 *values = NIL;
	ListCell *lc;

	foreach(lc, arms)
	{
		const Arm *arm = lfirst(lc);

		if (arm->condition != NULL)
			conditions = lappend(conditions, arm->condition);
		values = lappend(values, arm->value.expr);
	}
	if (list_length(values) == list_length(conditions))
		values = lappend(values, tb_null_literal(start));
	tb_parser_count(p, list_length(values));
	return tb_make_choice(p->pstate, conditions, values, start);
}

/* Arms as a step. Their values become steps that set a register, which whoever wants the
 * value will give them: `pending`. */
static TbStep *
step_of(Parser *p, List *arms, List **pending)
{
	Arm	   *arm = linitial(arms);
	TbStep *step = palloc0(sizeof(TbStep));

	if (list_length(arms) > TB_BODY_MAX_NESTING)
		tb_parser_fail(p, p->token.start, ERRCODE_STATEMENT_TOO_COMPLEX,
					   "an if has too many branches");
	step->kind = TB_STEP_IF;
	step->expr = finish(p, arm->condition);
	for (int i = 0; i < 2; i++)
	{
		List *steps;

		if (i == 1 && list_length(arms) == 1)
			break;
		arm = list_nth(arms, i);
		if (i == 1 && arm->condition != NULL)
		{
			/* elsif: an if in the place of else */
			step->otherwise = list_make1(step_of(p, list_copy_tail(arms, 1), pending));
			break;
		}
		steps = arm->steps;
		if (arm->value.expr != NULL)
		{
			TbStep *set = make_set(p, -1, arm->value.expr);

			steps = lappend(steps, set);
			*pending = lappend(*pending, set);
		}
		*pending = list_concat(*pending, arm->value.pending);
		if (i == 0)
			step->steps = steps;
		else
			step->otherwise = steps;
	}
	return step;
}

/* An if that is an operand. */
Expr *
tb_parse_choice(Parser *p)
{
	int	  start = p->token.start;
	List *arms = parse_arms(p);

	if (!arms_have_values(p, arms, start))
		tb_parser_fail(p, start, ERRCODE_SYNTAX_ERROR,
					   "an if without values is no operand");
	if (arms_have_steps(arms))
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("an if with statements is no operand"),
				 errhint("Give its value to a variable first: let x = if ... end;"),
				 parser_errposition(p->pstate, start)));
	return choice_of(p, arms, start);
}

/* ---- Statements ---- */

/*
 * A whole value: an expression, or an if with statements, which then are added to `steps`.
 * With neither expression nor pending steps it was an if without values: a statement.
 */
static Value
parse_value(Parser *p, List **steps)
{
	Value value = {.location = p->token.start};
	List *arms;

	if (!is_word(&p->token, "if"))
	{
		value.expr = tb_parse_expression(p);
		return value;
	}
	arms = parse_arms(p);
	if (arms_have_values(p, arms, value.location) && !arms_have_steps(arms))
	{
		/* It may be the first operand of more. */
		p->operand = choice_of(p, arms, value.location);
		value.expr = tb_parse_expression(p);
		return value;
	}
	if (has_value(linitial(arms)) && ((Arm *) llast(arms))->condition != NULL)
	{
		Arm *otherwise = palloc0(sizeof(Arm));

		otherwise->value.expr = tb_null_literal(value.location);
		arms = lappend(arms, otherwise);
	}
	*steps = lappend(*steps, step_of(p, arms, &value.pending));
	return value;
}

/* The type of a value, and what its steps set. */
static Oid
type_of_value(Parser *p, const Value *value)
{
	List	 *exprs = NIL;
	ListCell *lc;
	Oid		  type;

	if (value->expr != NULL)
	{
		type = exprType((Node *) value->expr);
		return type == UNKNOWNOID ? TEXTOID : type;
	}
	foreach(lc, value->pending)
		exprs = lappend(exprs, ((TbStep *) lfirst(lc))->expr);
	return tb_common_type(p->pstate, exprs);
}

/* Lets the value be what the register is set to. */
static void
set_register(Parser *p, int reg, Value value, const char *what, List **steps)
{
	const TbRegister to = p->routine->registers[reg];
	ListCell		*lc;

	if (value.expr != NULL)
	{
		*steps = lappend(*steps,
						 make_set(p, reg,
								  finish(p,
										 tb_coerce_assigned(p->pstate, value.expr, to.type,
															to.typmod, what,
															value.location))));
		return;
	}
	foreach(lc, value.pending)
	{
		TbStep *set = lfirst(lc);

		set->reg = reg;
		set->expr = finish(p,
						   tb_coerce_assigned(p->pstate, set->expr, to.type, to.typmod,
											  what, value.location));
	}
}

static void
need_value(Parser *p, const Value *value)
{
	if (value->expr == NULL && value->pending == NIL)
		tb_parser_fail(p, value->location, ERRCODE_SYNTAX_ERROR,
					   "an if without values is no value");
}

/* let name [type] = value; */
static void
parse_let(Parser *p, List **steps)
{
	TbToken			 name;
	Oid				 type = InvalidOid;
	int32			 typmod = -1;
	const ScopeName *known;
	Value			 value;
	int				 reg;
	int				 type_start;

	tb_parser_advance(p);
	name = p->token;
	if (name.kind != TB_TOKEN_NAME || tb_parser_is_reserved(&name))
		tb_parser_fail_here(p, "a variable's name");
	known = tb_parser_find_name(p, name.text);
	if (known != NULL && known->block == p->block)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("variable \"%s\" is declared twice", name.text),
				 errhint("Another value is given by %s := ...", name.text),
				 parser_errposition(p->pstate, name.start)));
	tb_parser_advance(p);
	type_start = p->token.start;
	if (p->token.kind == TB_TOKEN_NAME)
		type = tb_parse_type(p, &typmod);
	if (!tb_parser_accept_symbol(p, "=") && !tb_parser_accept_symbol(p, ":="))
		tb_parser_fail_here(p, "\"=\"");
	value = parse_value(p, steps);
	need_value(p, &value);
	if (!OidIsValid(type))
		type = type_of_value(p, &value);
	if (!tb_routine_has_type(type))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("variables of type %s are not of LANGUAGE turbine",
						format_type_be(type)),
				 parser_errposition(p->pstate, type_start)));
	/* Not before its value is read, which may mean another variable of the name. */
	reg = add_register(p, name.text, type, typmod);
	set_register(p, reg, value, psprintf("variable \"%s\"", name.text), steps);
	declare(p, name.text, reg);
	tb_parser_expect_symbol(p, ";");
}

/* name := value; */
static void
parse_assignment(Parser *p, List **steps)
{
	const ScopeName *known = tb_parser_find_name(p, p->token.text);
	Value			 value;

	if (known == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("\"%s\" is no argument and no variable", p->token.text),
				 errhint("A variable is declared by let."),
				 parser_errposition(p->pstate, p->token.start)));
	tb_parser_advance(p);
	tb_parser_advance(p);
	value = parse_value(p, steps);
	need_value(p, &value);
	set_register(p, known->reg, value, psprintf("variable \"%s\"", known->name), steps);
	tb_parser_expect_symbol(p, ";");
}

/* while condition do statements end; */
static void
parse_while(Parser *p, List **steps)
{
	static const char *const ends[] = {"end", NULL};
	TbStep					*step = palloc0(sizeof(TbStep));
	Value					 value;

	tb_parser_deeper(p);
	tb_parser_advance(p);
	step->kind = TB_STEP_WHILE;
	step->expr = finish(p, tb_make_condition(p->pstate, tb_parse_expression(p), "WHILE"));
	tb_parser_expect_word(p, "do");
	value = parse_block(p, &step->steps, ends);
	if (value.expr != NULL || value.pending != NIL)
		tb_parser_fail(p, value.location, ERRCODE_SYNTAX_ERROR,
					   "the body of while has a value");
	tb_parser_expect_word(p, "end");
	tb_parser_expect_symbol(p, ";");
	p->nesting--;
	p->routine->has_loops = true;
	*steps = lappend(*steps, step);
}

static bool
at_end_of_block(const Parser *p, const char *const *ends)
{
	if (p->token.kind == TB_TOKEN_END)
		return true;
	for (int i = 0; ends[i] != NULL; i++)
		if (is_word(&p->token, ends[i]))
			return true;
	return false;
}

/* Statements, and maybe a value behind them, up to one of these words. */
static Value
parse_block(Parser *p, List **steps, const char *const *ends)
{
	int	  outer = list_length(p->names);
	Value value = {.location = p->token.start};

	p->block++;
	while (!at_end_of_block(p, ends))
	{
		tb_parser_count(p, 1);
		if (is_word(&p->token, "let"))
			parse_let(p, steps);
		else if (is_word(&p->token, "while"))
			parse_while(p, steps);
		else if (p->token.kind == TB_TOKEN_NAME && !tb_parser_is_reserved(&p->token) &&
				 is_symbol(&p->next, ":="))
			parse_assignment(p, steps);
		else
		{
			value = parse_value(p, steps);
			if (value.expr == NULL && value.pending == NIL)
			{
				/* An if without values is a statement. */
				tb_parser_expect_symbol(p, ";");
				continue;
			}
			if (is_symbol(&p->token, ";"))
				ereport(ERROR,
						(errcode(ERRCODE_SYNTAX_ERROR),
						 errmsg("syntax error at or near \";\""),
						 errdetail("A value stands at the end of a block, without \";\"."),
						 errhint("An assignment is written name := value;"),
						 parser_errposition(p->pstate, p->token.start)));
			if (!at_end_of_block(p, ends))
				tb_parser_fail_here(p,
									ends[0] == NULL ?
										"an operator or the end of the body" :
										"an operator or the end of the block");
			break;
		}
	}
	/* Nothing that was declared here is known behind it. */
	p->names = list_truncate(p->names, outer);
	p->block--;
	return value;
}

/* ---- The body ---- */

static bool
collect_callee(Node *node, TbRoutine *routine)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) && tb_is_routine(((FuncExpr *) node)->funcid))
		routine->calls = lappend_oid(routine->calls, ((FuncExpr *) node)->funcid);
	return expression_tree_walker(node, collect_callee, routine);
}

static void
collect_callees(List *steps, TbRoutine *routine)
{
	ListCell *lc;

	foreach(lc, steps)
	{
		const TbStep *step = lfirst(lc);

		(void) collect_callee((Node *) step->expr, routine);
		collect_callees(step->steps, routine);
		collect_callees(step->otherwise, routine);
	}
}

void
tb_parse_body(TbRoutine *routine, const char *source, Oid schema, Oid result,
			  TbCompilation *compilation)
{
	static const char *const none[] = {NULL};
	Parser					 parser = {.routine = routine, .schema = schema};
	Value					 value;

	if (strlen(source) > TB_BODY_MAX_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_STATEMENT_TOO_COMPLEX), errmsg("body is too long"),
				 errdetail("The limit is %d bytes.", TB_BODY_MAX_BYTES)));
	parser.pstate = make_parsestate(NULL);
	parser.pstate->p_sourcetext = source;
	parser.pstate->p_expr_kind = EXPR_KIND_FUNCTION_DEFAULT;
	parser.lexer.source = source;
	parser.room = Max(routine->nregisters, 8);
	routine->registers = repalloc(routine->registers, sizeof(TbRegister) * parser.room);
	for (int i = 0; i < routine->nargs; i++)
		if (routine->registers[i].name != NULL && routine->registers[i].name[0] != '\0')
			declare(&parser, routine->registers[i].name, i);

	/* Read it. */
	tb_parser_advance(&parser);
	tb_parser_advance(&parser);
	value = parse_block(&parser, &routine->steps, none);
	if (value.expr == NULL && value.pending == NIL)
		tb_parser_fail_here(&parser, "the function's value");
	if (value.expr != NULL)
		routine->result = finish(&parser,
								 tb_coerce_assigned(parser.pstate, value.expr, result, -1,
													"the function's value",
													value.location));
	else
	{
		int reg = add_register(&parser, NULL, result, -1);

		set_register(&parser, reg, value, "the function's value", &routine->steps);
		routine->result = finish(&parser, tb_parser_read_register(&parser, reg, -1));
	}
	free_parsestate(parser.pstate);

	/* What does it call? */
	collect_callees(routine->steps, routine);
	(void) collect_callee((Node *) routine->result, routine);
	routine->size = parser.expressions;
}
