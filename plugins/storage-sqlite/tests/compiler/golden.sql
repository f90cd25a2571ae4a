-- MATCH (t {$dtId: $id}) RETURN t
SELECT CAST(('{"t":' || json(n1.document)) || '}' AS BLOB), n1.id
FROM twin AS n1
WHERE (n1.dt_id = :p0 AND n1.id > :page_after)
ORDER BY +n1.id
LIMIT :page_limit OFFSET :page_skip

-- MATCH (t:Room) WHERE t.temperature > $x RETURN t ORDER BY t.temperature LIMIT $n
SELECT CAST(('{"t":' || json(n1.document)) || '}' AS BLOB), NULL
FROM twin AS n1
WHERE (n1.model IN (SELECT c.descendant
FROM interface AS i CROSS JOIN interface_closure AS c ON c.ancestor = i.id
WHERE i.name = :c0) AND ((n1.document ->> '$.temperature') > :p1 AND json_type(n1.document, '$.temperature') IN ('integer','real')))
ORDER BY (n1.document ->> '$.temperature')
LIMIT :page_limit OFFSET :page_skip

-- MATCH (t:`dtmi:ex:Room;1`) WHERE NOT t.name STARTS WITH 'a' OR t.m.k = true RETURN t.name AS n
SELECT CAST(('{"n":' || coalesce((n1.document -> '$.name'), 'null')) || '}' AS BLOB), n1.id
FROM twin AS n1
WHERE (n1.model IN (SELECT c.descendant
FROM interface AS i CROSS JOIN interface_closure AS c ON c.ancestor = i.id
WHERE i.dtmi = :c0) AND ((((n1.document ->> '$.name') < :c1 OR (n1.document ->> '$.name') >= :c2) AND json_type(n1.document, '$.name') = 'text') OR ((CASE WHEN json_type(n1.document, '$.m') = 'object' THEN (n1.document ->> '$.m.k') WHEN json_type(n1.document, '$.m') <> 'null' THEN json_extract('{}', 'twinframe cannot run: a member of a scalar') END) = :c3 AND (CASE WHEN json_type(n1.document, '$.m') = 'object' THEN json_type(n1.document, '$.m.k') WHEN json_type(n1.document, '$.m') <> 'null' THEN json_extract('{}', 'twinframe cannot run: a member of a scalar') END) IN ('true','false'))) AND n1.id > :page_after)
ORDER BY n1.id
LIMIT :page_limit OFFSET :page_skip

-- MATCH (a)-[r:has]->(b) WHERE a.$dtId = $id RETURN b, r
SELECT CAST(('{"b":' || json(n3.document) || ',"r":' || json(r1.document)) || '}' AS BLOB), r1.id
FROM relationship AS r1 JOIN twin AS n2 ON n2.id = r1.source JOIN twin AS n3 ON n3.id = r1.target
WHERE (r1.name = :c0 AND n2.dt_id = :p1 AND r1.id > :page_after)
ORDER BY +r1.id
LIMIT :page_limit OFFSET :page_skip

-- MATCH (a)-->()-->()-->(d) WHERE a.$dtId = $id AND d.temperature > 10 RETURN d.name AS n
SELECT CAST(('{"n":' || coalesce((n5.document -> '$.name'), 'null')) || '}' AS BLOB), NULL
FROM relationship AS r1 JOIN relationship AS r2 JOIN relationship AS r3 JOIN twin AS n4 JOIN twin AS n5
WHERE (r2.source = r1.target AND r2.id <> r1.id AND r3.source = r2.target AND r3.id <> r1.id AND r3.id <> r2.id AND n4.dt_id = :p0 AND ((n5.document ->> '$.temperature') > :c1 AND json_type(n5.document, '$.temperature') IN ('integer','real')) AND n4.id = r1.source AND n5.id = r3.target)
LIMIT :page_limit OFFSET :page_skip

-- MATCH (a)-[r]-(b) WHERE a.$dtId IN $ids RETURN b.$dtId AS b
SELECT CAST(('{"b":' || json_quote(n3.dt_id)) || '}' AS BLOB), NULL
FROM twin AS n1 JOIN relationship AS r2 JOIN twin AS n3 ON n3.id = CASE WHEN r2.source = n1.id THEN r2.target ELSE r2.source END
WHERE ((r2.source = n1.id OR r2.target = n1.id) AND n1.dt_id IN (SELECT e.value
FROM json_each(:p0) AS e
WHERE e.type = 'text'))
LIMIT :page_limit OFFSET :page_skip

