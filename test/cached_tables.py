"""cached_tables.py - loads all tables into the column cache, and proves that queries were answered from there.

Owns: what has to be done to a table before its columns can be kept (logged, all
blocks all-visible, no dirty page), the load, and the share of blocks that came from the cache since.
Blocks that loads read themselves do not count. A suite that runs with everything
cached makes one CacheUse, calls load() whenever it has made tables, and counts
complaints() as failures: it fails if its queries read the tables another way.
Must never: leave a table out of the load without an error.
Used by: run_sql.py, and by all suites with --cached: differential.py, join_fuzz.py,
truth_table.py, brin.py, report_queries.py.
"""

OURS = "relnamespace <> ALL ('{pg_catalog,information_schema}'::regnamespace[])"
LOADABLE = f"relkind IN ('r', 'm') AND relpersistence = 'p' AND {OURS}"
WAYS = ("blocks_cached", "blocks_direct", "blocks_buffered")
# A GPU takes rows for GpuScan from pages, and one such below a subquery may run thousands of times: no share of all
# blocks tells whether others came from the cache.
LEAST_BLOCKS_ON_GPU = 100


def checkpoint(session):
    """For tables that have been vacuumed."""
    session.query("CHECKPOINT")


def make_loadable(session):
    """Nothing is kept of unlogged tables, nor of blocks that are not all-visible."""
    for (name,) in session.query(f"SELECT oid::regclass FROM pg_class WHERE relkind = 'r' AND relpersistence = 'u' AND {OURS}"):
        session.query(f"ALTER TABLE {name} SET LOGGED")
    names = [row[0] for row in session.query(f"SELECT oid::regclass FROM pg_class WHERE {LOADABLE}")]
    if names:
        session.query(f"VACUUM {', '.join(names)}")
    checkpoint(session)


class CacheUse:
    """How many blocks came from the cache since it was made, and how many came otherwise."""

    def __init__(self, server, device="auto"):
        self._server = server
        self._on_gpu = device.startswith("gpu")
        self._before = self._counts()

    def _counts(self):
        with self._server.connect() as session:
            counters = dict(session.query("SELECT * FROM turbine.stat_queries"))
        return {way: int(counters[way]) for way in WAYS}

    def load(self, database="postgres", prepare=make_loadable):
        """Makes all tables of the database loadable, and loads them."""
        before = self._counts()
        with self._server.connect(database, settings={"pg_turbine.direct_threshold": "0"}) as session:
            prepare(session)
            session.query(f"SELECT turbine.cache_load(oid) FROM pg_class WHERE {LOADABLE}")
        after = self._counts()
        self._before = {way: count + after[way] - before[way] for way, count in self._before.items()}

    def complaints(self, least_share):
        """What is to be said if too few blocks came from the cache; prints how many did."""
        blocks = {way: count - self._before[way] for way, count in self._counts().items()}
        total = sum(blocks.values())
        share = blocks["blocks_cached"] / total if total else 0
        print(f"  {share:.0%} of {total} blocks came from the cache", flush=True)
        if self._on_gpu:
            enough = blocks["blocks_cached"] >= LEAST_BLOCKS_ON_GPU
            return [] if enough else [f"only {blocks['blocks_cached']} blocks came from the cache, not {LEAST_BLOCKS_ON_GPU}"]
        return [] if share >= least_share else [f"only {share:.0%} of the blocks came from the cache, not {least_share:.0%}"]
