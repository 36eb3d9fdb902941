/*
 * value_bytes.h - values as their type's send function has them, for types where that is
 * their own bytes: without the call, which takes many times as long as copying them.
 */
#ifndef TURBINE_PG_VALUE_BYTES_H
#define TURBINE_PG_VALUE_BYTES_H

#include "postgres.h"

#include "lib/stringinfo.h"

typedef enum TbValueForm
{
	TB_VALUE_CALLED, /* by a function */
	TB_VALUE_1,		 /* bytes, in network order */
	TB_VALUE_2,
	TB_VALUE_4,
	TB_VALUE_8,
	TB_VALUE_16, /* bytes as they are */
	TB_VALUE_VARLENA
} TbValueForm;

/* Of a base type. Texts are told as they are stored, in the server's encoding. */
extern TbValueForm tb_value_form(Oid type);

/* Appends the length, an int32 in network order, and the bytes. `form` is not CALLED. May
 * leave memory in the current context. */
extern void tb_value_append(StringInfo to, TbValueForm form, Datum value);

#endif
