"""Shapes of «many twins» that read properties of one kind of twin."""

from __future__ import annotations

import random

from benchmarks.many.campus import (
    FIRMWARES,
    GRADES,
    TEAMS,
    USAGES,
    VENDORS,
    ZONES,
    Campus,
    render_time,
)
from benchmarks.many.question import Bindings, Question


def _draw_vendor(dice: random.Random, _campus: Campus) -> Bindings:
    return {"vendor": f"vendor-{dice.randrange(VENDORS):02}"}


def _draw_ids(dice: random.Random, campus: Campus) -> Bindings:
    return {"ids": [f"device-{at}" for at in dice.sample(range(campus.devices), 20)]}


def _draw_serial(dice: random.Random, campus: Campus) -> Bindings:
    _, contents = campus.build("Device", dice.randrange(campus.devices))
    return {"serial": contents["serial"]}


def _draw_times(dice: random.Random, _campus: Campus) -> Bindings:
    share = dice.random() * 0.8
    return {"since": render_time(share), "until": render_time(share + 0.1)}


def _draw_firmware(dice: random.Random, _campus: Campus) -> Bindings:
    number = dice.randrange(FIRMWARES)
    return {"firmware": f"{1 + number // 4}.{number % 4}"}


AGGREGATES = (
    Question(
        "min, max, avg of a double",
        "MATCH (d:Device) RETURN min(d.temperature) AS a, max(d.temperature) AS b, "
        "avg(d.temperature) AS c",
        "SELECT min(temperature), max(temperature), avg(temperature) FROM device",
    ),
    Question(
        "sum and avg of an integer",
        "MATCH (d:Device) RETURN sum(d.cycles) AS a, avg(d.cycles) AS b",
        "SELECT sum(cycles), avg(cycles) FROM device",
    ),
    Question(
        "sum and max of a subtype's integer",
        "MATCH (m:Meter) RETURN sum(m.total) AS a, max(m.total) AS b",
        "SELECT sum(total), max(total) FROM device WHERE kind = 'Meter'",
    ),
    Question(
        "count of a supertype",
        "MATCH (d:Device) RETURN count(*) AS n",
        "SELECT count(*) FROM device",
    ),
    Question(
        "count of a subtype",
        "MATCH (s:Sensor) RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE kind = 'Sensor'",
    ),
    Question(
        "count of values, some missing",
        "MATCH (d:Device) RETURN count(d.temperature) AS a, count(d.grade) AS b",
        "SELECT count(temperature), count(grade) FROM device",
    ),
    Question(
        "count of distinct values, few",
        "MATCH (d:Device) RETURN count(DISTINCT d.vendor) AS n",
        "SELECT count(DISTINCT vendor) FROM device",
    ),
    Question(
        "count of distinct values, many",
        "MATCH (d:Device) RETURN count(DISTINCT d.batch) AS n",
        "SELECT count(DISTINCT batch) FROM device",
    ),
    Question(
        "count of distinct values, all different",
        "MATCH (d:Device) RETURN count(DISTINCT d.serial) AS n",
        "SELECT count(DISTINCT serial) FROM device",
    ),
    Question(
        "count of distinct integers and doubles",
        "MATCH (d:Device) RETURN count(DISTINCT d.cycles) AS a, count(DISTINCT d.power) AS b",
        "SELECT count(DISTINCT cycles), count(DISTINCT power) FROM device",
    ),
    Question(
        "first and last time",
        "MATCH (d:Device) RETURN min(d.installed) AS a, max(d.installed) AS b",
        "SELECT min(installed), max(installed) FROM device",
    ),
    Question(
        "first and last name",
        "MATCH (d:Device) RETURN min(d.name) AS a, max(d.name) AS b",
        "SELECT min(name), max(name) FROM device",
    ),
    Question(
        "avg of a calculation",
        "MATCH (d:Device) RETURN avg(d.temperature * 1.8 + 32.0) AS a",
        "SELECT avg(temperature * 1.8 + 32.0) FROM device",
    ),
    Question(
        "aggregates of five properties",
        "MATCH (d:Device) RETURN min(d.temperature) AS a, max(d.power) AS b, avg(d.cycles) AS c, "
        "count(d.grade) AS e, max(d.controller.uptime) AS f",
        "SELECT min(temperature), max(power), avg(cycles), count(grade), max(controller_uptime) "
        "FROM device",
    ),
    Question(
        "sum of a case",
        "MATCH (d:Device) RETURN sum(CASE WHEN d.running THEN 1 ELSE 0 END) AS n",
        "SELECT sum(CASE WHEN running THEN 1 ELSE 0 END) FROM device",
    ),
    Question(
        "aggregates of rooms",
        "MATCH (r:Room) WHERE r.usage <> $usage RETURN min(r.area) AS a, avg(r.capacity) AS b",
        "SELECT min(area), avg(capacity) FROM room WHERE usage <> $usage",
        lambda dice, _campus: {"usage": dice.choice(USAGES)},
    ),
)

