"""workload.py - the tables and queries of the demo and of the benchmarks.

Owns: CREATE TABLE statements (columns in the order that turbine-datagen
writes), loading, the query set, how a query is timed, and how two answers are
compared.
Must never: start a server or print a report; callers do.
Used by: tools/demo.py, bench/foundation.py.
"""

import json
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from cluster import BUILD

TABLES = {
    "t": "id int, x float8, y float8, z float8, memo text",
    "lineorder": """lo_orderkey bigint, lo_linenumber int, lo_custkey int, lo_partkey int, lo_suppkey int,
        lo_orderdate int, lo_orderpriority char(15), lo_shippriority char(1), lo_quantity int,
        lo_extendedprice int, lo_ordertotalprice int, lo_discount int, lo_revenue int, lo_supplycost int,
        lo_tax int, lo_commitdate int, lo_shipmode char(10)""",
    "customer": """c_custkey int, c_name varchar(25), c_address varchar(25), c_city char(10), c_nation char(15),
        c_region char(12), c_phone char(15), c_mktsegment char(10)""",
    "supplier": """s_suppkey int, s_name varchar(25), s_address varchar(25), s_city char(10), s_nation char(15),
        s_region char(12), s_phone char(15)""",
    "part": """p_partkey int, p_name varchar(22), p_mfgr char(6), p_category char(7), p_brand1 char(9),
        p_color varchar(11), p_type varchar(25), p_size int, p_container char(10)""",
    "date": """d_datekey int, d_date varchar(18), d_dayofweek varchar(9), d_month varchar(9), d_year int,
        d_yearmonthnum int, d_yearmonth char(7), d_daynuminweek int, d_daynuminmonth int, d_daynuminyear int,
        d_monthnuminyear int, d_weeknuminyear int, d_sellingseason varchar(12), d_lastdayinweekfl int,
        d_lastdayinmonthfl int, d_holidayfl int, d_weekdayfl int""",
    "page_views": """view_id bigint, visitor_id bigint, session_id bigint, account_id int, site_id int,
        seen_at timestamp, seen_on date, received_at timestamp, client_time timestamp, session_started timestamp,
        utc_offset smallint, session_number int, page_number smallint, client_cookie text, request_id text,
        url text, url_hash bigint, title text, section text, page_kind smallint, page_language text,
        page_depth smallint, charset text, referrer text, referrer_hash bigint, referrer_kind smallint,
        search_engine smallint, search_phrase text, social_network smallint, outbound_url text,
        browser smallint, browser_version text, os smallint, os_version text, device_kind smallint,
        device_brand text, device_model text, is_mobile smallint, is_bot smallint, screen_width smallint,
        screen_height smallint, viewport_width smallint, viewport_height smallint, pixel_ratio numeric(4,2),
        colour_depth smallint, language text, touch_points smallint, cpu_cores smallint, memory_gb smallint,
        dark_mode smallint, cookies_on smallint, script_on smallint, ad_blocker smallint, user_agent_hash bigint,
        ip bigint, network_id int, provider text, country text, region_id int, city_id int,
        connection_kind smallint, via_proxy smallint, latitude float8, longitude float8,
        http_status smallint, bytes_received bigint, bytes_sent bigint, dns_ms int, connect_ms int, tls_ms int,
        first_byte_ms int, response_ms int, dom_ready_ms int, load_ms int, first_paint_ms int,
        largest_paint_ms int, input_delay_ms int, layout_shift float8, request_count smallint,
        script_errors smallint,
        event_kind smallint, is_entry smallint, is_exit smallint, is_refresh smallint, is_download smallint,
        is_outbound smallint, clicks smallint, scroll_percent smallint, time_on_page int, experiment_id int,
        experiment_arm smallint,
        advertiser_id int, campaign_id int, banner_id int, bid_price numeric(10,4), utm_source text,
        utm_medium text, utm_campaign text, utm_term text, utm_content text, click_id text,
        goal_id int, order_id bigint, order_amount numeric(12,2), order_items smallint, discount numeric(5,2),
        currency text, consent smallint""",
}
TABLE_NAMES = {"date": "dates"}  # `date` is a type's name


@dataclass(frozen=True)
class Query:
    """`node`: the custom scan that EXPLAIN must show when accelerated."""
    name: str
    sql: str
    node: str


BETWEEN = "x BETWEEN y - 2 AND y + 2"
SPHERE = "sqrt((x - 200)^2 + (y - 300)^2 + (z - 400)^2) < 10"
MEMO = "memo LIKE '%abcd%'"

