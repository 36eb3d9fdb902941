/*
 * postgis.h - PostGIS's type and functions as the catalogue's.
 *
 * They have no fixed OIDs: they are found by the extension that they belong to, and by
 * their names there. Answers are kept until a type or a function changes anywhere, so an
 * extension that is dropped and created again is found again. Without PostGIS every answer
 * is no.
 */
#ifndef TURBINE_PG_CONVERT_POSTGIS_H
#define TURBINE_PG_CONVERT_POSTGIS_H

#include "postgres.h"

/* In place of an OID in rows of functions.def; no object has it. */
#define POSTGIS ((Oid) 1)

/* Whether the type is PostGIS's geometry. */
extern bool tb_postgis_is_geometry(Oid typid);

/* Whether it is PostGIS's geography, whose values have the same form. */
extern bool tb_postgis_is_geography(Oid typid);

/* The OID of geometry; InvalidOid: there is none. */
extern Oid tb_postgis_geometry(void);

/* Whether the typmod of a geometry admits points only, and which: *form is theirs
 * (turbine/point_column.h), with SRID 0 if the typmod names none. */
extern bool tb_postgis_point_form(int32 typmod, uint32 *form);

/* The row (TbFunctionId) of this function of PostGIS; -1 if there is none, or if the
 * library's version is none whose formulas the rows follow. Calls postgis_lib_version()
 * for the first such function. */
extern int tb_postgis_function(Oid funcid);

#endif
