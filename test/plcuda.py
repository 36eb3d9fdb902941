#!/usr/bin/env python3
"""plcuda.py - LANGUAGE plcuda: functions in CUDA C++ take and return what they should, and harm nothing.

`values`: every type, there and back, NULLs. `results`: rows, sets, void. `bodies`: what is refused, and the compiler's errors
with the function's own lines. `arrays`: what a function may not return. `tables`: arguments of type reggstore, against SELECT.
`copies`: which of their copies serve a second call. `revisions`: beside writers. `short_memory`: kept copies give way.
`crashes`: signals, exits, processes, memory. `cancels`: cancelled and timed out calls return soon. `sessions`: at most so many
processes; others wait, idle ones give way, killed ones are replaced. `cache`: compiled once. `cache_limit`: no more than fits.
`life`: replaced, dumped and restored. `libraries`: cuBLAS, or how to bring it in. `rights`: superusers only. `kernels`: without
a GPU a kernel is an error. `samples`: those of the documentation. `gpu`: on a machine with a GPU, kernels' results against SQL,
faults, kernels without end, memory. `other_gpu`: machine code for those that are there. `no_compiler`: what to do.
Needs nvcc: `make cuda-compiler`, or the toolkit of a machine with a GPU. Without a GPU host code runs, and kernels are compiled only.
Must never: depend on a GPU.
Called by: make test-plcuda, test/run_all.py.
"""

import argparse
import contextlib
import math
import os
import random
import re
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
from cache_bench import Bench  # noqa: E402
from cache_loading import soon  # noqa: E402
from pg_client import ConnectionLost, DatabaseError  # noqa: E402
from plcuda_bench import SOON, NoToolkit, create, has_gpu, is_up, refuses, runners, toolkit  # noqa: E402

PROCESSES = 2

