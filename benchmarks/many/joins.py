"""Shapes of «many twins» that follow relationships."""

from __future__ import annotations

import random

from benchmarks.many.campus import USAGES, VENDORS, Campus
from benchmarks.many.question import Bindings, Question

_BOTH_WAYS = (
    "(SELECT source AS a, target AS b FROM adjacent UNION ALL SELECT target, source FROM adjacent)"
)


def _draw_hot(dice: random.Random, _campus: Campus) -> Bindings:
    return {"least": 28 + dice.random() * 4}


def _draw_usage(dice: random.Random, _campus: Campus) -> Bindings:
    return {"usage": dice.choice(USAGES)}


def _draw_hot_usage(dice: random.Random, campus: Campus) -> Bindings:
    return _draw_hot(dice, campus) | _draw_usage(dice, campus)


def _draw_warm(dice: random.Random, _campus: Campus) -> Bindings:
    return {"least": 19 + dice.random() * 3}


def _draw_building(dice: random.Random, campus: Campus) -> Bindings:
    return {"name": f"Building {dice.randrange(campus.buildings)}"}


def _draw_cycles(dice: random.Random, _campus: Campus) -> Bindings:
    return {"cycles": dice.randrange(1000)}


PARTS = (
    Question(
        "1 hop up, filter above",
        "MATCH (d:Device)-[:isPartOf]->(r:Room) WHERE r.usage = $usage RETURN count(*) AS n",
        "SELECT count(*) FROM device d JOIN room r ON r.key = d.room WHERE r.usage = $usage",
        _draw_usage,
    ),
    Question(
        "1 hop up, filters at both ends",
        "MATCH (d:Device)-[:isPartOf]->(r:Room) WHERE d.temperature > $least "
        "AND r.usage = $usage RETURN count(*) AS n, avg(d.power) AS mean",
        "SELECT count(*), avg(d.power) FROM device d JOIN room r ON r.key = d.room "
        "WHERE d.temperature > $least AND r.usage = $usage",
        _draw_hot_usage,
    ),
    Question(
        "1 hop down, filter above",
        "MATCH (r:Room)<-[:isPartOf]-(d:Device) WHERE r.area > $area RETURN count(*) AS n, "
        "max(d.temperature) AS most",
        "SELECT count(*), max(d.temperature) FROM room r JOIN device d ON d.room = r.key "
        "WHERE r.area > $area",
        lambda dice, _campus: {"area": 80 + dice.random() * 15},
    ),
    Question(
        "1 hop up from a subtype, grouped",
        "MATCH (s:Sensor)-[:isPartOf]->(r:Room) RETURN r.usage AS usage, count(*) AS n, "
        "avg(s.accuracy) AS mean",
        "SELECT r.usage, count(*), avg(d.accuracy) FROM device d JOIN room r ON r.key = d.room "
        "WHERE d.kind = 'Sensor' GROUP BY r.usage",
    ),
    Question(
        "devices of one room",
        "MATCH (r:Room {`$dtId`: $id})<-[:isPartOf]-(d:Device) WHERE d.power > 100.0 "
        "RETURN d.name AS name, d.power AS power",
        "SELECT d.name, d.power FROM room r JOIN device d ON d.room = r.key "
        "WHERE r.id = $id AND d.power > 100.0",
        lambda dice, campus: {"id": f"room-{dice.randrange(campus.rooms)}"},
        is_indexed=True,
    ),
    Question(
        "filter, 2 hops up, grouped",
        "MATCH (d:Device)-[:isPartOf]->(r:Room)-[:isPartOf]->(f:Floor) "
        "WHERE d.temperature > $least RETURN f.name AS floor, count(*) AS n",
        "SELECT f.name, count(*) FROM device d JOIN room r ON r.key = d.room "
        "JOIN floor f ON f.key = r.floor WHERE d.temperature > $least GROUP BY f.name",
        _draw_hot,
    ),
    Question(
        "2 hops up, floors of distinct",
        "MATCH (d:Device)-[:isPartOf]->(:Room)-[:isPartOf]->(f:Floor) "
        "WHERE d.cycles = $cycles RETURN DISTINCT f.name AS floor",
        "SELECT DISTINCT f.name FROM device d JOIN room r ON r.key = d.room "
        "JOIN floor f ON f.key = r.floor WHERE d.cycles = $cycles",
        _draw_cycles,
    ),
    Question(
        "2 hops up, rows in order",
        "MATCH (d:Device)-[:isPartOf]->(r:Room)-[:isPartOf]->(f:Floor) "
        "WHERE d.temperature > $least AND f.level = 3 AND r.usage = $usage "
        "RETURN d.name AS name, r.name AS room, d.temperature AS temperature "
        "ORDER BY temperature DESC LIMIT 20",
        "SELECT d.name, r.name, d.temperature FROM device d JOIN room r ON r.key = d.room "
        "JOIN floor f ON f.key = r.floor WHERE d.temperature > $least AND f.level = 3 "
        "AND r.usage = $usage ORDER BY d.temperature DESC LIMIT 20",
        _draw_hot_usage,
    ),
    Question(
        "3 hops up, filter above",
        "MATCH (d:Device)-[:isPartOf]->(:Room)-[:isPartOf]->(:Floor)-[:isPartOf]->(b:Building) "
        "WHERE b.name = $name RETURN count(*) AS n, avg(d.temperature) AS mean",
        "SELECT count(*), avg(d.temperature) FROM device d JOIN room r ON r.key = d.room "
        "JOIN floor f ON f.key = r.floor JOIN building b ON b.key = f.building "
        "WHERE b.name = $name",
        _draw_building,
    ),
    Question(
        "3 hops up, counted",
        "MATCH (d:Device)-[:isPartOf]->(:Room)-[:isPartOf]->(:Floor)-[:isPartOf]->(b:Building) "
        "RETURN count(*) AS n",
        "SELECT count(*) FROM device d JOIN room r ON r.key = d.room "
        "JOIN floor f ON f.key = r.floor JOIN building b ON b.key = f.building",
    ),
    Question(
        "3 hops down, filters at both ends",
        "MATCH (b:Building)<-[:isPartOf]-(:Floor)<-[:isPartOf]-(r:Room)<-[:isPartOf]-(d:Device) "
        "WHERE b.year > 1980 AND d.vendor = $vendor AND d.running = true "
        "RETURN b.name AS building, count(*) AS n, count(DISTINCT r) AS rooms",
        "SELECT b.name, count(*), count(DISTINCT r.key) FROM device d "
        "JOIN room r ON r.key = d.room JOIN floor f ON f.key = r.floor "
        "JOIN building b ON b.key = f.building "
        "WHERE b.year > 1980 AND d.vendor = $vendor AND d.running GROUP BY b.name",
        lambda dice, _campus: {"vendor": f"vendor-{dice.randrange(VENDORS):02}"},
        "MATCH (b:Building)<-[:isPartOf]-(:Floor)<-[:isPartOf]-(r:Room)<-[:isPartOf]-(d:Device) "
        "WHERE b.year > 1980 AND d.vendor = $vendor AND d.running = true "
        "RETURN b.name AS building, count(*) AS n, count(DISTINCT id(r)) AS rooms",
    ),
    Question(
        "4 hops up, grouped by two",
        "MATCH (d:Device)-[:isPartOf]->(:Room)-[:isPartOf]->(:Floor)-[:isPartOf]->(:Building)"
        "-[:isPartOf]->(s:Site) RETURN s.name AS site, d.vendor AS vendor, sum(d.power) AS power",
        "SELECT s.name, d.vendor, sum(d.power) FROM device d JOIN room r ON r.key = d.room "
        "JOIN floor f ON f.key = r.floor JOIN building b ON b.key = f.building "
        "JOIN site s ON s.key = b.site GROUP BY s.name, d.vendor",
    ),
)

