"""ssb.py - the Star Schema Benchmark: its tables and its 13 queries.

Data come from turbine-datagen (tools/datagen), table definitions from
tools/workload.py. Queries are O'Neil, O'Neil, Chen and Revilak's, "Star Schema
Benchmark", revision 3, with `date` named `dates`.
Used by: bench/reports.py, test/report_queries.py.
"""

TABLES = ("lineorder", "customer", "supplier", "part", "date")

MEASURES = ("lo_quantity", "lo_extendedprice", "lo_ordertotalprice", "lo_discount", "lo_revenue", "lo_supplycost",
            "lo_tax")

PRIMARY_KEYS = {"customer": "c_custkey", "supplier": "s_suppkey", "part": "p_partkey", "dates": "d_datekey"}


def _q2(condition):
    return f"""SELECT sum(lo_revenue), d_year, p_brand1
FROM lineorder, dates, part, supplier
WHERE lo_orderdate = d_datekey AND lo_partkey = p_partkey AND lo_suppkey = s_suppkey
  AND {condition}
GROUP BY d_year, p_brand1 ORDER BY d_year, p_brand1"""


def _q3(columns, condition):
    return f"""SELECT {columns}, d_year, sum(lo_revenue) AS revenue
FROM customer, lineorder, supplier, dates
WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey AND lo_orderdate = d_datekey
  AND {condition}
GROUP BY {columns}, d_year ORDER BY d_year ASC, revenue DESC"""


def _q4(columns, condition):
    return f"""SELECT {columns}, sum(lo_revenue - lo_supplycost) AS profit
FROM dates, customer, supplier, part, lineorder
WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey AND lo_partkey = p_partkey AND lo_orderdate = d_datekey
  AND {condition}
GROUP BY {columns} ORDER BY {columns}"""


def _q1(condition):
    return f"""SELECT sum(lo_extendedprice * lo_discount) AS revenue
FROM lineorder, dates
WHERE lo_orderdate = d_datekey AND {condition}"""


QUERIES = {
    "q1_1": _q1("d_year = 1993 AND lo_discount BETWEEN 1 AND 3 AND lo_quantity < 25"),
    "q1_2": _q1("d_yearmonthnum = 199401 AND lo_discount BETWEEN 4 AND 6 AND lo_quantity BETWEEN 26 AND 35"),
    "q1_3": _q1("d_weeknuminyear = 6 AND d_year = 1994 AND lo_discount BETWEEN 5 AND 7"
                " AND lo_quantity BETWEEN 26 AND 35"),
    "q2_1": _q2("p_category = 'MFGR#12' AND s_region = 'AMERICA'"),
    "q2_2": _q2("p_brand1 BETWEEN 'MFGR#2221' AND 'MFGR#2228' AND s_region = 'ASIA'"),
    "q2_3": _q2("p_brand1 = 'MFGR#2239' AND s_region = 'EUROPE'"),
    "q3_1": _q3("c_nation, s_nation", "c_region = 'ASIA' AND s_region = 'ASIA' AND d_year BETWEEN 1992 AND 1997"),
    "q3_2": _q3("c_city, s_city", "c_nation = 'UNITED STATES' AND s_nation = 'UNITED STATES'"
                " AND d_year BETWEEN 1992 AND 1997"),
    "q3_3": _q3("c_city, s_city", "c_city IN ('UNITED KI1', 'UNITED KI5') AND s_city IN ('UNITED KI1', 'UNITED KI5')"
                " AND d_year BETWEEN 1992 AND 1997"),
    "q3_4": _q3("c_city, s_city", "c_city IN ('UNITED KI1', 'UNITED KI5') AND s_city IN ('UNITED KI1', 'UNITED KI5')"
                " AND d_yearmonth = 'Dec1997'"),
    "q4_1": _q4("d_year, c_nation", "c_region = 'AMERICA' AND s_region = 'AMERICA'"
                " AND p_mfgr IN ('MFGR#1', 'MFGR#2')"),
    "q4_2": _q4("d_year, s_nation, p_category", "c_region = 'AMERICA' AND s_region = 'AMERICA'"
                " AND d_year IN (1997, 1998) AND p_mfgr IN ('MFGR#1', 'MFGR#2')"),
    "q4_3": _q4("d_year, s_city, p_brand1", "c_region = 'AMERICA' AND s_nation = 'UNITED STATES'"
                " AND d_year IN (1997, 1998) AND p_category = 'MFGR#14'"),
}
