/*
 * parse_expression.c - expressions and types in bodies of LANGUAGE turbine.
 *
 * A function for each level of precedence; the levels are PostgreSQL's. Called by parser.c.
 * Every recursion goes through tb_parser_deeper, every expression through tb_parser_count,
 * so that no body takes more stack, time or memory than its limits allow.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_node.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "pg/language/parser_internal.h"
#include "pg/language/typing.h"

/* ---- Types ---- */

/* Whether the words from here on name a type, before something else that fits. */
static bool
is_type_name(const TbToken *token)
{
	return token->kind == TB_TOKEN_NAME && !token->quoted &&
		(OidIsValid(tb_type_of_name(token->text)) || strcmp(token->text, "double") == 0);
}

static int
read_digits(Parser *p)
{
	int value;

	if (p->token.kind != TB_TOKEN_INTEGER || strlen(p->token.text) > 4)
		tb_parser_fail_here(p, "a number of digits");
	value = atoi(p->token.text);
	tb_parser_advance(p);
	return value;
}

/* A type's name, and numeric's digits. */
Oid
tb_parse_type(Parser *p, int32 *typmod)
{
	StringInfoData name;
	int			   start = p->token.start;
	int			   end = p->token.end;
	Oid			   type;

	*typmod = -1;
	if (p->token.kind != TB_TOKEN_NAME)
		tb_parser_fail_here(p, "a type");
	initStringInfo(&name);
	appendStringInfoString(&name, p->token.text);
	tb_parser_advance(p);
	if ((strcmp(name.data, "double") == 0 && is_word(&p->token, "precision")) ||
		(strcmp(name.data, "timestamp") == 0 &&
		 (is_word(&p->token, "with") || is_word(&p->token, "without")) &&
		 is_word(&p->next, "time")))
	{
		appendStringInfo(&name, " %s", p->token.text);
		tb_parser_advance(p);
		while (is_word(&p->token, "time") || is_word(&p->token, "zone"))
		{
			appendStringInfo(&name, " %s", p->token.text);
			end = p->token.end;
			tb_parser_advance(p);
		}
	}
	type = tb_type_of_name(name.data);
	if (!OidIsValid(type))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("type \"%s\" is not one of LANGUAGE turbine", name.data),
				 errhint("Types are boolean, smallint, integer, bigint, real, double "
						 "precision, numeric, date, timestamp, timestamptz and text."),
				 parser_errposition(p->pstate, start)));
	if (type == NUMERICOID && tb_parser_accept_symbol(p, "("))
	{
		int precision = read_digits(p);
		int scale = tb_parser_accept_symbol(p, ",") ? read_digits(p) : 0;

		tb_parser_expect_symbol(p, ")");
		if (precision < 1 || precision > NUMERIC_MAX_PRECISION || scale > precision)
			tb_parser_fail(
				p, end, ERRCODE_INVALID_PARAMETER_VALUE,
				"numeric has 1 to 1000 digits, and no more of them after the point");
		*typmod = ((precision << 16) | scale) + VARHDRSZ;
	}
	return type;
}

/* ---- Operands ---- */

static Expr *
make_literal(Oid type, Datum value, int location)
{
	int16  length;
	bool   byval;
	Const *literal;

	get_typlenbyval(type, &length, &byval);
	literal = makeConst(type, -1, get_typcollation(type), length, value, false, byval);
	literal->location = location;
	return (Expr *) literal;
}

/* An integer, bigint or numeric, whichever holds it. */
static Expr *
number_literal(Parser *p, const TbToken *token)
{
	const char *text = token->text;

	if (token->kind == TB_TOKEN_INTEGER && strlen(text) < 19)
	{
		int64 value = strtoll(text, NULL, 10);

		if (value <= PG_INT32_MAX)
			return make_literal(INT4OID, Int32GetDatum((int32) value), token->start);
		return make_literal(INT8OID, Int64GetDatum(value), token->start);
	}
	return make_literal(NUMERICOID,
						DirectFunctionCall3(numeric_in, CStringGetDatum(text),
											ObjectIdGetDatum(InvalidOid),
											Int32GetDatum(-1)),
						token->start);
}