FILTERS = (
    Question(
        "boolean",
        "MATCH (d:Device) WHERE d.running = true RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE running",
    ),
    Question(
        "equal to one of few texts",
        "MATCH (d:Device) WHERE d.vendor = $vendor RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE vendor = $vendor",
        _draw_vendor,
    ),
    Question(
        "equal to a text that one has",
        "MATCH (d:Device) WHERE d.serial = $serial RETURN d.`$dtId` AS id, d.name AS name",
        "SELECT id, name FROM device WHERE serial = $serial",
        _draw_serial,
    ),
    Question(
        "equal to an integer",
        "MATCH (d:Device) WHERE d.cycles = $cycles RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE cycles = $cycles",
        lambda dice, _campus: {"cycles": dice.randrange(1000)},
    ),
    Question(
        "one range",
        "MATCH (d:Device) WHERE d.temperature > $least RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE temperature > $least",
        lambda dice, _campus: {"least": 15 + dice.random() * 15},
    ),
    Question(
        "two ranges",
        "MATCH (d:Device) WHERE d.temperature > $least AND d.temperature < $most "
        "AND d.cycles > $cycles RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE temperature > $least AND temperature < $most "
        "AND cycles > $cycles",
        lambda dice, _campus: {
            "least": 15 + dice.random() * 3,
            "most": 20 + dice.random() * 3,
            "cycles": dice.randrange(300, 700),
        },
    ),
    Question(
        "three properties",
        "MATCH (d:Device) WHERE d.vendor = $vendor AND d.running = false AND d.power >= $least "
        "RETURN count(*) AS n, avg(d.power) AS mean",
        "SELECT count(*), avg(power) FROM device WHERE vendor = $vendor AND NOT running "
        "AND power >= $least",
        lambda dice, campus: _draw_vendor(dice, campus) | {"least": dice.random() * 300},
    ),
    Question(
        "IN three texts",
        "MATCH (d:Device) WHERE d.grade IN $grades RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE grade = ANY($grades)",
        lambda dice, _campus: {"grades": dice.sample(GRADES, 3)},
    ),
    Question(
        "IN 20 integers",
        "MATCH (d:Device) WHERE d.cycles IN $cycles RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE cycles = ANY($cycles)",
        lambda dice, _campus: {"cycles": dice.sample(range(1000), 20)},
    ),
    Question(
        "IN 20 ids",
        "MATCH (d:Device) WHERE d.`$dtId` IN $ids RETURN d.name AS name, d.power AS power",
        "SELECT name, power FROM device WHERE id IN (SELECT unnest($ids))",
        _draw_ids,
        is_indexed=True,
    ),
    Question(
        "id STARTS WITH",
        "MATCH (d:Device) WHERE d.`$dtId` STARTS WITH $start RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE starts_with(id, $start)",
        lambda dice, _campus: {"start": f"device-{dice.randrange(10, 100)}"},
    ),
    Question(
        "text STARTS WITH",
        "MATCH (d:Device) WHERE d.serial STARTS WITH $start RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE starts_with(serial, $start)",
        lambda dice, _campus: {"start": f"{dice.randrange(256):02x}"},
    ),
    Question(
        "text CONTAINS",
        "MATCH (d:Device) WHERE d.name CONTAINS $part RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE contains(name, $part)",
        lambda dice, _campus: {"part": f"{dice.randrange(10, 100)}7"},
    ),
    Question(
        "one of few texts CONTAINS",
        "MATCH (d:Device) WHERE d.vendor CONTAINS $part RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE contains(vendor, $part)",
        lambda dice, _campus: {"part": f"-{dice.randrange(2)}"},
    ),
    Question(
        "text ENDS WITH",
        "MATCH (d:Device) WHERE d.serial ENDS WITH $tail RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE suffix(serial, $tail)",
        lambda dice, _campus: {"tail": f"-{dice.randrange(10, 97)}"},
    ),
    Question(
        "text in lower case",
        "MATCH (r:Room) WHERE toLower(r.name) = $name RETURN r.area AS area",
        "SELECT area FROM room WHERE lower(name) = $name",
        lambda dice, campus: {"name": f"room {dice.randrange(campus.rooms)}"},
        "MATCH (r:Room) WHERE lower(r.name) = $name RETURN r.area AS area",
    ),
    Question(
        "IS NULL",
        "MATCH (d:Device) WHERE d.grade IS NULL RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE grade IS NULL",
    ),
    Question(
        "IS NULL and a range",
        "MATCH (d:Device) WHERE d.temperature IS NULL AND d.power > $least RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE temperature IS NULL AND power > $least",
        lambda dice, _campus: {"least": dice.random() * 400},
    ),
    Question(
        "IS NOT NULL and a boolean",
        "MATCH (d:Device) WHERE d.grade IS NOT NULL AND d.running = true RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE grade IS NOT NULL AND running",
    ),
    Question(
        "OR",
        "MATCH (d:Device) WHERE d.vendor = $vendor OR d.temperature > $least RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE vendor = $vendor OR temperature > $least",
        lambda dice, campus: _draw_vendor(dice, campus) | {"least": 25 + dice.random() * 5},
    ),
    Question(
        "NOT of two",
        "MATCH (d:Device) WHERE NOT (d.vendor = $vendor AND d.running = true) RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE NOT (vendor = $vendor AND running)",
        _draw_vendor,
    ),
    Question(
        "range of time",
        "MATCH (d:Device) WHERE d.installed >= $since AND d.installed < $until "
        "RETURN count(*) AS n, min(d.installed) AS first",
        "SELECT count(*), min(installed) FROM device WHERE installed >= $since "
        "AND installed < $until",
        _draw_times,
    ),
    Question(
        "two properties compared",
        "MATCH (d:Device) WHERE d.power > d.temperature * 20.0 RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE power > temperature * 20.0",
    ),
    Question(
        "property of a subtype",
        "MATCH (v:Valve) WHERE v.position > $least RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE kind = 'Valve' AND position > $least",
        lambda dice, _campus: {"least": dice.random() * 100},
    ),
    Question(
        "inherited property of a subtype",
        "MATCH (s:Sensor) WHERE s.temperature > $least AND s.unit = 'bar' RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE kind = 'Sensor' AND temperature > $least "
        "AND unit = 'bar'",
        lambda dice, _campus: {"least": 15 + dice.random() * 15},
    ),
    Question(
        "rows of a filter",
        "MATCH (d:Device) WHERE d.cycles = $cycles AND d.running = true "
        "RETURN d.`$dtId` AS id, d.name AS name, d.temperature AS temperature",
        "SELECT id, name, temperature FROM device WHERE cycles = $cycles AND running",
        lambda dice, _campus: {"cycles": dice.randrange(1000)},
    ),
)