-- MATCH (a)-[r:has*1..4]->(b:Room) WHERE a.$dtId = $id RETURN b, r
WITH RECURSIVE w2(c0,node,depth,used,path) AS (SELECT n1.id, n1.id, 0, ',', ''
FROM twin AS n1
WHERE n1.dt_id = :p0
UNION ALL SELECT w.c0, r3.target, w.depth + 1, w.used || r3.id || ',', w.path || ',' || r3.id
FROM w2 AS w CROSS JOIN relationship AS r3 ON r3.source = w.node
WHERE (w.depth < :c1 AND r3.name IN (:c2) AND instr(w.used, ',' || r3.id || ',') = 0)) SELECT CAST(('{"b":' || json(n4.document) || ',"r":' || (SELECT json_group_array(json(t.document)
ORDER BY e.key)
FROM json_each(('[' || substr(w2.path, 2) || ']')) AS e CROSS JOIN relationship AS t ON t.id = e.value)) || '}' AS BLOB), NULL
FROM w2 CROSS JOIN twin AS n4
WHERE (w2.depth >= :c3 AND n4.model IN (SELECT c.descendant
FROM interface AS i CROSS JOIN interface_closure AS c ON c.ancestor = i.id
WHERE i.name = :c4) AND w2.node = n4.id)
LIMIT :page_limit OFFSET :page_skip

-- MATCH (a)<-[:has*]-(b) WHERE b.$dtId = $id RETURN count(*) AS n
WITH RECURSIVE w2(c0,node,depth,used) AS (SELECT n1.id, n1.id, 0, ','
FROM twin AS n1
WHERE n1.dt_id = :p0
UNION ALL SELECT w.c0, r3.target, CASE WHEN w.depth < 32 THEN w.depth + 1 ELSE json_extract('{}', 'twinframe limit: A variable-length pattern goes on beyond 32 relationships, the most that are followed (Query__MaxHops). Give it an upper bound, as in [*1..32].') END, w.used || r3.id || ','
FROM w2 AS w CROSS JOIN relationship AS r3 ON r3.source = w.node
WHERE (r3.name IN (:c1) AND instr(w.used, ',' || r3.id || ',') = 0)) SELECT CAST(('{"n":' || json_quote(q4.c0)) || '}' AS BLOB), NULL
FROM (SELECT count(*) AS c0
FROM w2
WHERE w2.depth >= :c2) AS q4
LIMIT :page_limit OFFSET :page_skip

-- MATCH (t) RETURN t.floor AS f, count(*) AS n, avg(t.temperature) AS a
SELECT CAST(('{"f":' || coalesce(q3.c0, 'null') || ',"n":' || json_quote(q3.c1) || ',"a":' || coalesce(CASE q3.c2 WHEN 9e999 THEN '"Infinity"' WHEN -9e999 THEN '"-Infinity"' ELSE json_quote(q3.c2) END, 'null')) || '}' AS BLOB), NULL
FROM (SELECT CASE WHEN typeof(q2.a1) IN ('text','integer') THEN json_quote(q2.a1) ELSE (SELECT t.document -> '$.floor'
FROM twin AS t
WHERE t.id = q2.a2) END AS c0, count(*) AS c1, avg(q2.a0) AS c2
FROM (SELECT (CASE WHEN json_type(n1.document, '$.temperature') IN ('integer','real') THEN (n1.document ->> '$.temperature') WHEN (n1.document ->> '$.temperature') IS NOT NULL THEN json_extract('{}', 'twinframe cannot run: avg() over another type') END) AS a0, CASE json_type(n1.document, '$.floor') WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' WHEN 'array' THEN twinframe_key((n1.document ->> '$.floor')) WHEN 'object' THEN twinframe_key((n1.document ->> '$.floor')) ELSE (n1.document ->> '$.floor') END AS a1, n1.id AS a2
FROM twin AS n1
LIMIT -1 OFFSET 0) AS q2
GROUP BY q2.a1) AS q3
LIMIT :page_limit OFFSET :page_skip

-- MATCH (t:Sensor) RETURN t.$metadata.$model AS m, count(*) AS n
SELECT CAST(('{"m":' || coalesce(json_quote(q2.c0), 'null') || ',"n":' || json_quote(q2.c1)) || '}' AS BLOB), NULL
FROM (SELECT (SELECT i.dtmi
FROM interface AS i
WHERE i.id = n1.model) AS c0, coalesce(sum(n1.twins), 0) AS c1
FROM twin_count AS n1
WHERE n1.model IN (SELECT c.descendant
FROM interface AS i CROSS JOIN interface_closure AS c ON c.ancestor = i.id
WHERE i.name = :c0)
GROUP BY n1.model) AS q2
LIMIT :page_limit OFFSET :page_skip

-- MATCH (a)-->(b) WITH b, count(*) AS n WHERE n > 1 RETURN b, n ORDER BY n DESC
SELECT CAST(('{"b":' || json(n3.document) || ',"n":' || json_quote(q2.c1)) || '}' AS BLOB), NULL
FROM (SELECT r1.target AS c0, count(*) AS c1
FROM relationship AS r1
GROUP BY r1.target) AS q2 CROSS JOIN twin AS n3 ON n3.id = q2.c0
WHERE q2.c1 > :c0
ORDER BY q2.c1 DESC
LIMIT :page_limit OFFSET :page_skip

