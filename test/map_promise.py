#!/usr/bin/env python3
"""map_promise.py - what direct and cached reads rest on: PostgreSQL's promise about the visibility map.

For each way to change a heap block: if the block's tuple data or line pointers changed, its all-visible bit is clear; and
wherever a bit was set again, the map page's LSN is newer than before. Read from the pages themselves with pageinspect,
while nothing else runs, with and without checksums, on a primary and on its standby. A server without pageinspect is read
from its files after a checkpoint, and only as a primary, since a standby's checkpoint need not write. A new version of
PostgreSQL that breaks the promise fails here before a query is wrong. src/pg/source/heap/visibility/README.md has the proof.
Must never: use the extension; the promise is PostgreSQL's.
Called by: make test-map-promise, test/run_all.py.
"""

import contextlib
import hashlib
import io
import struct
import sys
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import server_features  # noqa: E402
from cache_bench import Bench  # noqa: E402

# Rows leave room in each block, so that inserted rows and new versions come beside them.
TABLE = """DROP TABLE IF EXISTS t;
CREATE TABLE t (id int, v int, note text) WITH (fillfactor = 60, autovacuum_enabled = off);
INSERT INTO t SELECT i, i % 10, repeat('x', 50) FROM generate_series(1, 2000) i"""
INDEX = "CREATE INDEX ON t (id)"
# Each of them changes data or line pointers of some block.
CHANGES = (
    "INSERT INTO t SELECT i, 0, 'new' FROM generate_series(1, 20) i",
    "INSERT INTO t VALUES (5000, 1, 'one')",
    "COPY t FROM PROGRAM 'seq -f \"%g\t1\tcopied\" 1 30'",
    "UPDATE t SET v = v + 1 WHERE id = 100",
    "UPDATE t SET id = id + 10000 WHERE id BETWEEN 200 AND 230",
    "UPDATE t SET note = repeat('long', 100) WHERE id IN (300, 301)",
    "DELETE FROM t WHERE id BETWEEN 400 AND 405",
    "DELETE FROM t WHERE id % 100 = 7",
    "BEGIN; DELETE FROM t WHERE id = 600; ROLLBACK",
    "BEGIN; INSERT INTO t VALUES (6000, 1, 'gone'); ROLLBACK",
    "MERGE INTO t USING (VALUES (700), (70000)) s(k) ON t.id = s.k WHEN MATCHED THEN UPDATE SET v = -1 WHEN NOT MATCHED THEN "
    "INSERT VALUES (s.k, 0, 'merged')",
)
# Headers of tuples may change, data may not.
HEADERS_ONLY = (
    "BEGIN; SELECT 1 FROM t WHERE id = 800 FOR UPDATE; COMMIT",
    "BEGIN; SELECT 1 FROM t WHERE id BETWEEN 810 AND 820 FOR KEY SHARE; ROLLBACK",
    "SELECT count(*) FROM t",
    "VACUUM (FREEZE) t",
    "VACUUM t",
)
CATCH_UP_SECONDS = 30
BLOCK_SIZE = 8192
# Of a page: its header's size, where line pointers begin; of a tuple: where its header says how long it is.
PAGE_HEADER, TUPLE_HOFF = 24, 22


class Block(NamedTuple):
    visible: bool
    data: str       # a digest of line pointers and tuple data


class State(NamedTuple):
    map_lsn: int
    blocks: list


def lsn_number(text):
    high, low = text.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def state_of(session):
    """The map page's LSN, and of each block its bit and its data, as they are in shared buffers."""
    blocks = int(session.value("SELECT pg_relation_size('t') / 8192"))
    has_map = int(session.value("SELECT pg_relation_size('t', 'vm')")) > 0
    lsn = session.value("SELECT lsn FROM page_header(get_raw_page('t', 'vm', 0))") if has_map else "0/0"
    # Line pointers count from 1; of flags the two bits that say what a line pointer is.
    rows = session.query(
        f"SELECT b, m.all_visible, (SELECT string_agg(concat_ws(':', lp, lp_off, lp_flags, lp_len, t_data), ',' ORDER BY lp) "
        f"FROM heap_page_items(get_raw_page('t', b::int))) FROM generate_series(0, {blocks - 1}) b, pg_visibility_map('t', b) m ORDER BY b")
    return State(lsn_number(lsn), [Block(visible == "t", hashlib.sha256((data or "").encode()).hexdigest()) for _, visible, data in rows])


def page_digest(page):
    """What state_of() asks pageinspect for: line pointers, and tuples behind their headers."""
    digest = hashlib.sha256()
    lower, = struct.unpack_from("<H", page, 12)
    for offset in range(PAGE_HEADER, lower, 4):
        pointer, = struct.unpack_from("<I", page, offset)
        digest.update(page[offset:offset + 4])
        start, used, length = pointer & 0x7fff, pointer >> 15 & 3, pointer >> 17
        if used == 1:
            digest.update(page[start + page[start + TUPLE_HOFF]:start + length])
    return digest.hexdigest()