PARENTS = (
    Question(
        "avg by parent, the largest first",
        "MATCH (d:Device)-[:isPartOf]->(r:Room) RETURN r.name AS room, "
        "avg(d.temperature) AS mean, count(d.temperature) AS n "
        "ORDER BY n DESC, room LIMIT 10",
        "SELECT r.name, avg(d.temperature), count(d.temperature) AS n FROM device d "
        "JOIN room r ON r.key = d.room GROUP BY r.key, r.name ORDER BY n DESC, r.name LIMIT 10",
    ),
    Question(
        "avg by parent over 2 hops",
        "MATCH (d:Device)-[:isPartOf]->(:Room)-[:isPartOf]->(f:Floor) "
        "RETURN f.name AS floor, avg(d.temperature) AS mean",
        "SELECT f.name, avg(d.temperature) FROM device d JOIN room r ON r.key = d.room "
        "JOIN floor f ON f.key = r.floor GROUP BY f.key, f.name",
    ),
    Question(
        "min and max by parent over 3 hops",
        "MATCH (d:Device)-[:isPartOf]->(:Room)-[:isPartOf]->(:Floor)-[:isPartOf]->(b:Building) "
        "RETURN b.name AS building, min(d.power) AS least, max(d.power) AS most",
        "SELECT b.name, min(d.power), max(d.power) FROM device d JOIN room r ON r.key = d.room "
        "JOIN floor f ON f.key = r.floor JOIN building b ON b.key = f.building "
        "GROUP BY b.key, b.name",
    ),
    Question(
        "how many have how many parts",
        "MATCH (r:Room)<-[:isPartOf]-(d:Device) WITH r, count(d) AS n RETURN n, count(*) AS rooms",
        "SELECT n, count(*) FROM (SELECT count(*) AS n FROM device GROUP BY room) GROUP BY n",
    ),
    Question(
        "siblings",
        "MATCH (a:Device)-[:isPartOf]->(r:Room)<-[:isPartOf]-(b:Device) "
        "WHERE a.temperature > $least AND b.temperature > $least AND a <> b RETURN count(*) AS n",
        "SELECT count(*) FROM device a JOIN device b ON b.room = a.room "
        "WHERE a.temperature > $least AND b.temperature > $least AND a.key <> b.key",
        _draw_hot,
    ),
    Question(
        "parents with many warm parts",
        "MATCH (d:Device)-[:isPartOf]->(r:Room) WHERE d.temperature > $least "
        "WITH r, count(*) AS n WHERE n >= 4 RETURN count(*) AS rooms, avg(r.area) AS area",
        "SELECT count(*), avg(r.area) FROM (SELECT room FROM device WHERE temperature > $least "
        "GROUP BY room HAVING count(*) >= 4) x JOIN room r ON r.key = x.room",
        _draw_warm,
    ),
)

