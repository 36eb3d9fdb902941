/*
 * value_types.h - which C type a function of LANGUAGE plcuda sees for a SQL type, and how
 * values travel (turbine/plcuda.h).
 */
#ifndef TURBINE_PG_PLCUDA_VALUE_TYPES_H
#define TURBINE_PG_PLCUDA_VALUE_TYPES_H

#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"

#include "turbine/plcuda.h"

typedef struct TbPlcudaType
{
	Oid			 declared;
	Oid			 type; /* without domains */
	int32		 modifier;
	int16		 length;
	bool		 byval;
	TbPlcudaKind kind;
	const char	*c_type;
	Oid			 element; /* of an array that is VARLENA */
	int16		 element_length;
	bool		 element_byval;
	char		 element_align;
	FmgrInfo	 output; /* of a STRING */
	FmgrInfo	 input;
	Oid			 ioparam;
	void		*domain; /* what domain_check keeps */
} TbPlcudaType;

/* Raises an error if functions cannot have such values. In the current memory context. */
extern void tb_plcuda_type_init(TbPlcudaType *type, Oid oid, int32 modifier,
								bool is_argument);

/* The bytes of an argument that is not NULL and no store, appended. */
extern void tb_plcuda_encode(StringInfo to, const TbPlcudaType *type, Datum value);

/* A value of a result, all of its bytes checked; length -1: NULL. */
extern Datum tb_plcuda_decode(TbPlcudaType *type, const char *bytes, int32 length,
							  bool *isnull);

#endif
