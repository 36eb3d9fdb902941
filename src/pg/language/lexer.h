/*
 * lexer.h - the words of a body of LANGUAGE turbine.
 */
#ifndef TURBINE_PG_LANGUAGE_LEXER_H
#define TURBINE_PG_LANGUAGE_LEXER_H

#include "postgres.h"

typedef enum TbTokenKind
{
	TB_TOKEN_END,
	TB_TOKEN_NAME,		/* text: in small letters, unless it was quoted */
	TB_TOKEN_INTEGER,	/* text: digits */
	TB_TOKEN_DECIMAL,	/* text: as it was written */
	TB_TOKEN_STRING,	/* text: without quotes */
	TB_TOKEN_PARAMETER, /* number: n of $n */
	TB_TOKEN_SYMBOL		/* text: an operator or a delimiter */
} TbTokenKind;

typedef struct TbToken
{
	TbTokenKind kind;
	bool		quoted; /* a name that can be no keyword */
	const char *text;
	int			number;
	int			start; /* bytes from the start of the body */
	int			end;
} TbToken;

typedef struct TbLexer
{
	const char *source;
	int			at;
} TbLexer;

/* Called with a place in the body if it has no such word; must not return. */
typedef void (*TbLexerError)(void *context, int at, const char *message);

/* The next word, in palloc'd memory; words that are no word are reported. */
extern TbToken tb_lexer_next(TbLexer *lexer, TbLexerError fail, void *context);

/* Line and column of a place, from 1. Columns count characters. */
extern void tb_lexer_position(const char *source, int at, int *line, int *column);

#endif
