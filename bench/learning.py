#!/usr/bin/env python3
"""learning.py - trainings of models in SQL: how long they take, and whether they find what they should.

For each case it prints the wall times of its runs, and the least processor time.

A table of 4 columns with two targets: one that a plane separates, one drawn from its probability; a table of 8 columns for
clusters. Cases for each device: logistic regression from cached columns and from pages that only the page cache has, predictions
of all rows, 10 iterations of k-means from given centroids. Beside them, on the same rows and with the same settings,
scikit-learn if it is installed, else NumPy for k-means. Checks that the separated target's weights have its ratios, that the
others agree with scikit-learn's, and that the device has run the queries.
Exit status 1 if a check failed. Wants an idle machine.
Called by: make bench-learning [BENCH_ARGS="--rows 40000000 --kmeans-rows 10000000 --device gpu --pin"].
"""

import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import numpy as np  # noqa: E402

try:
    import sklearn.cluster
    import sklearn.linear_model
except ImportError:
    sklearn = None

TRUTH = np.array([1, 2, -3, 1, 0.5])  # the constant term, then x1 ... x4
LINE = "1 + 2 * x1 - 3 * x2 + x3 + 0.5 * x4"
COLUMNS = [f"x{i}" for i in range(1, 5)]
CLUSTER_COLUMNS = [f"x{i}" for i in range(1, 9)]
CLUSTERS = 64
ITERATIONS = 10
RIGHT_RATIOS = 0.01  # of the weights of the separated target
RIGHT_PREDICTIONS = 0.999
AGREEMENT = 1e-6  # of weights with scikit-learn's, relative


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4_000_000, help="of the table for logistic regression")
    parser.add_argument("--kmeans-rows", type=int, default=2_000_000)
    parser.add_argument("--device", action="append", help="cpu, gpu, gpu0, ...; several times for several; default: cpu")
    parser.add_argument("--pin", action="store_true", help="pin the tables, so that a GPU has their columns")
    parser.add_argument("--runs", type=int, default=3, help="of each case; the first one compiles")
    parser.add_argument("--without-libraries", action="store_true", help="do not run scikit-learn or NumPy")
    parser.add_argument("--shared-buffers", default="1GB")
    options = parser.parse_args()
    options.device = options.device or ["cpu"]
    return options


class Figures:
    def __init__(self, server, session):
        self.failed, self.pids = 0, (server.service_pid(), session.backend_pid)

    def timed(self, work):
        """Seconds of wall time, seconds of processor time (of turbined, the backend and this process), the result."""
        processor, started = self.processor_seconds(), time.perf_counter()
        result = work()
        seconds = time.perf_counter() - started
        return (seconds, self.processor_seconds() - processor), result

    def processor_seconds(self):
        ticks = 0
        for pid in self.pids:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK") + time.process_time()

    def show(self, name, times, note=""):
        wall = "  ".join(f"{seconds * 1000:9.1f}" for seconds, _ in times)
        print(f"{name:<52}{wall} ms, processor {min(seconds for _, seconds in times) * 1000:9.1f}  {note}", flush=True)

    def check(self, name, right, found):
        print(f"  {'ok' if right else 'WRONG'}: {name}: {found}", flush=True)
        self.failed += not right


def numbers(text):
    """The values of a PostgreSQL array of one or two dimensions."""
    return np.array(text.replace("{", "").replace("}", "").split(","), dtype=float)


def make(session, options):
    columns = ", ".join(f"{name} real" for name in COLUMNS)
    session.query(f"CREATE TABLE points ({columns}, separated bool, noisy bool)")
    session.query("SELECT setseed(0.5)")
    session.query(f"INSERT INTO points SELECT x1, x2, x3, x4, {LINE} > 0, random() < 1 / (1 + exp(-({LINE}))) FROM (SELECT "
                  f"{', '.join(f'(random() * 2 - 1)::real AS {name}' for name in COLUMNS)} FROM generate_series(1, {options.rows}) "
                  "OFFSET 0) AS drawn")
    columns = ", ".join(f"{name} double precision" for name in CLUSTER_COLUMNS)
    session.query(f"CREATE TABLE blobs ({columns})")
    # 64 places, and the rows around them.
    session.query("CREATE TEMP TABLE places AS SELECT i AS place, "
                  f"{', '.join(f'random() * 10 AS {name}' for name in CLUSTER_COLUMNS)} FROM generate_series(0, {CLUSTERS - 1}) i")
    session.query("INSERT INTO blobs SELECT "
                  f"{', '.join(f'{name} + random() + random() - 1' for name in CLUSTER_COLUMNS)} "
                  f"FROM generate_series(1, {options.kmeans_rows}) i JOIN places ON place = i % {CLUSTERS}")
    session.query("VACUUM ANALYZE points")
    session.query("VACUUM ANALYZE blobs")
    # Else the pages are dirty, and the backend has to copy each of them out of shared buffers.
    session.query("CHECKPOINT")