def state_of_files(session, data):
    """The same from the files of the data directory, which a checkpoint has brought up to date."""
    session.query("CHECKPOINT")
    heap = data / session.value("SELECT pg_relation_filepath('t')")
    visible_map = heap.with_name(f"{heap.name}_vm")
    bits = visible_map.read_bytes() if visible_map.exists() else bytes(PAGE_HEADER)
    high, low = struct.unpack_from("<II", bits)
    blocks = heap.read_bytes()
    # Two bits a block, of which the lower one says all-visible.
    return State((high << 32) + low, [
        Block(len(bits) > PAGE_HEADER and bool(bits[PAGE_HEADER + number // 4] >> number % 4 * 2 & 1),
              page_digest(blocks[number * BLOCK_SIZE:(number + 1) * BLOCK_SIZE]))
        for number in range(len(blocks) // BLOCK_SIZE)])


def check_step(bench, name, before, after):
    """The promise between two looks."""
    pairs = list(zip(before.blocks, after.blocks, strict=False))
    if after.map_lsn == before.map_lsn:
        changed = [number for number, (old, new) in enumerate(pairs) if old.visible and new.visible and old.data != new.data]
        bench.equal(f"{name}: blocks that changed under a set bit and an old LSN", changed, [])
        again = [number for number, (old, new) in enumerate(pairs) if new.visible and not old.visible]
        again += [number for number in range(len(before.blocks), len(after.blocks)) if after.blocks[number].visible]
        bench.equal(f"{name}: bits that were set without a new LSN", again, [])
    bench.equal(f"{name}: the map page's LSN goes back", after.map_lsn < before.map_lsn, False)


def broken_promises(bench):
    """The check sees what it should see."""
    old = State(10, [Block(True, "a"), Block(False, "b")])
    for name, new in (("data changed under a set bit", State(10, [Block(True, "other"), Block(False, "b")])),
                      ("a bit was set under an old LSN", State(10, [Block(True, "a"), Block(True, "b")])),
                      ("a new block's bit was set under an old LSN", State(10, [*old.blocks, Block(True, "c")])),
                      ("the LSN went back", State(9, old.blocks))):
        quiet = Bench()
        with contextlib.redirect_stdout(io.StringIO()):
            check_step(quiet, "broken", old, new)
        bench.equal(f"noticed: {name}", quiet.failed > 0, True)


def run(session, text):
    for statement in text.split(";"):
        session.query(statement)


def promise(bench, name, session, look):
    """Each change, and VACUUM after it; `look` returns the state where it is looked at."""
    for index in (False, True):
        run(session, TABLE)
        if index:
            session.query(INDEX)
        session.query("VACUUM t")
        for change in (*CHANGES, *HEADERS_ONLY):
            label = f"{name}{', index' * index}: {change[:60]}"
            before = look()
            bench.equal(f"{label}: all is visible before", all(block.visible for block in before.blocks), True)
            run(session, change)
            after = look()
            check_step(bench, label, before, after)
            if change in CHANGES:
                bench.equal(f"{label}: something changed", before.blocks != after.blocks[:len(before.blocks)] or
                            len(after.blocks) > len(before.blocks), True)
                session.query("VACUUM t")
                vacuumed = look()
                check_step(bench, f"{label}, VACUUM", after, vacuumed)
                bench.equal(f"{label}: VACUUM sets bits by a new LSN",
                            vacuumed.map_lsn > after.map_lsn or all(block.visible for block in after.blocks), True)
            else:
                bench.equal(f"{label}: the same data", [block.data for block in after.blocks], [block.data for block in before.blocks])


def standby_of(server):
    copy = cluster.Cluster("promise-standby", extension=False, settings={"hot_standby": "on"})
    cluster.run_as_server([server.bindir / "pg_basebackup", "-h", server.directory, "-p", server.port, "-U", "postgres",
                           "-D", copy.data, "-c", "fast", "-X", "stream", "-R"])
    copy._write_settings()
    return copy


def replayed(primary, standby):
    """Waits until the standby has replayed what the primary has written."""
    target = primary.value("SELECT pg_current_wal_flush_lsn()")
    deadline = time.monotonic() + CATCH_UP_SECONDS
    while standby.value(f"SELECT pg_last_wal_replay_lsn() >= '{target}'") != "t":
        if time.monotonic() > deadline:
            raise RuntimeError("the standby does not catch up")
        time.sleep(0.02)


def main():
    bench = Bench()
    broken_promises(bench)
    for checksums in (False, True):
        name = "with checksums" if checksums else "without"
        with cluster.Cluster("promise", extension=False, checksums=checksums, settings={"synchronous_commit": "on"}) as server:
            with server.connect() as session:
                if not server_features.has(session, "pageinspect"):
                    print("  left out: standbys; this build of the server lacks pageinspect", flush=True)
                    promise(bench, f"{name}, by files", session,
                            lambda session=session, data=server.data: state_of_files(session, data))
                    continue
                session.query("CREATE EXTENSION pageinspect")
                session.query("CREATE EXTENSION pg_visibility")
                promise(bench, name, session, lambda session=session: state_of(session))
                if checksums:
                    continue
                with standby_of(server) as standby, standby.connect() as reader:
                    def look(reader=reader, session=session):
                        session.query("SELECT pg_switch_wal()")
                        replayed(session, reader)
                        return state_of(reader)
                    promise(bench, "standby", session, look)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    sys.exit(main())
