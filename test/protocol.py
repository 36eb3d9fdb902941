#!/usr/bin/env python3
"""protocol.py - neither side of the socket may be hurt by the other.

A service that misbehaves (rogue_service.py, between the backends and a real
turbined) spoils messages, memory and descriptors on order: the query must give
PostgreSQL's answer all the same, no session may be lost, and a service that
falls silent must not keep a query from being cancelled. Then the other way
round: what a backend sends is spoiled, and turbined must live on and serve the
next query. Then both by chance, for a number of seeds.
Must never: count a case that did not take place.
Called by: test/run_all.py. Options: --fuzz, --seed, --only, --turbined.
"""

import argparse
import json
import os
import random
import shutil
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from pg_client import ConnectionLost  # noqa: E402
from run_sql import DIRECT, FEEDING, FORCED, OFF  # noqa: E402

# wire.h's numbers.
HELLO, WELCOME, STATUS, STATUS_REPLY, FILES, QUERY, READY, REFUSED, CHUNK, CHUNK_READ, CHUNK_RELEASE, CHUNK_DONE, \
    INPUT_END, RESULT_BATCH, SLOT_FREE, QUERY_DONE, FAILED, QUERY_CLOSE, PREPARE, LAYOUT, ATTACH, ATTACHED, TRACE, \
    SEGMENTS, SEGMENTS_TAKEN = range(1, 26)
NAMES = {WELCOME: "WELCOME", STATUS_REPLY: "STATUS_REPLY", READY: "READY", CHUNK_READ: "CHUNK_READ",
         CHUNK_DONE: "CHUNK_DONE", RESULT_BATCH: "RESULT_BATCH", QUERY_DONE: "QUERY_DONE", TRACE: "TRACE", FILES: "FILES", QUERY: "QUERY",
         CHUNK: "CHUNK", CHUNK_RELEASE: "CHUNK_RELEASE", INPUT_END: "INPUT_END", SLOT_FREE: "SLOT_FREE",
         LAYOUT: "LAYOUT", ATTACH: "ATTACH", ATTACHED: "ATTACHED",
         SEGMENTS: "SEGMENTS", SEGMENTS_TAKEN: "SEGMENTS_TAKEN"}
HUGE32, HUGE64 = 0xffffffff, 0xffffffffffffffff
CANCEL_SECONDS = 1.0
STATEMENT_TIMEOUT = "20s"

ROWS = "SELECT id, name, price FROM t WHERE kind < 3"
TEXTS = "SELECT name, kind, count(*), sum(price), min(memo), max(made) FROM t GROUP BY name, kind"
TOTAL = "SELECT count(*), count(memo), sum(price), avg(share), max(id) FROM t"
PARTS = "SELECT kind, count(*), sum(price), max(id), count(memo) FROM pt GROUP BY kind"
FED = "SELECT kind, count(*), sum(price), max(id), count(memo) FROM fresh GROUP BY kind"
QUERIES = {"rows": ROWS, "texts": TEXTS, "total": TOTAL, "parts": PARTS, "fed": FED}
FEEDERS = {key: value for key, value in FEEDING.items() if key not in FORCED}
# Everything is read from pages but where a case is about what is not.
UNCACHED = {**DIRECT, "pg_turbine.enable_cache": "off"}
CACHED = {"pg_turbine.enable_cache": "on"}