def logistic(session, target):
    row = session.query("SELECT coef, iterations, log_likelihood, converged FROM turbine.logregr_train("
                        f"'points', '{target}', '{{{','.join(COLUMNS)}}}', tolerance => 1e-16)")[0]
    return numbers(row[0]), int(row[1]), float(row[2]), row[3] == "t"


def device_of(session, sql):
    plan = [row[0] for row in session.query(f"EXPLAIN (ANALYZE, TIMING OFF) {sql}")]
    return next((line.strip() for line in plan if "Device:" in line), "no device")


def logistic_cases(session, options, device, figures):
    """Weights of the noisy target, for the comparison with others."""
    # From pages: the page cache has them, the column cache not.
    cold = []
    for _ in range(options.runs):
        session.query("SELECT turbine.cache_drop('points')")
        cold.append(figures.timed(lambda: logistic(session, "noisy"))[0])
    figures.show("logregr_train, noisy, columns not cached", cold)
    session.query("SELECT turbine.pin('points')" if options.pin else "SELECT turbine.cache_load('points')")
    for target in ("separated", "noisy"):
        times, found = [], None
        for _ in range(options.runs):
            seconds, found = figures.timed(lambda target=target: logistic(session, target))
            times.append(seconds)
        coef, iterations, log_likelihood, converged = found
        figures.show(f"logregr_train, {target}, cached columns", times, f"{iterations} iterations")
        if target == "separated":
            ratios = coef / coef[3] / (TRUTH / TRUTH[3])
            figures.check("ratios of the weights", np.abs(ratios - 1).max() < RIGHT_RATIOS, ratios.round(5).tolist())
            model = "{" + ",".join(map(repr, coef.tolist())) + "}"
            sql = (f"SELECT avg(((turbine.logregr_predict('{model}', {', '.join(COLUMNS)}) > 0.5) = separated)::int) "
                   "FROM points")
            right = float(session.value(sql))
            figures.check("predictions that are right", right > RIGHT_PREDICTIONS, right)
            figures.check("not converged, as the classes are separable", not converged, converged)
            figures.show("logregr_predict of all rows", [figures.timed(lambda sql=sql: session.query(sql))[0]
                                                          for _ in range(options.runs)])
            where = device_of(session, sql)
            figures.check("predictions ran on the device", ("GPU" in where or "NVIDIA" in where) == device.startswith("gpu"), where)
        else:
            figures.check("the truth", np.abs(coef - TRUTH).max() < 20 / np.sqrt(options.rows), coef.tolist())
            figures.check("log-likelihood is finite", np.isfinite(log_likelihood), log_likelihood)
    return coef


def kmeans_cases(session, options, start, figures):
    """The centroids."""
    session.query("SELECT turbine.pin('blobs')" if options.pin else "SELECT turbine.cache_load('blobs')")
    text = "{" + ",".join("{" + ",".join(map(repr, row)) + "}" for row in start.tolist()) + "}"
    times, row = [], None
    for _ in range(options.runs):
        seconds, row = figures.timed(lambda: session.query(
            f"SELECT centroids, inertia, iterations FROM turbine.kmeans('blobs', '{{{','.join(CLUSTER_COLUMNS)}}}', {CLUSTERS}, "
            f"max_iterations => {ITERATIONS}, tolerance => 0, initial => '{text}')")[0])
        times.append(seconds)
    figures.show(f"kmeans, k = {CLUSTERS}, {row[2]} iterations", times, f"inertia {float(row[1]):.6g}")
    return numbers(row[0]).reshape(CLUSTERS, len(CLUSTER_COLUMNS)), float(row[1])


