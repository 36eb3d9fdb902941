"""web_log.py - a web log and 43 questions that web analytics asks of it.

The table page_views (tools/workload.py) and its rows (turbine-datagen) are our
own, and so are the queries. Each query has one right answer: ORDER BY under a
LIMIT or an OFFSET ends in a key, and sums of floating-point columns are exact
in any order. Texts as last keys are ordered by bytes, which collations C and
C.UTF-8 and DuckDB agree on.
PostgreSQL and DuckDB run the same text, except for the queries of
DUCKDB_QUERIES.
Used by: bench/reports.py, test/report_queries.py.
"""

TABLES = ("page_views",)

# A visitor with 300 page views in a million, and the hash of referrer https://www.findr.example/.
_VISITOR = 2914795755498434706
_REFERRER = 4337802367303135048
# One site's dashboard: its week of reports, reloaded pages left out.
_SITE = "site_id = 3 AND seen_on BETWEEN DATE '2025-06-09' AND DATE '2025-06-15' AND is_refresh = 0"

QUERIES = {
    # Totals
    "w1": "SELECT count(*) FROM page_views",
    "w2": "SELECT count(*) FROM page_views WHERE http_status >= 400 AND is_bot = 0",
    "w3": "SELECT count(*), sum(clicks), avg(scroll_percent), avg(time_on_page), max(load_ms) FROM page_views",
    "w4": "SELECT avg(bytes_sent), sum(bytes_received), avg(visitor_id) FROM page_views",
    "w5": "SELECT min(seen_on), max(seen_on), min(seen_at), max(received_at) FROM page_views",
    "w6": "SELECT count(DISTINCT visitor_id) FROM page_views",
    "w7": "SELECT count(DISTINCT search_phrase) FROM page_views",
    "w8": "SELECT count(*), count(DISTINCT session_id), count(DISTINCT url_hash) FROM page_views WHERE is_mobile = 1",
    "w9": "SELECT " + ", ".join(f"sum(viewport_width + {i})" for i in range(80)) + " FROM page_views",
    "w10": """SELECT count(order_id), sum(order_amount), avg(order_amount), max(discount),
    sum(order_amount * (100 - coalesce(discount, 0)) * 0.01)
FROM page_views WHERE order_items > 0""",
    # Groups of few
    "w11": """SELECT advertiser_id, count(*) AS views
FROM page_views WHERE advertiser_id <> 0 GROUP BY advertiser_id ORDER BY views DESC, advertiser_id""",
    "w12": """SELECT browser, os, count(*) AS views, avg(load_ms) AS load, avg(layout_shift) AS shift, max(first_paint_ms)
FROM page_views GROUP BY browser, os ORDER BY views DESC, browser, os LIMIT 20""",
    "w13": """SELECT region_id, count(DISTINCT visitor_id) AS visitors
FROM page_views GROUP BY region_id ORDER BY visitors DESC, region_id LIMIT 10""",
    "w14": """SELECT region_id, count(*) AS views, sum(clicks), avg(screen_width), count(DISTINCT visitor_id)
FROM page_views GROUP BY region_id ORDER BY views DESC, region_id LIMIT 10""",
    "w15": """SELECT device_model, count(DISTINCT visitor_id) AS visitors
FROM page_views WHERE device_model <> '' GROUP BY device_model ORDER BY visitors DESC, device_model LIMIT 10""",
    "w16": """SELECT device_brand, device_model, device_kind, count(DISTINCT visitor_id) AS visitors
FROM page_views WHERE device_brand <> '' GROUP BY device_brand, device_model, device_kind
ORDER BY visitors DESC, device_brand, device_model, device_kind LIMIT 10""",
    "w17": """SELECT country, currency, count(*) AS orders, sum(order_amount) AS revenue, avg(order_items)
FROM page_views WHERE order_id IS NOT NULL GROUP BY country, currency
ORDER BY revenue DESC, country, currency LIMIT 15""",
    "w18": """SELECT seen_on, count(*), count(order_id), sum(order_amount), avg(bid_price)
FROM page_views WHERE country IN ('DE', 'AT', 'CH', 'LI') GROUP BY seen_on ORDER BY seen_on""",
    # Search phrases
    "w19": """SELECT search_phrase, count(*) AS views
FROM page_views WHERE search_phrase <> '' GROUP BY search_phrase ORDER BY views DESC, search_phrase LIMIT 10""",
    "w20": """SELECT search_phrase, count(DISTINCT visitor_id) AS visitors
FROM page_views WHERE search_phrase <> '' GROUP BY search_phrase ORDER BY visitors DESC, search_phrase LIMIT 10""",
    "w21": """SELECT search_engine, search_phrase, count(*) AS views
FROM page_views WHERE search_phrase <> '' GROUP BY search_engine, search_phrase
ORDER BY views DESC, search_engine, search_phrase LIMIT 10""",
    "w22": """SELECT search_phrase, seen_at
FROM page_views WHERE search_phrase <> '' ORDER BY seen_at, view_id LIMIT 10""",
    "w23": """SELECT search_phrase, view_id
FROM page_views WHERE search_phrase <> '' ORDER BY search_phrase, view_id LIMIT 10""",
    # Visitors
    "w24": """SELECT visitor_id, count(*) AS views
FROM page_views GROUP BY visitor_id ORDER BY views DESC, visitor_id LIMIT 10""",
    "w25": """SELECT visitor_id, search_phrase, count(*) AS views
FROM page_views GROUP BY visitor_id, search_phrase ORDER BY views DESC, visitor_id, search_phrase LIMIT 10""",
    "w26": """SELECT visitor_id, extract(minute FROM seen_at) AS minute, search_phrase, count(*) AS views
FROM page_views GROUP BY visitor_id, minute, search_phrase
ORDER BY views DESC, visitor_id, minute, search_phrase LIMIT 10""",
    "w27": f"SELECT view_id, seen_at, site_id, url FROM page_views WHERE visitor_id = {_VISITOR}",
    "w28": """SELECT session_id, visitor_id, count(*) AS views, min(seen_at), max(seen_at)
FROM page_views WHERE is_bot = 0 GROUP BY session_id, visitor_id ORDER BY views DESC, session_id, visitor_id LIMIT 10""",
    # Addresses and titles
    "w29": "SELECT count(*) FROM page_views WHERE url LIKE '%falcon%'",
    "w30": """SELECT search_phrase, min(url), count(*) AS views
FROM page_views WHERE url LIKE '%falcon%' AND search_phrase <> ''
GROUP BY search_phrase ORDER BY views DESC, search_phrase LIMIT 10""",
    "w31": """SELECT search_phrase, min(url), min(title), count(*) AS views, count(DISTINCT visitor_id)
FROM page_views WHERE title LIKE '%Küche%' AND url NOT LIKE '%/forum/%' AND search_phrase <> ''
GROUP BY search_phrase ORDER BY views DESC, search_phrase LIMIT 10""",
    "w32": """SELECT * FROM page_views WHERE url LIKE '%sparrow%' ORDER BY seen_at, view_id LIMIT 10""",
    "w33": """SELECT site_id, avg(length(url)) AS letters, count(*) AS views
FROM page_views WHERE url <> '' GROUP BY site_id HAVING count(*) > 200 ORDER BY letters DESC, site_id LIMIT 25""",
    "w34": r"""SELECT regexp_replace(referrer, '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS domain,
    avg(length(referrer)) AS letters, count(*) AS views, min(referrer)
FROM page_views WHERE referrer <> ''
GROUP BY domain HAVING count(*) > 100 ORDER BY letters DESC, domain LIMIT 25""",
    "w35": """SELECT page_language, count(*) AS views, count(DISTINCT site_id)
FROM page_views WHERE url ~ '/(article|news)/20[12][0-9]/0[1-6]/[a-f]' GROUP BY page_language
ORDER BY views DESC, page_language""",
    "w36": """SELECT url, count(*) AS views FROM page_views GROUP BY url ORDER BY views DESC, url LIMIT 10""",
    # Groups of many, by numbers and by what is computed
    "w37": """SELECT view_id, ip, count(*) AS views, sum(is_refresh), avg(viewport_width)
FROM page_views GROUP BY view_id, ip ORDER BY views DESC, view_id, ip LIMIT 10""",
    "w38": """SELECT ip, ip - 1 AS below, ip - ip % 256 AS network, count(*) AS views
FROM page_views GROUP BY ip, below, network ORDER BY views DESC, ip LIMIT 10""",
    # A site's dashboard
    "w39": f"""SELECT title, count(*) AS views
FROM page_views WHERE {_SITE} AND title <> '' GROUP BY title ORDER BY views DESC, title LIMIT 10""",
    "w40": f"""SELECT url, count(*) AS views
FROM page_views WHERE {_SITE} AND is_download = 0 GROUP BY url ORDER BY views DESC, url LIMIT 10 OFFSET 50""",
    "w41": f"""SELECT referrer_kind, search_engine, utm_source,
    CASE WHEN referrer_kind IN (1, 2) THEN referrer ELSE '' END AS origin, url AS destination, count(*) AS views
FROM page_views WHERE {_SITE}
GROUP BY referrer_kind, search_engine, utm_source, origin, destination
ORDER BY views DESC, referrer_kind, search_engine, utm_source, origin, destination LIMIT 10 OFFSET 20""",
    "w42": f"""SELECT viewport_width, viewport_height, count(*) AS views
FROM page_views WHERE seen_on >= DATE '2025-06-16' AND referrer_hash = {_REFERRER} AND is_outbound = 0
GROUP BY viewport_width, viewport_height ORDER BY views DESC, viewport_width, viewport_height LIMIT 10 OFFSET 20""",
    "w43": """SELECT date_trunc('minute', seen_at) AS minute, count(*) AS views
FROM page_views WHERE seen_at >= TIMESTAMP '2025-06-14 00:00:00' AND seen_at < TIMESTAMP '2025-06-16 00:00:00'
    AND site_id IN (1, 2, 5, 8)
GROUP BY minute ORDER BY minute LIMIT 10 OFFSET 100""",
}

# The text for DuckDB where it differs from PostgreSQL's. Operator ~ means there that
# the whole text matches.
DUCKDB_QUERIES = {
    "w35": QUERIES["w35"].replace("url ~ '/(article|news)/20[12][0-9]/0[1-6]/[a-f]'",
                                  "regexp_matches(url, '/(article|news)/20[12][0-9]/0[1-6]/[a-f]')"),
}