TABLE = """
    CREATE TABLE t (id int, kind int, name text, price numeric(12,2), share float8, made date, memo text);
    INSERT INTO t SELECT i, i % 7, 'name ' || i % 40, i / 8.0, i / 16.0, date '2020-01-01' + i % 700,
        CASE WHEN i % 5 > 0 THEN md5(i::text) END FROM generate_series(1, 9000) i;
    ALTER TABLE t ALTER COLUMN memo SET STORAGE EXTERNAL;
    INSERT INTO t SELECT 10000 + i, i, 'long', i, i, NULL, repeat(md5(i::text), 200) FROM generate_series(1, 5) i;
    CREATE TABLE fresh AS SELECT * FROM t;
    CREATE TABLE pt (id int, kind int, price numeric(12,2), memo text) PARTITION BY RANGE (id);
    CREATE TABLE pt_1 PARTITION OF pt FOR VALUES FROM (0) TO (3000);
    CREATE TABLE pt_2 (memo text, price numeric(12,2), gone int, kind int, id int);
    ALTER TABLE pt_2 DROP COLUMN gone;
    ALTER TABLE pt ATTACH PARTITION pt_2 FOR VALUES FROM (3000) TO (6000);
    CREATE TABLE pt_3 PARTITION OF pt DEFAULT;
    INSERT INTO pt SELECT id, kind, price, memo FROM t;
"""


@dataclass(frozen=True)
class Case:
    """One thing done wrong. `right`: PostgreSQL's answer must come out; else the
    message may be wrong in a way that nobody can notice, and the sessions'
    survival is all. `query` names one of QUERIES."""
    name: str
    query: str
    order: dict
    right: bool = True
    hangs: bool = False
    reconnect: bool = False     # the order concerns the handshake
    settings: dict = field(default_factory=dict)


def to_backend(query, message, do, name="", right=True, hangs=False, reconnect=False, **order):
    words = name or " ".join(f"{k} {v}" for k, v in order.items() if k != "nth")
    return Case(f"{NAMES[message]}: {do} {words}", query, {"to": "backend", "message": message, "do": do, **order}, right,
                hangs, reconnect)


def to_daemon(query, message, do, name="", right=True, **order):
    words = name or " ".join(f"{k} {v}" for k, v in order.items() if k != "nth")
    return Case(f"{NAMES[message]} sent: {do} {words}", query, {"to": "daemon", "message": message, "do": do, **order},
                right)


def ready_fields():
    for name, values in {
            "nslots": (0, 65, 1000, HUGE32), "slot_pages": (0, 1 << 16, 1 << 31, HUGE32),
            "slot_size": (0, 8, 8191, 1 << 40, HUGE64), "memory_size": (0, 1, 1 << 40, HUGE64, 1 << 63),
            "first_slot_offset": (1, 1 << 32, HUGE64, HUGE64 - 7), "ids_offset": (0, 1, 8192 + 1, 1 << 40, HUGE64),
            "memory_id": (HUGE64,)}.items():
        for value in values:
            # Another first_slot_offset, or another id, is wrong only together with the rest.
            yield to_backend("rows", READY, "set", f"{name} {value:#x}", fields={name: value},
                             right=name != "memory_id")
    for device in (1, 16, 17, HUGE32):
        yield to_backend("total", READY, "set", f"device {device:#x}", fields={"device": device})
    yield to_backend("total", READY, "set", "nan times", fields={"compile_ms": float("nan"), "queue_ms": float("inf")})
    yield to_backend("rows", READY, "set", "no memory, unknown memory", fields={"has_fd": 0, "memory_id": 77})
    for what in ("none", "pipe", "null", "file", "short", "unsealed", "read-only"):
        yield to_backend("rows", READY, "memory", what=what)


def framing(query, message, nth=0):
    """What can be wrong with any message."""
    for part in (0.1, 0.6, 0.99):
        yield to_backend(query, message, "cut", part=part, nth=nth)
    for by in (-1, -4, 1, 8, 100000):
        yield to_backend(query, message, "resize", by=by, nth=nth)
    for length in (HUGE32, 0x7fffffff, (16 << 20) + 1):
        yield to_backend(query, message, "length", length=length, nth=nth)
    for kind in (0, 4, 19, HUGE32):
        yield to_backend(query, message, "type", type=kind, nth=nth)
    yield to_backend(query, message, "empty", nth=nth)
    yield to_backend(query, message, "close", nth=nth)
    yield to_backend(query, message, "drip", nth=nth)
    yield to_backend(query, message, "fds", count=1, nth=nth)
    yield to_backend(query, message, "fds", count=9, nth=nth)


