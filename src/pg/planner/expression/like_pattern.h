/*
 * like_pattern.h - what a LIKE pattern looks for.
 */
#ifndef TURBINE_PG_PLANNER_EXPRESSION_LIKE_PATTERN_H
#define TURBINE_PG_PLANNER_EXPRESSION_LIKE_PATTERN_H

#include "postgres.h"

typedef enum TbLikeKind
{
	TB_LIKE_EXACT,	  /* no wildcard */
	TB_LIKE_PREFIX,	  /* x% */
	TB_LIKE_SUFFIX,	  /* %x */
	TB_LIKE_CONTAINS, /* %x% */
	TB_LIKE_GENERAL,  /* anything else */
	TB_LIKE_INVALID	  /* ends with the escape character: an error */
} TbLikeKind;

/* Classifies a pattern of a searchable encoding (type_map.h). `literal`, of at
 * least `length` bytes, gets x without escapes, and *literal_length its size. */
extern TbLikeKind tb_like_classify(const char *pattern, int length, char *literal,
								   int *literal_length);

/* "contains", ...; the part after the colon of a variant's name. */
extern const char *tb_like_kind_name(TbLikeKind kind);

#endif