# type: (what the function returns, values and what comes back)
TYPES = {
    "bool": ("!arg1", {"true": "f", "false": "t"}),
    "int2": ("arg1 + 1", {"-32768": "-32767", "41": "42"}),
    "int4": ("arg1 + 1", {"-2147483648": "-2147483647"}),
    "int8": ("arg1 + 1", {"9223372036854775806": "9223372036854775807"}),
    "float4": ("arg1 * 2", {"1.25": "2.5", "'NaN'": "NaN"}),
    "float8": ("arg1 * 2", {"-1.25": "-2.5", "'-Infinity'": "-Infinity"}),
    "oid": ("arg1 + 1", {"4294967294": "4294967295"}),
    "date": ("arg1 + 1", {"'2024-02-28'": "2024-02-29"}),
    "timestamp": ("arg1 + 1", {"'2024-02-28 01:02:03'": "2024-02-28 01:02:03.000001"}),
    "timestamptz": ("arg1", {"'2024-02-28 01:02:03+00'": "2024-02-28 01:02:03+00"}),
    "time": ("arg1", {"'01:02:03'": "01:02:03"}),
    "money": ("arg1", {"'$1.50'": "$1.50"}),
    '"char"': ("arg1", {"'x'": "x"}),
    "text": ("arg1", {"'äbc€'": "äbc€", "''": "", "repeat('ab', 100000)": "ab" * 100000}),
    "varchar": ("arg1", {"'x '": "x "}),
    "bpchar": ("arg1", {"'x '": "x "}),
    "bytea": ("arg1", {r"'\x00ff00'": r"\x00ff00"}),
    "numeric": ("arg1", {"12345678901234567890123456789.000": "12345678901234567890123456789.000", "'NaN'": "NaN"}),
    "uuid": ("arg1", {"'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}),
    "json": ("arg1", {"'[1, 2]'": "[1, 2]"}),
    "jsonb": ("arg1", {"'{\"a\": 1}'": '{"a": 1}'}),
    "interval": ("arg1", {"'1 day 2 hours'": "1 day 02:00:00"}),
    "inet": ("arg1", {"'10.0.0.1/8'": "10.0.0.1/8"}),
    "mood": ("arg1", {"'glad'": "glad"}),
    "small": ("arg1 + 1", {"8": "9"}),
    "int4[]": ("arg1", {"'{1,2,NULL,3}'": "{1,2,NULL,3}", "'{}'": "{}", "'[2:3]={1,2}'": "[2:3]={1,2}"}),
    "bool[]": ("arg1", {"'{t,f}'": "{t,f}"}),
    "float8[]": ("arg1", {"'{{1,2},{3,4}}'": "{{1,2},{3,4}}"}),
    "text[]": ("arg1", {"'{a,NULL,\"b c\",\"\"}'": '{a,NULL,"b c",""}'}),
    "numeric[]": ("arg1", {"'{1.50,2}'": "{1.50,2}"}),
}


def values(bench, server):
    with server.connect() as session:
        session.query("CREATE TYPE mood AS ENUM ('sad', 'glad'); CREATE DOMAIN small AS int CHECK (value < 10); "
                      "CREATE TYPE pair AS (a int, b text)")
        for kind, (result, rows) in TYPES.items():
            create(session, kind, kind, f"if (arg1_isnull) PLCUDA_RETURN_NULL();\nreturn {result};")
            for value, expected in rows.items():
                bench.equal(f"{kind}: {value[:40]}", session.value(f"SELECT f(({value})::{kind})"), expected)
            bench.equal(f"{kind}: NULL", session.value(f"SELECT f(NULL::{kind})"), None)
            session.query(f"DROP FUNCTION f({kind})")
        create(session, "pair", "text", "return plcuda_text(arg1);")
        bench.equal("a row as an argument", session.value("SELECT f((1, 'x')::pair)"), "(1,x)")
        create(session, "small", "small", "return arg1 + 1;")
        refuses(bench, "a domain's check", session, "SELECT f(9)", "23514", "small")
        create(session, "a int, b text, c int DEFAULT 5", "text",
               'return plcuda_text(std::to_string(arg1) + VARDATA(arg2) + std::to_string(arg3));', options="STRICT", name="many")
        bench.equal("several arguments, a default", session.value("SELECT many(1, 'x')"), "1x5")
        bench.equal("STRICT", session.value("SELECT many(1, NULL)"), None)
        create(session, "VARIADIC real[]", "real",
               "const VectorTypeFloat *v = (const VectorTypeFloat *)arg1; float sum = 0;\n"
               "if (!VALIDATE_ARRAY_VECTOR_TYPE_STRICT(arg1, PG_FLOAT4OID)) EEXIT(\"no vector\");\n"
               "for (int i = 0; i < v->height; i++) sum += v->values[i];\nreturn sum;", name="total")
        bench.equal("a vector", session.value("SELECT total(1, 2, 3.5)"), "6.5")
        for array in ("'{}'", "'{{1,2}}'", "'[0:1]={1,2}'", "'{1,NULL}'"):
            refuses(bench, f"no vector: {array}", session, f"SELECT total(VARIADIC {array})", "38000", "no vector")
        create(session, "n int", "int[]",
               "VectorTypeInt *v; v = (VectorTypeInt *)plcuda_text(std::string(ARRAY_VECTOR_RAWSIZE(4, arg1), 0));\n"
               "INIT_ARRAY_VECTOR(v, PG_INT4OID, sizeof(cl_int), arg1);\n"
               "for (int i = 0; i < arg1; i++) v->values[i] = i;\nreturn (varlena *)v;", name="made")
        bench.equal("a vector of its own", session.value("SELECT made(3)"), "{0,1,2}")
        bench.equal("a large one", session.value("SELECT sum(i) FROM unnest(made(5000000)) i"), "12499997500000")
        bench.equal("many calls", session.value("SELECT sum(many(i, 'x')::varchar(1)::int) FROM generate_series(1, 1000) i"),
                    session.value("SELECT sum(left(i::text, 1)::int) FROM generate_series(1, 1000) i"))


def results(bench, server):
    with server.connect() as session:
        create(session, "a int, OUT x int, OUT y text, OUT z numeric", "record",
               'plcuda_row r;\nif (arg1 == 3) PLCUDA_RETURN_NULL();\nr.c1 = arg1;\nr.c2 = plcuda_text("t");\nr.c3 = "1.50";\n'
               "r.isnull[0] = arg1 == 2;\nreturn r;")
        bench.equal("a row", session.query("SELECT * FROM f(1)"), [("1", "t", "1.50")])
        bench.equal("its NULLs", session.query("SELECT f(2), f(3)"), [("(,t,1.50)", None)])
        session.query("CREATE TABLE parts (a int, b text, c int, d numeric(10,1)); ALTER TABLE parts DROP COLUMN b")
        create(session, "", "parts", 'plcuda_row r;\nr.c1 = 1;\nr.c2 = 2;\nr.c3 = "3.26";\nreturn r;', name="part")
        bench.equal("a table's row", session.query("SELECT * FROM part()"), [("1", "2", "3.3")])
        create(session, "n int", "SETOF int", "for (int i = 0; i < arg1; i++) plcuda_emit(i);\nplcuda_emit_null();", name="numbers")
        bench.equal("a set", session.query("SELECT * FROM numbers(2)"), [("0",), ("1",), (None,)])
        bench.equal("a large set", session.query("SELECT count(*), sum(n) FROM numbers(300000) n"), [("300001", "44999850000")])
        bench.equal("in a target list", session.query("SELECT numbers(1)"), [("0",), (None,)])
        create(session, "n int", "TABLE(a int, b text)",
               "for (int i = 0; i < arg1; i++)\n{\nplcuda_row r;\nr.c1 = i;\nr.c2 = plcuda_text(std::to_string(i));\nplcuda_emit(r);\n}",
               name="rows")
        bench.equal("rows", session.query("SELECT * FROM rows(2)"), [("0", "0"), ("1", "1")])
        bench.equal("no rows", session.query("SELECT * FROM rows(0)"), [])
        create(session, "", "void", "return;", name="nothing")
        bench.equal("void", session.query("SELECT nothing()"), [("",)])
        create(session, "", "int", 'EEXIT("no %s %d", "luck", 7);\nreturn 1;', name="raises")
        refuses(bench, "EEXIT", session, "SELECT raises()", "38000", "no luck 7", "function public.raises")
        create(session, "", "int", 'throw std::runtime_error("thrown");\nreturn 1;', "#include <stdexcept>", name="raises")
        refuses(bench, "an exception", session, "SELECT raises()", "38000", "thrown")
        create(session, "", "int", 'EEXIT("%s", "\\xff");\nreturn 1;', name="raises")
        refuses(bench, "a message without an encoding", session, "SELECT raises()", "38000", "not valid")
        create(session, "", "int", "static int n;\nreturn ++n;", name="counts")
        bench.equal("one process a session", [session.value("SELECT counts()") for _ in range(3)], ["1", "2", "3"])


def bodies(bench, server):
    def body(text, result="int", arguments=""):
        return f"CREATE OR REPLACE FUNCTION wrong({arguments}) RETURNS {result} LANGUAGE plcuda AS $plcuda${text}$plcuda$"

    with server.connect() as session:
        refuses(bench, "no block", session, body("return 1;"), "42601", "line 1 of function public.wrong", "outside of blocks")
        refuses(bench, "no end", session, body("\n#plcuda_begin\nreturn 1;"), "42601", "line 3", "lacks its #plcuda_end")
        refuses(bench, "an unknown block", session, body("#plcuda_prep\n#plcuda_end"), "42601", "#plcuda_prep is not known")
        refuses(bench, "a library of options", session, body("#plcuda_library -x\n#plcuda_begin\n#plcuda_end"), "42601",
                "name of a library")
        refuses(bench, "host code", session, body("\n#plcuda_begin\n\nreturn argh;\n#plcuda_end"), "42601", "public.wrong(4): error",
                '"argh" is undefined')
        refuses(bench, "a declaration", session, body("\n#plcuda_decl\nint x\n#plcuda_begin\nreturn 1;\n#plcuda_end"), "42601",
                "public.wrong(", "expected a")
        refuses(bench, "a kernel", session, body("\n#plcuda_decl\nKERNEL_FUNCTION(void)\nk() { printf(y); }\n#plcuda_begin\nreturn 1;\n"
                                                 "#plcuda_end"), "42601", "public.wrong(4): error", '"y" is undefined')
        refuses(bench, "no result", session, body("#plcuda_begin\n#plcuda_end"), "42601", "missing return")
        refuses(bench, "a library that is not there", session, body("#plcuda_library nowhere\n#plcuda_begin\nreturn 1;\n#plcuda_end"),
                "42601", "nowhere")
        refuses(bench, "a header that is not there", session, body("#plcuda_include no.h\n#plcuda_begin\nreturn 1;\n#plcuda_end"),
                "42601", "public.wrong:1", "no.h")
        fine = "#plcuda_begin\nreturn 1;\n#plcuda_end"
        refuses(bench, "record", session, body(fine, "record"), "0A000", "OUT parameters")
        refuses(bench, "trigger", session, body(fine, "trigger"), "0A000", "trigger")
        refuses(bench, "any type", session, body(fine, "int", "anyelement"), "0A000", "anyelement")
        session.query("SET check_function_bodies = off")
        session.query(body("return 1;"))
        refuses(bench, "unchecked, called", session, "SELECT wrong()", "42601", "outside of blocks")
        session.query("RESET check_function_bodies")
        refuses(bench, "a procedure", session, f"CREATE PROCEDURE p() LANGUAGE plcuda AS $plcuda${fine}$plcuda$", "0A000")
        create(session, "", "float8", "return twice(M_PI);", "static double twice(double x) { return 2 * x; }",
               head="#plcuda_include <math.h>\n#plcuda_library m\n", name="included")
        bench.equal("a header and a library", session.value("SELECT round(included()::numeric, 3)"), "6.283")


def arrays(bench, server):
    """What a function must not get away with."""
    damages = {
        "a header of more bytes": "SET_VARSIZE(v, 1 << 20);",
        "more elements": "v->height = 1000;",
        "too many elements": "v->height = 2000000000;",
        "a negative height": "v->height = -1;",
        "another type": "v->elemtype = PG_INT8OID;",
        "dimensions": "v->ndim = 9;",
        "an offset": "v->dataoffset = 8;",
        "no bytes": "SET_VARSIZE(v, 4);",
    }
    with server.connect() as session:
        for name, damage in damages.items():
            create(session, "", "int[]", "VectorTypeInt *v = (VectorTypeInt *)plcuda_text(std::string(100, 0));\n"
                   f"INIT_ARRAY_VECTOR(v, PG_INT4OID, 4, 3);\n{damage}\nreturn (varlena *)v;", name="damaged")
            outcome = session.run("SELECT damaged()")
            bench.check(name, None if outcome.sqlstate in ("22P03", "38000") else f"{outcome.sqlstate} {outcome.error}")
        create(session, "", "text", 'return plcuda_text("\\xff\\xfe");', name="damaged_text")
        refuses(bench, "text of no encoding", session, "SELECT damaged_text()", "22021")
        create(session, "", "numeric", 'return "many";', name="damaged_number")
        refuses(bench, "no number", session, "SELECT damaged_number()", "22P02")
        is_up(bench, "arrays", session)


def tables(bench, server):
    with server.connect() as session:
        # There a table argument lies in the GPU's memory, whatever the pin says: scene `gpu` has kernels that read it.
        if has_gpu(session):
            print("  tables: not on a machine with a GPU", flush=True)
            return
        session.query("CREATE TABLE t (a int, gone int, b real, c text, d boolean, n bigint, w float8)")
        session.query("INSERT INTO t SELECT i, 0, i / 2.0, 'x' || i, i % 2 = 0, nullif(i % 3, 0), i FROM generate_series(1, 30000) i")
        session.query("ALTER TABLE t DROP COLUMN gone; SELECT turbine.pin('t', device => 'host')")
        session.query("CREATE TABLE empty (a int); SELECT turbine.pin('empty', device => 'host')")
        total = """static double total(const kern_data_store *kds, const kern_colmeta &m)
        {
            const char *values = (const char *)kds + __kds_unpack(m.va_offset);
            const unsigned char *valid = (const unsigned char *)kds + __kds_unpack(m.nullmap_offset);
            double sum = 0;
            for (cl_uint i = 0; i < kds->nitems; i++)
            {
                if (m.nullmap_offset != 0 && (valid[i / 8] >> (i % 8) & 1) == 0) continue;
                if (m.atttypid == PG_INT4OID) sum += ((const cl_int *)values)[i];
                if (m.atttypid == PG_INT8OID) sum += ((const cl_long *)values)[i];
                if (m.atttypid == PG_FLOAT4OID) sum += ((const cl_float *)values)[i];
                if (m.atttypid == PG_FLOAT8OID) sum += ((const cl_double *)values)[i];
                if (m.atttypid == PG_BOOLOID) sum += ((const cl_bool *)values)[i];
            }
            return sum;
        }"""
        create(session, "t reggstore", "TABLE(attnum int, type oid, total float8, last text)", """
        if (arg1 == nullptr) return;
        const kern_data_store *kds = (const kern_data_store *)arg1->map;
        if (((uintptr_t)kds & 4095) != 0) EEXIT("no page");
        for (cl_uint j = 0; j < kds->ncols; j++)
        {
            const kern_colmeta &m = kds->colmeta[j];
            if (m.atttypid == 0) continue;
            plcuda_row row;
            row.c1 = m.attnum; row.c2 = m.atttypid; row.c3 = total(kds, m);
            row.isnull[3] = m.atttypid != PG_TEXTOID || kds->nitems == 0;
            if (!row.isnull[3])
            {
                const cl_long *ends = (const cl_long *)((const char *)kds + __kds_unpack(m.va_offset)) + kds->nitems - 1;
                row.c4 = plcuda_text((const char *)kds + __kds_unpack(m.extra_offset) + ends[0], ends[1] - ends[0]);
            }
            plcuda_emit(row);
        }""", total, name="totals")
        expected = [("1", "23", "450015000", None), ("3", "700", "225007500", None), ("4", "25", "0", "x30000"),
                    ("5", "16", "15000", None), ("6", "20", "30000", None), ("7", "701", "450015000", None)]
        bench.equal("columns", session.query("SELECT * FROM totals('t')"), expected)
        bench.equal("again", session.query("SELECT * FROM totals('t')"), expected)
        bench.equal("an empty table", session.query("SELECT * FROM totals('empty')"), [("1", "23", "0", None)])
        bench.equal("NULL", session.query("SELECT * FROM totals(NULL)"), [])
        bench.equal("nothing is left", session.query("SELECT * FROM turbine.exports"), [])
        session.query("UPDATE t SET a = a + 1")
        bench.equal("another revision", session.value("SELECT total FROM totals('t') WHERE attnum = 1"), "450045000")
        refuses(bench, "changed in this transaction", session, "BEGIN; DELETE FROM t; SELECT * FROM totals('t')", "25001")
        session.query("ROLLBACK")
        session.query("CREATE TABLE other (a int)")
        refuses(bench, "no pinned table", session, "SELECT * FROM totals('other')", "42809", "not a pinned table")


def copies(bench, server):
    """A table's copy serves later calls, as long as it is right."""
    with server.connect() as session, server.connect() as other:
        session.query("CREATE TABLE kept (id int, x int, note text); INSERT INTO kept SELECT i, i, 'n' FROM generate_series(1, 20000) i; "
                      "CREATE TABLE unrelated (a int); CREATE TYPE feeling AS ENUM ('ill'); "
                      "CREATE TABLE moods AS SELECT 'ill'::feeling AS m; "
                      "SELECT turbine.pin(t::regclass, device => 'host') FROM unnest('{kept,moods}'::text[]) t")
        create(session, "a reggstore", "int", "return ((GstoreIpcMapping *)arg1)->h.table_oid != 0;", name="opens")
        create(session, "a reggstore, b reggstore", "bool", "return arg1->map == arg2->map;", name="opens_two")
        sum_of_x = ("totals('kept')", "SELECT total FROM totals('kept') WHERE attnum = 2")
        if has_gpu(session):
            sum_of_x = ("opens('kept')", "SELECT opens('kept')")

        def call(name, kept, expected=None, by=session, sql=sum_of_x[1]):
            by.notices.clear()
            by.query("SET client_min_messages = debug1")
            found = by.value(sql)
            by.query("RESET client_min_messages")
            taken = any("copy of an earlier call" in notice["M"] for notice in by.notices)
            bench.equal(f"{name}: taken from the copy", taken, kept)
            if expected is not None and not has_gpu(session):
                bench.equal(f"{name}: rows", found, str(expected))
        total = 20000 * 20001 // 2
        call("first", False, total)
        call("second", True, total)
        call("another session's first", False, total, by=other)
        session.query("INSERT INTO unrelated VALUES (1)")
        call("no map, and another table changed", False, total)
        session.query("VACUUM kept")
        call("after VACUUM", True, total)
        session.query("INSERT INTO unrelated VALUES (1)")
        call("another table changed", True, total)
        for change, more in (("UPDATE kept SET x = x + 1 WHERE id = 7", 1), ("DELETE FROM kept WHERE id = 1", -1),
                             ("INSERT INTO kept VALUES (0, 5, 'n')", 5)):
            other.query(change)
            total += more
            call(change, False, total)
            call(f"{change}, again", True, total)
            session.query("VACUUM kept")
        other.query("BEGIN; UPDATE kept SET x = 0")
        call("a change under way", True, total)
        other.query("ROLLBACK")
        other.query("VACUUM kept")
        call("rolled back", False, total)
        call("rolled back, again", True, total)
        # Within transactions.
        session.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM unrelated")
        other.query("UPDATE kept SET x = x + 100 WHERE id = 7")
        call("an old snapshot", True, total)
        call("an old snapshot, again", True, total)
        session.query("COMMIT")
        total += 100
        call("a new snapshot", False, total)
        session.query("BEGIN ISOLATION LEVEL SERIALIZABLE")
        call("serializable", False, total)
        call("serializable, again", False, total)
        session.query("COMMIT")
        session.query("BEGIN; UPDATE kept SET x = x")
        refuses(bench, "changed in this transaction", session, sum_of_x[1], "25001")
        session.query("ROLLBACK")
        # Definitions.
        call("before", False, total)
        session.query("ALTER TABLE kept ADD y int; ALTER TABLE kept DROP y")
        call("a column added and dropped", False, total)
        session.query("TRUNCATE kept; INSERT INTO kept VALUES (1, 3, 'n')")
        call("truncated", False, 3)
        session.query("SELECT opens('moods')")
        call("text that may change", False, sql="SELECT opens('moods')")
        # Twice in a call, and more tables than are kept.
        bench.equal("the same table twice", session.value("SELECT opens_two('kept', 'kept')"), "t")
        for i in range(10):
            session.query(f"CREATE TABLE many{i} AS SELECT {i} AS a; SELECT turbine.pin('many{i}', device => 'host')")
        session.query("; ".join(f"SELECT opens('many{i}')" for i in range(10)))
        call("the last of many", True, sql="SELECT opens('many9')")
        call("the first of many", False, sql="SELECT opens('many0')")
        # Rights are those of each call.
        session.query("DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN")
        call("before the role", False, 3)
        session.query("SET ROLE reader")
        refuses(bench, "no SELECT", session, sum_of_x[1], "42501", "kept")
        session.query("RESET ROLE; GRANT SELECT ON kept TO reader; SET ROLE reader")
        call("SELECT", False, 3)
        session.query("RESET ROLE; REVOKE SELECT ON kept FROM reader; SET ROLE reader")
        refuses(bench, "no SELECT any more", session, sum_of_x[1], "42501", "kept")
        session.query("RESET ROLE")
        # A function cannot change what the next one reads.
        if not has_gpu(session):
            create(session, "a reggstore", "int",
                   "kern_data_store *kds = (kern_data_store *)arg1->map;\n"
                   "*(int *)((char *)kds + __kds_unpack(kds->colmeta[1].va_offset)) = 0;\nreturn 1;", name="writes_column")
            create(session, "a reggstore", "int", "((kern_data_store *)arg1->map)->nitems = 0;\nreturn 1;", name="writes_header")
            for name in ("writes_column", "writes_header"):
                refuses(bench, name, session, f"SELECT {name}('kept')", "38000", "Segmentation fault")
            call("after it", False, 3)
        # The process is replaced.
        for pid in runners(server):
            with contextlib.suppress(ProcessLookupError):
                cluster.signal_running([pid], signal.SIGKILL)
        soon(lambda: not runners(server), 10)  # a GPU takes its time to let go of one
        call("a new process", False, 3)
        call("a new process, again", True, 3)
        session.query("DROP TABLE kept, moods")


def revisions(bench, server):
    """While others write, vacuum and roll back at random, a function sees the rows that a SELECT of its transaction sees."""
    changes = ("UPDATE moving SET x = x + 1 WHERE id % 97 = {n} % 97", "DELETE FROM moving WHERE id = {n}",
               "INSERT INTO moving VALUES ({n}, {n})", "UPDATE moving SET x = -x WHERE id = {n}", "TRUNCATE moving", "VACUUM moving",
               "VACUUM moving", "VACUUM (FREEZE) moving", "VACUUM moving", "UPDATE aside SET a = a + 1", "CLUSTER moving USING moving_id",
               "BEGIN; UPDATE moving SET x = 0 WHERE id > {n}; ROLLBACK", "BEGIN; SAVEPOINT s; DELETE FROM moving; ROLLBACK TO s; COMMIT",
               "BEGIN; DELETE FROM moving WHERE id < {n}; SELECT pg_sleep(0.02); COMMIT", "SELECT pg_sleep(0.05)",
               "SELECT id FROM moving WHERE id = {n} FOR UPDATE", "INSERT INTO moving SELECT i, i FROM generate_series(1, {n}) i")
    with server.connect() as session:
        if has_gpu(session):
            return
        session.query("CREATE TABLE moving (id int, x int); CREATE INDEX moving_id ON moving (id); CREATE TABLE aside AS SELECT 1 AS a; "
                      "INSERT INTO moving SELECT i, i FROM generate_series(1, 5000) i; SELECT turbine.pin('moving', device => 'host')")
        stop = threading.Event()

        def write(seed):
            random_numbers = random.Random(seed)
            with server.connect() as writer:
                while not stop.is_set():
                    # A deadlock, or a lock that the reader holds too long, is no matter.
                    writer.run("SET lock_timeout = '200ms'")
                    writer.run(random_numbers.choice(changes).format(n=random_numbers.randrange(1, 5000)))
                    writer.run("ROLLBACK")
        writers = [threading.Thread(target=write, args=(seed,)) for seed in (1, 2)]
        for writer in writers:
            writer.start()
        calls, kept, wrong = 0, 0, []
        deadline = time.monotonic() + 8
        session.query("SET client_min_messages = debug1")
        while time.monotonic() < deadline:
            session.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
            session.notices.clear()
            found = session.query("SELECT total FROM totals('moving') ORDER BY attnum")
            kept += any("copy of an earlier call" in notice["M"] for notice in session.notices)
            expected = session.query("SELECT coalesce(sum(id), 0) FROM moving UNION ALL SELECT coalesce(sum(x), 0) FROM moving")
            session.query("COMMIT")
            calls += 1
            if [float(row[0]) for row in found] != [float(row[0]) for row in expected]:
                wrong.append((calls, found, expected))
        session.query("RESET client_min_messages")
        stop.set()
        for writer in writers:
            writer.join()
        bench.equal("a function sees what a SELECT sees", wrong[:3], [])
        bench.check("copies were kept, and copies were made", None if 0 < kept < calls else f"{kept} of {calls}")
        print(f"  revisions: {calls} calls, {kept} by a kept copy", flush=True)


def short_memory(bench, server):
    """Kept copies give way to copies that are needed now, of whichever session."""
    with server.connect() as session:
        if has_gpu(session):
            return
    # Results and exports may take half of it: one copy of a table, not two.
    settings = {**server.settings, "pg_turbine.memory_budget": "220MB"}
    with cluster.Cluster("plcuda-memory", settings=settings) as small, small.connect() as session, small.connect() as other:
        for name in ("wide", "broad"):
            columns = ", ".join(f"i AS c{j}" for j in range(8))
            session.query(f"CREATE TABLE {name} AS SELECT {columns} FROM generate_series(1, 900000::bigint) i; "
                          f"SELECT turbine.pin('{name}', device => 'host')")
            session.query(f"VACUUM {name}")
        create(session, "a reggstore", "bigint", "const kern_data_store *kds = (const kern_data_store *)arg1->map;\n"
               "return ((const cl_long *)((const char *)kds + __kds_unpack(kds->colmeta[1].va_offset)))[kds->nitems - 1];",
               name="last_of")
        bench.equal("a copy", session.value("SELECT last_of('wide')"), "900000")
        bench.equal("the same, kept", session.value("SELECT last_of('wide')"), "900000")
        bench.equal("another session's", other.value("SELECT last_of('wide')"), "900000")
        bench.equal("the first one's again", session.value("SELECT last_of('wide')"), "900000")
        bench.equal("another table in the same session", session.value("SELECT last_of('broad')"), "900000")
        bench.equal("back", session.value("SELECT last_of('wide')"), "900000")
        bench.check("an export", None if other.value("SELECT length(turbine.export('broad'))") else "none")
        refuses(bench, "when nobody can give way", session, "SELECT last_of('wide')", "53200", "there is no memory for the result")
        bench.equal("the session goes on", session.value("SELECT 1"), "1")


def crashes(bench, server):
    ends = {
        "*(volatile int *)0 = 1;": "crashed: Segmentation fault",
        "abort();": "crashed: Aborted",
        "exit(3);": "ended its process with status 3",
        "_exit(0);": "ended its process with status 0",
        "close(3);": "ended its process",
        "kill(getpid(), SIGTERM);": "crashed: Terminated",
        "for (;;) if (fork() < 0) abort();": "tried to start a process",
        'if (system("true") != 0) abort();': "tried to start a process",
        'execl("/bin/true", "true", nullptr);': "tried to start a process",
        "std::terminate();": "crashed: Aborted",
        'write(3, "nonsense nonsense", 17);': "damaged its process",
        'puts("hello"); fflush(stdout); abort();': "hello",
        'fprintf(stderr, "%s", std::string(500000, \'x\').c_str()); abort();': "xxxx",
    }
    headers = "#include <csignal>\n#include <exception>\n#include <unistd.h>"
    with server.connect() as session:
        for body, says in ends.items():
            create(session, "", "int", f"{body}\nreturn 1;", headers, name="misbehaves")
            refuses(bench, body, session, "SELECT misbehaves()", "38000", says)
            is_up(bench, body, session)
        takes = {
            "std::string s;\nfor (;;) s += \"0123456789012345678901234567890123456789\";": ("53200", "no more memory"),
            "for (;;) memset(malloc(1 << 20), 1, 1 << 20);": ("38000", "pg_turbine.plcuda_memory"),
            "for (;;) memset(mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 1, 1 << 20);":
                ("53200", "256 MB"),
        }
        for body, (sqlstate, says) in takes.items():
            create(session, "", "int", body, "#include <sys/mman.h>", name="takes")
            with contextlib.closing(server.connect(settings={"pg_turbine.plcuda_memory": "256MB"})) as other:
                refuses(bench, body, other, "SELECT takes()", sqlstate, says)
            is_up(bench, body, session)
        bench.equal("no crash of the server", "terminated by signal" in server.logfile.read_text(errors="replace"), False)


def cancels(bench, server):
    with server.connect() as session, server.connect() as other:
        loops = {"computes": "volatile int x = 1;\nwhile (x) ;\nreturn 1;", "sleeps": "for (;;) pause();\nreturn 1;"}
        for name, body in loops.items():
            create(session, "", "int", body, "#include <unistd.h>", name="endless")
            session.query("SET statement_timeout = '300ms'")
            started = time.monotonic()
            refuses(bench, f"{name}: timeout", session, "SELECT endless()", "57014")
            late = time.monotonic() - started - 0.3
            bench.check(f"{name}: returns soon", None if late < SOON else f"{late:.2f} s late")
            session.query("RESET statement_timeout")
            session.send("SELECT endless()")
            time.sleep(0.3)
            started = time.monotonic()
            session.cancel()
            with contextlib.suppress(DatabaseError):
                session.finish()
            bench.check(f"{name}: cancel", None if time.monotonic() - started < SOON else "late")
            is_up(bench, name, session)
        create(session, "", "SETOF int", "for (;;) plcuda_emit(1);", name="endless_rows")
        session.query("SET statement_timeout = '300ms'")
        refuses(bench, "rows without end", session, "SELECT count(*) FROM endless_rows()", "57014")
        session.query("RESET statement_timeout")
        # A session that is terminated in the midst of a call.
        session.send("SELECT endless()")
        time.sleep(0.3)
        other.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'SELECT endless()'")
        with contextlib.suppress(DatabaseError, ConnectionLost, OSError):
            session.finish()
        is_up(bench, "terminated", other)
        deadline = time.monotonic() + 10
        while len(runners(server)) > 1 and time.monotonic() < deadline:
            time.sleep(0.05)
        bench.equal("only the other session's process is left", len(runners(server)), 1)


def sessions(bench, server):
    with server.connect() as session:
        create(session, "s float8", "int", "usleep(arg1 * 1e6);\nreturn getpid();", "#include <unistd.h>", name="naps")
    with contextlib.ExitStack() as stack:
        many = [stack.enter_context(server.connect()) for _ in range(5)]
        pids = [session.value("SELECT naps(0)") for session in many]
        bench.equal("each has a process of its own", len(set(pids)), len(many))
        most = 0
        for session in many:
            session.send("SELECT naps(0.4)")
        deadline = time.monotonic() + 0.3
        while time.monotonic() < deadline:
            most = max(most, len([pid for pid in runners(server) if is_running(pid)]))
        bench.check("at most so many processes", None if 1 <= most <= PROCESSES else f"{most}")
        for session in many:
            bench.check("waits and returns", None if session.finish() else "no result")
        # Waiting ends at a cancel.
        for session in many[:PROCESSES]:
            session.send("SELECT naps(2)")
        time.sleep(0.2)
        many[-1].query("SET statement_timeout = '300ms'")
        refuses(bench, "waits for a process", many[-1], "SELECT naps(0)", "57014")
        for session in many[:PROCESSES]:
            session.finish()
        # A process that somebody has killed while it was idle, and the session's next call.
        for pid in runners(server):
            with contextlib.suppress(ProcessLookupError):
                cluster.signal_running([pid], signal.SIGKILL)
        time.sleep(0.1)
        for session in many[:PROCESSES]:
            bench.check("a killed process is replaced", None if session.value("SELECT naps(0)") else "no result")
        # Nothing of the server's is open there.
        pid = int(many[0].value("SELECT naps(0)"))
        names = sorted(int(entry.name) for entry in Path(f"/proc/{pid}/fd").iterdir())
        bench.equal("descriptors", [fd for fd in names if fd < 4], [0, 1, 2, 3])
        links = [str((Path(f"/proc/{pid}/fd") / str(fd)).readlink()) for fd in names]
        bench.equal("no file of the server", [link for link in links if str(server.data) in link], [])
    deadline = time.monotonic() + 10
    while runners(server) and time.monotonic() < deadline:
        time.sleep(0.05)
    bench.equal("no process outlives its session", runners(server), [])


def is_running(pid):
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def cache(bench, server):
    folder = server.data / "pg_turbine" / "plcuda"
    with server.connect() as session:
        create(session, "", "int", "return 12321;", name="cached")
        before = sorted(folder.iterdir())
        create(session, "", "int", "return 12321;", name="cached")
        bench.equal("compiled once", sorted(folder.iterdir()), before)
        bench.equal("no folders of compilers", [path.name for path in before if path.suffix != ".so"], [])
        bench.equal("for the server alone", oct(folder.stat().st_mode & 0o777), "0o700")
        for path in before:
            path.unlink()
        bench.equal("compiled anew", session.value("SELECT cached()"), "12321")
        started = time.monotonic()
        session.query("SELECT cached() FROM generate_series(1, 1000)")
        bench.check("a call costs little", None if time.monotonic() - started < 2 else f"{time.monotonic() - started} ms")
        # Two sessions compile the same function.
        outcomes = []
        for path in folder.iterdir():
            path.unlink()

        def call():
            with server.connect() as other:
                outcomes.append(other.value("SELECT cached()"))
        threads = [threading.Thread(target=call) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        bench.equal("two compile at once", outcomes, ["12321", "12321"])


def cache_limit(bench, server):
    """Libraries that were not used for longest give way, and come back when they are called."""
    folder = server.data / "pg_turbine" / "plcuda"
    with server.connect() as session, server.connect() as other:
        for path in folder.glob("*.so"):
            path.unlink()
        create(session, "", "int", "return 1;", name="limited0")
        size = next(folder.glob("*.so")).stat().st_size
        most = 4
        limit = (most * size + size // 2) // (1 << 20) + 1
        most = (limit << 20) // size
        session.query(f"ALTER SYSTEM SET pg_turbine.plcuda_cache_size = '{limit}MB'")
        session.query("SELECT pg_reload_conf()")
        bench.equal("another session has loaded it", other.value("SELECT limited0()"), "1")
        for i in range(1, most + 3):
            create(session, "", "int", f"return {i + 1};", name=f"limited{i}")
            # The first one is used all the time, and stays.
            bench.equal(f"used: {i}", session.value("SELECT limited0()"), "1")
            time.sleep(0.01)
        kept = len(list(folder.glob("*.so")))
        bench.check("as many as fit", None if 1 < kept <= most else f"{kept} libraries, {most} fit")
        before = set(folder.glob("*.so"))
        with server.connect() as fresh:
            bench.equal("the first is still there", fresh.value("SELECT limited0()"), "1")
        bench.equal("no compiler ran for it", set(folder.glob("*.so")), before)
        bench.equal("one that went comes back", session.value("SELECT limited1()"), "2")
        # Removed under a process that has it, and under an expression that knows its place.
        for path in folder.glob("*.so"):
            path.unlink()
        bench.equal("removed, and loaded", other.value("SELECT limited0()"), "1")
        create(session, "i int", "int", "return arg1;", name="limited_rows")
        session.query("BEGIN; DECLARE c CURSOR FOR SELECT limited_rows(i) FROM generate_series(1, 3) i; FETCH c")
        for path in folder.glob("*.so"):
            path.unlink()
        for pid in runners(server):
            with contextlib.suppress(ProcessLookupError):
                cluster.signal_running([pid], signal.SIGKILL)
        time.sleep(0.1)
        bench.equal("removed between two rows", session.query("FETCH c"), [("2",)])
        session.query("COMMIT")
        (folder / "compile.999999").mkdir()
        create(session, "", "int", "return 99;", name="limited0")
        bench.equal("folders of compilers that are no more", list(folder.glob("compile.*")), [])
        session.query("ALTER SYSTEM RESET pg_turbine.plcuda_cache_size")
        session.query("SELECT pg_reload_conf()")


def life(bench, server):
    """Functions are replaced while they run, dumped and restored."""
    with server.connect() as session, server.connect() as other:
        create(session, "i int", "int", "usleep(2000);\nreturn 1;", "#include <unistd.h>", name="lives")
        session.send("SELECT sum(lives(i)), count(*) FROM generate_series(1, 500) i")
        time.sleep(0.3)
        create(other, "i int", "int", "return 2;", name="lives")
        bench.equal("replaced while it runs", session.finish().results[-1].rows, [("500", "500")])
        bench.equal("afterwards", session.value("SELECT sum(lives(i)) FROM generate_series(1, 500) i"), "1000")
        create(session, "a int, OUT b int, OUT c text", "record",
               'plcuda_row r;\nr.c1 = arg1;\nr.c2 = plcuda_text("$$ \\\\ \'");\nreturn r;',
               name="travels", options="STRICT COST 7")
        expected = session.query("SELECT * FROM travels(3)")
        dump = server.dump()
        session.query("CREATE DATABASE restored")
        bench.check("restore", server.restore(dump, "restored"))
        with server.connect(database="restored") as restored:
            bench.equal("restored", restored.query("SELECT * FROM travels(3)"), expected)
            bench.equal("restored, another", restored.value("SELECT lives(1)"), "2")
            bench.equal("its properties", restored.query("SELECT procost, proisstrict FROM pg_proc WHERE proname = 'travels'"),
                        [("7", "t")])
        session.query("DROP DATABASE restored")
        # Two sessions at once, each with its own rows.
        outcomes = {}

        def call(number):
            with server.connect() as mine:
                outcomes[number] = mine.value(f"SELECT sum((travels(i * {number})).b) FROM generate_series(1, 1000) i")
        threads = [threading.Thread(target=call, args=(number,)) for number in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        bench.equal("two sessions at once", outcomes, {1: "500500", 2: "1001000"})


def libraries(bench, server):
    """#plcuda_library finds what is in the toolkit's tree, and says how to bring in what is not."""
    with server.connect() as session:
        home = Path(session.value("SHOW pg_turbine.cuda_home") or "/usr/local/cuda")
        create(session, "", "text", "cublasHandle_t handle;\nreturn plcuda_text(cublasGetStatusString(cublasCreate(&handle)));",
               head="#plcuda_library cublas\n#plcuda_include <cublas_v2.h>\n", name="starts_cublas")
        state = session.value("SELECT starts_cublas()")
        bench.check("cuBLAS answers", None if ("success" if has_gpu(session) else "not initialized") in state else state)
        print(f"  libraries: {sorted(path.name for path in (home / 'lib64').glob('libcublas.so*'))} says {state}", flush=True)
        if (home / "lib64" / "libcublas.so").exists():
            links = [path.name for path in (home / "lib64").glob("lib*.so.*")
                     if not (path.parent / (path.name.partition(".so.")[0] + ".so")).exists()]
            bench.equal("each library has a link without a number", links, [])
        refuses(bench, "one that is not in the tree", session, "CREATE FUNCTION lacks() RETURNS int LANGUAGE plcuda AS "
                "'#plcuda_library cunothing\n#plcuda_begin\nreturn 1;\n#plcuda_end'", "42601", "cunothing",
                "install_cuda_compiler.sh", "nvidia-cunothing")


def rights(bench, server):
    with server.connect() as session:
        session.query("CREATE ROLE plain LOGIN; GRANT CREATE ON SCHEMA public TO plain")
        create(session, "a int", "int", "return arg1;", name="shared")
    with server.connect(user="plain") as plain:
        refuses(bench, "an untrusted language", plain, "CREATE FUNCTION own() RETURNS int LANGUAGE plcuda AS $$\n#plcuda_begin\n"
                "return 1;\n#plcuda_end\n$$", "42501", "plcuda")
        bench.equal("others may call", plain.value("SELECT shared(5)"), "5")
        for setting in ("cuda_home = '/tmp'", "plcuda_memory = '1GB'"):
            refuses(bench, f"SET {setting}", plain, f"SET pg_turbine.{setting}", "42501")
    dumped = re.search(r"CREATE FUNCTION public\.shared.*\n.*LANGUAGE plcuda", server.dump("postgres", "-s"))
    bench.check("functions are dumped", None if dumped else "not in the dump")


def kernels(bench, server):
    with server.connect() as session:
        create(session, "x real[]", "float8", """
        double *sum;
        cudaError_t rc = cudaMallocManaged(&sum, sizeof(double));
        if (rc != cudaSuccess)
            CUEXIT(rc, "no memory");
        *sum = 0;
        total<<<1, 1024>>>(sum, (const VectorTypeFloat *)arg1);
        rc = cudaStreamSynchronize(NULL);
        if (rc != cudaSuccess)
            CUEXIT(rc, "no sum");
        return *sum;""", """
        KERNEL_FUNCTION_MAXTHREADS(void) total(double *sum, const VectorTypeFloat *x)
        {
            __shared__ float v[MAXTHREADS_PER_BLOCK];
            v[get_local_id()] = get_global_id() < x->height ? x->values[get_global_id()] : 0;
            float s = pgstromTotalSum(v, MAXTHREADS_PER_BLOCK);
            if (get_local_id() == 0)
                atomicAdd(sum, (double)s);
        }""", name="kernel_total", options="STRICT")
        create(session, "", "int", "k<<<1, 32>>>();\nreturn 1;", "KERNEL_FUNCTION(void) k() {}", name="launches")
        if has_gpu(session):
            bench.equal("a kernel", session.value("SELECT kernel_total('{1,2,3.5}')"), "6.5")
            bench.equal("another", session.value("SELECT launches()"), "1")
        else:
            refuses(bench, "no device", session, "SELECT kernel_total('{1,2}')", "55000", "there is no CUDA device")
            refuses(bench, "no device, not asked", session, "SELECT launches()", "55000", "there is no CUDA device")
        is_up(bench, "kernels", session)


def samples(bench, server):
    with server.connect() as session:
        paths = sorted((server.service_program().parent / "samples").glob("*.sql"))
        bench.equal("samples are installed", len(paths), 4)
        for path in paths:
            outcome = session.run(path.read_text())
            bench.check(path.name, None if outcome.error is None else str(outcome.error.fields))
        if not has_gpu(session):
            session.query("CREATE TABLE ills (ill bool, x real); INSERT INTO ills VALUES (true, 1), (false, 0); "
                          "SELECT turbine.pin('ills', device => 'host')")
            refuses(bench, "a model without a GPU", session, "SELECT logistic_regression('ills', attnum_of('ills', 'ill'), "
                    "attnums_of('ills', '{x}'))", "55000", "no CUDA device")
        bench.equal("a model is applied", session.value("SELECT round(logistic_probability('{0,1}', '{0}')::numeric, 2)"), "0.50")


def gpu(bench, server):
    """After `samples`, whose functions it calls."""
    with server.connect() as session:
        create(session, "a bigint", "int", "writes<<<1, 32>>>((int *)arg1);\nreturn 1;",
               "KERNEL_FUNCTION(void) writes(int *place) { *place = 1; }", name="faults")
        create(session, "a int", "int", "spins<<<1, 32>>>(arg1);\nreturn 1;",
               "KERNEL_FUNCTION(void) spins(volatile int x) { while (x) __nanosleep(100); }", name="spins")
        create(session, "a int", "int", """
        for (int i = 0; i < arg1; i++)
        {
            void *place;
            cudaError_t rc = cudaMalloc(&place, size_t{1} << 30);
            if (rc != cudaSuccess)
                CUEXIT(rc, "round %d", i);
        }
        return 1;""", name="takes_device")
        if not has_gpu(session):
            return
        session.query("CREATE TABLE points AS SELECT i::bigint AS id, random()::real AS x, random()::real AS y, "
                      "decode(md5(i::text) || md5((i + 1)::text), 'hex') AS bits FROM generate_series(1, 20000) i; "
                      "ALTER TABLE points ADD ill boolean; UPDATE points SET ill = x + 2 * y + random() > 2")
        for device in ("gpu0", "host"):
            # A new revision, which no earlier copy serves.
            session.query(f"UPDATE points SET ill = ill WHERE id = 1; SELECT turbine.pin('points', device => '{device}')")
            bench.equal(f"neighbours, {device}", session.query(
                "SELECT neighbour FROM nearest_neighbours('points', attnum_of('points', 'id'), attnums_of('points', '{x,y}'), "
                "'{0.5,0.25}', 10)"), session.query("SELECT id FROM points ORDER BY (x - 0.5::real) ^ 2 + (y - 0.25::real) ^ 2 LIMIT 10"))
            bench.equal(f"fingerprints, {device}", session.query(
                "SELECT molecule FROM similar_fingerprints('points', attnum_of('points', 'id'), attnum_of('points', 'bits'), "
                "(SELECT bits FROM points WHERE id = 7), 0.4) ORDER BY 1"), session.query(
                "SELECT p.id FROM points p, (SELECT ('x' || encode(bits, 'hex'))::bit(256) AS bits FROM points WHERE id = 7) w, "
                "LATERAL (SELECT ('x' || encode(p.bits, 'hex'))::bit(256) AS bits) b WHERE bit_count(b.bits & w.bits)::real / "
                "bit_count(b.bits | w.bits)::real >= 0.4::real ORDER BY 1"))
            right = session.value(
                "SELECT avg((ill = (logistic_probability(w, ARRAY[x, y]) > 0.5))::int) > 0.8 FROM points, logistic_regression('points', "
                "attnum_of('points', 'ill'), attnums_of('points', '{x,y}')) w")
            bench.equal(f"a model, {device}", right, "t")
        models(bench, session)
        bench.equal("medians", session.value("SELECT moving_median('{5,1,4,2,3}', 3)"), "{3,4,2,3,2.5}")
        refuses(bench, "a fault", session, "SELECT faults(8)", "38000", "a kernel has failed")
        bench.equal("after it", session.value("SELECT launches()"), "1")
        session.query("SET statement_timeout = '2s'")
        started = time.monotonic()
        refuses(bench, "a kernel without end", session, "SELECT spins(1)", "57014")
        bench.check("returns soon", None if time.monotonic() - started < 2 + SOON else "late")
        session.query("RESET statement_timeout")
        bench.equal("after that", session.value("SELECT launches()"), "1")
        for _ in range(3):
            bench.equal("memory is given back", session.value("SELECT takes_device(20)"), "1")
        refuses(bench, "all memory", session, "SELECT takes_device(100000)", "53200", "round")
        bench.equal("after all memory", session.value("SELECT takes_device(20)"), "1")
        started = time.monotonic()
        session.query("SELECT count(launches()) FROM generate_series(1, 100)")
        took = time.monotonic() - started
        bench.check("a call takes a millisecond", None if took < 0.5 else f"100 calls take {took:.2f} s")
    started = time.monotonic()
    with server.connect() as session:
        session.value("SELECT launches()")
        first = time.monotonic() - started
    print(f"  gpu: a session's first call takes {first:.2f} s, later ones {took * 10:.2f} ms each", flush=True)
    bench.check("a first call takes a second", None if first < 2 else f"{first:.2f} s")


def sums_of_model(rows, weights):
    """Gradient and curvature of a logistic model, rows being (outcome, 1, features...)."""
    width = len(weights)
    gradient, curvature = [0.0] * width, [[0.0] * width for _ in range(width)]
    for outcome, *x in rows:
        likely = 1 / (1 + math.exp(-max(-80.0, min(80.0, sum(w * f for w, f in zip(weights, x, strict=True))))))
        for a in range(width):
            gradient[a] += (likely - outcome) * x[a]
            left = likely * (1 - likely) * x[a]
            for b in range(a, width):
                curvature[a][b] += left * x[b]
    for a in range(width):
        for b in range(a):
            curvature[a][b] = curvature[b][a]
    return gradient, curvature


def model_of(rows):
    """What logistic_regression() should find: Newton's method once more."""
    weights = [0.0] * (len(rows[0]) - 1)
    for _ in range(25):
        right, matrix = sums_of_model(rows, weights)
        width = len(weights)
        for i in range(width):
            pivot = max(range(i, width), key=lambda j, i=i: abs(matrix[j][i]))
            matrix[i], matrix[pivot], right[i], right[pivot] = matrix[pivot], matrix[i], right[pivot], right[i]
            for j in range(width):
                factor = 0 if j == i else matrix[j][i] / matrix[i][i]
                matrix[j] = [x - factor * y for x, y in zip(matrix[j], matrix[i], strict=True)]
                right[j] -= factor * right[i]
        steps = [right[i] / matrix[i][i] for i in range(width)]
        weights = [w - step for w, step in zip(weights, steps, strict=True)]
        if max(abs(step) for step in steps) < 1e-9:
            break
    return weights


def models(bench, session):
    """The sample's model at every width of its kernels, and beyond: against the same method on the host."""
    most = 18
    names = [f"x{j}" for j in range(1, most + 1)]
    session.query(f"CREATE TABLE cases (t boolean, {', '.join(f'{name} real' for name in names)}); SELECT setseed(0.25); "
                  f"INSERT INTO cases SELECT random() < 0.5, {', '.join(['random()'] * most)} FROM generate_series(1, 1500); "
                  "UPDATE cases SET t = x1 - 2 * x2 + x3 + random() > 0.5; SELECT turbine.pin('cases', device => 'gpu0')")
    rows = [(float(row[0] == "t"), 1.0, *map(float, row[1:])) for row in session.query("SELECT * FROM cases")]
    for width in (2, 3, 4, 5, 6, 7, 8, 9, 16, 17, most + 1):
        found = session.value("SELECT logistic_regression('cases', attnum_of('cases', 't'), attnums_of('cases', "
                              f"'{{{','.join(names[:width - 1])}}}'))")
        expected = model_of([row[:width + 1] for row in rows])
        off = max(abs(float(x) - y) for x, y in zip(found.strip("{}").split(","), expected, strict=True))
        bench.check(f"{width} weights", None if off < 1e-3 else f"{found}, expected {expected}")
    session.query("UPDATE cases SET x2 = 2 * x1 + 1")
    refuses(bench, "features that follow from others", session, "SELECT logistic_regression('cases', attnum_of('cases', 't'), "
            "attnums_of('cases', '{x1,x2,x3}'))", "38000", "determine no model")
    # Separated: the ratios are the plane's.
    session.query("UPDATE cases SET t = 1 + 2 * x1 - 3 * x3 + x4 > 0")
    weights = session.value("SELECT logistic_regression('cases', attnum_of('cases', 't'), attnums_of('cases', '{x1,x3,x4}'))")
    weights = [float(w) for w in weights.strip("{}").split(",")]
    ratios = [w / weights[0] for w in weights]
    off = max(abs(ratio / wanted - 1) for ratio, wanted in zip(ratios, (1, 2, -3, 1), strict=True))
    bench.check("separated rows", None if off < 0.1 else f"{ratios}")
    # One in which the kernel tries to change the kept copy.
    create(session, "a reggstore", "int", """
    kern_data_store *kds = (kern_data_store *)arg1->map;
    change<<<1, 32>>>(kds);
    return 1;""", """
    KERNEL_FUNCTION(void) change(kern_data_store *kds)
    {
        *(float *)((char *)kds + __kds_unpack(kds->colmeta[1].va_offset)) = 1e9;
    }""", name="changes")
    outcome = session.run("SELECT changes('cases')")
    print(f"  gpu: a kernel that writes to a table's column: {outcome.sqlstate or 'is let'}", flush=True)
    again = session.value("SELECT logistic_regression('cases', attnum_of('cases', 't'), attnums_of('cases', '{x1,x3,x4}'))")
    bench.equal("a kernel changes nothing that the next call reads", [float(w) for w in again.strip("{}").split(",")], weights)
    session.query("DROP TABLE cases")


def fat_binaries(library):
    """{(kind, architecture)} of the device code in a library: kind 1 is PTX, 2 machine code."""
    content, found, place = library.read_bytes(), set(), 0
    while (place := content.find(struct.pack("<I", 0xBA55ED50), place)) >= 0:
        _, _, header, size = struct.unpack_from("<IHHQ", content, place)
        entry, end = place + header, place + header + size
        while entry < end:
            kind, _, head, length = struct.unpack_from("<HHIQ", content, entry)
            found.add((kind, struct.unpack_from("<I", content, entry + 28)[0]))
            entry += head + length
        place += 4
    return found


def other_gpu(bench, server):
    """Machine code for the GPUs that are there; made anew when there are others."""
    stand_in = cluster.BUILD / "src" / "engine" / "stand_in" / "libcuda.so.1"
    with server.connect() as session:
        if has_gpu(session):
            target = session.value("SELECT max(target) FROM turbine.devices WHERE kind = 'cuda'")
            create(session, "", "int", "k<<<1, 32>>>();\nreturn 4711;", "KERNEL_FUNCTION(void) k() {}", name="targeted")
            newest = max((server.data / "pg_turbine" / "plcuda").glob("*.so"), key=lambda path: path.stat().st_mtime)
            bench.equal("machine code alone", fat_binaries(newest), {(2, int(target.removeprefix("sm_")))})
            return
    if not stand_in.exists():
        print("  other_gpu: there is no stand-in driver", flush=True)
        return
    with tempfile.TemporaryDirectory(prefix="pgt-driver-") as folder:
        Path(folder).chmod(0o755)
        shutil.copy2(stand_in, folder)
        with cluster.Cluster("plcuda-gpu", settings=server.settings) as other:
            libraries = other.data / "pg_turbine" / "plcuda"
            with other.connect() as session:
                create(session, "", "int", "if (false) k<<<1, 32>>>();\nreturn 4711;", "KERNEL_FUNCTION(void) k() {}",
                       name="targeted")
            before = set(libraries.glob("*.so"))
            bench.equal("without a GPU", [fat_binaries(path) for path in before], [{(2, 90)}])
            other.stop()
            os.environ.update({"LD_LIBRARY_PATH": folder, "TURBINE_STAND_IN_MAJOR": "8"})
            try:
                other.start()
                with other.connect() as session:
                    bench.equal("a call with another GPU", session.value("SELECT targeted()"), "4711")
            finally:
                del os.environ["LD_LIBRARY_PATH"], os.environ["TURBINE_STAND_IN_MAJOR"]
            bench.equal("with a GPU", [fat_binaries(path) for path in set(libraries.glob("*.so")) - before], [{(2, 80)}])


def no_compiler(bench, server):
    with server.connect() as session:
        session.query("SET pg_turbine.cuda_home = '/nowhere'")
        session.notices.clear()
        create(session, "", "int", "return 77;", name="later")
        bench.check("a warning", None if any("no CUDA compiler" in notice["M"] for notice in session.notices) else f"{session.notices}")
        refuses(bench, "a call", session, "SELECT later()", "55000", "no CUDA compiler", "/nowhere")
        session.query("RESET pg_turbine.cuda_home")
        bench.equal("with a compiler", session.value("SELECT later()"), "77")


SCENES = (values, results, bodies, arrays, tables, copies, revisions, short_memory, crashes, cancels, sessions, cache, cache_limit,
          life, libraries, rights, kernels, samples, gpu, other_gpu, no_compiler)
# Whose functions a scene calls.
NEEDS = {"copies": ("tables",), "gpu": ("samples", "kernels")}


def main():
    parser = argparse.ArgumentParser(description="functions of LANGUAGE plcuda")
    parser.add_argument("--only", default="", help="scenes, separated by commas")
    parser.add_argument("--cublas", action="store_true", help="with NVIDIA's cuBLAS from PyPI, not a stand-in")
    options = parser.parse_args()
    only = options.only.split(",")
    only += [needed for name in only for needed in NEEDS.get(name, ())]
    try:
        settings = {"pg_turbine.plcuda_processes": str(PROCESSES), **toolkit(options.cublas)}
    except NoToolkit as why:
        print(f"{why}\n0 passed, 1 failed")
        return 1
    print(f"toolkit: {settings.get('pg_turbine.cuda_home', 'as found')}", flush=True)
    bench = Bench()
    with cluster.Cluster("plcuda", settings=settings) as server:
        with server.connect() as session:
            create(session, "a int", "int", "return arg1 + 1;", name="fine")
        for scene in [scene for scene in SCENES if only == [""] or scene.__name__ in only]:
            started, before = time.monotonic(), bench.failed
            scene(bench, server)
            print(f"  {scene.__name__}: {'ok' if bench.failed == before else 'FAILED'}, {time.monotonic() - started:.0f} s", flush=True)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return bench.failed > 0


if __name__ == "__main__":
    sys.exit(main())