def out_of_turn():
    """Good messages at a bad time."""
    for query, message in (("rows", READY), ("rows", CHUNK_READ), ("rows", CHUNK_DONE), ("texts", RESULT_BATCH),
                           ("texts", CHUNK_DONE), ("total", QUERY_DONE)):
        yield to_backend(query, message, "twice")
        for early, size in ((QUERY_DONE, 96), (CHUNK_DONE, 24), (CHUNK_READ, 8), (RESULT_BATCH, 32), (READY, 72), (FAILED, 252),
                            (FAILED, 3), (REFUSED, 252), (WELCOME, 16), (TRACE, 16), (TRACE, 4)):
            # That there were no groups at all, or no rows in a chunk that runs, is a lie that nobody can notice.
            lie = early == QUERY_DONE and message == RESULT_BATCH or early == CHUNK_DONE and query == "rows"
            yield to_backend(query, message, "before", type=early, size=size, right=not lie)


def chunks():
    for query in ("rows", "total"):
        for slot in (6, 63, 64, HUGE32):
            yield to_backend(query, CHUNK_READ, "set", f"slot {slot:#x}", fields={"slot": slot})
            yield to_backend(query, CHUNK_DONE, "set", f"slot {slot:#x}", fields={"slot": slot})
        for outcome in (1, 2, 3, HUGE32):
            yield to_backend(query, CHUNK_READ, "set", f"outcome {outcome:#x}", fields={"outcome": outcome})
        for fields in ({"nrows": HUGE32}, {"ndeferred": HUGE32}, {"nrows": 1 << 31, "ndeferred": 1 << 31},
                       {"nrows": 5000000}, {"nrows": HUGE32, "ndeferred": 1}):
            yield to_backend(query, CHUNK_DONE, "set", f"{fields}", fields=fields)
    for verdict in (1, 1 << 31, HUGE32):
        yield to_backend("rows", CHUNK_DONE, "set", f"verdict {verdict:#x}", fields={"verdict": verdict})
        yield to_backend("total", CHUNK_DONE, "set", f"verdict {verdict:#x}", fields={"verdict": verdict}, right=False)
    # A row id is a page (of at most 64 here) and a line pointer, from 1 to 291.
    for row in (0, 0x0000ffff, 292, 64 << 16 | 1, HUGE32):
        yield to_backend("rows", CHUNK_DONE, "ids", f"{row:#x}", id=row)
    for row in (1, 15 << 16 | 1, 15 << 16 | 291):
        yield to_backend("rows", CHUNK_DONE, "ids", f"{row:#x}, perhaps no row", id=row, right=False)
    # Tuples that make no sense are read again; the plan's other columns come from them.
    for what in ("pages", "lines", "bounds"):
        yield to_backend("rows", CHUNK_DONE, "scribble", what=what)
    for number in range(6):
        yield to_backend("rows", CHUNK_DONE, "scribble", what="tuples", random=number, right=False)
        yield to_backend("rows", CHUNK_DONE, "scribble", what="tuples", random=100 + number, nth="all", right=False)


def groups():
    for slot in (6, 64, HUGE32):
        yield to_backend("texts", RESULT_BATCH, "set", f"slot {slot:#x}", fields={"slot": slot})
    for fields in ({"nrows": HUGE32}, {"nrows": 1 << 28}, {"ncolumns": 0}, {"ncolumns": 7}, {"ncolumns": HUGE32},
                   {"bytes_offset": HUGE64}, {"bytes_size": HUGE64}, {"bytes_offset": 1 << 63, "bytes_size": 1 << 63},
                   {"bytes_size": 0}):
        yield to_backend("texts", RESULT_BATCH, "set", f"{fields}", fields=fields)
    for what in ("values", "valid"):
        for column in (0, 1, 3, 5):
            for value in (1 << 24, 1 << 63, HUGE64 - 15, HUGE64):
                yield to_backend("texts", RESULT_BATCH, "groups", f"{what} of column {column} at {value:#x}", what=what,
                                 column=column, value=value)
            yield to_backend("texts", RESULT_BATCH, "groups", f"{what} of column {column} at 3", what=what, column=column,
                             value=3, right=False)
    for length, buffer, offset in ((HUGE32, 0, 0), (1, 0, HUGE32), (HUGE32, 0, HUGE32), (1 << 31, 0, 1 << 31),
                                   (100, 0, 1 << 20)):
        yield to_backend("texts", RESULT_BATCH, "views", f"{length:#x} bytes at {offset:#x}", column=0, length=length,
                         buffer=buffer, offset=offset)
    yield to_backend("texts", RESULT_BATCH, "views", "another text, of another buffer", column=0, length=3, buffer=99, offset=1,
                     right=False)