SUBQUERIES = (
    Question(
        "EXISTS with a filter",
        "MATCH (r:Room) WHERE EXISTS { MATCH (r)<-[:isPartOf]-(d:Device) "
        "WHERE d.temperature > $least } RETURN count(*) AS n",
        "SELECT count(*) FROM room r WHERE EXISTS (SELECT 1 FROM device d "
        "WHERE d.room = r.key AND d.temperature > $least)",
        _draw_hot,
    ),
    Question(
        "NOT EXISTS, grouped",
        "MATCH (r:Room) WHERE NOT EXISTS { MATCH (r)<-[:isPartOf]-(d:Device) "
        "WHERE d.running = true } RETURN r.usage AS usage, count(*) AS n",
        "SELECT r.usage, count(*) FROM room r WHERE NOT EXISTS (SELECT 1 FROM device d "
        "WHERE d.room = r.key AND d.running) GROUP BY r.usage",
    ),
    Question(
        "EXISTS and a filter outside",
        "MATCH (d:Device) WHERE d.vendor = $vendor AND EXISTS { MATCH (d)-[:feeds]->(e:Device) "
        "WHERE e.running = true } RETURN count(*) AS n, avg(d.power) AS mean",
        "SELECT count(*), avg(d.power) FROM device d WHERE d.vendor = $vendor "
        "AND EXISTS (SELECT 1 FROM feeds x JOIN device e ON e.key = x.target "
        "WHERE x.source = d.key AND e.running)",
        lambda dice, _campus: {"vendor": f"vendor-{dice.randrange(VENDORS):02}"},
    ),
    Question(
        "EXISTS of 2 hops",
        "MATCH (f:Floor) WHERE EXISTS { MATCH (f)<-[:isPartOf]-(:Room)<-[:isPartOf]-(d:Device) "
        "WHERE d.temperature > $least } RETURN count(*) AS n",
        "SELECT count(*) FROM floor f WHERE EXISTS (SELECT 1 FROM room r "
        "JOIN device d ON d.room = r.key WHERE r.floor = f.key AND d.temperature > $least)",
        lambda dice, _campus: {"least": 35 + dice.random() * 4},
    ),
    Question(
        "COUNT of a pattern, the first 10",
        "MATCH (r:Room) RETURN r.name AS room, COUNT { MATCH (r)<-[:isPartOf]-(d:Device) "
        "WHERE d.running = true } AS n ORDER BY n DESC, room LIMIT 10",
        "SELECT r.name, (SELECT count(*) FROM device d WHERE d.room = r.key AND d.running) AS n "
        "FROM room r ORDER BY n DESC, r.name LIMIT 10",
    ),
    Question(
        "OPTIONAL with a filter",
        "MATCH (r:Room) WHERE r.usage = $usage OPTIONAL MATCH (r)<-[:isPartOf]-(d:Device) "
        "WHERE d.temperature > $least RETURN count(*) AS n, count(d) AS found",
        "SELECT count(*), count(d.key) FROM room r LEFT JOIN device d ON d.room = r.key "
        "AND d.temperature > $least WHERE r.usage = $usage",
        _draw_hot_usage,
    ),
    Question(
        "OPTIONAL, grouped",
        "MATCH (f:Floor) OPTIONAL MATCH (f)<-[:isPartOf]-(r:Room) WHERE r.area > $area "
        "RETURN f.name AS floor, count(r) AS n, avg(r.area) AS mean",
        "SELECT f.name, count(r.key), avg(r.area) FROM floor f LEFT JOIN room r "
        "ON r.floor = f.key AND r.area > $area GROUP BY f.key, f.name",
        lambda dice, _campus: {"area": 97.5 + dice.random() * 0.4},
    ),
    Question(
        "OPTIONAL, rows in order",
        "MATCH (d:Device) WHERE d.cycles = $cycles OPTIONAL MATCH (d)-[:feeds]->(e:Device) "
        "WHERE e.running = true RETURN d.`$dtId` AS id, e.name AS fed ORDER BY id, fed LIMIT 20",
        "SELECT d.id, e.name FROM device d LEFT JOIN (SELECT x.source, e.name FROM feeds x "
        "JOIN device e ON e.key = x.target WHERE e.running) e ON e.source = d.key "
        "WHERE d.cycles = $cycles ORDER BY d.id, e.name LIMIT 20",
        _draw_cycles,
    ),
)

