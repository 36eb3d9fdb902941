"""arrow_mutations.py - Arrow and Parquet files with bytes changed: always an error or rows, and the server lives.

Owns: small files of many types, and the ways in which they are spoilt: bits, bytes, words, pieces cut out,
doubled or moved, ends cut off. What a spoilt value means nobody knows, so rows are right if there is no
error; but a file that is as it was must be read as it was.
Must never: pass where a backend, or the server, was lost.
Used by: arrow_fdw.py.
"""

import struct

import arrow_columns

ROWS = 40
# Errors that a spoilt file may end with: the reader's own, of types, and of conversions.
CLASSES = ("XX001", "22", "HV", "0A000", "53200", "54000", "58030", "42P17", "23")


def spoil(content, rng):
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 5, 20))):
        at = rng.randrange(len(data))
        kind = rng.randrange(7)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
        elif kind == 2:
            word = rng.choice((0, 1, -1, 2 ** 31 - 1, -2 ** 31, len(data), rng.randrange(-2 ** 31, 2 ** 31)))
            at -= at % 4
            data[at:at + 4] = struct.pack("<i", word)[:len(data) - at]
        elif kind == 3:
            word = rng.choice((0, -1, 2 ** 63 - 1, -2 ** 63, 2 ** 40, rng.randrange(-2 ** 63, 2 ** 63)))
            at -= at % 8
            data[at:at + 8] = struct.pack("<q", word)[:len(data) - at]
        elif kind == 4 and len(data) > 64:
            del data[at:at + rng.choice((1, 8, 64))]
        elif kind == 5:
            data[at:at] = data[at:at + rng.choice((1, 8, 64))]
        elif kind == 6 and rng.random() < 0.2 and at > 16:
            del data[at:]
    return bytes(data)


def sources(files, rng):
    """[(name, columns, content, values)]."""
    made = []
    for name, wanted in (("arrow", arrow_columns.columns()),
                         ("parquet", [column for column in arrow_columns.columns() if column.in_parquet])):
        for part in range(6):
            some = [wanted[0]] + wanted[1 + part::6]
            values = arrow_columns.make_values(some, rng, ROWS, 0.2)
            table = arrow_columns.make_table(some, values)
            if name == "parquet":
                path = files.parquet("source", table, row_group_size=25, compression=("none", "snappy", "zstd")[part % 3],
                                     use_dictionary=part % 2 == 0)
            else:
                path = files.arrow("source", table, 25, (None, "lz4", None, "zstd")[part % 4], part % 3 == 2)
            made.append((f"{name} {part}", some, path.read_bytes(), values))
    return made


def run(bench, session, files, rng, server, count):
    errors = rows = 0
    made = sources(files, rng)
    path = files.place("spoilt")
    for name, wanted, content, values in made:
        path.write_bytes(content)
        prepare(session, wanted, path)
        outcome = session.run(select(wanted))
        bench.check(f"{name} as it was", outcome.error or arrow_columns.first_difference(wanted, values, outcome.rows))
    for number in range(count):
        name, wanted, content, _ = made[number % len(made)] if number % 25 == 0 else (name, wanted, content, None)
        if number % 25 == 0:
            name, wanted, content, _ = made[(number // 25) % len(made)]
            prepare(session, wanted, path)
        path.write_bytes(spoil(content, rng))
        outcome = session.run(select(wanted))
        if outcome.error is None:
            rows += 1
            continue
        errors += 1
        if not outcome.sqlstate.startswith(CLASSES):
            bench.check(f"mutation {number} of {name}", str(outcome.error.fields))
            path.rename(path.with_name(f"failed-{number}"))
    bench.equal("queries of spoilt files", errors + rows, count)
    bench.check("some are noticed, some do not matter", None if errors > count / 10 and rows > count / 50 else (errors, rows))
    bench.equal("the server lives", session.value("SELECT 1"), "1")
    lost = [line for line in server.logfile.read_text(errors="replace").splitlines()
            if "was terminated by signal" in line or "PANIC" in line]
    bench.equal("nothing was lost", lost, [])


def prepare(session, wanted, path):
    session.query(f"DROP FOREIGN TABLE IF EXISTS spoilt; CREATE FOREIGN TABLE spoilt ({arrow_columns.definition(wanted)}) "
                  f"SERVER arrow_fdw OPTIONS (file '{path}')")


def select(wanted):
    return f"SELECT {arrow_columns.select_list(wanted)} FROM spoilt"