def handshake():
    for fields in ({"version": 0}, {"version": 2}, {"version": HUGE32}):
        yield to_backend("total", WELCOME, "set", f"{fields}", fields=fields, reconnect=True)
    yield to_backend("total", WELCOME, "set", "ndevices", fields={"ndevices": HUGE32, "generation": 0}, reconnect=True)
    for do in ("close", "empty"):
        yield to_backend("total", WELCOME, do, reconnect=True)
    yield to_backend("total", WELCOME, "cut", part=0.5, reconnect=True)
    yield to_backend("total", WELCOME, "fds", count=2, reconnect=True)
    yield to_backend("total", WELCOME, "silence", reconnect=True)


def silences():
    for query, message in (("rows", READY), ("rows", CHUNK_READ), ("rows", CHUNK_DONE), ("total", CHUNK_DONE),
                           ("texts", RESULT_BATCH), ("texts", QUERY_DONE)):
        yield to_backend(query, message, "silence", hangs=True)
    for message in (READY, CHUNK_READ, CHUNK_DONE, QUERY_DONE):
        yield to_backend("rows", message, "hold", seconds=0.2)
    yield to_backend("rows", CHUNK_DONE, "flood", type=CHUNK_READ)
    yield to_backend("texts", RESULT_BATCH, "flood", type=CHUNK_DONE)


def feeders():
    """A worker that cannot have the slot memory goes; nothing is missing then."""
    def spoil(*arguments, direction=to_backend, **order):
        return replace(direction("fed", *arguments, **order), settings=FEEDERS)
    for what in ("none", "pipe", "null", "file", "short", "unsealed", "read-only"):
        yield spoil(ATTACHED, "memory", what=what)
    for do in ("close", "empty", "drip", "silence"):
        yield spoil(ATTACHED, do)
    yield spoil(ATTACHED, "cut", part=0.5)
    yield spoil(ATTACHED, "type", type=READY)
    yield spoil(ATTACHED, "fds", count=2)
    yield spoil(ATTACHED, "kill")
    for fields in ({"memory_id": HUGE64}, {"memory_size": 0}, {"memory_size": HUGE64}):
        yield spoil(ATTACHED, "set", f"{fields}", fields=fields)
    for lease in (0, 1 << 40, HUGE64):
        yield spoil(READY, "set", f"lease {lease:#x}", fields={"lease": lease})
    for fields in ({"lease": 0}, {"lease": HUGE64}, {"generation": 0}):
        yield spoil(ATTACH, "set", f"{fields}", fields=fields, direction=to_daemon)
    for do in ("twice", "empty"):
        yield spoil(ATTACH, do, direction=to_daemon)
    yield spoil(ATTACH, "cut", part=0.5, direction=to_daemon)
    for early, size in ((CHUNK, 40), (INPUT_END, 0), (QUERY_CLOSE, 0), (QUERY, 56)):
        yield spoil(ATTACH, "before", type=early, size=size, direction=to_daemon)
    yield to_daemon("fed", QUERY, "before", type=ATTACH, size=16)