QUERIES = [
    Query("between, count", f"SELECT count(*) FROM t WHERE {BETWEEN}", "GpuPreAgg"),
    Query("sphere, count", f"SELECT count(*) FROM t WHERE {SPHERE}", "GpuPreAgg"),
    Query("like, count", f"SELECT count(*) FROM t WHERE {MEMO}", "GpuPreAgg"),
    Query("between, rows", f"SELECT id, x, y FROM t WHERE {BETWEEN}", "GpuScan"),
    Query("sphere, rows", f"SELECT * FROM t WHERE {SPHERE}", "GpuScan"),
    Query("like, rows", f"SELECT id, memo FROM t WHERE {MEMO}", "GpuScan"),
    Query("Q1.1-like sum", """SELECT sum(lo_extendedprice * lo_discount) FROM lineorder
        WHERE lo_orderdate BETWEEN 19930101 AND 19931231 AND lo_discount BETWEEN 1 AND 3 AND lo_quantity < 25""",
          "GpuPreAgg"),
    Query("Q1.3-like sum", """SELECT sum(lo_extendedprice * lo_discount) FROM lineorder
        WHERE lo_orderdate BETWEEN 19940205 AND 19940211 AND lo_discount BETWEEN 5 AND 7
          AND lo_quantity BETWEEN 26 AND 35""", "GpuPreAgg"),
    Query("min, max, avg", """SELECT count(*), min(lo_extendedprice), max(lo_revenue), avg(lo_quantity),
        avg(lo_supplycost) FROM lineorder WHERE lo_tax < 6""", "GpuPreAgg"),
    Query("group by discount", """SELECT lo_discount, count(*), sum(lo_revenue), avg(lo_quantity)
        FROM lineorder GROUP BY lo_discount""", "GpuPreAgg"),
    Query("group by year", """SELECT lo_orderdate / 10000 AS year, sum(lo_revenue - lo_supplycost), min(lo_orderdate),
        max(lo_orderdate) FROM lineorder WHERE lo_quantity > 10 GROUP BY lo_orderdate / 10000""", "GpuPreAgg"),
    Query("group by shipmode", """SELECT lo_shipmode, count(*), max(lo_extendedprice) FROM lineorder
        WHERE lo_discount > 2 GROUP BY lo_shipmode""", "GpuPreAgg"),
    Query("group by customer", """SELECT lo_custkey, count(*), sum(lo_revenue) FROM lineorder
        GROUP BY lo_custkey""", "GpuPreAgg"),
]


@dataclass
class Plan:
    """How one run of a query is planned: its label and its settings."""
    label: str
    settings: dict


PLAIN = Plan("plain", {"pg_turbine.enabled": "off", "max_parallel_workers_per_gather": "0"})
PLAIN_PARALLEL = Plan("plain, 2 workers", {"pg_turbine.enabled": "off", "max_parallel_workers_per_gather": "2"})


def accelerated(device="auto", workers=2, force=False):
    return Plan("accelerated", {"pg_turbine.enabled": "on", "pg_turbine.device": device,
                                "max_parallel_workers_per_gather": str(workers),
                                "pg_turbine.debug_force_offload": "on" if force else "off"})


def datagen_program():
    return os.environ.get("TURBINE_DATAGEN", str(BUILD / "tools" / "turbine-datagen"))


def table_name(table):
    return TABLE_NAMES.get(table, table)


def load_table(server, table, rows, factor, parts):
    """Creates and fills one table with `parts` COPYs at a time; returns its rows."""
    name = table_name(table)
    with server.connect() as session:
        session.query(f"CREATE TABLE {name} ({TABLES[table]})")

    def load_part(part):
        command = [datagen_program(), table, "--rows", str(rows), "--sf", str(factor), "--part", f"{part}/{parts}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as generator, server.connect() as session:
            outcome = session.copy_in(f"COPY {name} FROM STDIN (FORMAT binary)", generator.stdout)
            if outcome.error:
                generator.kill()
                raise outcome.error
        if generator.returncode != 0:
            raise RuntimeError(f"{command[0]} failed")
        return int(outcome.results[0].tag.split()[-1])

    with ThreadPoolExecutor(parts) as pool:
        return sum(pool.map(load_part, range(parts)))


def apply(session, plan):
    for key, value in plan.settings.items():
        session.query(f"SET {key} = '{value}'")


def timed(session, sql):
    """(milliseconds, rows) of one run."""
    started = time.perf_counter()
    rows = session.query(sql)
    return (time.perf_counter() - started) * 1000, rows


def plan_nodes(node):
    yield node
    for child in node.get("Plans", []):
        yield from plan_nodes(child)


def explain(session, sql, analyze=True):
    """The plan's nodes, as EXPLAIN's JSON has them."""
    options = "ANALYZE, FORMAT JSON" if analyze else "FORMAT JSON"
    text = session.value(f"EXPLAIN ({options}) {sql}")
    return list(plan_nodes(json.loads(text)[0]["Plan"]))


def custom_scan(nodes):
    """The engine's node of a plan, or None."""
    for node in nodes:
        if node.get("Custom Plan Provider", "").startswith("Gpu"):
            return node
    return None


def same_answer(left, right, float_columns=()):
    """Whether two answers are the same multiset of rows; float sums may differ
    in the last digits."""
    if sorted(left, key=str) == sorted(right, key=str):
        return True
    if not float_columns or len(left) != len(right):
        return False
    for a, b in zip(sorted(left, key=str), sorted(right, key=str), strict=True):
        for column, (x, y) in enumerate(zip(a, b, strict=True)):
            if x != y and not (column in float_columns and close(x, y)):
                return False
    return True


def close(x, y, tolerance=1e-9):
    if x is None or y is None:
        return x is y
    x, y = float(x), float(y)
    return x == y or abs(x - y) <= tolerance * max(abs(x), abs(y))