CHAINS = (
    Question(
        "filter on a relationship",
        "MATCH (:Device)-[f:feeds]->(:Device) WHERE f.rating > $rating AND f.backup = true "
        "RETURN count(*) AS n",
        "SELECT count(*) FROM feeds WHERE rating > $rating AND backup",
        lambda dice, _campus: {"rating": dice.randrange(100)},
    ),
    Question(
        "aggregates of relationships by twins",
        "MATCH (a:Device)-[f:feeds]->(:Device) RETURN a.vendor AS vendor, avg(f.rating) AS mean, "
        "max(f.rating) AS most",
        "SELECT a.vendor, avg(f.rating), max(f.rating) FROM feeds f "
        "JOIN device a ON a.key = f.source GROUP BY a.vendor",
    ),
    Question(
        "1 hop, grouped by both ends",
        "MATCH (a:Device)-[:feeds]->(b:Device) WHERE a.running = true AND b.running = false "
        "RETURN a.vendor AS one, b.vendor AS other, count(*) AS n",
        "SELECT a.vendor, b.vendor, count(*) FROM feeds f JOIN device a ON a.key = f.source "
        "JOIN device b ON b.key = f.target WHERE a.running AND NOT b.running "
        "GROUP BY a.vendor, b.vendor",
    ),
    Question(
        "1 hop, ends compared",
        "MATCH (a:Device)-[:feeds]->(b:Device) WHERE a.temperature > b.temperature "
        "RETURN count(*) AS n",
        "SELECT count(*) FROM feeds f JOIN device a ON a.key = f.source "
        "JOIN device b ON b.key = f.target WHERE a.temperature > b.temperature",
    ),
    Question(
        "the ten that most feed",
        "MATCH (a:Device)-[:feeds]->(b:Device) RETURN b.name AS name, count(*) AS n, "
        "sum(a.power) AS power ORDER BY n DESC, name LIMIT 10",
        "SELECT b.name, count(*) AS n, sum(a.power) FROM feeds f "
        "JOIN device a ON a.key = f.source JOIN device b ON b.key = f.target "
        "GROUP BY b.key, b.name ORDER BY n DESC, b.name LIMIT 10",
    ),
    Question(
        "chain of 2, three filters",
        "MATCH (a:Device)-[:feeds]->(b:Device)-[:feeds]->(c:Device) WHERE a.temperature > $least "
        "AND b.temperature > $least AND c.temperature > $least RETURN count(*) AS n",
        "SELECT count(*) FROM feeds f JOIN feeds g ON g.source = f.target "
        "JOIN device a ON a.key = f.source JOIN device b ON b.key = f.target "
        "JOIN device c ON c.key = g.target WHERE a.temperature > $least "
        "AND b.temperature > $least AND c.temperature > $least",
        _draw_warm,
    ),
    Question(
        "chain of 3, counted",
        "MATCH (a:Device)-[:feeds]->(b:Device)-[:feeds]->(c:Device)-[:feeds]->(d:Device) "
        "RETURN count(*) AS n",
        "SELECT count(*) FROM feeds f JOIN feeds g ON g.source = f.target "
        "JOIN feeds h ON h.source = g.target",
    ),
    Question(
        "chain of 3, filters at both ends",
        "MATCH (a:Device)-[:feeds]->(:Device)-[:feeds]->(:Device)-[:feeds]->(d:Device) "
        "WHERE a.vendor = $vendor AND d.temperature > $least RETURN count(*) AS n, "
        "max(d.power) AS most",
        "SELECT count(*), max(d.power) FROM feeds f JOIN feeds g ON g.source = f.target "
        "JOIN feeds h ON h.source = g.target JOIN device a ON a.key = f.source "
        "JOIN device d ON d.key = h.target WHERE a.vendor = $vendor AND d.temperature > $least",
        lambda dice, campus: (
            _draw_warm(dice, campus) | {"vendor": f"vendor-{dice.randrange(VENDORS):02}"}
        ),
    ),
    Question(
        "chain into rooms",
        "MATCH (a:Device)-[:feeds]->(b:Device)-[:isPartOf]->(r:Room) WHERE a.running = true "
        "AND r.usage = $usage RETURN b.vendor AS vendor, count(*) AS n",
        "SELECT b.vendor, count(*) FROM feeds f JOIN device a ON a.key = f.source "
        "JOIN device b ON b.key = f.target JOIN room r ON r.key = b.room "
        "WHERE a.running AND r.usage = $usage GROUP BY b.vendor",
        _draw_usage,
    ),
    Question(
        "1 to 3 hops from one",
        "MATCH (a:Device {`$dtId`: $id})-[:feeds*1..3]->(b:Device) RETURN count(*) AS n",
        "WITH RECURSIVE w(node, depth) AS (SELECT key, 0 FROM device WHERE id = $id UNION ALL "
        "SELECT f.target, w.depth + 1 FROM w JOIN feeds f ON f.source = w.node "
        "WHERE w.depth < 3) SELECT count(*) FROM w WHERE depth > 0",
        lambda dice, campus: {"id": f"device-{dice.randrange(campus.devices)}"},
        is_indexed=True,
    ),
)

