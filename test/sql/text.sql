-- Text: LIKE, padding, lengths, multibyte characters, collations, escapes.
CREATE TABLE s (id serial, t text, c char(10), v varchar(30), g text COLLATE "C");
INSERT INTO s (t, c, v, g) VALUES ('abcd', 'abcd', 'abcd', 'abcd'), ('ABCD', 'ABCD', 'ABCD', 'ABCD'), ('', '', '', ''),
  ('xabcdx', 'xabcdx', 'xabcdx', 'xabcdx'), ('abc', 'abc', 'abc', 'abc'), ('abcd  ', 'abcd  ', 'abcd  ', 'abcd  '),
  (NULL, NULL, NULL, NULL), ('%', '%', '%', '%'), ('a%b', 'a%b', 'a%b', 'a%b'), ('a_b', 'a_b', 'a_b', 'a_b'),
  ('a\b', 'a\b', 'a\b', 'a\b'), ('äöü', 'äöü', 'äöü', 'äöü'), ('日本語テキスト', '日本語', '日本語テキスト', '日本語'),
  ('aäb', 'aäb', 'aäb', 'aäb'), (E'line\nbreak', E'line\nb', E'line\nbreak', E'line\nbreak'), ('𝔘𝔫𝔦', '𝔘𝔫𝔦', '𝔘𝔫𝔦', '𝔘𝔫𝔦');
INSERT INTO s (t, c, v, g) SELECT md5(i::text), left(md5(i::text), i % 11), left(md5((i * 3)::text), i % 31), md5((i % 50)::text)
  FROM generate_series(1, 5000) i;
ANALYZE s;
-- offloaded: GpuScan
SELECT id FROM s WHERE t LIKE '%abcd%';
-- offloaded: GpuScan
SELECT id FROM s WHERE t LIKE 'abc%';
-- offloaded: GpuScan
SELECT id FROM s WHERE t LIKE '%bcd';
SELECT id FROM s WHERE t LIKE 'abcd';
SELECT id FROM s WHERE t LIKE '';
SELECT id FROM s WHERE t LIKE '%' AND id < 30;
SELECT id FROM s WHERE t LIKE '%%' AND id < 30;
SELECT id FROM s WHERE t LIKE '_bcd';
SELECT id FROM s WHERE t LIKE 'a_b';
SELECT id FROM s WHERE t LIKE '__';
SELECT id FROM s WHERE t LIKE '___' AND id < 30;
SELECT id FROM s WHERE t LIKE '%a%b%c%d%e%';
SELECT id FROM s WHERE t LIKE '%ab_d%ef%';
SELECT id FROM s WHERE t LIKE 'a\%b';
SELECT id FROM s WHERE t LIKE 'a\_b';
SELECT id FROM s WHERE t LIKE 'a\\b';
SELECT id FROM s WHERE t LIKE 'a!%b' ESCAPE '!';
SELECT id FROM s WHERE t LIKE 'a\%b' ESCAPE '';
SELECT id FROM s WHERE t LIKE 'abc\';
SELECT id FROM s WHERE t LIKE '%\';
SELECT id FROM s WHERE t LIKE '%ö%';
SELECT id FROM s WHERE t LIKE '_ö_';
SELECT id FROM s WHERE t LIKE '日本%';
SELECT id FROM s WHERE t LIKE '%語__スト';
SELECT id FROM s WHERE t LIKE '___';
SELECT id FROM s WHERE t NOT LIKE '%a%' AND id < 2000;
SELECT id FROM s WHERE t ILIKE '%ABCD%';
SELECT id FROM s WHERE t ~ 'abcd';
SELECT id FROM s WHERE c LIKE 'abcd';
SELECT id FROM s WHERE c LIKE 'abcd%';
SELECT id FROM s WHERE c LIKE '%d';
SELECT id FROM s WHERE c LIKE 'abcd      ';
SELECT id FROM s WHERE v LIKE '%ab';
SELECT id FROM s WHERE t LIKE v AND id < 300;
SELECT id FROM s WHERE c = 'abcd';
SELECT id FROM s WHERE c = 'abcd   '::char(7);
SELECT id FROM s WHERE c <> 'abcd' AND id < 20;
SELECT id FROM s WHERE c = t;
SELECT id FROM s WHERE c::text = t;
SELECT id FROM s WHERE t = 'abcd  ';
SELECT id FROM s WHERE v = 'abcd';
SELECT id FROM s WHERE t = g;
SELECT id FROM s WHERE g < 'abcd' COLLATE "C" AND id < 50;
SELECT id FROM s WHERE g BETWEEN 'a' AND 'b';
SELECT id FROM s WHERE t < 'abcd' AND id < 50;
SELECT id FROM s WHERE length(t) = 3;
SELECT id FROM s WHERE char_length(c) = 4;
SELECT id FROM s WHERE octet_length(t) > 32;
SELECT id FROM s WHERE length(c) <> octet_length(c);
SELECT id FROM s WHERE substr(t, 1, 2) = 'ab';
SELECT id FROM s WHERE substring(t FROM 2 FOR 1) = 'ö';
SELECT id FROM s WHERE left(t, 1) = '日';
SELECT id FROM s WHERE starts_with(t, 'ab');
SELECT id FROM s WHERE position('cd' IN t) = 3;
SELECT id FROM s WHERE upper(t) = 'ABCD';
SELECT id FROM s WHERE t || 'x' = 'abcdx';
SELECT c, count(*), min(t COLLATE "C") FROM s GROUP BY c;
SELECT t, count(*) FROM s GROUP BY t;
SELECT v, count(*), count(t) FROM s GROUP BY v;
-- offloaded: GpuPreAgg
SELECT g, count(*), max(id) FROM s GROUP BY g;
SELECT min(g), max(g) FROM s;
SELECT min(t), max(t) FROM s;
SELECT left(g, 1), min(g), max(g) FROM s GROUP BY left(g, 1);
SELECT c::text, count(*) FROM s GROUP BY c::text;
-- Padding that the heap may hold in either form.
CREATE TABLE pad (a char(5), b text);
INSERT INTO pad SELECT x, x FROM unnest(ARRAY['a', 'a ', 'a  ', 'ab', 'ab ', '', ' ', ' a']) x;
INSERT INTO pad SELECT 'a', 'a' FROM generate_series(1, 100);
SELECT a, count(*) FROM pad GROUP BY a;
SELECT b, count(*) FROM pad GROUP BY b;
SELECT count(*) FROM pad WHERE a = ' a';
SELECT count(*) FROM pad WHERE a < 'a';
SELECT count(*) FROM pad WHERE a = b;
SELECT count(DISTINCT a), count(DISTINCT b) FROM pad;
DROP TABLE pad;
DROP TABLE s;
