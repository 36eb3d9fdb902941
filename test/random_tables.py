"""random_tables.py - seeded random tables: types, NULL patterns, physical shapes.

Owns: which values a column of each kind may hold, and the statements that
make a table: first its definition, then one of many tables of that definition.
Every table has `id`, unique and never NULL.
Must never: use anything but the given random source: the seed tells all.
Used by: differential.py, random_joins.py, join_fuzz.py, sqlsmith.py.
"""

import re
from dataclasses import dataclass

ROW_COUNTS = (0, 1, 31, 32, 33, 300, 300, 2047, 2048, 2049, 4097, 5000, 5000, 12000)


@dataclass(frozen=True)
class Kind:
    """A kind of column: SQL type, the family its expressions belong to, a SQL
    expression over `i` (and %d, a random number) for its values, and literals
    worth comparing with."""
    name: str
    sql_type: str
    family: str
    values: str
    literals: tuple


# `h` stands for a hash of (i, column): every column has its own.
KINDS = (
    Kind("bool", "boolean", "bool", "h % 2 = 0", ("true", "false")),
    Kind("i2", "smallint", "int2", "h % 200 - 100", ("0", "1", "-1", "50", "32767")),
    Kind("i2_edge", "smallint", "int2", "(ARRAY[0,1,-1,32767,-32768,100,7])[1 + h % 7]", ("0", "32767", "7")),
    Kind("i4", "integer", "int4", "h % 1000", ("0", "1", "10", "500", "999", "-1")),
    Kind("i4_few", "integer", "int4", "h % 5", ("0", "1", "2", "4", "5")),
    Kind("i4_edge", "integer", "int4", "(ARRAY[0,1,-1,2147483647,-2147483648,65536,-65537,42])[1 + h % 8]",
         ("0", "-1", "2147483647", "-2147483648", "42")),
    Kind("i8", "bigint", "int8", "h::bigint * 1000003 - 500000000", ("0", "1000003", "10000000000", "-5")),
    Kind("i8_edge", "bigint", "int8", "(ARRAY[0,1,-1,9223372036854775807,-9223372036854775808,4294967296])[1 + h % 6]",
         ("0", "9223372036854775807", "4294967296")),
    Kind("f4", "real", "float4", "(h % 4000 - 2000) / 8.0", ("0", "1.5", "-3.25", "100")),
    Kind("f8", "double precision", "float8", "(h % 20000 - 10000) / 16.0", ("0", "0.5", "-100.0625", "500")),
    Kind("f8_edge", "double precision", "wild",
         "(ARRAY['0','-0','1','NaN','Infinity','-Infinity','1e-300','1e300','2.5'])[1 + h % 9]::float8",
         ("'NaN'::float8", "'Infinity'::float8", "0::float8", "'-0'::float8", "1e300::float8")),
    Kind("f8_any", "double precision", "positive", "1 + (h % 1000003) / 7.0", ("10.5", "1000", "50000")),
    Kind("n2", "numeric(10,2)", "numeric", "(h % 200000 - 100000) / 100.0", ("0", "1.5", "-3.14", "0.001", "1000")),
    Kind("n4", "numeric(18,4)", "numeric", "(h % 2000000) / 1000.0 - 500", ("0", "1.0000", "250.5", "-0.0001")),
    Kind("n30", "numeric(30,6)", "numeric", "(h::numeric - 1000000) * 123456789012.345678", ("0", "1e15", "-5.5")),
    Kind("n_free", "numeric", "numeric", "(h % 999)::numeric / (ARRAY[1, 10, 8, 100])[1 + h % 4]", ("0", "1.50", "33.3")),
    Kind("n_plain", "numeric", "numeric", "round((h % 100000) / 100.0, 2)", ("0", "1.5", "-3.14", "500")),
    Kind("n_mixed", "numeric", "numeric", "round((h % 70) / 4.0, h % 4)", ("1", "1.0", "1.00", "12.5", "3")),
    Kind("n_zeros", "numeric", "numeric", "round((h % 40)::numeric, 1 + h % 2)", ("1", "1.0", "39.00")),
    Kind("n_odd", "numeric", "numeric", "(ARRAY['1e25', '-1e25', '0.000000000001', '-7.5', '12345678901234567.25'])[1 + h % 5]::numeric",
         ("0", "1e25", "-7.50")),
    Kind("d", "date", "date", "date '1992-01-01' + (h % 2600)",
         ("date '1995-06-15'", "date '1992-01-01'", "date 'infinity'", "date '2000-02-29'")),
    Kind("d_edge", "date", "date", "(ARRAY['infinity','-infinity','2000-01-01','0001-01-01','2024-02-29'])[1 + h % 5]::date",
         ("date 'infinity'", "date '2000-01-01'")),
    Kind("ts", "timestamp", "timestamp", "timestamp '1998-01-01' + (h % 100000) * interval '13 minutes 7 seconds'",
         ("timestamp '1999-01-01'", "timestamp '2000-01-01 12:30:00'", "timestamp 'infinity'")),
    Kind("tz", "timestamptz", "timestamptz", "timestamptz '1998-01-01 00:00+00' + (h % 100000) * interval '17 minutes'",
         ("timestamptz '1999-01-01 00:00+00'", "timestamptz '2000-03-26 02:30+01'")),
    Kind("tz_dst", "timestamptz", "timestamptz",
         "timestamptz '2024-03-30 12:00+00' + (h % 4) * interval '1 day' + (h % 900) * interval '7 minutes'",
         ("timestamptz '2024-03-31 01:00+00'", "timestamptz '2024-10-27 01:00+00'")),
    Kind("tz_edge", "timestamptz", "timestamptz",
         "(ARRAY['infinity','-infinity','1883-11-18 12:03:58-05','0001-01-01 00:00+00','2024-11-03 06:00+00'])[1 + h % 5]::timestamptz",
         ("timestamptz 'infinity'", "timestamptz '2024-11-03 05:59:59.999999+00'")),
    Kind("t", "text", "text", "md5((h % 700)::text)", ("'a'", "md5('5')", "''", "'c4ca4238a0b923820dcc509a6f75849b'")),
    Kind("t_few", "text", "text", "(ARRAY['', 'a', 'ab', 'abc', 'ABC', 'äöü', 'a%b', E'x\\ny', 'ab '])[1 + h % 9]",
         ("'ab'", "''", "'äöü'", "'ab '")),
    # Characters of every length, and of which UTF-16 has another order than UTF-8.
    Kind("t_wide", "text", "text",
         "concat(VARIADIC (ARRAY['', 'a', 'z', 'Z', 'é', chr(2047), chr(2048), chr(55295), chr(57344), chr(65535), "
         "chr(65536), '😀'])[1 + h % 12 : 3 + h % 7])",
         ("'é'", "'😀'", "chr(57344)", "'zé'", "chr(65535) || chr(65536)")),
    Kind("t_icu", 'text COLLATE "und-x-icu"', "text", "chr(97 + h % 26) || chr(65 + h % 26)", ("'bB'", "'Aa'")),
    Kind("t_toast", "text", "text", "CASE WHEN h % 40 = 0 THEN repeat(md5(h::text), 200) ELSE 's' || h % 50 END",
         ("'s7'", "'s'")),
    Kind("vc", "varchar(20)", "text", "left(md5((h % 90)::text), h % 20)", ("'a'", "''")),
    Kind("c", "char(6)", "bpchar", "(ARRAY['', 'a', 'a ', 'abc', 'abcdef', ' a', 'äö', '語😀'])[1 + h % 8]",
         ("'a'", "'a   '", "'abcdef'", "''", "'語'")),
)