def cached():
    """Blocks that turbined says it has, and what it is asked."""
    def spoil(*arguments, direction=to_backend, **order):
        return replace(direction("parts", *arguments, **order), settings=CACHED)
    for case in framing("parts", SEGMENTS_TAKEN):
        yield replace(case, settings=CACHED)
    for fields in ({"part": 0}, {"part": 2}, {"part": HUGE32}, {"blocks": 0}, {"blocks": HUGE64}, {"rows": HUGE64},
                   {"excluded": HUGE64}, {"excluded_rows": HUGE64}, {"segments": HUGE64}, {"excluded_by_filter": HUGE64},
                   {"excluded_by_join": HUGE64}, {"doubtful": 1}, {"doubtful": HUGE64}):
        yield spoil(SEGMENTS_TAKEN, "set", f"{fields}", fields=fields)
    # Bits behind the end, or of blocks that were not asked for.
    for number in ("ff" * 8, "00" * 4, "01"):
        yield spoil(SEGMENTS_TAKEN, "bytes", f"{number} at 72", offset=72, hex=number)
    for do in ("twice", "silence", "kill"):
        yield spoil(SEGMENTS_TAKEN, do, hangs=do == "silence")
    for early, size in ((QUERY_DONE, 96), (CHUNK_DONE, 24), (CHUNK_READ, 8), (RESULT_BATCH, 32), (FAILED, 252)):
        yield spoil(SEGMENTS_TAKEN, "before", type=early, size=size)
    for part in (0.1, 0.9):
        yield spoil(SEGMENTS, "cut", part=part, direction=to_daemon)
    for by in (-4, 4, 60000):
        yield spoil(SEGMENTS, "resize", by=by, direction=to_daemon)
    for do in ("twice", "empty"):
        yield spoil(SEGMENTS, do, direction=to_daemon)
    for fields in ({"part": 0}, {"part": 2}, {"layout": 7}, {"nblocks": 0}, {"nblocks": 1}, {"nblocks": HUGE32},
                   {"nmap_pages": 0}, {"nmap_pages": HUGE32}, {"flags": HUGE32}, {"inode": 1}):
        yield spoil(SEGMENTS, "set", f"{fields}", fields=fields, direction=to_daemon)
    for offset, what in ((56, "LSN"), (64, "bits")):
        for number in ("ff" * 8, "00" * 8):
            if what == "LSN" or number != "ff" * 8:
                yield spoil(SEGMENTS, "bytes", f"{what} {number}", offset=offset, hex=number, direction=to_daemon)
    for early, size in ((CHUNK, 40), (INPUT_END, 0), (QUERY_CLOSE, 0)):
        yield spoil(SEGMENTS, "before", type=early, size=size, direction=to_daemon)
    for message in (INPUT_END, QUERY):
        yield spoil(message, "before", type=SEGMENTS, size=64, direction=to_daemon)


def service_dies():
    for query, message in (("rows", READY), ("rows", CHUNK_READ), ("texts", CHUNK_DONE), ("texts", RESULT_BATCH),
                           ("total", QUERY_DONE)):
        yield to_backend(query, message, "kill")


