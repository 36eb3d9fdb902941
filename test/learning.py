#!/usr/bin/env python3
"""learning.py - trainings and predictions in SQL find what NumPy finds, on devices and in PostgreSQL, and harm nothing.

`predict`: every prediction has the same bits on the device and in PostgreSQL, and is that of the textbook's formula; models that
do not fit are errors. `logistic`, `linear`, `clusters`, `components`: against the same methods in NumPy, with the device and
without. `sources`: tables, queries, views, partitions, files, pinned tables; NULLs and types. `refused`: what is no training, by
SQLSTATE. `rights`: columns, policies, names that would be SQL. `progress`: the view, messages, cancels. `wide`: many columns.
`recipes`: the statements of docs/learning.md. With --sklearn the trainings are compared with scikit-learn too.
Must never: compare a device with itself.
Called by: make test-learning, test/run_all.py.
"""

import argparse
import math
import random
import re
import sys
import tempfile
import threading
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tools"))

import cluster  # noqa: E402
import numpy as np  # noqa: E402
from cache_bench import Bench  # noqa: E402
from pg_client import DatabaseError  # noqa: E402
from run_sql import DIRECT, FORCED, OFF  # noqa: E402

ROWS = 20000
NAMES = ["a", "b", "c", "d"]
TABLE = f"""
    CREATE TABLE t (id int, a double precision, b real, c int, d numeric(12,3), flag bool, "Odd "" name" smallint,
                    y bool, yn numeric(1,0), target double precision);
    SELECT setseed(0.25);
    INSERT INTO t SELECT i, a, b, c, d, flag, i % 11, y, y::int, 3 + 2 * a - b + 0.01 * c + d / 7 - flag::int + random()
    FROM (SELECT *, random() < 1 / (1 + exp(-(0.5 + a - 2 * b + 0.02 * c + d / 50 - flag::int))) AS y
          FROM (SELECT i, random() * 4 - 2 AS a, (random() - 0.5)::real AS b, (random() * 100)::int AS c,
                       (random() * 30)::numeric(12,3) AS d, random() < 0.4 AS flag
                FROM generate_series(1, {ROWS}) i OFFSET 0) AS drawn OFFSET 0) AS classed;
    CREATE TABLE holes AS SELECT id, CASE WHEN id % 7 > 0 THEN a END AS a, CASE WHEN id % 5 > 0 THEN b END AS b, c, d,
        CASE WHEN id % 13 > 0 THEN y END AS y, target FROM t;
    CREATE TABLE apart AS SELECT a, b, c, a + 2 * b > 0.1 AS y FROM t;
    CREATE TABLE empty (a real, b real, y bool);
    CREATE TABLE parts (id int, a double precision, b real, c int, d numeric(12,3), y bool) PARTITION BY RANGE (id);
    CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (7000);
    CREATE TABLE parts_2 (y bool, d numeric(12,3), c int, b real, a double precision, id int);
    ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (7000) TO (1000000);
    INSERT INTO parts SELECT id, a, b, c, d, y FROM t;
    CREATE VIEW seen AS SELECT * FROM t;
"""
SCENES = ("predict", "logistic", "linear", "clusters", "components", "sources", "refused", "rights", "progress", "wide", "recipes")


def numbers(text):
    """Of an array: the values as the text has them, so that -0 and NaN stay."""
    return np.array([float(value) for value in re.findall(r"[^{},]+", text)])


def array(values):
    return "{" + ",".join(map(repr, map(float, values))) + "}"


def matrix_text(rows):
    return "{" + ",".join(array(row) for row in rows) + "}"