GROUPS = (
    Question(
        "group by text, count",
        "MATCH (d:Device) RETURN d.vendor AS vendor, count(*) AS n",
        "SELECT vendor, count(*) FROM device GROUP BY vendor",
    ),
    Question(
        "group by text, count and avg",
        "MATCH (d:Device) RETURN d.vendor AS vendor, count(*) AS n, avg(d.temperature) AS mean",
        "SELECT vendor, count(*), avg(temperature) FROM device GROUP BY vendor",
    ),
    Question(
        "group rooms, count and avg",
        "MATCH (r:Room) RETURN r.usage AS usage, count(*) AS n, avg(r.area) AS mean",
        "SELECT usage, count(*), avg(area) FROM room GROUP BY usage",
    ),
    Question(
        "group by two properties",
        "MATCH (d:Device) RETURN d.vendor AS vendor, d.running AS running, count(*) AS n, "
        "avg(d.power) AS mean",
        "SELECT vendor, running, count(*), avg(power) FROM device GROUP BY vendor, running",
    ),
    Question(
        "group by 1,000 integers",
        "MATCH (d:Device) RETURN d.cycles AS cycles, count(*) AS n, max(d.power) AS most",
        "SELECT cycles, count(*), max(power) FROM device GROUP BY cycles",
    ),
    Question(
        "group by text, some null",
        "MATCH (d:Device) RETURN d.grade AS grade, min(d.power) AS least, count(*) AS n",
        "SELECT grade, min(power), count(*) FROM device GROUP BY grade",
    ),
    Question(
        "group after a filter",
        "MATCH (d:Device) WHERE d.temperature > $least RETURN d.vendor AS vendor, count(*) AS n, "
        "sum(d.cycles) AS cycles",
        "SELECT vendor, count(*), sum(cycles) FROM device WHERE temperature > $least "
        "GROUP BY vendor",
        lambda dice, _campus: {"least": 15 + dice.random() * 15},
    ),
    Question(
        "filter after a group",
        "MATCH (d:Device) WITH d.batch AS batch, avg(d.power) AS mean WHERE mean > $least "
        "RETURN count(*) AS n, max(mean) AS most",
        "SELECT count(*), max(mean) FROM (SELECT avg(power) AS mean FROM device GROUP BY batch) "
        "WHERE mean > $least",
        lambda dice, _campus: {"least": 240 + dice.random() * 20},
    ),
    Question(
        "ten largest of many groups",
        "MATCH (d:Device) RETURN d.batch AS batch, count(*) AS n ORDER BY n DESC, batch LIMIT 10",
        "SELECT batch, count(*) AS n FROM device GROUP BY batch ORDER BY n DESC, batch LIMIT 10",
    ),
    Question(
        "group by year",
        "MATCH (d:Device) RETURN substring(d.installed, 0, 4) AS year, count(*) AS n",
        "SELECT CAST(year(installed) AS VARCHAR) AS y, count(*) FROM device GROUP BY y",
        ladybug="MATCH (d:Device) RETURN CAST(date_part('year', d.installed) AS STRING) AS year, "
        "count(*) AS n",
    ),
    Question(
        "group by a value or another",
        "MATCH (d:Device) RETURN coalesce(d.grade, 'none') AS grade, count(*) AS n",
        "SELECT coalesce(grade, 'none') AS g, count(*) FROM device GROUP BY g",
    ),
)