static Expr *
string_literal(const TbToken *token)
{
	Const *literal = makeConst(UNKNOWNOID, -1, InvalidOid, -2,
							   CStringGetDatum(pstrdup(token->text)), false, false);

	literal->location = token->start;
	return (Expr *) literal;
}

static List *
parse_arguments(Parser *p)
{
	List *args = NIL;

	tb_parser_expect_symbol(p, "(");
	if (tb_parser_accept_symbol(p, ")"))
		return NIL;
	do
	{
		args = lappend(args, tb_parse_expression(p));
		if (list_length(args) > FUNC_MAX_ARGS)
			tb_parser_fail_here(p, "fewer arguments");
	} while (tb_parser_accept_symbol(p, ","));
	tb_parser_expect_symbol(p, ")");
	return args;
}

/* cast(x as type) */
static Expr *
parse_cast(Parser *p, int start)
{
	Expr *operand;
	Oid	  type;
	int32 typmod;

	tb_parser_expect_symbol(p, "(");
	operand = tb_parse_expression(p);
	tb_parser_expect_word(p, "as");
	type = tb_parse_type(p, &typmod);
	tb_parser_expect_symbol(p, ")");
	return tb_make_cast(p->pstate, operand, type, typmod, start);
}

/* extract(field from x) */
static Expr *
parse_extract(Parser *p, int start)
{
	Expr *field;
	Expr *operand;

	tb_parser_expect_symbol(p, "(");
	if (p->token.kind != TB_TOKEN_NAME && p->token.kind != TB_TOKEN_STRING)
		tb_parser_fail_here(p, "a field");
	field = make_literal(TEXTOID, CStringGetTextDatum(p->token.text), p->token.start);
	tb_parser_advance(p);
	tb_parser_expect_word(p, "from");
	operand = tb_parse_expression(p);
	tb_parser_expect_symbol(p, ")");
	return tb_make_call(p->pstate, NULL, "extract", InvalidOid, list_make2(field, operand),
						start);
}

static Expr *
parse_call(Parser *p, const char *schema, const char *name, int start)
{
	List *args;

	if (schema == NULL && strcmp(name, "cast") == 0)
		return parse_cast(p, start);
	if (schema == NULL && strcmp(name, "extract") == 0)
		return parse_extract(p, start);
	args = parse_arguments(p);
	if (schema == NULL &&
		(strcmp(name, "coalesce") == 0 || strcmp(name, "greatest") == 0 ||
		 strcmp(name, "least") == 0))
	{
		if (args == NIL)
			tb_parser_fail(p, start, ERRCODE_SYNTAX_ERROR,
						   psprintf("%s needs an argument", name));
		return tb_make_list(p->pstate, name, args, start);
	}
	if (schema == NULL && strcmp(name, "nullif") == 0)
	{
		if (list_length(args) != 2)
			tb_parser_fail(p, start, ERRCODE_SYNTAX_ERROR, "nullif needs two arguments");
		return tb_make_nullif(p->pstate, linitial(args), lsecond(args), start);
	}
	return tb_make_call(p->pstate, schema, name, p->schema, args, start);
}

/* A variable, or a call. */
static Expr *
parse_name(Parser *p)
{
	TbToken			 name = p->token;
	const char		*schema = NULL;
	const ScopeName *known;

	tb_parser_advance(p);
	if (tb_parser_accept_symbol(p, "."))
	{
		schema = name.text;
		if (p->token.kind != TB_TOKEN_NAME)
			tb_parser_fail_here(p, "a function's name");
		name.text = p->token.text;
		tb_parser_advance(p);
	}
	if (is_symbol(&p->token, "("))
		return parse_call(p, schema, name.text, name.start);
	if (schema != NULL)
		tb_parser_fail_here(p, "the arguments of a function");
	known = tb_parser_find_name(p, name.text);
	if (known == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("\"%s\" is no argument and no variable", name.text),
				 errhint("A variable is declared by let."),
				 parser_errposition(p->pstate, name.start)));
	return tb_parser_read_register(p, known->reg, name.start);
}