def matrix(session, server, sql, columns):
    """The rows as an array; not counted."""
    path = server.directory / "rows.csv"
    session.query(f"COPY ({sql}) TO '{path}'")
    parts = []
    with open(path, encoding="ascii") as file:
        while lines := file.readlines(64 << 20):
            parts.append(np.fromstring(" ".join(lines), dtype=float, sep=" ").reshape(-1, columns))
    os.unlink(path)
    return np.concatenate(parts)


def numpy_kmeans(x, centroids):
    """Lloyd's method with a matrix product for each block of rows, on all cores."""
    blocks = np.array_split(np.arange(len(x)), max(1, len(x) // 20000))

    def one(block, centroids):
        rows = x[block[0]:block[-1] + 1]
        labels = (np.einsum("ij,ij->i", centroids, centroids) / 2 - rows @ centroids.T).argmin(axis=1)
        sums = np.stack([np.bincount(labels, rows[:, j], CLUSTERS) for j in range(rows.shape[1])], axis=1)
        return sums, np.bincount(labels, minlength=CLUSTERS)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in range(ITERATIONS):
            parts = list(pool.map(lambda block, now=centroids: one(block, now), blocks))
            counts = sum(part[1] for part in parts)
            centroids = np.where(counts[:, None] > 0, sum(part[0] for part in parts) / np.maximum(counts, 1)[:, None], centroids)
    return centroids


def compare(session, server, coef, start, clusters, figures):
    """With libraries; what an engine has found on the last device."""
    x = matrix(session, server, f"SELECT {', '.join(CLUSTER_COLUMNS)} FROM blobs", len(CLUSTER_COLUMNS))
    if sklearn is None:
        seconds, centroids = figures.timed(lambda: numpy_kmeans(x, start))
        name = f"NumPy, k-means, {os.cpu_count()} cores"
    else:
        model = sklearn.cluster.KMeans(CLUSTERS, init=start, n_init=1, max_iter=ITERATIONS, tol=0, algorithm="lloyd", copy_x=False)
        seconds, _ = figures.timed(lambda: model.fit(x))
        centroids = model.cluster_centers_
        name = f"scikit-learn, KMeans, {model.n_iter_} iterations"
    figures.show(name, [seconds])
    apart = np.abs(centroids - clusters).max()
    figures.check("the same centroids", apart < AGREEMENT, apart)
    if sklearn is None:
        return
    rows = matrix(session, server, f"SELECT {', '.join(COLUMNS)}, noisy::int FROM points", len(COLUMNS) + 1)
    model = sklearn.linear_model.LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10, max_iter=20)
    x, t = np.ascontiguousarray(rows[:, :-1]), rows[:, -1]
    times = [figures.timed(lambda: model.fit(x, t))[0] for _ in range(2)]
    figures.show("scikit-learn, LogisticRegression, newton-cholesky", times, f"{model.n_iter_[0]} iterations")
    found = np.concatenate([model.intercept_, model.coef_[0]])
    apart = np.abs(found / coef - 1).max()
    figures.check("the same weights", apart < AGREEMENT, apart)


def main():
    options = parse_arguments()
    settings = {"shared_buffers": options.shared_buffers, "max_wal_size": "32GB", "fsync": "off", "maintenance_work_mem": "256MB",
                "autovacuum": "off"}
    with cluster.Cluster("learning", settings=settings) as server, server.connect() as session:
        figures = Figures(server, session)
        times, _ = figures.timed(lambda: make(session, options))
        print(f"{options.rows} rows for logistic regression, {options.kmeans_rows} for k-means, made in {times[0]:.0f} s", flush=True)
        for row in session.query("SELECT * FROM turbine.devices"):
            print("  " + " | ".join(str(cell) for cell in row), flush=True)
        start = np.array([[float(cell) for cell in row] for row in session.query(
            f"SELECT {', '.join(CLUSTER_COLUMNS)} FROM blobs LIMIT {CLUSTERS}")])
        for device in options.device:
            print(f"\n{device}", flush=True)
            session.query(f"SET pg_turbine.device = '{device}'")
            coef = logistic_cases(session, options, device, figures)
            clusters, _ = kmeans_cases(session, options, start, figures)
        if not options.without_libraries:
            print("\nlibraries", flush=True)
            compare(session, server, coef, start, clusters, figures)
    print(f"\n{figures.failed} checks failed")
    return 1 if figures.failed else 0


if __name__ == "__main__":
    sys.exit(main())
