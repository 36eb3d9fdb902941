/*
 * parser_internal.h - what the files of the parser share; nobody else includes it.
 *
 *   parser.c            words, variables, if, statements, the body
 *   parse_expression.c  expressions and types
 */
#ifndef TURBINE_PG_LANGUAGE_PARSER_INTERNAL_H
#define TURBINE_PG_LANGUAGE_PARSER_INTERNAL_H

#include "postgres.h"

#include "parser/parse_node.h"

#include "pg/language/lexer.h"
#include "pg/language/parser.h"

/* A name in scope. */
typedef struct ScopeName
{
	const char *name;
	int			reg;
	int			block; /* in which it was declared; 0: an argument */
} ScopeName;

typedef struct Parser
{
	ParseState *pstate;
	TbRoutine  *routine;
	Oid			schema;
	TbLexer		lexer;
	TbToken		token; /* the word to look at */
	TbToken		next;
	List	   *names; /* ScopeName; the innermost last */
	int			block; /* depth of blocks */
	int			nesting;
	int			expressions;
	Expr	   *operand; /* read already: the next primary expression */
	int			room;	 /* of routine->registers */
} Parser;

/* What a block's value is: an expression, or what these steps set. */
typedef struct Value
{
	Expr *expr;	   /* NULL: see pending, or there is none */
	List *pending; /* TbStep, without register */
	int	  location;
} Value;

static inline bool
is_symbol(const TbToken *token, const char *symbol)
{
	return token->kind == TB_TOKEN_SYMBOL && strcmp(token->text, symbol) == 0;
}

static inline bool
is_word(const TbToken *token, const char *word)
{
	return token->kind == TB_TOKEN_NAME && !token->quoted && strcmp(token->text, word) == 0;
}

/* parser.c. Errors are raised with a place in the body. */
extern _Noreturn void	tb_parser_fail(Parser *p, int at, int code, const char *message);
extern _Noreturn void	tb_parser_fail_here(Parser *p, const char *expected);
extern void				tb_parser_advance(Parser *p);
/* Whether it is the next word; goes on behind it. */
extern bool				tb_parser_accept_symbol(Parser *p, const char *symbol);
extern bool				tb_parser_accept_word(Parser *p, const char *word);
extern void				tb_parser_expect_symbol(Parser *p, const char *symbol);
extern void				tb_parser_expect_word(Parser *p, const char *word);
extern bool				tb_parser_is_reserved(const TbToken *token);
/* Around a step down: `nesting` is lowered by whoever called it. */
extern void				tb_parser_deeper(Parser *p);
extern void				tb_parser_count(Parser *p, int expressions);
extern const ScopeName *tb_parser_find_name(const Parser *p, const char *name);
extern Expr			   *tb_parser_read_register(Parser *p, int reg, int location);
/* An if that is an operand. */
extern Expr			   *tb_parse_choice(Parser *p);

/* parse_expression.c */
extern Expr *tb_parse_expression(Parser *p);
/* A type's name, and numeric's digits. */
extern Oid	 tb_parse_type(Parser *p, int32 *typmod);

#endif
