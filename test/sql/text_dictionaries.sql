-- Texts that segments keep as numbers of a dictionary. ANALYZE vacuums and checkpoints where
-- blocks are read directly; each statement runs twice, so that the second run takes what the first has left.
CREATE TABLE words (id int, k int, t text, u text, few varchar(10));
INSERT INTO words SELECT i, i % 5, 'word ' || lpad((i % 90)::text, 2, '0'), md5((i % 40)::text), (ARRAY['', 'a', 'ab', 'abcd', 'abcde'])[1 + i % 5]
  FROM generate_series(1, 12000) i;
UPDATE words SET u = NULL WHERE id % 17 = 0;
ANALYZE words;
-- Neighbours are of one length.
-- offloaded: GpuPreAgg
SELECT t, count(*), sum(id) FROM words GROUP BY t;
SELECT t, count(*), sum(id) FROM words GROUP BY t;
SELECT u, few, count(*), min(t COLLATE "C"), max(t COLLATE "C") FROM words GROUP BY u, few;
SELECT u, few, count(*), min(t COLLATE "C"), max(t COLLATE "C") FROM words GROUP BY u, few;
SELECT k, count(*), count(u) FROM words WHERE t = 'word 07' OR few LIKE 'abc%' GROUP BY k;
SELECT k, count(*), count(u) FROM words WHERE t = 'word 07' OR few LIKE 'abc%' GROUP BY k;
SELECT id, t, u, few, random() < 2 FROM words WHERE t > 'word 8' AND id < 900;
SELECT id, t, u, few, random() < 2 FROM words WHERE t > 'word 8' AND id < 900;
SELECT a.t, count(*), max(b.u COLLATE "C") FROM words a JOIN words b ON b.t = a.t AND b.id <= 90 GROUP BY a.t;
SELECT a.t, count(*), max(b.u COLLATE "C") FROM words a JOIN words b ON b.t = a.t AND b.id <= 90 GROUP BY a.t;
-- Blocks that have changed come with their texts as they are, beside numbers of the others.
UPDATE words SET t = 'word 99', k = k + 1 WHERE id BETWEEN 5000 AND 5300;
SELECT t, count(*), sum(id) FROM words GROUP BY t;
SELECT u, few, count(*), min(t COLLATE "C"), max(t COLLATE "C") FROM words GROUP BY u, few;
SELECT a.t, count(*), max(b.u COLLATE "C") FROM words a JOIN words b ON b.t = a.t AND b.id <= 90 GROUP BY a.t;
-- New texts get new numbers.
ANALYZE words;
SELECT t, count(*), sum(id) FROM words GROUP BY t;
SELECT t, count(*), sum(id) FROM words GROUP BY t;
-- Texts of one length and one hash: each is the first entry of its leaf's dictionary. So many leaves that
-- a thread takes some with the one and some with the other.
CREATE TABLE twins (id int, t text) PARTITION BY RANGE (id);
-- for n in 0 1 2 3 4 5 6 7 8 9 10 11 12
CREATE TABLE twins_:n PARTITION OF twins FOR VALUES FROM (:n * 700) TO (:n * 700 + 700);
-- end for
INSERT INTO twins SELECT i, CASE WHEN i >= 8400 THEN 'another text' WHEN i / 700 % 2 = 0 THEN 'text 082251' ELSE 'text 113222' END
  FROM generate_series(0, 9099) i;
ANALYZE twins;
SELECT t, count(*), min(id), max(id) FROM twins GROUP BY t;
SELECT t, count(*), min(id), max(id) FROM twins GROUP BY t;
SELECT count(DISTINCT t) FROM twins;
SELECT a.t, count(*), min(b.id) FROM twins a JOIN twins b ON b.t = a.t AND b.id % 1000 = 0 GROUP BY a.t;
SELECT a.t, count(*), min(b.id) FROM twins a JOIN twins b ON b.t = a.t AND b.id % 1000 = 0 GROUP BY a.t;
-- And both of them entries of one.
INSERT INTO twins_12 SELECT i, CASE WHEN i % 2 = 0 THEN 'text 082251' ELSE 'text 113222' END FROM generate_series(8400, 9099) i;
ANALYZE twins;
SELECT t, count(*), min(id), max(id), sum(id) FROM twins GROUP BY t;
SELECT t, count(*), min(id), max(id), sum(id) FROM twins GROUP BY t;
SELECT count(*), sum(id) FROM twins WHERE t = 'text 113222';
SELECT count(*), sum(id) FROM twins WHERE t = 'text 113222';