TOPS = (
    Question(
        "top 10 by a double",
        "MATCH (d:Device) RETURN d.name AS name, d.power AS power ORDER BY power DESC LIMIT 10",
        "SELECT name, power FROM device ORDER BY power DESC LIMIT 10",
    ),
    Question(
        "top 10 after a filter",
        "MATCH (d:Device) WHERE d.vendor = $vendor RETURN d.name AS name, d.power AS power "
        "ORDER BY power LIMIT 10",
        "SELECT name, power FROM device WHERE vendor = $vendor ORDER BY power LIMIT 10",
        _draw_vendor,
    ),
    Question(
        "top 10 by two keys",
        "MATCH (d:Device) RETURN d.vendor AS vendor, d.power AS power, d.name AS name "
        "ORDER BY vendor, power DESC LIMIT 10",
        "SELECT vendor, power, name FROM device ORDER BY vendor, power DESC LIMIT 10",
    ),
    Question(
        "top 10 by a text",
        "MATCH (d:Device) RETURN d.serial AS serial, d.cycles AS cycles ORDER BY serial LIMIT 10",
        "SELECT serial, cycles FROM device ORDER BY serial LIMIT 10",
    ),
    Question(
        "top 100 by integer, then id",
        "MATCH (d:Device) RETURN d.`$dtId` AS id, d.cycles AS cycles "
        "ORDER BY cycles DESC, id LIMIT 100",
        "SELECT id, cycles FROM device ORDER BY cycles DESC, id LIMIT 100",
    ),
    Question(
        "last 10 by time",
        "MATCH (d:Device) WHERE d.running = true RETURN d.installed AS installed, d.name AS name "
        "ORDER BY installed DESC, name LIMIT 10",
        "SELECT installed, name FROM device WHERE running ORDER BY installed DESC, name LIMIT 10",
    ),
    Question(
        "10 after the first 1,000",
        "MATCH (d:Device) RETURN d.name AS name, d.power AS power "
        "ORDER BY power SKIP 1000 LIMIT 10",
        "SELECT name, power FROM device ORDER BY power LIMIT 10 OFFSET 1000",
    ),
)