CYCLES = (
    Question(
        "triangle",
        "MATCH (a:Device)-[:feeds]->(b:Device)-[:feeds]->(c:Device)-[:feeds]->(a) "
        "RETURN count(*) AS n",
        "SELECT count(*) FROM feeds f JOIN feeds g ON g.source = f.target "
        "JOIN feeds h ON h.source = g.target AND h.target = f.source",
    ),
    Question(
        "triangle with filters",
        "MATCH (a:Device)-[:feeds]->(b:Device)-[:feeds]->(c:Device)-[:feeds]->(a) "
        "WHERE a.vendor = $vendor AND b.running = true RETURN count(*) AS n, max(c.power) AS most",
        "SELECT count(*), max(c.power) FROM feeds f JOIN feeds g ON g.source = f.target "
        "JOIN feeds h ON h.source = g.target AND h.target = f.source "
        "JOIN device a ON a.key = f.source JOIN device b ON b.key = f.target "
        "JOIN device c ON c.key = g.target WHERE a.vendor = $vendor AND b.running",
        lambda dice, _campus: {"vendor": f"vendor-{dice.randrange(VENDORS):02}"},
    ),
    Question(
        "circle of 4",
        "MATCH (a:Device)-[:feeds]->(b:Device)-[:feeds]->(c:Device)-[:feeds]->(d:Device)"
        "-[:feeds]->(a) RETURN count(*) AS n",
        "SELECT count(*) FROM feeds f JOIN feeds g ON g.source = f.target "
        "JOIN feeds h ON h.source = g.target "
        "JOIN feeds i ON i.source = h.target AND i.target = f.source",
    ),
    Question(
        "feeds in the same room",
        "MATCH (a:Device)-[:feeds]->(b:Device), (a)-[:isPartOf]->(r:Room)<-[:isPartOf]-(b) "
        "RETURN count(*) AS n",
        "SELECT count(*) FROM feeds f JOIN device a ON a.key = f.source "
        "JOIN device b ON b.key = f.target WHERE a.room = b.room",
    ),
    Question(
        "feeds into another room of the floor",
        "MATCH (a:Device)-[:feeds]->(b:Device), (a)-[:isPartOf]->(r:Room)-[:isPartOf]->(f:Floor), "
        "(b)-[:isPartOf]->(s:Room)-[:isPartOf]->(f) WHERE r <> s RETURN count(*) AS n",
        "SELECT count(*) FROM feeds x JOIN device a ON a.key = x.source "
        "JOIN device b ON b.key = x.target JOIN room r ON r.key = a.room "
        "JOIN room s ON s.key = b.room WHERE r.floor = s.floor AND r.key <> s.key",
    ),
    Question(
        "neighbours, filters at both ends",
        "MATCH (a:Room)-[:adjacentTo]-(b:Room) WHERE a.usage = $usage AND b.occupied = true "
        "RETURN count(*) AS n, avg(b.area) AS mean",
        f"SELECT count(*), avg(r.area) FROM {_BOTH_WAYS} x JOIN room q ON q.key = x.a "
        "JOIN room r ON r.key = x.b WHERE q.usage = $usage AND r.occupied",
        _draw_usage,
    ),
    Question(
        "neighbours of neighbours",
        "MATCH (a:Room)-[:adjacentTo]-(b:Room)-[:adjacentTo]-(c:Room) WHERE a <> c "
        "AND a.usage = $usage RETURN count(*) AS n",
        f"SELECT count(*) FROM {_BOTH_WAYS} x JOIN {_BOTH_WAYS} y ON y.a = x.b "
        "JOIN room q ON q.key = x.a WHERE x.a <> y.b AND q.usage = $usage",
        _draw_usage,
    ),
    Question(
        "neighbours through doors, grouped",
        "MATCH (a:Room)-[e:adjacentTo]-(b:Room) WHERE e.door = true AND e.width > $width "
        "RETURN a.usage AS one, b.usage AS other, count(*) AS n",
        "SELECT q.usage, r.usage, count(*) FROM (SELECT source AS a, target AS b FROM adjacent "
        "WHERE door AND width > $width UNION ALL SELECT target, source FROM adjacent "
        "WHERE door AND width > $width) x JOIN room q ON q.key = x.a JOIN room r ON r.key = x.b "
        "GROUP BY q.usage, r.usage",
        lambda dice, _campus: {"width": dice.random() * 2},
    ),
    Question(
        "three neighbours of each other",
        "MATCH (a:Room)-[:adjacentTo]->(b:Room)-[:adjacentTo]->(c:Room)<-[:adjacentTo]-(a) "
        "RETURN count(*) AS n",
        "SELECT count(*) FROM adjacent x JOIN adjacent y ON y.source = x.target "
        "JOIN adjacent z ON z.source = x.source AND z.target = y.target",
    ),
    Question(
        "rooms next to warm rooms",
        "MATCH (a:Room)-[:adjacentTo]-(b:Room)<-[:isPartOf]-(d:Device) "
        "WHERE d.temperature > $least RETURN count(DISTINCT a) AS n",
        f"SELECT count(DISTINCT x.a) FROM {_BOTH_WAYS} x JOIN device d ON d.room = x.b "
        "WHERE d.temperature > $least",
        _draw_hot,
        "MATCH (a:Room)-[:adjacentTo]-(b:Room)<-[:isPartOf]-(d:Device) "
        "WHERE d.temperature > $least RETURN count(DISTINCT id(a)) AS n",
    ),
)

QUESTIONS = PARTS + PARENTS + SUBQUERIES + CHAINS + CYCLES
