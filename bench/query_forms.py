"""query_forms.py - the forms in which never_slower.py asks its queries: what tables, in what state, how they are asked.

A form is a size of random tables (random_reports.py), or SSB, TPC-H or the web log; whether the tables are vacuumed, have
indexes, and statistics that are up to date; how many parallel workers PostgreSQL may use; and whether the column cache
is empty before each run. Owns the list of forms and their loading. Must never run a query of theirs.
Used by: bench/never_slower.py.
"""

from dataclasses import dataclass

import random_reports
from report_tables import SUITES, Variant

SMALL, MIDDLE, LARGE = 20000, 200000, 1500000


@dataclass(frozen=True)
class Form:
    name: str
    suite: str = "random"  # or one of SUITES
    rows: int = 0          # of the largest random table
    vacuumed: bool = True
    indexes: bool = False  # of random tables; the others have theirs
    stale: bool = False    # statistics of a tenth of the rows
    workers: int = 2
    cold: bool = False     # nothing is in the column cache before a run


FORMS = (
    Form("small", rows=SMALL),
    Form("middle", rows=MIDDLE),
    Form("large", rows=LARGE),
    Form("small, indexes", rows=SMALL, indexes=True),
    Form("middle, indexes", rows=MIDDLE, indexes=True),
    Form("large, indexes", rows=LARGE, indexes=True),
    Form("middle, never vacuumed", rows=MIDDLE, vacuumed=False),
    Form("large, never vacuumed", rows=LARGE, vacuumed=False),
    Form("large, indexes, never vacuumed", rows=LARGE, indexes=True, vacuumed=False),
    Form("middle, stale", rows=MIDDLE, stale=True),
    Form("large, indexes, stale", rows=LARGE, indexes=True, stale=True),
    Form("middle, no workers", rows=MIDDLE, workers=0),
    Form("large, indexes, no workers", rows=LARGE, indexes=True, workers=0),
    Form("middle, cold", rows=MIDDLE, cold=True),
    Form("large, cold", rows=LARGE, cold=True),
    Form("SSB", suite="ssb"),
    Form("SSB, never vacuumed, no workers", suite="ssb", vacuumed=False, workers=0),
    Form("TPC-H", suite="tpch"),
    Form("TPC-H, cold", suite="tpch", cold=True),
    Form("web log", suite="weblog"),
    Form("web log, no workers, cold", suite="weblog", workers=0, cold=True),
)


def _fill(session, statement, form):
    """One of a random schema's statements; for stale statistics ANALYZE sees the first tenth of the sales."""
    whole = f"generate_series(1, {form.rows})"
    if not form.stale or not statement.startswith("INSERT INTO sales"):
        session.query(statement)
        return
    session.query(statement.replace(whole, f"generate_series(1, {form.rows // 10})"))
    session.query("ANALYZE sales")
    session.query(statement.replace(whole, f"generate_series({form.rows // 10 + 1}, {form.rows})"))


def _load_random(server, form, seed):
    tables = random_reports.ShopSchema(seed, form.rows)
    with server.connect(settings={"pg_turbine.enabled": "off"}) as session:
        for statement in tables.statements():
            _fill(session, statement, form)
        for index in tables.INDEXES if form.indexes else ():
            session.query(f"CREATE INDEX ON {index}")
        for table in tables.TABLES:
            if table != "sales" or not form.stale:
                session.query(f"ANALYZE {table}")
            if form.vacuumed:
                session.query(f"VACUUM {table}")
    return tables


def load(server, form, seed, count, factor):
    """Loads the form's tables into an empty server; {name: SQL} of at most `count` queries."""
    if form.suite == "random":
        return random_reports.reports(seed, _load_random(server, form, seed), count)
    loader, queries, _ = SUITES[form.suite]
    loader(server, factor, Variant(vacuumed=form.vacuumed))
    names = list(queries)
    # Spread over all of them: they come in groups of their kind.
    chosen = names if count >= len(names) else [names[i * len(names) // count] for i in range(count)]
    return {name: queries[name] for name in chosen}