NULL_PATTERNS = ("false", "false", "i % 7 = 3", "i % 2 = 0", "true", "i > 1000")


@dataclass(frozen=True)
class Column:
    name: str
    kind: Kind

    @property
    def family(self):
        return self.kind.family


@dataclass(frozen=True)
class Table:
    name: str
    columns: tuple
    statements: tuple   # what made it, in order
    rows: int


def _value(column, number, nulls):
    hashed = f"(abs(hashint4(i * 31 + {number})::bigint) % 100000007)::int"
    value = re.sub(r"(?<![\w'])h(?!\w)", hashed, column.kind.values)
    return f"CASE WHEN {nulls} THEN NULL ELSE {value} END" if nulls != "false" else value


def _shape(random, name):
    """Statements that change a table's physical shape but for `id`."""
    choices = [
        (f"DELETE FROM {name} WHERE id % 5 = 2",),
        (f"UPDATE {name} SET id = id WHERE id % 3 = 1",),
        (f"VACUUM {name}",),
        (f"VACUUM FREEZE {name}",),
        (f"DELETE FROM {name} WHERE id % 4 = 1", f"VACUUM {name}"),
        (f"DELETE FROM {name} WHERE id < 40",),
        (f"BEGIN; UPDATE {name} SET id = -id; ROLLBACK",),
        (f"VACUUM FULL {name}",),
        (f"VACUUM {name}", f"UPDATE {name} SET id = id WHERE id % 50 = 7"),
    ]
    return [statement for _ in range(random.randint(0, 2)) for statement in random.choice(choices)]


