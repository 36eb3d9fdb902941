-- x IN (...) and x <> ALL (...): sorted lists of integers, dates and times are halved, others gone through.
CREATE TABLE v (id int, i2 int2, i4 int, i8 bigint, d date, ts timestamp, tz timestamptz, n numeric(10,2), w numeric(30,6), f float8, t text, b bool);
INSERT INTO v SELECT i, nullif(i % 301 - 150, 3), nullif(i * 37 % 5000 - 2500, 11), CASE i % 9 WHEN 0 THEN 9223372036854775807 WHEN 1 THEN -9223372036854775808 ELSE i::bigint * 1000003 END,
    CASE i % 50 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN NULL ELSE date '2020-01-01' + i % 700 END, timestamp '2020-01-01' + i % 900 * interval '1 hour',
    timestamptz '2020-01-01 00:00+00' + i % 900 * interval '1 hour', i % 777 / 4.0, i % 999, i % 222 / 8.0, 't' || i % 444, i % 2 = 0 FROM generate_series(1, 5000) i;
ANALYZE v;
CREATE FUNCTION found(condition text) RETURNS TABLE (n bigint, ids bigint) LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY EXECUTE 'SELECT count(*), sum(id) FROM v WHERE ' || condition; END $$;
CREATE FUNCTION list(expression text, n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE result text;
BEGIN EXECUTE format('SELECT string_agg(quote_literal(x::text), '','' ORDER BY md5(i::text)) FROM (SELECT i, %s AS x FROM generate_series(1, %s) i) s', expression, n) INTO result; RETURN result; END $$;
-- for n in 1 2 16 17 18 33 1000
SELECT * FROM found(format('i2 IN (%s)', list('i % 200 - 100', :n)));
SELECT * FROM found(format('i4 IN (%s)', list('i * 3 - 2600', :n)));
SELECT * FROM found(format('i4 NOT IN (%s)', list('i * 3 - 2600', :n)));
SELECT * FROM found(format('i4 IN (%s, NULL)', list('i * 3', :n)));
SELECT * FROM found(format('i4 NOT IN (%s, NULL)', list('i * 3', :n)));
SELECT * FROM found(format('(i4 IN (%s, NULL)) IS NULL', list('i * 3', :n)));
SELECT * FROM found(format('(i4 NOT IN (%s)) IS NULL', list('i * 3', :n)));
SELECT * FROM found(format('i8 IN (%s, 9223372036854775807, -9223372036854775808)', list('i::bigint * 2000006', :n)));
SELECT * FROM found(format('i4 = ANY (ARRAY[%s]::bigint[])', list('i * 3', :n)));
SELECT * FROM found(format('i8 <> ALL (ARRAY[%s]::int[])', list('i * 1000003', :n)));
SELECT * FROM found(format('i2 = ANY (ARRAY[%s]::int[])', list('i * 3 - 100', :n)));
SELECT * FROM found(format('d IN (%s, ''infinity'')', list('date ''2020-01-01'' + i', :n)));
SELECT * FROM found(format('ts NOT IN (%s)', list('timestamp ''2020-01-01'' + i * interval ''2 hours''', :n)));
SELECT * FROM found(format('tz IN (%s)', list('timestamptz ''2020-01-01 00:00+00'' + i * interval ''2 hours''', :n)));
SELECT * FROM found(format('n IN (%s)', list('i / 8.0', :n)));
SELECT * FROM found(format('n NOT IN (%s)', list('i / 4.0', :n)));
SELECT * FROM found(format('w IN (%s)', list('i * 2', :n)));
SELECT * FROM found(format('f IN (%s, ''NaN'')', list('i / 16.0', :n)));
SELECT * FROM found(format('t IN (%s)', list('''t'' || i * 3', :n)));
SELECT * FROM found(format('t NOT IN (%s)', list('''t'' || i * 3', :n)));
SELECT * FROM found(format('i4 > ANY (ARRAY[%s]::int[])', list('i * 3', :n)));
SELECT * FROM found(format('i4 <> ANY (ARRAY[%s]::int[])', list('i * 3', :n)));
SELECT * FROM found(format('i4 = ALL (ARRAY[%s]::int[])', list('i * 3', :n)));
SELECT * FROM found(format('i4 < ALL (ARRAY[%s]::int[])', list('i * 3', :n)));
SELECT * FROM found(format('CASE WHEN b THEN i4 IN (%s) ELSE i8 IN (%s) END', list('i * 3', :n), list('i * 2000006', :n)));
-- end for
-- offloaded: GpuPreAgg
SELECT count(*), sum(id) FROM v WHERE i4 = ANY ('{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,18,18,-5,-5,NULL,NULL}'::int[]);
-- offloaded: GpuPreAgg
SELECT count(*), sum(id) FROM v WHERE i4 <> ALL ('{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,18,18,-5,-5}'::int[]);
SELECT count(*) FROM v WHERE i4 = ANY ('{}'::int[]);
SELECT count(*) FROM v WHERE i4 <> ALL ('{}'::int[]);
SELECT count(*) FROM v WHERE (i4 = ANY ('{NULL}'::int[])) IS NULL;
PREPARE any_of(int[]) AS SELECT count(*), sum(id) FROM v WHERE i4 = ANY ($1) OR (i4 <> ALL ($1)) IS NULL;
SET plan_cache_mode = force_generic_plan;
-- offloaded: GpuPreAgg
EXECUTE any_of('{}');
-- offloaded: GpuPreAgg
EXECUTE any_of(NULL);
-- offloaded: GpuPreAgg
EXECUTE any_of('{NULL}');
-- offloaded: GpuPreAgg
EXECUTE any_of('{7}');
-- offloaded: GpuPreAgg
EXECUTE any_of('{7,NULL,-9,7}');
PREPARE any_text(text[]) AS SELECT count(*), sum(id) FROM v WHERE t = ANY ($1);
-- offloaded: GpuPreAgg
EXECUTE any_text('{t1,t5,NULL,t1}');