DISTINCTS = (
    Question(
        "distinct values",
        "MATCH (d:Device) RETURN DISTINCT d.vendor AS vendor",
        "SELECT DISTINCT vendor FROM device",
    ),
    Question(
        "distinct pairs, in order",
        "MATCH (d:Device) RETURN DISTINCT d.vendor AS vendor, d.running AS running "
        "ORDER BY vendor, running",
        "SELECT DISTINCT vendor, running FROM device ORDER BY vendor, running",
    ),
    Question(
        "distinct values after a filter",
        "MATCH (d:Device) WHERE d.power > $least RETURN DISTINCT d.cycles AS cycles",
        "SELECT DISTINCT cycles FROM device WHERE power > $least",
        lambda dice, _campus: {"least": 400 + dice.random() * 90},
    ),
)

MEMBERS = (
    Question(
        "range of a component's integer",
        "MATCH (d:Device) WHERE d.controller.uptime > $least RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE controller_uptime > $least",
        lambda dice, _campus: {"least": dice.randrange(100_000)},
    ),
    Question(
        "group by a component's text",
        "MATCH (d:Device) RETURN d.controller.firmware AS firmware, count(*) AS n, "
        "avg(d.controller.charge) AS charge",
        "SELECT controller_firmware, count(*), avg(controller_charge) FROM device "
        "GROUP BY controller_firmware",
    ),
    Question(
        "distinct of a component's text",
        "MATCH (d:Device) WHERE d.vendor = $vendor "
        "RETURN DISTINCT d.controller.firmware AS firmware",
        "SELECT DISTINCT controller_firmware FROM device WHERE vendor = $vendor",
        _draw_vendor,
    ),
    Question(
        "entry of a map",
        "MATCH (d:Device) WHERE d.tags.zone = $zone RETURN count(*) AS n",
        "SELECT count(*) FROM device WHERE tags_zone = $zone",
        lambda dice, _campus: {"zone": f"zone-{dice.randrange(ZONES)}"},
    ),
    Question(
        "group by entries of a map",
        "MATCH (d:Device) RETURN d.tags.zone AS zone, d.tags.team AS team, count(*) AS n",
        "SELECT tags_zone, tags_team, count(*) FROM device GROUP BY tags_zone, tags_team",
    ),
    Question(
        "component, map and property",
        "MATCH (d:Device) WHERE d.controller.firmware = $firmware AND d.tags.team = $team "
        "AND d.temperature > 20.0 RETURN count(*) AS n, max(d.controller.uptime) AS most",
        "SELECT count(*), max(controller_uptime) FROM device "
        "WHERE controller_firmware = $firmware AND tags_team = $team AND temperature > 20.0",
        lambda dice, campus: _draw_firmware(dice, campus) | {"team": dice.choice(TEAMS)},
    ),
)

QUESTIONS = AGGREGATES + FILTERS + GROUPS + TOPS + DISTINCTS + MEMBERS