def against_the_daemon():
    for message in (QUERY, FILES, CHUNK, CHUNK_RELEASE, INPUT_END, LAYOUT):
        summed, any_query = ("parts", "parts") if message == LAYOUT else ("total", "rows")
        for part in (0.1, 0.9):
            yield to_daemon(summed, message, "cut", part=part)
        for by in (-4, 4, 60000):
            yield to_daemon(summed, message, "resize", by=by)
        for length in (HUGE32, (16 << 20) + 1):
            yield to_daemon(summed, message, "length", length=length)
        for kind in (0, 2, 7, 99):
            yield to_daemon(summed, message, "type", type=kind)
        yield to_daemon(any_query, message, "twice")
        yield to_daemon(any_query, message, "empty")
        yield to_daemon(any_query, message, "fds", count=1)
        for early, size in ((CHUNK, 40), (CHUNK_RELEASE, 8), (INPUT_END, 0), (SLOT_FREE, 8), (QUERY_CLOSE, 0), (QUERY, 56),
                            (FILES, 8), (LAYOUT, 16), (HELLO, 32), (STATUS, 0)):
            yield to_daemon(any_query, message, "before", type=early, size=size)
    for fields in ({"device": 99}, {"nblocks": HUGE64}, {"nblocks": 0}, {"estimated_groups": 1e300},
                   {"estimated_groups": float("nan")}, {"estimated_groups": -1.0}, {"estimated_rows": float("inf")},
                   {"program_size": HUGE32}, {"params_size": HUGE64}, {"program_size": 8}, {"params_size": 0}):
        yield to_daemon("texts", QUERY, "set", f"{fields}", fields=fields)
    for fields in ({"slot": 99}, {"slot": HUGE32}, {"kind": 7}, {"kind": 2}, {"npages": HUGE32}, {"npages": 0},
                   {"nruns": HUGE32}, {"sequence": HUGE64}, {"layout": 1}, {"layout": HUGE32}, {"part": 1},
                   {"part": HUGE32}, {"map_lsn": 1}, {"map_lsn": HUGE64}):
        yield to_daemon("total", CHUNK, "set", f"{fields}", fields=fields, right="npages" not in fields)
    for fields in ({"program_size": 0}, {"program_size": HUGE32}, {"params_size": 0}, {"params_size": HUGE64}):
        yield to_daemon("parts", LAYOUT, "set", f"{fields}", fields=fields)
    # Its program: magic, sink, source, and what columns and attributes say.
    for offset in range(16, 240, 8):
        for number in ("ffffffff", "00000080", "01000000"):
            yield to_daemon("parts", LAYOUT, "bytes", f"{number} at {offset}", offset=offset, hex=number, right=False)
    for number in (2, 3, 7, HUGE32):
        yield to_daemon("parts", CHUNK, "set", f"layout {number}", fields={"layout": number})
    # A run: page, block, count.
    for offset, what in ((40, "page"), (44, "block"), (48, "count")):
        for number in ("ffffffff", "00000080", "ff000000"):
            yield to_daemon("total", CHUNK, "bytes", f"run's {what} {number}", offset=offset, hex=number,
                            right=what != "block")
    for fields in ({"first_file": 1}, {"first_file": HUGE32}, {"count": 0}, {"count": 2}, {"count": HUGE32}):
        yield to_daemon("total", FILES, "set", f"{fields}", fields=fields)
    for what in ("pipe", "empty", "folder", "write-only"):
        yield to_daemon("total", FILES, "files", what=what)
    for what in ("pages", "lines", "bounds"):
        for query in ("rows", "texts"):
            for number in range(3):
                yield to_daemon(query, CHUNK_RELEASE, "scribble", what=what, random=number, right=False)
    for number in range(10):
        yield to_daemon("texts", CHUNK_RELEASE, "scribble", what="tuples", random=number, nth="all", right=False)
    # The rows that the service could not read come back as columns.
    columns = {"where": {"kind": 2}, "do": "columns"}
    for offset, what in ((0, "nrows"), (4, "ncolumns"), (8, "bytes_offset"), (16, "bytes_size"), (24, "first values"),
                         (32, "first valid"), (40, "second values")):
        for value in (HUGE32, 1 << 31, 1 << 20) if offset < 8 else (HUGE64, 1 << 63, 1 << 32, HUGE64 - 8191):
            yield to_daemon("texts", CHUNK, name=f"of columns, {what} {value:#x}", offset=offset, value=value, **columns)
    for view in ((HUGE32, 0, 0, 0), (1, 0, 0, HUGE32), (1 << 31, 0, 0, 1 << 31), (6400, 0, 7, 0)):
        for column in range(6):
            yield to_daemon("texts", CHUNK, name=f"of columns, a view of column {column} {view}", column=column, view=view,
                            right=False, **columns)
    for slot in (99, HUGE32):
        yield to_daemon("texts", SLOT_FREE, "set", f"slot {slot}", fields={"slot": slot})
        yield to_daemon("texts", CHUNK_RELEASE, "set", f"slot {slot}", fields={"slot": slot})
    yield to_daemon("texts", QUERY, "strangers", count=40)


