/*
 * expression.h - PostgreSQL's expressions as expressions of a program.
 *
 * The answer to "may this expression go to a device?": tb_translate adds the
 * expressions that compute it, or says why there are none. It never raises because
 * of what it is given.
 */
#ifndef TURBINE_PG_PLANNER_EXPRESSION_EXPRESSION_H
#define TURBINE_PG_PLANNER_EXPRESSION_EXPRESSION_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "pg/planner/program/program_builder.h"

typedef struct TbTranslator TbTranslator;
struct TbTranslator
{
	PlannerInfo *root;
	Index		 varno;	 /* the table that the program reads */
	TupleDesc	 desc;	 /* NULL: rows of another plan */
	TbBuilder	*builder;
	const char	*reason; /* of the last refusal */

	/* PostgreSQL evaluates conditions for rows of which devices can not decide them. */
	bool  leaves_undecided;
	/* Columns of other tables; NULL: there are none. Sets t->reason on refusal. */
	bool  (*resolve)(struct TbTranslator *t, Var *var, TbValue *value);
	void *resolver; /* for its use */

	/* State of the walk. */
	int			   conditional; /* > 0: below something that PostgreSQL
								 * evaluates only for some rows */
	const TbValue *case_value;	/* what CaseTestExpr stands for */
	struct TbBody *body;		/* of a function that is being translated; NULL: none is */
	List		  *shared;		/* TranslatedExpr: computed once */
	List		  *zones;		/* TranslatedZone: time zones in use */
};

extern void tb_translator_init(TbTranslator *t, PlannerInfo *root, Index varno,
							   TupleDesc desc);

/* False, with t->reason set, if the device can not compute it. */
extern bool tb_translate(TbTranslator *t, Expr *expr, TbValue *value);

/* Notes why not, as every refusal of a translation does; returns false. */
extern bool tb_refuse(TbTranslator *t, const char *format, ...) pg_attribute_printf(2, 3);

/*
 * A numeric whose display scale varies, as a number that also says the scale:
 * value + display * 10^-(scale + 3), or value - that. In their order the value
 * counts first, then the display scale (TB_MOST_PACKED_DISPLAY at most). False if 38
 * digits do not suffice.
 */
extern bool tb_numeric_with_display(TbTranslator *t, const TbValue *value, bool below,
									TbValue *packed);

#endif