static Expr *
parse_parameter(Parser *p)
{
	int number = p->token.number;
	int start = p->token.start;

	if (number < 1 || number > p->routine->nargs)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_PARAMETER),
				 errmsg("there is no parameter %s", p->token.text),
				 parser_errposition(p->pstate, start)));
	tb_parser_advance(p);
	return tb_parser_read_register(p, number - 1, start);
}

/* ---- Expressions, by precedence ---- */

static Expr *
parse_primary(Parser *p)
{
	TbToken token = p->token;
	Expr   *expr = p->operand;

	tb_parser_count(p, 1);
	if (expr != NULL)
	{
		p->operand = NULL;
		return expr;
	}
	switch (token.kind)
	{
		case TB_TOKEN_INTEGER:
		case TB_TOKEN_DECIMAL:
			tb_parser_advance(p);
			return number_literal(p, &token);
		case TB_TOKEN_STRING:
			tb_parser_advance(p);
			return string_literal(&token);
		case TB_TOKEN_PARAMETER:
			return parse_parameter(p);
		case TB_TOKEN_SYMBOL:
			if (!tb_parser_accept_symbol(p, "("))
				tb_parser_fail_here(p, "an expression");
			expr = tb_parse_expression(p);
			tb_parser_expect_symbol(p, ")");
			return expr;
		case TB_TOKEN_NAME:
			break;
		default:
			tb_parser_fail_here(p, "an expression");
	}
	if (is_word(&token, "if"))
		return tb_parse_choice(p);
	if (is_word(&token, "true") || is_word(&token, "false"))
	{
		tb_parser_advance(p);
		return make_literal(BOOLOID, BoolGetDatum(token.text[0] == 't'), token.start);
	}
	if (is_word(&token, "null"))
	{
		tb_parser_advance(p);
		return tb_null_literal(token.start);
	}
	if (tb_parser_is_reserved(&token))
		tb_parser_fail_here(p, "an expression");
	/* date '2020-01-01', double precision '1' */
	if (is_type_name(&token) && tb_parser_find_name(p, token.text) == NULL &&
		(p->next.kind == TB_TOKEN_STRING || is_word(&p->next, "precision") ||
		 is_word(&p->next, "with") || is_word(&p->next, "without")))
	{
		int32 typmod;
		Oid	  type = tb_parse_type(p, &typmod);

		if (p->token.kind != TB_TOKEN_STRING)
			tb_parser_fail_here(p, "a string");
		expr = string_literal(&p->token);
		tb_parser_advance(p);
		return tb_make_cast(p->pstate, expr, type, typmod, token.start);
	}
	return parse_name(p);
}

/* x::type */
static Expr *
parse_postfix(Parser *p)
{
	Expr *expr = parse_primary(p);

	while (is_symbol(&p->token, "::"))
	{
		int	  start = p->token.start;
		Oid	  type;
		int32 typmod;

		tb_parser_advance(p);
		tb_parser_count(p, 1);
		type = tb_parse_type(p, &typmod);
		expr = tb_make_cast(p->pstate, expr, type, typmod, start);
	}
	return expr;
}

/* The opposite of a number that is written: PostgreSQL takes -32768 as one, too. */
static Expr *
negative_literal(Expr *expr)
{
	Const *literal = (Const *) expr;

	if (!IsA(literal, Const) || literal->constisnull)
		return NULL;
	switch (literal->consttype)
	{
		case INT4OID:
			literal->constvalue = Int32GetDatum(-DatumGetInt32(literal->constvalue));
			return expr;
		case INT8OID:
			literal->constvalue = Int64GetDatum(-DatumGetInt64(literal->constvalue));
			return expr;
		case NUMERICOID:
			literal->constvalue = DirectFunctionCall1(numeric_uminus, literal->constvalue);
			return expr;
		default:
			return NULL;
	}
}

