"""test_harness.py - the harness must notice what it exists to notice.

Each case breaks an answer a little, as a defect of the engine would, and
expects the comparison to say so; or changes what may change, and expects
silence. Run by run_unit.py.
"""

import random
import sys
import unittest
from collections import Counter
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "core"), str(HERE.parent / "tools")]

import answers  # noqa: E402
import classify  # noqa: E402
import random_queries  # noqa: E402
import random_tables  # noqa: E402
import run_sql  # noqa: E402
import sql_script  # noqa: E402
from pg_client import DatabaseError, Outcome, Result  # noqa: E402


def outcome(rows, types=(23, 701), error=None):
    result = Result()
    result.columns, result.types, result.rows = [f"c{i}" for i in range(len(types))], list(types), list(rows)
    result.tag = f"SELECT {len(rows)}"
    return Outcome([] if error else [result], error)


ROWS = [(str(i), str(i / 8)) for i in range(1000)]


class Answers(unittest.TestCase):
    def test_equal(self):
        self.assertIsNone(answers.difference(outcome(ROWS), outcome(ROWS)))

    def test_other_order_is_equal_unless_ordered(self):
        self.assertIsNone(answers.difference(outcome(ROWS), outcome(ROWS[::-1])))
        self.assertIsNotNone(answers.difference(outcome(ROWS), outcome(ROWS[::-1]), ordered=True))

    def test_dropped_row(self):
        self.assertIsNotNone(answers.difference(outcome(ROWS), outcome(ROWS[:-1]), floats=True))

    def test_doubled_row_in_place_of_another(self):
        self.assertIsNotNone(answers.difference(outcome(ROWS), outcome(ROWS[:-1] + ROWS[:1]), floats=True))

    def test_ignored_null(self):
        nulls = ROWS[:-1] + [("999", None)]
        self.assertIsNotNone(answers.difference(outcome(nulls), outcome(ROWS), floats=True))
        self.assertIsNotNone(answers.difference(outcome(nulls), outcome(ROWS[:-1] + [("999", "0")]), floats=True))

    def test_floats_within_and_beyond_tolerance(self):
        self.assertIsNone(answers.difference(outcome([("1", "0.3")]), outcome([("1", "0.30000000000000004")]), floats=True))
        self.assertIsNotNone(answers.difference(outcome([("1", "0.3")]), outcome([("1", "0.30000000000000004")])))
        self.assertIsNotNone(answers.difference(outcome([("1", "0.3")]), outcome([("1", "0.3001")]), floats=True))
        self.assertIsNotNone(answers.difference(outcome([("1", "NaN")]), outcome([("1", "1")]), floats=True))
        self.assertIsNotNone(answers.difference(outcome([("1", "2")]), outcome([("2", "2")]), floats=True))

    def test_errors(self):
        division = DatabaseError({"C": "22012", "M": "division by zero"})
        overflow = DatabaseError({"C": "22003", "M": "integer out of range"})
        other = DatabaseError({"C": "22003", "M": "bigint out of range"})
        self.assertIsNone(answers.difference(outcome([], error=overflow), outcome([], error=overflow)))
        self.assertIsNotNone(answers.difference(outcome(ROWS), outcome([], error=division)))
        self.assertIsNotNone(answers.difference(outcome([], error=division), outcome(ROWS)))
        self.assertIsNotNone(answers.difference(outcome([], error=division), outcome([], error=overflow)))
        self.assertIsNotNone(answers.difference(outcome([], error=overflow), outcome([], error=other)))

    def test_order_of_keys(self):
        pairs = [("1", "a"), ("1", "b"), ("2", "c")]
        ties, wrong = [pairs[1], pairs[0], pairs[2]], [pairs[0], pairs[2], pairs[1]]
        self.assertIsNone(answers.order_difference(outcome(pairs), outcome(ties), 1))
        self.assertIsNotNone(answers.order_difference(outcome(pairs), outcome(wrong), 1))
        numerics = (answers.NUMERIC_TYPE, 25)
        scales = [("1.0", "a"), ("1.00", "b"), ("NaN", "c")]
        self.assertIsNone(answers.order_difference(outcome(scales, types=numerics),
                                                   outcome([scales[1], scales[0], scales[2]], types=numerics), 1))
        self.assertIsNotNone(answers.order_difference(outcome(scales, types=numerics),
                                                      outcome([scales[2], scales[0], scales[1]], types=numerics), 1))

    def test_types(self):
        self.assertIsNotNone(answers.difference(outcome(ROWS), outcome(ROWS, types=(20, 701))))
        self.assertIsNone(answers.difference(outcome(ROWS, types=(16500, 701)), outcome(ROWS, types=(16900, 701))))


SCRIPT = "SELECT a FROM t;\nEXPLAIN SELECT a FROM t;\n-- words\nSELECT f FROM t;\n"
OUTPUT = """SELECT a FROM t;
 a
---
 1
 2
(2 rows)

EXPLAIN SELECT a FROM t;
 QUERY PLAN
------------
 Seq Scan on t
(1 row)

-- words
SELECT f FROM t;
         f
--------------------
 0.30000000000000004
(1 row)

"""


class Preparations(unittest.TestCase):
    """Both sides may fail alike, but not where a script makes what it asks about."""

    def test_an_error_of_both_sides(self):
        failed = Outcome([], DatabaseError({"S": "ERROR", "C": "22003", "M": "integer out of range"}))
        for text, passed in (("SELECT 2147483647 + 1", 1), ("INSERT INTO t SELECT 2147483647 + 1", 0), ("prepare q AS SELECT 1", 0)):
            statements = sql_script.read_script(text + ";")
            with mock.patch("builtins.print"):
                self.assertEqual(run_sql.compare("script", statements, [(failed, None)], [(failed, None)]), (passed, 1 - passed))