class Learning(Bench):
    def __init__(self, server, options):
        super().__init__()
        self.server, self.options = server, options
        self.rng = np.random.default_rng(options.seed)

    def near(self, name, found, expected, tolerance):
        found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
        if found.shape != expected.shape:
            self.check(name, f"{found.shape} numbers, expected {expected.shape}")
            return
        apart = np.abs(found - expected) / np.maximum(np.abs(expected), 1e-3)
        self.check(name, None if np.all(apart <= tolerance) else f"{found}, expected {expected}")

    def both(self, settings=DIRECT):
        """A session with the device, and one without."""
        return (("device", self.server.connect(settings={**settings, "pg_turbine.device": "cpu"})),
                ("PostgreSQL", self.server.connect(settings=OFF)))

    def rows(self, sql):
        with self.server.connect(settings=OFF) as session:
            return np.array([[float(cell) for cell in row] for row in session.query(sql)])

    def notices(self, session, sql):
        session.notices.clear()
        rows = session.query(sql)
        return rows, [notice["M"] for notice in session.notices if notice["S"] == "NOTICE"]

    # ---- predictions ----

    def predict(self):
        columns = "a, b, c, d, flag::int"
        models = {
            "linregr_predict": [array(self.rng.normal(size=6)), array([0, 1e300, 1, 1, 1, 1]), array([-0.0] * 6),
                                "{NaN,1,1,1,1,1}", "{0,Infinity,-Infinity,0,0,0}"],
            "logregr_predict": [array(self.rng.normal(size=6)), array([800, 1, 1, 1, 1, 1]), array([-800, 1, 1, 1, 1, 1]),
                                "{NaN,1,1,1,1,1}", "{-Infinity,0,0,0,0,0}"],
            "kmeans_predict": [matrix_text(self.rng.normal(size=(k, 5)) * [1, 1, 40, 10, 1]) for k in (1, 2, 7, 8, 9, 64, 65)] +
                              [matrix_text([[0, 0, 50, 15, 0]] * 3), "{{NaN,0,0,0,0},{0,0,0,0,0}}", "{{1e200,0,0,0,0}}"]}
        models["logregr_variance"] = models["logregr_softplus"] = models["logregr_predict"]
        models["kmeans_distance"] = models["kmeans_predict"]
        for name, texts in models.items():
            for model in texts:
                for table in ("t", "holes"):
                    shown = columns.replace("flag::int", "1 - a") if table == "holes" else columns
                    call = f"turbine.{name}('{model}', {shown})"
                    found = []
                    for where, session in self.both():
                        with session:
                            found.append(session.query(f"SELECT p, count(*), min(id), max(id) FROM (SELECT id, {call} AS p FROM {table}"
                                                       f" WHERE id < 3000 OR {call} > 0.5) x GROUP BY p ORDER BY p"))
                            if where == "device":
                                plan = str(session.query(f"EXPLAIN SELECT count({call}) FROM {table}"))
                                self.check(f"{name} is on the device", None if "GpuPreAgg" in plan else plan)
                    self.check(f"{name} of {model[:60]} over {table}: {len(found[0])} values",
                               None if found[0] == found[1] else "they differ on the device")
        # Products: without an error where PostgreSQL's operator has one
        found = []
        for where, session in self.both():
            with session:
                found.append(session.query(
                    "SELECT id, max(turbine.product(a, b, c, 1e-200, 1e-150)), max(turbine.product(a, c - 50, 1e300, 1e50)), "
                    "max(turbine.product(a, b)), max(turbine.product(c, 1e-300)) FROM holes GROUP BY id ORDER BY id"))
                self.equal(f"a product of nothing, {where}", session.value("SELECT turbine.product(VARIADIC '{}') IS NULL"), "t")
        kinds = {value for row in found[0] for value in row[1:3]}
        self.check("products", None if found[0] == found[1] and {"0", "-0", "Infinity", "-Infinity", None} <= kinds else f"{kinds}")
        # The textbook's formulas
        with self.server.connect(settings=OFF) as session:
            for z in [*(self.rng.normal(size=20) * 10).tolist(), 0.0, 700.0, -700.0, 40.0, -40.0, 1e-20]:
                p, variance, softplus = (float(cell) for cell in session.query(
                    f"SELECT turbine.logregr_predict('{{0,1}}', {z!r}), turbine.logregr_variance('{{0,1}}', {z!r}), "
                    f"turbine.logregr_softplus('{{0,1}}', {z!r})")[0])
                e = math.exp(-abs(z))
                self.near(f"predictions of {z}", [p / (1 / (1 + e) if z > 0 else e / (1 + e)), variance / (e / (1 + e) ** 2),
                                                  softplus / (max(z, 0) + math.log1p(e))], [1, 1, 1], 4e-16)
            centroids = self.rng.normal(size=(9, 3))
            for row in self.rng.normal(size=(20, 3)):
                call = f"('{matrix_text(centroids)}', {', '.join(map(repr, row.tolist()))})"
                apart = np.sqrt(((centroids - row) ** 2).sum(axis=1))
                self.equal("the nearest centroid", int(session.value(f"SELECT turbine.kmeans_predict{call}")), int(apart.argmin()) + 1)
                self.near("its distance", float(session.value(f"SELECT turbine.kmeans_distance{call}")), apart.min(), 1e-14)
            self.equal("the lower one of two", session.value("SELECT turbine.kmeans_predict('{{1},{3},{1}}', 2)"), "1")
        # Models that come at run time, and models that do not fit
        for where, session in self.both():
            with session:
                session.query(f"CREATE TEMP TABLE model AS SELECT '{array(self.rng.normal(size=3))}'::float8[] AS coef, 1 AS n")
                sums = [session.value(f"SELECT sum(turbine.logregr_predict({model}, a, b)) FROM t")
                        for model in ("(SELECT coef FROM model)", "(SELECT coef FROM model ORDER BY n LIMIT 1)")]
                session.query("PREPARE s(float8[]) AS SELECT sum(turbine.logregr_predict($1, a, b)) FROM t")
                coef = session.value("SELECT coef FROM model")
                sums += [session.value(f"EXECUTE s('{coef}')") for _ in range(7)]
                self.check(f"models at run time, {where}", None if len(set(sums)) == 1 else f"{sums}")
                if where == "device":
                    for model in ("(SELECT coef FROM model)", "'{1,2,3}'"):
                        plan = str(session.query(f"EXPLAIN SELECT sum(turbine.logregr_predict({model}, a, b)) FROM t"))
                        self.check(f"a model {model} is on the device", None if "GpuPreAgg" in plan else plan)
                for call, sqlstate in (("linregr_predict('{1,2}', a, b)", "2202E"), ("logregr_predict('{{1,2,3}}', a, b)", "2202E"),
                                       ("linregr_predict('{1,NULL,3}', a, b)", "22004"), ("kmeans_predict('{1,2}', a, b)", "2202E"),
                                       ("kmeans_predict('{{1,2,3}}', a, b)", "2202E"), ("kmeans_predict('{{1,NULL}}', a, b)", "22004"),
                                       ("linregr_predict('{}', a)", "2202E"), ("kmeans_distance('{}', a)", "2202E")):
                    self.fails(f"{call}, {where}", session, f"SELECT sum(turbine.{call}) FROM t", sqlstate)
                    self.equal(f"{call} of no rows, {where}", session.run(f"SELECT turbine.{call} FROM empty").sqlstate, "00000")
                self.equal(f"a NULL model, {where}", session.query("SELECT count(turbine.linregr_predict(NULL, a, b)) FROM t"), [("0",)])
                self.equal(f"a NULL model of a subquery, {where}", session.query(
                    "SELECT count(turbine.linregr_predict((SELECT NULL::float8[]), a, b)) FROM t"), [("0",)])
                self.equal(f"an array of columns, {where}", session.value(
                    "SELECT sum(turbine.linregr_predict('{0,1,2}', VARIADIC ARRAY[c, c])) = 3 * sum(c) FROM t"), "t")
                self.equal(f"a model of each row, {where}", session.value(
                    "SELECT sum(turbine.linregr_predict(ARRAY[0, c], 2)) = 2 * sum(c) FROM t"), "t")

    # ---- trainings ----

    def newton(self, x, t, l2=0.0, steps=60):
        """Weights, their standard errors and the log-likelihood."""
        x = np.column_stack([np.ones(len(x)), x])
        w = np.zeros(x.shape[1])
        penalty = np.diag([0.0] + [l2] * (len(w) - 1))
        for _ in range(steps):
            p = 1 / (1 + np.exp(-x @ w))
            matrix = (x * (p * (1 - p))[:, None]).T @ x + penalty
            step = np.linalg.solve(matrix, x.T @ (t - p) - penalty @ w)
            w += step
            if (step @ step) <= 1e-26 * (w @ w):
                break
        z = x @ w
        return w, np.sqrt(np.diag(np.linalg.inv(matrix))), float((t * z - np.logaddexp(0, z)).sum())

    def logistic(self):
        data = self.rows("SELECT a, b::float8, c, d, flag::int, y::int FROM t")
        x, t = data[:, :-1], data[:, -1]
        for l2 in (0.0, 3.0, 1000.0):
            w, errors, log_likelihood = self.newton(x, t, l2)
            for where, session in self.both():
                for target in ("y", "yn"):
                    row, notices = self.notices(session, f"SELECT * FROM turbine.logregr_train('t', '{target}', '{{a,b,c,d,flag}}', "
                                                         f"40, 1e-20, {l2})")
                    row = row[0]
                    name = f"logregr_train of {target}, l2 {l2}, {where}"
                    self.near(f"{name}: weights", numbers(row[0]), w, 1e-8)
                    self.near(f"{name}: standard errors", numbers(row[1]), errors, 1e-8)
                    self.near(f"{name}: log-likelihood", float(row[2]), log_likelihood, 1e-11)
                    self.equal(f"{name}: the rest", (row[4:], notices), (("t", str(ROWS), "0"), []))
            if self.options.sklearn:
                import sklearn.linear_model
                model = sklearn.linear_model.LogisticRegression(C=1 / l2 if l2 else np.inf, solver="newton-cholesky", tol=1e-10)
                model.fit(x, t)
                self.near(f"scikit-learn's weights, l2 {l2}", w, [*model.intercept_, *model.coef_[0]], 1e-6)
        for where, session in self.both():
            with session:
                # Far from zero, in other units: as good
                far, _ = self.notices(session, "SELECT coef FROM turbine.logregr_train('SELECT a * 1e-8 + 5 AS a, b * 1e9 AS b, y FROM "
                                               "t', 'y', "
                                               "'{a,b}', tolerance => 1e-20)")
                plain = numbers(session.value("SELECT coef FROM turbine.logregr_train('t', 'y', '{a,b}', tolerance => 1e-20)"))
                self.near(f"moved and scaled columns, {where}", numbers(far[0][0])[1:] / [1e8, 1e-9], plain[1:], 1e-5)
                # One step, and none that satisfies
                row, notices = self.notices(session, "SELECT iterations, converged, coef FROM turbine.logregr_train('t', 'y', '{a,b}', 1)")
                self.equal(f"one iteration, {where}", (row[0][:2], notices), (("1", "f"), ["not converged in 1 iterations"]))
                p = np.full(ROWS, 0.5)
                design = np.column_stack([np.ones(ROWS), x[:, :2]])
                self.near(f"the first step, {where}", numbers(row[0][2]),
                          np.linalg.solve(design.T @ design / 4, design.T @ (t - p)), 1e-8)
                row, notices = self.notices(session, "SELECT iterations, converged FROM turbine.logregr_train('t', 'y', '{a,b}', 9, 0)")
                self.check(f"tolerance 0, {where}", None if row[0][0] == "9" or row[0][1] == "t" else f"{row} {notices}")
                # Separable classes
                row, notices = self.notices(session, "SELECT coef, converged, iterations FROM turbine.logregr_train('apart', 'y', '{a,b}')")
                coef = numbers(row[0][0])
                self.equal(f"separable classes, {where}", (row[0][1:], notices),
                           (("f", "20"), ["not converged: the classes are separable"]))
                self.near(f"their ratios, {where}", coef[2] / coef[1], 2, 0.02)
                row, notices = self.notices(session, "SELECT converged FROM turbine.logregr_train('apart', 'y', '{a,b}', 1000, 0)")
                self.equal(f"separable classes until the end, {where}", (row, notices),
                           ([("f",)], ["not converged: the classes are separable"]))
                row, notices = self.notices(session, "SELECT converged FROM turbine.logregr_train('apart', 'y', '{a,b}', 100, l2 => 1)")
                self.equal(f"separable classes with a penalty, {where}", (row, notices), ([("t",)], []))
                # Rows so far out that their products are 0
                steep = ("SELECT CASE WHEN id % 2000 = 0 THEN 1e6 ELSE a END AS a, id % 2000 = 0 OR y AS y, "
                         "CASE id % 2000 WHEN 0 THEN 1e-18 WHEN 1 THEN 0 ELSE id % 2 * 2 - 1 END::float8 AS b FROM t "
                         "WHERE id BETWEEN 1001 AND 3000")
                outcome = session.run(f"SELECT turbine.logregr_train('{steep}', 'y', '{{a,b}}', 150, 0)")
                self.equal(f"rows far out, {where}", outcome.sqlstate, "00000")
                # Tiny tables
                values = "(VALUES (1, 0, false), (2, 1, true), (3, 1, false), (4, 0, true)) AS v(a, b, y)"
                found = numbers(session.value(f"SELECT coef FROM turbine.logregr_train('SELECT * FROM {values}', 'y', '{{a,b}}', "
                                              f"tolerance => 1e-20)"))
                tiny = np.array([[1, 0, 0], [2, 1, 1], [3, 1, 0], [4, 0, 1]], dtype=float)
                self.near(f"four rows, {where}", found, self.newton(tiny[:, :2], tiny[:, 2])[0], 1e-6)

    def linear(self):
        data = self.rows("SELECT a, b::float8, c, d, flag::int, target FROM t")
        x, t = np.column_stack([np.ones(ROWS), data[:, :-1]]), data[:, -1]
        for l2 in (0.0, 50.0):
            penalty = np.diag([0.0] + [l2] * 5)
            inverse = np.linalg.inv(x.T @ x + penalty)
            w = inverse @ x.T @ t
            left = t - x @ w
            residual = np.sqrt(left @ left / (ROWS - 6))
            errors = residual * np.sqrt(np.diag(inverse @ x.T @ x @ inverse))
            r2 = 1 - left @ left / ((t - t.mean()) @ (t - t.mean()))
            for where, session in self.both():
                with session:
                    row = session.query(f"SELECT * FROM turbine.linregr_train('t', 'target', '{{a,b,c,d,flag}}', {l2})")[0]
                name = f"linregr_train, l2 {l2}, {where}"
                self.near(f"{name}: weights", numbers(row[0]), w, 1e-9)
                self.near(f"{name}: standard errors", numbers(row[1]), errors, 1e-9)
                self.near(f"{name}: the rest", [float(cell) for cell in row[2:]], [r2, residual, ROWS, 0], 1e-10)
        for where, session in self.both():
            with session:
                row = session.query("SELECT * FROM turbine.linregr_train('SELECT a, 1e9 + 3 * a AS y FROM t', 'y', '{a}')")[0]
                self.near(f"an exact line far from zero, {where}", numbers(row[0]), [1e9, 3], 1e-7)
                self.check(f"its r2, {where}", None if 1 - 1e-12 < float(row[2]) <= 1 else row[2])
                row = session.query("SELECT * FROM turbine.linregr_train('VALUES (1, 2), (3, 5)', 'column2', '{column1}')")[0]
                self.near(f"two rows, {where}", numbers(row[0]), [0.5, 1.5], 1e-12)
                self.equal(f"two rows have no errors, {where}", (row[1], row[3]), (None, None))
                row = session.query("SELECT * FROM turbine.linregr_train('SELECT a, 7 AS y FROM t', 'y', '{a}')")[0]
                self.near(f"a constant target, {where}", numbers(row[0]), [7, 0], 1e-12)
                self.equal(f"a constant target has no r2, {where}", row[2], None)

    def lloyd(self, x, centroids, steps, tolerance):
        centroids = centroids.copy()
        taken = 0
        while taken < steps:
            taken += 1
            labels = ((x[:, None, :] - centroids[None]) ** 2).sum(axis=2).argmin(axis=1)
            moved = 0.0
            for k in range(len(centroids)):
                if (labels == k).any():
                    mean = x[labels == k].mean(axis=0)
                    moved += ((mean - centroids[k]) ** 2).sum()
                    centroids[k] = mean
            if moved <= tolerance * x.var(axis=0).mean():
                break
        squares = ((x[:, None, :] - centroids[None]) ** 2).sum(axis=2)
        labels = squares.argmin(axis=1)
        return centroids, np.bincount(labels, minlength=len(centroids)), squares.min(axis=1).sum(), taken

    def clusters(self):
        scaled = "SELECT a, b::float8 * 4 AS b, c / 25.0 AS c, d / 8 AS d FROM t"
        x = self.rows(scaled)
        for k, tolerance in ((1, 0), (5, 1e-4), (17, 0)):
            start = x[self.rng.choice(len(x), k, replace=False)]
            centroids, sizes, inertia, steps = self.lloyd(x, start, 30, tolerance)
            for where, session in self.both():
                with session:
                    row = session.query(f"SELECT * FROM turbine.kmeans('{scaled}', '{{a,b,c,d}}', {k}, 30, {tolerance}, "
                                        f"initial => '{matrix_text(start)}')")[0]
                name = f"kmeans, k {k}, tolerance {tolerance}, {where}"
                self.near(f"{name}: centroids", numbers(row[0]), centroids.ravel(), 1e-9)
                self.equal(f"{name}: sizes", numbers(row[1]).astype(int).tolist(), sizes.tolist())
                self.near(f"{name}: inertia", float(row[2]), inertia, 1e-9)
                self.equal(f"{name}: iterations and rows", (row[3], row[5:]), (str(steps), (str(ROWS), "0")))
            if self.options.sklearn and k > 1:
                import sklearn.cluster
                model = sklearn.cluster.KMeans(k, init=start, n_init=1, max_iter=30, tol=tolerance, algorithm="lloyd").fit(x)
                self.near(f"scikit-learn's centroids, k {k}", model.cluster_centers_.ravel(), centroids.ravel(), 1e-9)
        for where, session in self.both():
            with session:
                session.query("SET pg_turbine.device = cpu")
                found = [session.query("SELECT centroids, inertia FROM turbine.kmeans('t', '{a,b}', 6, seed => 7)")[0] for _ in range(2)]
                self.near(f"the same seed, {where}", numbers(found[0][0]), numbers(found[1][0]), 1e-6)
                other = session.value("SELECT centroids FROM turbine.kmeans('t', '{a,b}', 6, seed => 8)")
                self.check(f"another seed, {where}", None if not np.allclose(numbers(other), numbers(found[0][0])) else "the same clusters")
                # k-means++ finds clusters that are far apart
                rows = "SELECT i % 20 * 100 + random() AS a, i % 20 * -50 + random() AS b FROM generate_series(1, 4000) i"
                session.query(f"CREATE TEMP TABLE far AS {rows}")
                row, notices = self.notices(session, "SELECT sizes, inertia, converged FROM turbine.kmeans('far', '{a,b}', 20)")
                self.equal(f"clusters far apart, {where}", (set(numbers(row[0][0])), row[0][2], notices), ({200.0}, "t", []))
                # Few different rows, and none for a cluster
                few = "SELECT i % 3 AS a FROM generate_series(1, 300) i"
                self.equal(f"as many clusters as rows, {where}", sorted(numbers(session.value(
                    f"SELECT centroids FROM turbine.kmeans('{few}', '{{a}}', 3)"))), [0, 1, 2])
                self.fails(f"more clusters than rows, {where}", session, f"SELECT turbine.kmeans('{few}', '{{a}}', 4)", "22023")
                row, notices = self.notices(session, f"SELECT sizes, centroids FROM turbine.kmeans('{few}', '{{a}}', 3, initial => "
                                                     "'{{0},{1},{1e6}}')")
                self.equal(f"an empty cluster, {where}", (row[0][0], notices), ("{100,200,0}", ["1 of 3 clusters have no rows"]))
                self.near(f"its centroid, {where}", numbers(row[0][1]), [0, 1.5, 1e6], 1e-12)
                row, notices = self.notices(session, "SELECT iterations FROM turbine.kmeans('t', '{a,b,c}', 9, 1)")
                self.equal(f"one iteration, {where}", (row, notices), ([("1",)], ["not converged in 1 iterations"]))
                row = session.query("SELECT centroids FROM turbine.kmeans('SELECT 1e9 + a AS a FROM t', '{a}', 2, tolerance => 0, initial "
                                    "=> "
                                    "'{{999999999},{1000000001}}')")
                apart = self.lloyd(self.rows("SELECT a FROM t"), np.array([[-1.0], [1.0]]), 100, 0)[0].ravel()
                self.near(f"clusters far from zero, {where}", numbers(row[0][0]) - 1e9, apart, 1e-4)

    def components(self):
        x = self.rows("SELECT a, b::float8, c, d, flag::int FROM t")
        for standardize in (False, True):
            scaled = (x - x.mean(axis=0)) / (x.std(axis=0, ddof=1) if standardize else 1)
            variances, vectors = np.linalg.eigh(np.cov(scaled.T))
            variances, vectors = variances[::-1], vectors.T[::-1]
            vectors *= np.sign(vectors[np.arange(5), np.abs(vectors).argmax(axis=1)])[:, None]
            for where, session in self.both():
                with session:
                    rows = session.query(f"SELECT * FROM turbine.pca('t', '{{a,b,c,d,flag}}', standardize => {standardize})")
                    three = session.query(f"SELECT * FROM turbine.pca('t', '{{a,b,c,d,flag}}', 3, {standardize})")
                    score = float(session.value(f"SELECT turbine.linregr_predict('{rows[1][4]}', a, b, c, d, flag::int) FROM t WHERE id = "
                                                f"1"))
                name = f"pca, standardize {standardize}, {where}"
                self.near(f"{name}: variances", [float(row[1]) for row in rows], variances, 1e-9)
                self.near(f"{name}: ratios", [float(row[2]) for row in rows], variances / variances.sum(), 1e-9)
                self.near(f"{name}: vectors", [numbers(row[3]) for row in rows], vectors, 1e-7)
                self.near(f"{name}: a row's place", score, scaled[0] @ vectors[1], 1e-7)
                self.equal(f"{name}: three of them", three, rows[:3])
        for where, session in self.both():
            with session:
                rows = session.query("SELECT variance, ratio FROM turbine.pca('SELECT a, 2 * a AS b, 5 AS c FROM t', '{a,b,c}', "
                                     "standardize => true)")
                self.near(f"dependent and constant columns, {where}", [float(cell) for row in rows for cell in row],
                          [2, 1, 0, 0, 0, 0], 1e-9)
                self.equal(f"no variance, {where}", session.query("SELECT variance, ratio FROM turbine.pca('SELECT 1 AS a FROM t', '{a}')"),
                           [("0", None)])
                self.fails(f"one row, {where}", session, "SELECT turbine.pca('SELECT 1 AS a', '{a}')", "22023")

    # ---- sources ----

    def sources(self):
        train = "SELECT coef, rows, left_out FROM turbine.logregr_train('{}', 'y', '{{a,b,c,d}}', tolerance => 1e-20)"
        kinds = {"t": "t", "public.t": "t", '"t"': "t", "seen": "t", "parts": "t", " TABLE t": "t", "(SELECT * FROM t)": "t", "copied": "t",
                 "SELECT * FROM t -- all of it": "t", "SELECT * FROM t;": "t", "WITH w AS (SELECT * FROM t) SELECT * FROM w": "t",
                 "SELECT id, x.a, b, c, d, y FROM (SELECT a, id AS i FROM t) x JOIN t ON id = "
                 "i": "t", "filed": "t", "pinned": "t", "holes": "holes"}
        with tempfile.TemporaryDirectory() as folder, self.server.connect(settings=OFF) as session:
            Path(folder).chmod(0o777)
            path = Path(folder) / "t.parquet"
            session.query(f"SELECT turbine.to_parquet('SELECT id, a, b, c, d, y FROM t', '{path}')")
            session.query("CREATE FOREIGN TABLE filed (id int, a double precision, b real, c int, d numeric(12,3), y bool) SERVER "
                          "arrow_fdw "
                          f"OPTIONS (file '{path}')")
            session.query("CREATE FOREIGN TABLE pinned (id int, a double precision, b real, c int, d numeric(12,3), y bool) SERVER "
                          "gstore_fdw; "
                          "INSERT INTO pinned SELECT id, a, b, c, d, y FROM t; "
                          "CREATE MATERIALIZED VIEW copied AS SELECT * FROM t")
            for where, other in self.both():
                with other:
                    for source, table in kinds.items():
                        data = self.rows(f"SELECT a, b::float8, c, d, y::int FROM {table} WHERE num_nulls(a, b, c, d, y) = 0")
                        row = other.query(train.format(source))[0]
                        self.near(f"{source}, {where}: weights", numbers(row[0]), self.newton(data[:, :4], data[:, 4])[0], 1e-7)
                        self.equal(f"{source}, {where}: rows", row[1:], (str(len(data)), str(ROWS - len(data))))
                    # What is left out, in all trainings
                    left = str(ROWS - len(self.rows("SELECT id FROM holes WHERE num_nulls(a, b) = 0")))
                    for sql in ("linregr_train('holes', 'target', '{a,b}')", "kmeans('holes', '{a,b}', 3)"):
                        self.equal(f"rows that {sql} leaves out, {where}", other.value(f"SELECT left_out FROM turbine.{sql}"), left)
                    whole = numbers(other.value("SELECT centroids FROM turbine.kmeans('SELECT a, b FROM holes WHERE a IS NOT NULL AND b "
                                                "IS NOT NULL', "
                                                "'{a,b}', 2, tolerance => 0, initial => '{{-1,0},{1,0}}')"))
                    self.near(f"clusters of what is not, {where}", numbers(other.value(
                        "SELECT centroids FROM turbine.kmeans('holes', '{a,b}', 2, tolerance => 0, initial => "
                        "'{{-1,0},{1,0}}')")), whole, 1e-9)
                    # By number
                    found = numbers(other.value("SELECT turbine.logregr_train('pinned', attnum_of('pinned', 'y'), attnums_of('pinned', "
                                                "'{a,b}'))"))
                    weights = numbers(other.value("SELECT coef FROM turbine.logregr_train('pinned', 'y', '{a,b}')"))
                    self.equal(f"by number, {where}", found.astype(np.float32).tolist(), weights.astype(np.float32).tolist())
                    self.equal(f"its type, {where}", other.value("SELECT pg_typeof(turbine.logregr_train('pinned', 6::int2, "
                                                                 "'{2,3}'::int2[], 3))"), "real[]")
                    # A table that this transaction has changed
                    other.query("BEGIN; CREATE TEMP TABLE mine AS SELECT * FROM t; DELETE FROM mine WHERE id % 2 = 0")
                    self.equal(f"rows of the transaction, {where}",
                               other.value("SELECT rows FROM turbine.linregr_train('mine', 'target', '{a}')"),
                               str(ROWS // 2))
                    other.query("ROLLBACK")
            with self.server.connect(settings={**DIRECT, "pg_turbine.device": "cpu"}) as other:
                before = {row[0]: int(row[1]) for row in other.query("SELECT * FROM turbine.stat_queries")}
                other.query(train.format("t"))
                after = {row[0]: int(row[1]) for row in other.query("SELECT * FROM turbine.stat_queries")}
                asked = after["queries"] - before["queries"]
                self.check("passes ran on the device", None if asked >= 6 else f"{asked} queries")
            session.query("DROP FOREIGN TABLE filed; DROP TABLE pinned; DROP MATERIALIZED VIEW copied")

    def refused(self):
        logistic = [
            ("'nowhere', 'y', '{a}'", "42P01"), ("'nowhere.t', 'y', '{a}'", "3F000"), ("'t', 'nothing', '{a}'", "42703"),
            ("'t', 'y', '{nothing}'", "42703"), ("'t', 'y', '{A}'", "42703"), ("'t', 'y', '{}'", "22023"), ("'t', 'y', '{a,NULL}'",
                                                                                                            "22004"),
            ("NULL, 'y', '{a}'", "22004"), ("'t', NULL, '{a}'", "22004"), ("'t', 'y', NULL", "22004"), ("'t', 'y', '{a}', NULL", "22004"),
            ("'t', 'y', '{a}', 0", "22023"), ("'t', 'y', '{a}', tolerance => -1", "22023"), ("'t', 'y', '{a}', tolerance => 'NaN'",
                                                                                             "22023"),
            ("'t', 'y', '{a}', l2 => -1", "22023"), ("'empty', 'y', '{a}'", "P0002"), ("'SELECT NULL::int AS a, true AS y', 'y', '{a}'",
                                                                                       "P0002"),
            ("'SELECT a, true AS y FROM t', 'y', '{a}'", "22023"), ("'t', 'c', '{a}'", "22023"), ("'SELECT a, 0.5 AS y FROM t', 'y', '{a}'",
                                                                                                  "22023"),
            ("'SELECT a, y, 7 AS k FROM t', 'y', '{a,k}'", "22023"), ("'SELECT a, b, y, 3 * a - 2 * b + 1 AS k FROM t', 'y', '{a,b,k}'",
                                                                      "22023"),
            ("'t', 'y', '{a,a}'", "22023"), ("'SELECT a, y FROM t WHERE id < 3', 'y', '{a}'", "00000"),
            ("'SELECT a, b, c, d, id % 2 = 0 AS y FROM t WHERE id < 5', 'y', '{a,b,c,d}'", "22023"),
            ("'SELECT a::text AS a, y FROM t', 'y', '{a}'", "42804"), ("'SELECT a, y::text AS y FROM t', 'y', '{a}'", "42804"),
            ("'SELECT ''NaN''::float8 AS a, y FROM t', 'y', '{a}'", "22023"), ("'SELECT a / 0 AS a, y FROM t', 'y', '{a}'", "22012"),
            ("'SELECT CASE WHEN id = 9 THEN ''Infinity'' ELSE a END AS a, y FROM t', 'y', '{a}'", "22023"),
            ("'SELECT 1 AS a, 2 AS a, true AS y', 'y', '{a}'", "42702"), ("'SELECT', 'y', '{a}'",
                                                                          "42P01"), ("'SELECT 1;SELECT 2', 'y', '{a}'", "42601"),
            ("'SELECT * INTO x FROM t', 'y', '{a}'", "42601"), ("'WITH w AS (DELETE FROM t RETURNING *) SELECT * FROM w', 'y', '{a}'",
                                                                "0A000"),
            ("'t; DROP TABLE t', 'y', '{a}'", "42602"), ("'SELECT * FROM t) x; DROP TABLE t; --', 'y', '{a}'", "42601"),
            ("'', 'y', '{a}'", "42602"), ("'a.b.c.d', 'y', '{a}'", "42601"),
            ("'t', 'y', (SELECT array_agg('c' || i) FROM generate_series(1, 101) i)", "54000")]
        others = [
            ("kmeans('t', '{a}', 0)", "22023"), ("kmeans('t', '{a}', 10001)", "54000"), ("kmeans('t', '{a}', NULL)", "22004"),
            ("kmeans('t', '{a}', 2, 0)", "22023"), ("kmeans('t', '{a}', 2, 5, -1)", "22023"), ("kmeans('t', '{a}', 2, initial => '{{1}}')",
                                                                                               "2202E"),
            ("kmeans('t', '{a}', 1, initial => '{1}')", "2202E"), ("kmeans('t', '{a}', 1, initial => '{{NULL}}')", "22004"),
            ("kmeans('t', '{a}', 1, initial => '{{NaN}}')", "22023"), ("kmeans('empty', '{a}', 1)", "P0002"), ("pca('empty', '{a}')",
                                                                                                               "P0002"),
            ("pca('t', '{a}', 0)", "22023"), ("pca('t', '{a}', standardize => NULL)", "22004"), ("pca(NULL, '{a}')", "22004"),
            ("linregr_train('t', 'target', '{a}', -1)", "22023"), ("linregr_train('t', 'target', '{a,a}')", "22023"),
            ("linregr_train('SELECT 1 AS a, 2 AS b', 'b', '{a}')", "22023"), ("linregr_train('t', 'nothing', '{a}')", "42703"),
            ("logregr_train('t'::regclass, 1::int2, '{2}')", "42809"), ("logregr_train('t'::text, 1::int2, '{2}')", "42883")]
        for where, session in self.both():
            with session:
                for arguments, sqlstate in logistic:
                    self.fails(f"logregr_train({arguments}), {where}", session, f"SELECT turbine.logregr_train({arguments})", sqlstate)
                for call, sqlstate in others:
                    self.fails(f"{call}, {where}", session, f"SELECT turbine.{call}", sqlstate)
                outcome = session.run("SELECT turbine.logregr_train('SELECT a, b, y, 3 * a - 2 * b AS third FROM t', 'y', '{b,third,a}')")
                self.check(f"the dependent column's name, {where}", None if '"a" depends' in str(outcome.error) else str(outcome.error))
                self.equal(f"the tables are as before, {where}", session.value("SELECT count(*) FROM t"), str(ROWS))

    def rights(self):
        with self.server.connect(settings=OFF) as session:
            session.query("""
                CREATE ROLE learner LOGIN;
                CREATE TABLE secret AS SELECT id, a, b, c, y, target, id % 4 AS owner FROM t;
                GRANT SELECT (a, b, y) ON secret TO learner;
                CREATE TABLE split AS SELECT * FROM secret;
                ALTER TABLE split ENABLE ROW LEVEL SECURITY;
                CREATE POLICY quarter ON split FOR SELECT TO learner USING (owner = 1);
                GRANT SELECT ON split TO learner;
                CREATE TABLE "x; DROP TABLE t; --" AS SELECT a AS "a""; DROP TABLE t; --", b AS "SELECT", y AS "$1" FROM t;
                GRANT SELECT ON "x; DROP TABLE t; --" TO learner;
                GRANT SELECT ON t TO learner""")
        for settings in (DIRECT, FORCED, OFF):
            with self.server.connect(user="learner", settings=settings) as session:
                self.fails("a column without the right", session, "SELECT turbine.linregr_train('secret', 'c', '{a}')", "42501")
                self.fails("a column of a query without the right", session,
                           "SELECT turbine.linregr_train('SELECT c, a FROM secret', 'c', '{a}')", "42501")
                self.fails("clusters without the right", session, "SELECT turbine.kmeans('secret', '{a,c}', 2)", "42501")
                self.equal("columns with the right", session.value("SELECT rows FROM turbine.logregr_train('secret', 'y', '{a,b}')"),
                           str(ROWS))
                self.equal("rows that a policy shows", session.value("SELECT rows FROM turbine.logregr_train('split', 'y', '{a,b}')"),
                           str(ROWS // 4))
                self.equal("clusters of them", session.value("SELECT sizes[1] FROM turbine.kmeans('split', '{a}', 1)"), str(ROWS // 4))
                row = session.query("""SELECT rows, coef FROM turbine.logregr_train('"x; DROP TABLE t; --"', '$1',
                                       ARRAY['a"; DROP TABLE t; --', 'SELECT'])""")[0]
                self.equal("names that would be SQL", row[0], str(ROWS))
                plain = session.value("SELECT coef FROM turbine.logregr_train('t', 'y', '{a,b}')")
                self.near("their weights", numbers(row[1]), numbers(plain), 1e-9)
                self.equal("a column's odd name", session.run(
                    """SELECT turbine.linregr_train('t', 'target', ARRAY['Odd " name'])""").sqlstate, "00000")
        with self.server.connect(settings=OFF) as session:
            session.query('DROP TABLE secret, split, "x; DROP TABLE t; --"; REVOKE ALL ON t FROM learner; DROP ROLE learner')

    def progress(self):
        slow = "SELECT turbine.logregr_train('SELECT a, b, y FROM t, generate_series(1, 100)', 'y', '{a,b}', 1000, 0)"
        for settings in (DIRECT, OFF):
            with self.server.connect(settings=settings) as session, self.server.connect(settings=OFF) as watcher:
                outcome = []
                thread = threading.Thread(target=lambda session=session, outcome=outcome: outcome.append(session.run(slow)))
                thread.start()
                shown, until = [], time.monotonic() + 60
                while time.monotonic() < until and not (shown and shown[0][2] is not None):
                    shown = watcher.query("SELECT function, role::regrole, rows, iteration, started <= now() FROM "
                                          "turbine.training_progress "
                                          f"WHERE pid = {session.backend_pid}")
                    time.sleep(0.02)
                self.check("a training is shown", None if shown and shown[0][:3] == ("logregr_train", "postgres", str(100 * ROWS))
                           else f"{shown}")
                started = time.monotonic()
                session.cancel()
                thread.join(60)
                self.equal("it is cancelled", outcome and outcome[0].sqlstate, "57014")
                self.check("soon", None if time.monotonic() - started < 15 else f"{time.monotonic() - started:.1f} s")
                self.equal("it is not shown any more", watcher.query("SELECT * FROM turbine.training_progress"), [])
                self.equal("the session goes on", session.value("SELECT 1"), "1")
        with self.server.connect(settings=DIRECT) as session:
            session.query("SET client_min_messages = debug1")
            session.notices.clear()
            iterations = session.value("SELECT iterations FROM turbine.logregr_train('t', 'y', '{a,b}')")
            told = [notice["M"] for notice in session.notices if notice["M"].startswith("logregr_train: iteration")]
            self.equal("a message for each iteration", str(len(told)), iterations)

    def wide(self):
        """More sums than one statement has."""
        for n, rows in ((7, 3000), (20, 3000), *(((100, 1500),) if self.options.long else ())):
            columns = ", ".join(f"round((random() * 4 - 2)::numeric, 4)::float8 AS c{i}" for i in range(n))
            with self.server.connect(settings=OFF) as session:
                session.query(f"DROP TABLE IF EXISTS wide; SELECT setseed(0.125); CREATE TABLE wide AS SELECT *, random() < 1 / (1 + "
                              f"exp(c0 - c1)) AS y "
                              f"FROM (SELECT {columns} FROM generate_series(1, {rows}) OFFSET 0) x; ANALYZE wide")
            names = "{" + ",".join(f"c{i}" for i in range(n)) + "}"
            data = self.rows(f"SELECT {', '.join(f'c{i}' for i in range(n))}, y::int FROM wide")
            w, errors, _ = self.newton(data[:, :-1], data[:, -1])
            variances = np.linalg.eigvalsh(np.cov(data[:, :-1].T))[::-1]
            with self.server.connect(settings={**FORCED, "pg_turbine.device": "cpu"}) as session:
                row = session.query(f"SELECT coef, std_err FROM turbine.logregr_train('wide', 'y', '{names}', tolerance => 1e-20)")[0]
                self.near(f"{n} columns: weights", numbers(row[0]), w, 1e-6)
                self.near(f"{n} columns: standard errors", numbers(row[1]), errors, 1e-6)
                found = session.query(f"SELECT variance FROM turbine.pca('wide', '{names}')")
                self.near(f"{n} columns: components", [float(cell) for cell, in found], variances, 1e-8)
                start = data[:70, :-1]
                row = session.query(f"SELECT centroids FROM turbine.kmeans('wide', '{names}', 70, 3, 0, initial => "
                                    f"'{matrix_text(start)}')")[0]
                self.near(f"{n} columns: clusters", numbers(row[0]), self.lloyd(data[:, :-1], start, 3, 0)[0].ravel(), 1e-9)
        with self.server.connect(settings=OFF) as session:
            session.query("DROP TABLE wide")

    def recipes(self):
        page = (REPOSITORY / "docs/learning.md").read_text(encoding="utf-8")
        blocks = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
        self.check("recipes of the page", None if len(blocks) >= 9 else f"{len(blocks)}")
        with self.server.connect(settings=DIRECT) as session:
            answers = []
            for block in blocks:
                try:
                    answers.append(session.query(block))
                except DatabaseError as error:
                    self.check(block, str(error))
                    return
                self.check(block, None)
            held_back = [float(cell) for cell in answers[2][0]]
            self.check("the model is good for rows that it has not seen",
                       None if held_back[1] > 0.7 and abs(held_back[2] - held_back[3]) < 0.02 else f"{held_back}")
            self.check("the view scores all customers", None if sum(int(row[1]) for row in answers[3]) == 50000 else f"{answers[3]}")
            self.equal("the new model is no worse", answers[4], [("t",)])
            unusual = [row for row in answers[5] if float(row[2]) > 30]
            self.equal("unusual by one column", len(unusual), 6)
            far = [float(row[2]) > 5 for row in answers[6]]
            self.equal("unusual by several", far, [True] * 5)
            self.check("a component", None if abs(float(answers[7][0][0])) > 0.9 else f"{answers[7]}")
            self.equal("weights by number", len(numbers(answers[8][0][0])), 5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(SCENES), help="scenes, with commas between")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--long", action="store_true", help="as many columns as a model can have")
    parser.add_argument("--sklearn", action="store_true", help="compare with scikit-learn as well")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    with cluster.Cluster("learning") as server:
        with server.connect(settings=OFF) as session:
            session.query(TABLE)
            session.query("VACUUM ANALYZE")
        bench = Learning(server, options)
        for scene in options.only.split(","):
            getattr(bench, scene)()
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
