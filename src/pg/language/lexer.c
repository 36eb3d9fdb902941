/*
 * lexer.c - see lexer.h.
 *
 * Names, numbers, strings and comments look as in SQL. The parser calls it word by word.
 * It must never read beyond the end of the body, whatever the body is.
 */
#include "postgres.h"

#include <ctype.h>

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "parser/scansup.h"

#include "pg/language/lexer.h"

/* Longer ones come first. */
static const char *const symbols[] = {":=", "::", "<=", ">=", "<>", "!=", "||", "<<", ">>",
									  "+",	"-",  "*",	"/",  "%",	"^",  "<",	">",  "=",
									  "(",	")",  ",",	";",  ".",	"&",  "|",	"#",  "~"};

static bool
begins_name(unsigned char c)
{
	return isalpha(c) || c == '_' || IS_HIGHBIT_SET(c);
}

static bool
continues_name(unsigned char c)
{
	return begins_name(c) || isdigit(c) || c == '$';
}

/* Blanks, "-- ..." and nested comments. */
static void
skip_blanks(TbLexer *lexer, TbLexerError fail, void *context)
{
	const char *s = lexer->source;

	for (;;)
	{
		int start = lexer->at;
		int depth = 0;

		if (scanner_isspace(s[lexer->at]))
		{
			lexer->at++;
			continue;
		}
		if (s[lexer->at] == '-' && s[lexer->at + 1] == '-')
		{
			while (s[lexer->at] != '\0' && s[lexer->at] != '\n')
				lexer->at++;
			continue;
		}
		if (s[lexer->at] != '/' || s[lexer->at + 1] != '*')
			return;
		do
		{
			if (s[lexer->at] == '\0')
				fail(context, start, "unterminated comment");
			if (s[lexer->at] == '/' && s[lexer->at + 1] == '*')
			{
				depth++;
				lexer->at += 2;
			}
			else if (s[lexer->at] == '*' && s[lexer->at + 1] == '/')
			{
				depth--;
				lexer->at += 2;
			}
			else
				lexer->at++;
		} while (depth > 0);
	}
}

/* What stands between two such quotes, of which two mean one. */
static char *
read_quoted(TbLexer *lexer, char quote, TbLexerError fail, void *context)
{
	const char	  *s = lexer->source;
	int			   start = lexer->at++;
	StringInfoData text;

	initStringInfo(&text);
	for (;;)
	{
		char c = s[lexer->at];

		if (c == '\0')
			fail(context, start,
				 quote == '"' ? "unterminated quoted name" : "unterminated string");
		lexer->at++;
		if (c == quote)
		{
			if (s[lexer->at] != quote)
				break;
			lexer->at++;
		}
		appendStringInfoChar(&text, c);
	}
	return text.data;
}

static void
read_name(TbLexer *lexer, TbToken *token, TbLexerError fail, void *context)
{
	char *text;

	token->kind = TB_TOKEN_NAME;
	if (lexer->source[lexer->at] == '"')
	{
		text = read_quoted(lexer, '"', fail, context);
		token->quoted = true;
		if (text[0] == '\0')
			fail(context, token->start, "a quoted name is empty");
		truncate_identifier(text, strlen(text), false);
	}
	else
	{
		while (continues_name(lexer->source[lexer->at]))
			lexer->at++;
		text = downcase_truncate_identifier(lexer->source + token->start,
											lexer->at - token->start, false);
	}
	token->text = text;
}

/* 12, 1.5, .5, 1e-3 */
static void
read_number(TbLexer *lexer, TbToken *token, TbLexerError fail, void *context)
{
	const char *s = lexer->source;

	token->kind = TB_TOKEN_INTEGER;
	while (isdigit((unsigned char) s[lexer->at]))
		lexer->at++;
	if (s[lexer->at] == '.')
	{
		token->kind = TB_TOKEN_DECIMAL;
		lexer->at++;
		while (isdigit((unsigned char) s[lexer->at]))
			lexer->at++;
	}
	if (s[lexer->at] == 'e' || s[lexer->at] == 'E')
	{
		int digits = lexer->at + 1;

		if (s[digits] == '+' || s[digits] == '-')
			digits++;
		if (isdigit((unsigned char) s[digits]))
		{
			token->kind = TB_TOKEN_DECIMAL;
			lexer->at = digits;
			while (isdigit((unsigned char) s[lexer->at]))
				lexer->at++;
		}
	}
	if (begins_name(s[lexer->at]))
		fail(context, token->start, "trailing junk after a number");
	token->text = pnstrdup(s + token->start, lexer->at - token->start);
}

/* $1 */
static void
read_parameter(TbLexer *lexer, TbToken *token, TbLexerError fail, void *context)
{
	const char *s = lexer->source;

	token->kind = TB_TOKEN_PARAMETER;
	lexer->at++;
	while (isdigit((unsigned char) s[lexer->at]))
	{
		if (token->number > 9999)
			fail(context, token->start, "there is no such parameter");
		token->number = token->number * 10 + (s[lexer->at++] - '0');
	}
	token->text = pnstrdup(s + token->start, lexer->at - token->start);
}

static void
read_symbol(TbLexer *lexer, TbToken *token, TbLexerError fail, void *context)
{
	token->kind = TB_TOKEN_SYMBOL;
	for (int i = 0; i < (int) lengthof(symbols); i++)
	{
		size_t length = strlen(symbols[i]);

		if (strncmp(lexer->source + lexer->at, symbols[i], length) == 0)
		{
			token->text = symbols[i];
			lexer->at += length;
			return;
		}
	}
	fail(context, token->start, "unexpected character");
}

TbToken
tb_lexer_next(TbLexer *lexer, TbLexerError fail, void *context)
{
	const char *s = lexer->source;
	TbToken		token = {.text = ""};

	skip_blanks(lexer, fail, context);
	token.start = lexer->at;
	if (s[lexer->at] == '\0')
		token.kind = TB_TOKEN_END;
	else if (begins_name(s[lexer->at]) || s[lexer->at] == '"')
		read_name(lexer, &token, fail, context);
	else if (isdigit((unsigned char) s[lexer->at]) ||
			 (s[lexer->at] == '.' && isdigit((unsigned char) s[lexer->at + 1])))
		read_number(lexer, &token, fail, context);
	else if (s[lexer->at] == '\'')
	{
		token.text = read_quoted(lexer, '\'', fail, context);
		token.kind = TB_TOKEN_STRING;
	}
	else if (s[lexer->at] == '$' && isdigit((unsigned char) s[lexer->at + 1]))
		read_parameter(lexer, &token, fail, context);
	else
		read_symbol(lexer, &token, fail, context);
	token.end = lexer->at;
	return token;
}

void
tb_lexer_position(const char *source, int at, int *line, int *column)
{
	*line = 1;
	*column = 1;
	for (int i = 0; i < at && source[i] != '\0';)
	{
		int length = pg_mblen(source + i);

		if (source[i] == '\n')
		{
			(*line)++;
			*column = 1;
		}
		else
			(*column)++;
		/* A broken character at the end must not lead beyond it. */
		while (length-- > 0 && source[i] != '\0')
			i++;
	}
}