static Expr *
parse_sign(Parser *p)
{
	TbToken token = p->token;
	Expr   *expr;
	Expr   *literal;
	bool	number;

	if (p->operand != NULL ||
		!(is_symbol(&token, "-") || is_symbol(&token, "+") || is_symbol(&token, "~")))
		return parse_postfix(p);
	tb_parser_deeper(p);
	tb_parser_advance(p);
	number = p->token.kind == TB_TOKEN_INTEGER || p->token.kind == TB_TOKEN_DECIMAL;
	expr = parse_sign(p);
	p->nesting--;
	tb_parser_count(p, 1);
	if (token.text[0] == '-' && number && (literal = negative_literal(expr)) != NULL)
		return literal;
	return tb_make_operator(p->pstate, token.text, NULL, expr, token.start);
}

typedef Expr *(*Level)(Parser *p);

/* operand { operator operand }, from the left */
static Expr *
parse_operators(Parser *p, Level operand, const char *const *operators)
{
	Expr *left = operand(p);
	int	  length = 0;

	for (;;)
	{
		TbToken token = p->token;
		bool	found = false;

		for (int i = 0; operators[i] != NULL && !found; i++)
			found = is_symbol(&token, operators[i]);
		if (!found)
			break;
		tb_parser_advance(p);
		/* A long sum is a deep tree. */
		tb_parser_deeper(p);
		length++;
		tb_parser_count(p, 1);
		left = tb_make_operator(p->pstate, token.text, left, operand(p), token.start);
	}
	p->nesting -= length;
	return left;
}

static Expr *
parse_power(Parser *p)
{
	static const char *const operators[] = {"^", NULL};

	return parse_operators(p, parse_sign, operators);
}

static Expr *
parse_product(Parser *p)
{
	static const char *const operators[] = {"*", "/", "%", NULL};

	return parse_operators(p, parse_power, operators);
}

static Expr *
parse_sum(Parser *p)
{
	static const char *const operators[] = {"+", "-", NULL};

	return parse_operators(p, parse_product, operators);
}

static Expr *
parse_other(Parser *p)
{
	static const char *const operators[] = {"||", "&", "|", "#", "<<", ">>", NULL};

	return parse_operators(p, parse_sum, operators);
}

static Expr *
make_logic(Parser *p, BoolExprType op, List *args, int location)
{
	tb_parser_count(p, 1);
	return (Expr *) makeBoolExpr(op, args, location);
}

/* x between a and b, x in (...), x like y: what follows x */
static Expr *
parse_membership(Parser *p, Expr *left, bool negated)
{
	int	  start = p->token.start;
	int	  size = tb_count_expressions(left);
	List *args = NIL;

	if (tb_parser_accept_word(p, "like"))
	{
		tb_parser_count(p, 1);
		return tb_make_operator(p->pstate, negated ? "!~~" : "~~", left, parse_other(p),
								start);
	}
	if (tb_parser_accept_word(p, "between"))
	{
		Expr *low = parse_other(p);
		Expr *high;

		tb_parser_expect_word(p, "and");
		high = parse_other(p);
		tb_parser_count(p, size + 2);
		args = list_make2(tb_make_operator(p->pstate, negated ? "<" : ">=", left, low,
										   start),
						  tb_make_operator(p->pstate, negated ? ">" : "<=",
										   copyObject(left), high, start));
		return make_logic(p, negated ? OR_EXPR : AND_EXPR, args, start);
	}
	tb_parser_expect_word(p, "in");
	tb_parser_expect_symbol(p, "(");
	do
	{
		tb_parser_count(p, size + 1);
		args = lappend(args,
					   tb_make_operator(p->pstate, negated ? "<>" : "=",
										args == NIL ? left : copyObject(left),
										tb_parse_expression(p), start));
	} while (tb_parser_accept_symbol(p, ","));
	tb_parser_expect_symbol(p, ")");
	if (list_length(args) == 1)
		return linitial(args);
	return make_logic(p, negated ? AND_EXPR : OR_EXPR, args, start);
}