def _partition(random, parent, name, definitions, bound, below=""):
    """Statements that make one partition: of itself, or a table that was made
    with other columns and in another order, and is attached."""
    persistence = random.choice(("", "", "", "UNLOGGED ")) if not below else ""
    if below or random.random() < 0.5:
        return [f"CREATE {persistence}TABLE {name} PARTITION OF {parent} {bound}{below}"]
    own = random.sample(definitions, len(definitions))
    statements = []
    if random.random() < 0.6:
        own.insert(random.randint(0, len(own)), random.choice(("gone int", "gone text", "gone numeric")))
        statements.append(f"ALTER TABLE {name} DROP COLUMN gone")
    return [f"CREATE {persistence}TABLE {name} ({', '.join(own)})", *statements,
            f"ALTER TABLE {parent} ATTACH PARTITION {name} {bound}"]


def _partitions(random, name, definitions):
    """(PARTITION BY clause, statements that make the partitions), by `id`."""
    scheme = random.choice(("RANGE (id)", "HASH (id)", "LIST ((id % 3))"))
    if scheme.startswith("RANGE"):
        cuts = sorted(random.sample((10, 40, 300, 1000, 2048, 4000, 9000), random.randint(1, 4)))
        bounds = [f"FOR VALUES FROM ({low}) TO ({high})" for low, high in zip([0, *cuts], cuts, strict=False)] + ["DEFAULT"]
    elif scheme.startswith("HASH"):
        modulus = random.randint(1, 4)
        bounds = [f"FOR VALUES WITH (MODULUS {modulus}, REMAINDER {i})" for i in range(modulus)]
    else:
        bounds = ["FOR VALUES IN (0)", "FOR VALUES IN (1, -1)", "DEFAULT"]
    statements = []
    for i, bound in enumerate(bounds):
        part = f"{name}_{i}"
        if random.random() < 0.2:
            statements += _partition(random, name, part, definitions, bound, " PARTITION BY HASH (id)")
            for j in range(2):
                statements += _partition(random, part, f"{part}_{j}", definitions,
                                         f"FOR VALUES WITH (MODULUS 2, REMAINDER {j})")
        else:
            statements += _partition(random, name, part, definitions, bound)
    return f" PARTITION BY {scheme}", statements


@dataclass(frozen=True)
class Definition:
    """What CREATE TABLE says, and how the values are made but for the seeds.
    Tables of one definition make the same programs whatever they hold."""
    name: str
    columns: tuple      # without `id`; `late` among them
    never_null: frozenset   # names
    late: Column        # added by ALTER TABLE, or None
    dropped: bool       # a first column was
    persistence: str
    id_constraint: str


def define_table(random, name):
    """A random definition: 4 to 12 columns beside `id`, some added or dropped later."""
    columns = [Column(kind.name, kind) for kind in random.sample(KINDS, random.randint(4, 12))]
    late = columns[-1] if random.random() < 0.3 else None
    never_null = frozenset(c.name for c in columns if c is not late and random.random() < 0.1)
    return Definition(name, tuple(columns), never_null, late, random.random() < 0.3,
                      random.choice(("", "", "", "UNLOGGED ")), random.choice(("", " NOT NULL")))


def fill_table(random, definition, row_counts=ROW_COUNTS, partitioned=False):
    """A random table of a definition: values, NULLs, physical shape."""
    name, rows = definition.name, random.choice(row_counts)
    definitions, values = [f"id int{definition.id_constraint}"], ["i"]
    if definition.dropped:
        definitions.append("junk text")
        values.append("'junk' || i")
    for column in definition.columns:
        if column is definition.late:
            continue
        constraint = " NOT NULL" if column.name in definition.never_null else ""
        nulls = "false" if constraint else random.choice(NULL_PATTERNS)
        definitions.append(f"{column.name} {column.kind.sql_type}{constraint}")
        values.append(_value(column, random.randint(0, 10**6), nulls))
    clause, partitions = _partitions(random, name, definitions) if partitioned else ("", [])
    statements = [f"CREATE {definition.persistence if not clause else ''}TABLE {name} ({', '.join(definitions)}){clause}",
                  *partitions,
                  f"INSERT INTO {name} SELECT {', '.join(values)} FROM generate_series(1, {rows}) i"]
    if definition.dropped:
        statements.append(f"ALTER TABLE {name} DROP COLUMN junk")
    if late := definition.late:
        default = random.choice(late.kind.literals)
        statements.append(f"ALTER TABLE {name} ADD COLUMN {late.name} {late.kind.sql_type} DEFAULT {default}")
        if not definition.never_null:
            statements.append(f"INSERT INTO {name} (id, {late.name}) SELECT {rows} + i, NULL FROM generate_series(1, 20) i")
    statements += _shape(random, name)
    statements.append(f"ANALYZE {name}")
    id_column = Column("id", next(kind for kind in KINDS if kind.name == "i4"))
    return Table(name, (id_column, *definition.columns), tuple(statements), rows)


def make_table(random, name, row_counts=ROW_COUNTS):
    return fill_table(random, define_table(random, name), row_counts, partitioned=random.random() < 0.33)
