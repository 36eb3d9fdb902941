"""extension_objects.py - everything that an extension has in the catalogs of a database, as comparable text.

Owns: which rows belong to an extension: its members, what depends on them internally or automatically (types, rules), and
the rows of other catalogs about all of these. A row is taken whole, so that no attribute is forgotten; OIDs that a
database gave out itself are replaced by the names of their objects, in trees of views and defaults too.
Must never: leave out a column, except those that say when or where a row was stored.
Used by: upgrade.py.
"""

import json
import re

FIRST_OWN_OID = 16384
# Columns that say where and when a row was stored.
NOT_COMPARED = ("oid", "relfilenode", "relfrozenxid", "relminmxid", "relpages", "reltuples", "relallvisible")

# Within values: where in a script an expression stood, and a number that the server stamps attributes with.
NOT_COMPARED_WITHIN = re.compile(r" :(?:stmt_)?location -?\d+| :stmt_len -?\d+|\bpg_attver=\d+")

OBJECTS = """
WITH RECURSIVE owned(classid, objid) AS (
    SELECT 'pg_extension'::regclass::oid, oid FROM pg_extension WHERE extname = 'pg_turbine'
    UNION
    SELECT d.classid, d.objid
    FROM owned o JOIN pg_depend d ON d.refclassid = o.classid AND d.refobjid = o.objid AND d.deptype IN ('e', 'i', 'a')
)
SELECT classid::regclass, objid, (i).type || ' ' || (i).identity
FROM owned, LATERAL pg_identify_object(classid, objid, 0) i
"""
# Catalogs with rows about objects of others: their columns that name the object, and a condition.
ABOUT = {
    "pg_attribute": "attrelid = {oid} AND '{catalog}' = 'pg_class'",
    "pg_description": "objoid = {oid} AND classoid = '{catalog}'::regclass",
    "pg_seclabel": "objoid = {oid} AND classoid = '{catalog}'::regclass",
    "pg_init_privs": "objoid = {oid} AND classoid = '{catalog}'::regclass",
    "pg_depend": "objid = {oid} AND classid = '{catalog}'::regclass",
}


def extension_objects(session):
    """{object: sorted rows about it}."""
    objects = [(catalog, int(oid), name) for catalog, oid, name in session.query(OBJECTS)]
    names = {oid: name for _, oid, name in objects if oid >= FIRST_OWN_OID}

    def named(value):
        value = NOT_COMPARED_WITHIN.sub("", value)
        return re.sub(r"\b\d{5,10}\b", lambda found: names.get(int(found.group(0)), found.group(0)), value)

    def rows(catalog, condition):
        for (text,) in session.query(f"SELECT to_jsonb(r) FROM {catalog} r WHERE {condition}"):
            row = {key: value for key, value in json.loads(text).items() if key not in NOT_COMPARED}
            yield named(f"{catalog} {json.dumps(row, sort_keys=True)}")

    found = {}
    for catalog, oid, name in objects:
        about = list(rows(catalog, f"oid = {oid}"))
        for other, condition in ABOUT.items():
            about += rows(other, condition.format(oid=oid, catalog=catalog))
        found[name] = sorted(about)
    return found


def differences(one, other):
    """Lines: what only `one` has (-), what only `other` has (+)."""
    lines = [f"- {name}" for name in sorted(one.keys() - other.keys())]
    lines += [f"+ {name}" for name in sorted(other.keys() - one.keys())]
    for name in sorted(one.keys() & other.keys()):
        lines += [f"- {name}: {row}" for row in one[name] if row not in other[name]]
        lines += [f"+ {name}: {row}" for row in other[name] if row not in one[name]]
    return lines


def without_comment(session):
    """Members for which the script has no COMMENT. Since 17 types of arrays and of tables' rows are members, too."""
    return [name for (name,) in session.query(
        "SELECT (pg_identify_object(d.classid, d.objid, 0)).identity FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid "
        "WHERE d.refclassid = 'pg_extension'::regclass AND e.extname = 'pg_turbine' AND d.deptype = 'e' "
        "AND obj_description(d.objid, d.classid::regclass::name) IS NULL AND NOT EXISTS (SELECT FROM pg_type t "
        "LEFT JOIN pg_class c ON c.oid = t.typrelid WHERE d.classid = 'pg_type'::regclass AND t.oid = d.objid "
        "AND (t.typcategory = 'A' OR c.relkind <> 'c'))")]