static Expr *
parse_range(Parser *p)
{
	Expr *left = parse_other(p);
	bool  negated = is_word(&p->token, "not") &&
		(is_word(&p->next, "between") || is_word(&p->next, "in") ||
		 is_word(&p->next, "like"));

	if (negated)
		tb_parser_advance(p);
	if (negated || is_word(&p->token, "between") || is_word(&p->token, "in") ||
		is_word(&p->token, "like"))
		return parse_membership(p, left, negated);
	return left;
}

static Expr *
parse_comparison(Parser *p)
{
	static const char *const operators[] = {"=", "<>", "!=", "<", "<=", ">", ">="};
	Expr					*left = parse_range(p);

	for (int i = 0; i < (int) lengthof(operators); i++)
	{
		int start = p->token.start;

		if (!tb_parser_accept_symbol(p, operators[i]))
			continue;
		tb_parser_count(p, 1);
		return tb_make_operator(p->pstate,
								strcmp(operators[i], "!=") == 0 ? "<>" : operators[i], left,
								parse_range(p), start);
	}
	return left;
}

static Expr *
parse_is(Parser *p)
{
	Expr *left = parse_comparison(p);

	while (is_word(&p->token, "is"))
	{
		int	 start = p->token.start;
		bool negated;

		tb_parser_advance(p);
		tb_parser_count(p, 1);
		negated = tb_parser_accept_word(p, "not");
		if (tb_parser_accept_word(p, "null"))
		{
			NullTest *test = makeNode(NullTest);

			test->arg = left;
			test->nulltesttype = negated ? IS_NOT_NULL : IS_NULL;
			test->location = start;
			left = (Expr *) test;
		}
		else if (tb_parser_accept_word(p, "distinct"))
		{
			tb_parser_expect_word(p, "from");
			left = tb_make_distinct(p->pstate, left, parse_comparison(p), start);
			if (negated)
				left = make_logic(p, NOT_EXPR, list_make1(left), start);
		}
		else
		{
			BooleanTest *test = makeNode(BooleanTest);

			if (tb_parser_accept_word(p, "true"))
				test->booltesttype = negated ? IS_NOT_TRUE : IS_TRUE;
			else if (tb_parser_accept_word(p, "false"))
				test->booltesttype = negated ? IS_NOT_FALSE : IS_FALSE;
			else if (tb_parser_accept_word(p, "unknown"))
				test->booltesttype = negated ? IS_NOT_UNKNOWN : IS_UNKNOWN;
			else
				tb_parser_fail_here(p, "null, true, false, unknown or distinct from");
			test->arg = tb_make_condition(p->pstate, left, "IS");
			test->location = start;
			left = (Expr *) test;
		}
	}
	return left;
}

static Expr *
parse_not(Parser *p)
{
	int	  start = p->token.start;
	Expr *expr;

	if (p->operand != NULL || !tb_parser_accept_word(p, "not"))
		return parse_is(p);
	tb_parser_deeper(p);
	expr = parse_not(p);
	p->nesting--;
	return make_logic(p, NOT_EXPR, list_make1(tb_make_condition(p->pstate, expr, "NOT")),
					  start);
}

/* One node for all operands of a row of ANDs or ORs. */
static Expr *
parse_logic(Parser *p, Level operand, const char *word, BoolExprType op)
{
	Expr	   *left = operand(p);
	int			start = p->token.start;
	const char *name = op == AND_EXPR ? "AND" : "OR";
	List	   *args;

	if (!is_word(&p->token, word))
		return left;
	args = list_make1(tb_make_condition(p->pstate, left, name));
	while (tb_parser_accept_word(p, word))
		args = lappend(args, tb_make_condition(p->pstate, operand(p), name));
	return make_logic(p, op, args, start);
}

static Expr *
parse_and(Parser *p)
{
	return parse_logic(p, parse_not, "and", AND_EXPR);
}

Expr *
tb_parse_expression(Parser *p)
{
	Expr *expr;

	tb_parser_deeper(p);
	expr = parse_logic(p, parse_and, "or", OR_EXPR);
	p->nesting--;
	return expr;
}
