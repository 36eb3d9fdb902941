/*
 * body_parser.c - see body_parser.h.
 *
 * One pass over the lines. Knows nothing of C: a line inside a block is passed on as it is.
 * Called by language.c.
 */
#include "postgres.h"

#include <ctype.h>

#include "lib/stringinfo.h"

#include "pg/plcuda/body_parser.h"

#define PREFIX "#plcuda_"

typedef enum BodyPlace
{
	OUTSIDE,
	IN_DECLARATIONS,
	IN_HOST_CODE
} BodyPlace;

typedef struct BodyParser
{
	TbPlcudaBody  *body;
	BodyPlace	   place;
	int			   line;
	int			   first_line; /* of the block */
	StringInfoData text;	   /* likewise */
} BodyParser;

static void
note_error(BodyParser *parser, char *error)
{
	if (parser->body->error != NULL)
		return;
	parser->body->error = error;
	parser->body->error_line = parser->line;
}

static void
append_declaration(BodyParser *parser, int first_line, char *text)
{
	TbPlcudaBlock *block = palloc(sizeof(*block));

	block->first_line = first_line;
	block->text = text;
	parser->body->declarations = lappend(parser->body->declarations, block);
}

static void
end_block(BodyParser *parser)
{
	if (parser->place == IN_DECLARATIONS)
		append_declaration(parser, parser->first_line, pstrdup(parser->text.data));
	else if (parser->place == IN_HOST_CODE)
	{
		parser->body->host.first_line = parser->first_line;
		parser->body->host.text = pstrdup(parser->text.data);
	}
	parser->place = OUTSIDE;
}

static void
begin_block(BodyParser *parser, BodyPlace place)
{
	parser->place = place;
	parser->first_line = parser->line + 1;
	resetStringInfo(&parser->text);
}

/* A name that is passed to the compiler's command line. */
static bool
is_library(const char *name)
{
	return name[0] != '\0' && name[0] != '-' &&
		strspn(name,
			   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+.-") ==
		strlen(name);
}

static void
add_include(BodyParser *parser, const char *name)
{
	Size length = strlen(name);
	bool is_quoted = length > 2 &&
		((name[0] == '"' && name[length - 1] == '"') ||
		 (name[0] == '<' && name[length - 1] == '>'));

	if (length == 0 || (!is_quoted && strpbrk(name, "\"<> \t") != NULL))
		note_error(parser, pstrdup("#plcuda_include takes the name of a header"));
	append_declaration(parser, parser->line,
					   is_quoted ? psprintf("#include %s\n", name) :
								   psprintf("#include \"%s\"\n", name));
}

/* A line that begins with #plcuda_: its word, and what follows. */
static void
take_directive(BodyParser *parser, const char *word, const char *argument)
{
	TbPlcudaBody *body = parser->body;
	bool		  takes_name = strcmp(word, "library") == 0 || strcmp(word, "include") == 0;

	if (!takes_name && argument[0] != '\0')
		note_error(parser, psprintf("%s%s takes no argument", PREFIX, word));
	if (strcmp(word, "decl") == 0)
	{
		if (parser->place == IN_HOST_CODE)
			note_error(parser, pstrdup("#plcuda_begin lacks its #plcuda_end"));
		end_block(parser);
		begin_block(parser, IN_DECLARATIONS);
	}
	else if (strcmp(word, "begin") == 0)
	{
		if (body->host.text != NULL || parser->place == IN_HOST_CODE)
			note_error(parser, pstrdup("#plcuda_begin appears twice"));
		end_block(parser);
		begin_block(parser, IN_HOST_CODE);
	}
	else if (strcmp(word, "end") == 0)
	{
		if (parser->place == OUTSIDE)
			note_error(parser, pstrdup("#plcuda_end ends no block"));
		end_block(parser);
	}
	else if (takes_name && parser->place == IN_HOST_CODE)
		note_error(parser, psprintf("%s%s is not allowed in #plcuda_begin", PREFIX, word));
	else if (strcmp(word, "library") == 0)
	{
		end_block(parser);
		if (!is_library(argument))
			note_error(parser, pstrdup("#plcuda_library takes the name of a library"));
		body->libraries = lappend(body->libraries, pstrdup(argument));
	}
	else if (strcmp(word, "include") == 0)
	{
		end_block(parser);
		add_include(parser, argument);
	}
	else
		note_error(parser, psprintf("%s%s is not known", PREFIX, word));
}

static void
take_line(BodyParser *parser, const char *start, Size length)
{
	/* Without blanks around it; \r belongs to them. */
	char *line = pnstrdup(start, length);
	char *first = line;
	char *word;

	while (isspace((unsigned char) *first))
		first++;
	if (strncmp(first, PREFIX, strlen(PREFIX)) != 0)
	{
		if (parser->place != OUTSIDE)
			appendStringInfo(&parser->text, "%s\n", line);
		else if (*first != '\0')
			note_error(parser, pstrdup("there is code outside of blocks"));
		return;
	}
	for (char *last = first + strlen(first) - 1; isspace((unsigned char) *last); last--)
		*last = '\0';
	word = first + strlen(PREFIX);
	first = word + strspn(word, "abcdefghijklmnopqrstuvwxyz_");
	if (*first != '\0' && !isspace((unsigned char) *first))
		note_error(parser, psprintf("%s is not known", line));
	word = pnstrdup(word, first - word);
	while (isspace((unsigned char) *first))
		first++;
	take_directive(parser, word, first);
}

TbPlcudaBody *
tb_plcuda_parse_body(const char *text)
{
	BodyParser parser = {.body = palloc0(sizeof(TbPlcudaBody)), .line = 1};

	initStringInfo(&parser.text);
	for (;;)
	{
		Size length = strcspn(text, "\n");

		take_line(&parser, text, length);
		if (text[length] == '\0')
			break;
		text += length + 1;
		parser.line++;
	}
	if (parser.place == IN_HOST_CODE)
		note_error(&parser, pstrdup("#plcuda_begin lacks its #plcuda_end"));
	end_block(&parser);
	if (parser.body->host.text == NULL)
		note_error(&parser, pstrdup("there is no #plcuda_begin"));
	return parser.body;
}