def all_cases():
    yield from handshake()
    yield from ready_fields()
    for query, message in (("rows", READY), ("rows", CHUNK_READ), ("rows", CHUNK_DONE), ("texts", RESULT_BATCH),
                           ("total", QUERY_DONE)):
        yield from framing(query, message)
    yield from framing("rows", CHUNK_DONE, nth=1)
    yield from out_of_turn()
    yield from chunks()
    yield from groups()
    yield from silences()
    yield from against_the_daemon()
    yield from feeders()
    yield from cached()
    yield from service_dies()


class Bench:
    """The cluster with the rogue service, and the tally."""

    def __init__(self, server):
        self.server, self.order_file = server, server.directory / "order"
        self.passed = self.failed = self.number = 0
        self.postmaster_started = None

    def prepare(self):
        with self.server.connect(settings=OFF) as session:
            session.query(TABLE)
            session.query("VACUUM (ANALYZE) t, pt")
            session.query("UPDATE t SET share = share + 1 WHERE id % 1500 = 0")
            session.query("CHECKPOINT")
            self.expected = {name: session.run(sql) for name, sql in QUERIES.items()}
            self.postmaster_started = session.value("SELECT pg_postmaster_start_time()")
        self.witness = self.server.connect(settings=OFF)
        self.open()
        for name in QUERIES:     # compiles
            self.must_be_right(name)

    def open(self):
        self.session = self.server.connect(settings={**UNCACHED, "statement_timeout": STATEMENT_TIMEOUT})

    def order(self, order):
        """Puts the order in place and returns its name, never used before."""
        self.number += 1
        case = f"{self.number}"
        temporary = self.order_file.with_suffix(".new")
        temporary.write_text(json.dumps({"case": case, **order}), encoding="utf-8")
        os.chmod(temporary, 0o644)
        os.replace(temporary, self.order_file)
        return case

    def took_place(self, case):
        log = Path(str(self.order_file) + ".done")
        return log.exists() and case in log.read_text(encoding="utf-8").split()

    def must_be_right(self, name):
        found = answers.difference(self.expected[name], self.session.run(QUERIES[name]), floats=True)
        if found:
            raise RuntimeError(f"without any order, {name}: {found}")

    def tell(self, name, complaint):
        self.failed += complaint is not None
        self.passed += complaint is None
        if complaint:
            print(f"  {name}: {complaint}", flush=True)

    def service_must_work(self):
        """None, or what is wrong with the next query, which nobody spoils."""
        self.order({})
        before = self.queries_done()
        for _ in range(400):     # a service that died comes back
            found = answers.difference(self.expected["total"], self.session.run(TOTAL), floats=True)
            if found:
                return f"the next query, {found}"
            if self.queries_done() > before:
                return None
            time.sleep(0.02)
        return "the service does not come back"

    def queries_done(self):
        """Queries on a device that did not fall back."""
        with_fallback = "SELECT sum(value) FILTER (WHERE counter = 'queries') - " \
            "coalesce(sum(value) FILTER (WHERE counter LIKE 'fallback%'), 0) FROM turbine.stat_queries"
        return int(self.session.value(with_fallback))

    def lost(self):
        """A complaint if the instance restarted its sessions."""
        try:
            if self.witness.value("SELECT pg_postmaster_start_time()") == self.postmaster_started:
                return None
        except ConnectionLost:
            pass
        self.server._wait_until_up()
        self.witness = self.server.connect(settings=OFF)
        self.postmaster_started = self.witness.value("SELECT pg_postmaster_start_time()")
        return "the instance restarted"