class Classify(unittest.TestCase):
    def kinds(self, actual, reference=OUTPUT):
        return [kind for kind, *_ in classify.compare(reference, actual, SCRIPT)]

    def test_kinds(self):
        self.assertEqual(self.kinds(OUTPUT), [])
        self.assertEqual(self.kinds(OUTPUT.replace(" 1\n 2\n", " 2\n 1\n")), ["order"])
        self.assertEqual(self.kinds(OUTPUT.replace("Seq Scan", "Custom Scan (GpuScan)")), ["plan"])
        self.assertEqual(self.kinds(OUTPUT.replace("0.30000000000000004", "0.3")), ["float"])

    def test_defects_are_rows(self):
        self.assertEqual(self.kinds(OUTPUT.replace(" 2\n(2 rows)", "(1 row)")), ["rows"])
        self.assertEqual(self.kinds(OUTPUT.replace(" 1\n", " 7\n")), ["rows"])
        self.assertEqual(self.kinds(OUTPUT.replace("0.30000000000000004", "0.4")), ["rows"])
        self.assertEqual(self.kinds(OUTPUT.replace(" Seq Scan on t\n(1 row)", "ERROR:  no")), ["rows"])

    def test_notices(self):
        noisy = OUTPUT.replace(" a\n---", "NOTICE:  saw 1\nNOTICE:  saw 2\n a\n---")
        self.assertEqual(self.kinds(noisy.replace("NOTICE:  saw 2\n", ""), noisy), ["notices"])
        self.assertEqual(self.kinds(noisy.replace("saw 2", "saw 3"), noisy), ["rows"])
        self.assertEqual(self.kinds(noisy), ["rows"])

    def test_statement_without_output_on_one_side(self):
        silent = OUTPUT.replace(" a\n---\n 1\n 2\n(2 rows)\n\n", "")
        self.assertIn("rows", self.kinds(silent))
        self.assertIn("rows", self.kinds(OUTPUT, silent))

    def test_isolation(self):
        left = "starting permutation: a b\nstep a: SELECT 1;\n?column?\n1\n\nstep b: COMMIT;\n"
        right = left.replace("step b: COMMIT;\n", "step b: COMMIT;\nERROR:  could not serialize\n")
        self.assertEqual(classify.compare(left, left), [])
        self.assertEqual([kind for kind, *_ in classify.compare(left, right)], ["rows"])


class Script(unittest.TestCase):
    def test_statements_and_directives(self):
        statements = sql_script.read_script(
            "-- a word\nSELECT ';', E'\\';', \"a;b\", $x$;$x$, 'a\\';\n-- offloaded: GpuScan\n-- ordered\nSELECT 2; /* ; */\n"
            "-- for n in 1 2\nSELECT :n, 1::n1;\n-- end for\n")
        self.assertEqual(len(statements), 4)
        self.assertEqual((statements[1].node, statements[1].ordered), ("GpuScan", True))
        self.assertEqual(statements[3].text, "SELECT 2, 1::n1")

    def test_versions(self):
        script = "SELECT 1;\n-- since: 17\nSELECT 2;\n-- before: 17\n-- offloaded: GpuScan\nSELECT 3;\n"
        self.assertEqual([s.text for s in sql_script.read_script(script)], ["SELECT 1", "SELECT 2", "SELECT 3"])
        self.assertEqual([s.text for s in sql_script.read_script(script, 16)], ["SELECT 1", "SELECT 3"])
        self.assertEqual([s.text for s in sql_script.read_script(script, 17)], ["SELECT 1", "SELECT 2"])

    def test_parts_that_servers_lack(self):
        script = "SELECT 1;\n-- needs: icu\n-- ordered\nSELECT 2;\nSELECT 3;\n"
        self.assertEqual([s.needs for s in sql_script.read_script(script)], ["", "icu", ""])
        self.assertEqual([s.needs for s in sql_script.read_script("-- script needs: xml\n" + script)], ["xml", "icu", "xml"])
        with mock.patch.object(run_sql.server_features, "has", side_effect=lambda _, name: name == "xml"):
            left_out = Counter()
            kept = run_sql.leave_out(mock.MagicMock(), sql_script.read_script(script), left_out)
        self.assertEqual(([s.text for s in kept], left_out), (["SELECT 1", "SELECT 3"], {"icu": 1}))
        needed = {s.needs for path in (HERE / "sql").glob("*.sql") for s in sql_script.read_script(path.read_text(encoding="utf-8"))}
        self.assertEqual(needed - {""}, {*run_sql.server_features.PROBES, "file_fdw"})

    def test_shapes(self):
        statement = sql_script.read_script("-- shape: a(b, left c(d))\nSELECT 1;\n")[0]
        self.assertEqual(statement.shape, "a(b, left c(d))")
        joins = {"Depth 1": {"Join Type": "Inner", "Inner Relation": "big b"},
                 "Depth 2": {"Join Type": "Left", "Inner Relation": "c",
                             "Depth 1": {"Join Type": "Inner", "Inner Relation": "d"}}}
        plan = {"Node Type": "Limit", "Plans": [{"Node Type": "Custom Scan", "Outer Scan": "a", **joins}]}
        self.assertEqual(run_sql.shapes_shown(plan), ["a(b, left c(d))"])


class Generators(unittest.TestCase):
    def test_seed_tells_all(self):
        def make(seed):
            source = random.Random(seed)
            table = random_tables.make_table(source, "t")
            maker = random_queries.QueryMaker(source, table)
            return table.statements, [maker.query() for _ in range(50)]
        self.assertEqual(make(3), make(3))
        self.assertNotEqual(make(3), make(4))


if __name__ == "__main__":
    unittest.main()