-- MATCH (a)-[r]->(b) WHERE r.$sourceId = $id RETURN r.$targetId AS t
SELECT CAST(('{"t":' || json_quote((r1.document ->> '$."$targetId"'))) || '}' AS BLOB), r1.id
FROM relationship AS r1
WHERE (r1.source = (SELECT id
FROM twin
WHERE dt_id = :p0) AND r1.id > :page_after)
ORDER BY r1.id
LIMIT :page_limit OFFSET :page_skip

-- MATCH (a) OPTIONAL MATCH (a)-[r]->(b:Room) RETURN a.name AS a, b.name AS b
SELECT CAST(('{"a":' || coalesce((n1.document -> '$.name'), 'null') || ',"b":' || coalesce((n4.document -> '$.name'), 'null')) || '}' AS BLOB), NULL
FROM twin AS n1 LEFT JOIN relationship AS r2 ON r2.source = n1.id AND EXISTS (SELECT 1
FROM twin AS n3
WHERE (n3.id = r2.target AND n3.model IN (SELECT c.descendant
FROM interface AS i CROSS JOIN interface_closure AS c ON c.ancestor = i.id
WHERE i.name = :c0))) LEFT JOIN twin AS n4 ON n4.id = r2.target
LIMIT :page_limit OFFSET :page_skip

-- MATCH (t) WHERE digitaltwins.is_of_model(t, 'dtmi:ex:Room;1') RETURN count(*) AS n
SELECT CAST(('{"n":' || json_quote(q2.c0)) || '}' AS BLOB), NULL
FROM (SELECT coalesce(sum(n1.twins), 0) AS c0
FROM twin_count AS n1
WHERE n1.model IN (SELECT c.descendant
FROM interface AS i CROSS JOIN interface_closure AS c ON c.ancestor = i.id
WHERE (i.dtmi = :c0 OR i.dtmi >= :c1 AND i.dtmi < :c2 AND (CAST(substr(i.dtmi, length(:c1) + 1) AS INTEGER) > :c3 OR CAST(substr(i.dtmi, length(:c1) + 1) AS INTEGER) = :c3 AND (:c4 = 0 OR CAST(substr(substr(i.dtmi, length(:c1) + 1), nullif(instr(substr(i.dtmi, length(:c1) + 1), '.'), 0) + 1) AS INTEGER) >= :c4))))) AS q2
LIMIT :page_limit OFFSET :page_skip

-- MATCH (t) WHERE EXISTS { (t)-[:has]->(:Room) } RETURN DISTINCT t.name AS n
SELECT CAST(('{"n":' || coalesce(q5.c0, 'null')) || '}' AS BLOB), NULL
FROM (SELECT CASE WHEN typeof(q4.a0) IN ('text','integer') THEN json_quote(q4.a0) ELSE (SELECT t.document -> '$.name'
FROM twin AS t
WHERE t.id = q4.a1) END AS c0
FROM (SELECT CASE json_type(n1.document, '$.name') WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' WHEN 'array' THEN twinframe_key((n1.document ->> '$.name')) WHEN 'object' THEN twinframe_key((n1.document ->> '$.name')) ELSE (n1.document ->> '$.name') END AS a0, n1.id AS a1
FROM twin AS n1
WHERE (EXISTS (SELECT 1
FROM relationship AS r2 JOIN twin AS n3
WHERE (r2.source = n1.id AND n3.model IN (SELECT c.descendant
FROM interface AS i CROSS JOIN interface_closure AS c ON c.ancestor = i.id
WHERE i.name = :c0) AND r2.target = n3.id AND r2.name = :c1)))
LIMIT -1 OFFSET 0) AS q4
GROUP BY q4.a0) AS q5
LIMIT :page_limit OFFSET :page_skip

-- MATCH (t:Room) RETURN t.name AS n UNION MATCH (t:Sensor) RETURN t.name AS n
SELECT CAST(('{"n":' || coalesce(q3.c0, 'null')) || '}' AS BLOB), NULL
FROM (SELECT json((n1.document -> '$.name')) AS c0
FROM twin AS n1
WHERE n1.model IN (SELECT c.descendant
FROM interface AS i CROSS JOIN interface_closure AS c ON c.ancestor = i.id
WHERE i.name = :c0)
UNION ALL SELECT json((n2.document -> '$.name')) AS c0
FROM twin AS n2
WHERE n2.model IN (SELECT c.descendant
FROM interface AS i CROSS JOIN interface_closure AS c ON c.ancestor = i.id
WHERE i.name = :c1)) AS q3
GROUP BY CASE json_type(q3.c0) WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' WHEN 'array' THEN twinframe_key((q3.c0 ->> '$')) WHEN 'object' THEN twinframe_key((q3.c0 ->> '$')) ELSE (q3.c0 ->> '$') END
LIMIT :page_limit OFFSET :page_skip
