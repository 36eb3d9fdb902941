"""random_indexes.py - seeded random BRIN indexes for random tables.

Owns: which operator classes a column of each type may have, and the moment of a
table's making at which its index comes: an index that is there before the rows
has other summaries, or none yet, than one that is built over them.
Must never: change what a table holds.
Used by: differential.py.
"""

from dataclasses import replace

# SQL type, without its length: what the names of its operator classes begin with.
# The first has all three kinds, the others no minmax-multi.
_ALL_KINDS = {"smallint": "int2", "integer": "int4", "int": "int4", "bigint": "int8", "real": "float4",
              "double precision": "float8", "numeric": "numeric", "date": "date", "timestamp": "timestamp",
              "timestamptz": "timestamptz"}
_TEXTS = {"text": "text", "varchar": "text", "char": "bpchar"}
CHANCE = 0.5


def _operator_class(random, sql_type):
    plain = sql_type.split("(")[0].split(" COLLATE")[0]
    if plain in _ALL_KINDS:
        return _ALL_KINDS[plain] + random.choice(("_minmax_ops", "_minmax_ops", "_minmax_multi_ops", "_bloom_ops"))
    if plain in _TEXTS:
        return _TEXTS[plain] + random.choice(("_minmax_ops", "_bloom_ops"))
    return None


def with_indexes(random, table):
    """The table with BRIN indexes on some columns, or as it is."""
    if random.random() > CHANCE:
        return table
    statements = list(table.statements)
    for column in random.sample(table.columns, min(len(table.columns), random.randint(1, 3))):
        operators = _operator_class(random, column.kind.sql_type if column.name != "id" else "int")
        if operators is None:
            continue
        statement = (f"CREATE INDEX ON {table.name} USING brin ({column.name} {operators}) "
                     f"WITH (pages_per_range = {random.choice((1, 1, 2, 8, 128))})")
        # Before the rows, before or after later changes; a column that came late at the end.
        added = any(f"ADD COLUMN {column.name} " in s for s in statements)
        at = len(statements) if added else random.choice((1, 2, len(statements)))
        statements.insert(at, statement)
        if random.random() < 0.3:
            statements.append(f"VACUUM {table.name}")
    return replace(table, statements=tuple(statements))