def run_hanging(bench, name, sql):
    """The query must end by cancel, at once."""
    bench.session.send(sql)
    time.sleep(0.15)
    bench.session.cancel()
    at = time.monotonic()
    outcome = bench.session.finish()
    late = time.monotonic() - at
    if late > CANCEL_SECONDS:
        return f"cancelled after {late:.1f} s"
    if outcome.sqlstate != "57014":
        return f"ended with {answers.describe_error(outcome)}, not by cancel"
    return None


def run_case(bench, case):
    daemon = bench.server.service_pid()
    if case.reconnect:
        bench.session.close()
        bench.open()
    for setting, value in case.settings.items():
        bench.session.run(f"SET {setting} = '{value}'")
    name = bench.order(case.order)
    started = time.monotonic()
    try:
        if case.hangs:
            complaint = run_hanging(bench, case.query, QUERIES[case.query])
        else:
            outcome = bench.session.run(QUERIES[case.query])
            complaint = answers.difference(bench.expected[case.query], outcome, floats=True) if case.right else None
        if complaint is None and not bench.took_place(name):
            complaint = "did not take place"
        if complaint is None and case.order["do"] != "kill" and bench.server.service_pid() != daemon:
            complaint = "the service died"
        for setting in case.settings:
            bench.session.run(f"RESET {setting}")
        complaint = complaint or bench.service_must_work()
    except ConnectionLost as lost:
        complaint = f"session lost: {lost}"
        bench.lost()
        bench.open()
    complaint = complaint or bench.lost()
    if complaint:
        complaint += f" (after {time.monotonic() - started:.1f} s)"
    bench.tell(case.name, complaint)


def run_fuzz(bench, seed):
    """Everything by chance, in both directions."""
    source = random.Random(seed)
    daemon = bench.server.service_pid()
    name = bench.order({"to": source.choice(("backend", "daemon", "both")), "seed": seed,
                        "rate": source.choice((0.02, 0.1, 0.3))})
    complaint = None
    try:
        bench.session.query("SET statement_timeout = '500ms'")
        for _ in range(3):
            bench.session.run(source.choice(list(QUERIES.values())))
        bench.session.query(f"SET statement_timeout = '{STATEMENT_TIMEOUT}'")
        if bench.server.service_pid() != daemon:
            complaint = "the service died"
        complaint = complaint or bench.service_must_work()
    except ConnectionLost as lost:
        complaint = f"session lost: {lost}"
        bench.lost()
        bench.open()
    complaint = complaint or bench.lost()
    bench.tell(f"seed {seed}", complaint)
    return bench.took_place(name)


def make_server(options):
    server = cluster.Cluster("protocol", settings={"shared_buffers": "16MB", "pg_turbine.host_threads": "2"})
    program = server.directory / "rogue_service.py"
    shutil.copy(Path(__file__).with_name("rogue_service.py"), program)
    os.chmod(program, 0o755)
    (server.directory / "turbined").symlink_to(
        Path(options.turbined).resolve() if options.turbined else server.service_program())
    if options.compiler:
        (server.directory / "turbine-compiler").symlink_to(Path(options.compiler).resolve())
    server.settings["pg_turbine.service_path"] = str(program)
    return server


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fuzz", type=int, default=60, help="seeds")
    parser.add_argument("--seed", type=int, default=1, help="the first")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--turbined", help="the program, if not the one installed: one with sanitizers")
    parser.add_argument("--compiler", help="its turbine-compiler")
    options = parser.parse_args()
    with make_server(options) as server:
        bench = Bench(server)
        bench.prepare()
        started = time.monotonic()
        for case in all_cases():
            if options.only in case.name:
                run_case(bench, case)
        print(f"  {bench.number // 2} cases, {time.monotonic() - started:.0f} s", flush=True)
        started = time.monotonic()
        spoiled = sum(run_fuzz(bench, seed) for seed in range(options.seed, options.seed + options.fuzz))
        print(f"  {options.fuzz} seeds, {spoiled} of them spoiled something, {time.monotonic() - started:.0f} s", flush=True)
        bench.witness.close()
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    sys.exit(main())
