"""SQL by hand on the tables of PostgreSQL storage, for the shapes of «queries» and «many twins».

Whoever writes by hand knows the type of each property and which models a label stands for. Both are
in views, of which PostgreSQL computes only what a statement reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import psycopg

from benchmarks.many import campus
from benchmarks.many.measure import QUESTIONS as MANY
from benchmarks.many.question import Question

_CASTS: Final = {
    "string": "({})",
    "dateTime": "({})",
    "integer": "({})::bigint",
    "double": "({})::double precision",
    "boolean": "({})::boolean",
}
_LABEL: Final = (
    "SELECT array_agg(c.descendant) FROM {0}.interface i "
    "JOIN {0}.interface_closure c ON c.ancestor = i.id WHERE i.name = %s"
)
_MEMBERS: Final = {
    "controller_firmware": ("controller", "firmware", "string"),
    "controller_uptime": ("controller", "uptime", "integer"),
    "controller_charge": ("controller", "charge", "double"),
    "tags_zone": ("tags", "zone", "string"),
    "tags_team": ("tags", "team", "string"),
}
_LINKS: Final = {"part": "isPartOf", "feeds": "feeds", "adjacent": "adjacentTo"}


def make_views(connection: psycopg.Connection[Any], schema: str) -> None:
    """Make the temporary views of a campus of «many twins»."""
    for label in ("Site", "Building", "Floor", "Room", "Device", *campus.KINDS):
        view = label.lower()
        columns = [f"{_read(path)} AS {name}" for name, path in _list_properties(label).items()]
        row = connection.execute(_LABEL.format(schema), (label,)).fetchone()
        assert row is not None
        connection.execute(
            f"CREATE TEMP VIEW {view} AS SELECT id AS key, dt_id AS id, model, "
            f"{', '.join(columns)} FROM {schema}.twin WHERE model = ANY('{_render(row[0])}')"
        )
    for view, name in _LINKS.items():
        properties: Mapping[str, str] = {
            "feeds": {"rating": "integer", "backup": "boolean"},
            "adjacent": {"door": "boolean", "width": "double"},
        }.get(view, {})
        columns = [f", {_read((each, kind))} AS {each}" for each, kind in properties.items()]
        connection.execute(
            f"CREATE TEMP VIEW {view} AS SELECT source, target{''.join(columns)} "
            f"FROM {schema}.relationship WHERE name = '{name}'"
        )


def _list_properties(label: str) -> dict[str, tuple[str, ...]]:
    """The names of columns, with the path and the type of each."""
    found: dict[str, tuple[str, ...]] = {"name": ("name", "string")}
    more = campus.KINDS if label == "Device" else ("Device",) if label in campus.KINDS else ()
    for each in (label, *more):
        for part in campus.INTERFACES[each][1]:
            if part["@type"] == "Property" and isinstance(part["schema"], str):
                found[str(part["name"])] = (str(part["name"]), part["schema"])
    return found | _MEMBERS if label == "Device" else found


def _read(path: tuple[str, ...]) -> str:
    *names, last, kind = path
    outer = "".join(f" -> '{name}'" for name in names)
    return _CASTS[kind].format(f"members{outer} ->> '{last}'")


def _render(models: list[int]) -> str:
    return "{" + ",".join(map(str, models)) + "}"


# --- the statements of «many twins» ---------------------------------------------------------------

_PARENT: Final = r"\.(?:room|floor|building|site)\b"
_KIND: Final = re.compile(
    r"\bdevice(?: (\w))?((?: JOIN .*?)?) WHERE (?:\w\.)?kind = '(\w+)'( AND)?"
)
_UP: Final = re.compile(rf"JOIN (\w+) (\w) ON \2\.key = (\w){_PARENT}")
_DOWN: Final = re.compile(rf"JOIN (\w+) (\w) ON \2{_PARENT} = (\w\.\w+)")
_SPELLED: Final = (
    (re.compile(r"\bcontains\((\w+), (\$\w+)\)"), r"strpos(\1, \2) > 0"),
    (re.compile(r"\bsuffix\((\w+), (\$\w+)\)"), r"right(\1, length(\2)) = \2"),
    (re.compile(r"CAST\(year\((\w+)\) AS VARCHAR\)"), r"substring(\1, 1, 4)"),
    (re.compile(r"IN \(SELECT unnest\((\$\w+)\)\)"), r"= ANY(\1)"),
    (re.compile(r"\$(\w+)"), r"%(\1)s"),
)
_OWN: Final = {
    "how many have how many parts": "SELECT n, count(*) FROM (SELECT count(*) AS n FROM device d "
    "JOIN part p ON p.source = d.key JOIN room r ON r.key = p.target GROUP BY r.key) x GROUP BY n",
    "siblings": "SELECT count(*) FROM device a JOIN part p ON p.source = a.key "
    "JOIN part q ON q.target = p.target JOIN device b ON b.key = q.source "
    "WHERE a.temperature > $least AND b.temperature > $least AND a.key <> b.key",
    "parents with many warm parts": "SELECT count(*), avg(r.area) FROM (SELECT p.target AS room "
    "FROM device d JOIN part p ON p.source = d.key WHERE d.temperature > $least "
    "GROUP BY p.target HAVING count(*) >= 4) x JOIN room r ON r.key = x.room",
    "EXISTS with a filter": "SELECT count(*) FROM room r WHERE EXISTS (SELECT 1 FROM part p "
    "JOIN device d ON d.key = p.source WHERE p.target = r.key AND d.temperature > $least)",
    "NOT EXISTS, grouped": "SELECT r.usage, count(*) FROM room r WHERE NOT EXISTS (SELECT 1 "
    "FROM part p JOIN device d ON d.key = p.source WHERE p.target = r.key AND d.running) "
    "GROUP BY r.usage",
    "EXISTS of 2 hops": "SELECT count(*) FROM floor f WHERE EXISTS (SELECT 1 FROM part q "
    "JOIN room r ON r.key = q.source JOIN part p ON p.target = r.key "
    "JOIN device d ON d.key = p.source WHERE q.target = f.key AND d.temperature > $least)",
    "COUNT of a pattern, the first 10": "SELECT r.name, (SELECT count(*) FROM part p "
    "JOIN device d ON d.key = p.source WHERE p.target = r.key AND d.running) AS n "
    "FROM room r ORDER BY n DESC, r.name LIMIT 10",
    "OPTIONAL with a filter": "SELECT count(*), count(x.key) FROM room r LEFT JOIN "
    "(SELECT p.target, d.key FROM part p JOIN device d ON d.key = p.source "
    "WHERE d.temperature > $least) x ON x.target = r.key WHERE r.usage = $usage",
    "OPTIONAL, grouped": "SELECT f.name, count(x.key), avg(x.area) FROM floor f LEFT JOIN "
    "(SELECT p.target, r.key, r.area FROM part p JOIN room r ON r.key = p.source "
    "WHERE r.area > $area) x ON x.target = f.key GROUP BY f.key, f.name",
    "feeds in the same room": "SELECT count(*) FROM feeds f JOIN device a ON a.key = f.source "
    "JOIN device b ON b.key = f.target JOIN part p ON p.source = a.key "
    "JOIN part q ON q.source = b.key AND q.target = p.target JOIN room r ON r.key = p.target",
    "feeds into another room of the floor": "SELECT count(*) FROM feeds x "
    "JOIN device a ON a.key = x.source JOIN device b ON b.key = x.target "
    "JOIN part p ON p.source = a.key JOIN part q ON q.source = b.key "
    "JOIN room r ON r.key = p.target JOIN room s ON s.key = q.target "
    "JOIN part u ON u.source = r.key JOIN part v ON v.source = s.key AND v.target = u.target "
    "JOIN floor f ON f.key = u.target WHERE r.key <> s.key",
}


def write_statement(question: Question) -> str:
    """The statement of a shape of «many twins» with psycopg's placeholders."""
    text = _OWN.get(question.name, "")
    if not text:
        text = _KIND.sub(_name_kind, question.sql)
        text = _UP.sub(
            r"JOIN part p\3 ON p\3.source = \3.key JOIN \1 \2 ON \2.key = p\3.target", text
        )
        text = _DOWN.sub(
            r"JOIN part p\2 ON p\2.target = \3 JOIN \1 \2 ON \2.key = p\2.source", text
        )
        text = text.replace(") WHERE mean", ") x WHERE mean")
    for found, spelled in _SPELLED:
        text = found.sub(spelled, text)
    return text


def _name_kind(found: re.Match[str]) -> str:
    """Devices of one kind are a view of their own."""
    alias, joins, kind, rest = found.groups()
    named = f"{kind.lower()} {alias}" if alias else kind.lower()
    return f"{named}{joins}{' WHERE' if rest else ''}"


MANY_STATEMENTS: Final = {question.name: write_statement(question) for question in MANY}

# --- the statements of «queries» ------------------------------------------------------------------

_MODELS: Final = (
    "model IN (SELECT c.descendant FROM {{0}}.interface i JOIN {{0}}.interface_closure c "
    "ON c.ancestor = i.id WHERE i.name = '{}')"
)
_HOP: Final = "JOIN {{0}}.relationship r{0} ON r{0}.{1} = {2} AND r{0}.name = '{3}' "
_THREE_HOPS: Final = (
    "FROM {0}.twin b "
    + _HOP.format(1, "source", "b.id", "contains")
    + _HOP.format(2, "source", "r1.target", "contains")
    + _HOP.format(3, "target", "r2.target", "observes")
)
_NEXT: Final = (
    "SELECT r.target, w.depth + 1 FROM w JOIN {0}.relationship r ON r.source = w.node "
    "AND r.name = ANY('{{contains,adjacentTo}}') WHERE w.depth < 6"
)

STATEMENTS: Final = {
    "point by $dtId": "SELECT members ->> 'name' FROM {0}.twin WHERE dt_id = %(id)s",
    "1 hop": "SELECT t.members ->> 'name' FROM {0}.twin s "
    + _HOP.format(1, "source", "s.id", "contains")
    + "JOIN {0}.twin t ON t.id = r1.target WHERE s.dt_id = %(id)s",
    "incoming": "SELECT t.members ->> 'name' FROM {0}.twin s "
    + _HOP.format(1, "target", "s.id", "observes")
    + "JOIN {0}.twin t ON t.id = r1.source WHERE s.dt_id = %(id)s",
    "3 hops with a filter": "SELECT s.dt_id, (s.members ->> 'value')::double precision "
    + _THREE_HOPS
    + "JOIN {0}.twin s ON s.id = r3.source WHERE b.dt_id = %(id)s "
    "AND (s.members ->> 'value')::double precision > %(least)s",
    "3 hops, counted": "SELECT count(*) " + _THREE_HOPS + "WHERE b.dt_id = %(id)s",
    "variable length 1..4": "WITH RECURSIVE w(node, depth) AS (SELECT id, 0 FROM {0}.twin "
    "WHERE dt_id = %(id)s UNION ALL SELECT r.target, w.depth + 1 FROM w "
    "JOIN {0}.relationship r ON r.source = w.node AND r.name = 'contains' WHERE w.depth < 4) "
    "SELECT t.dt_id FROM w JOIN {0}.twin t ON t.id = w.node WHERE w.depth > 0",
    "label, range, order, limit": "SELECT members ->> 'name', "
    "(members ->> 'area')::double precision AS area FROM {0}.twin WHERE "
    + _MODELS.format("Room")
    + " AND (members ->> 'area')::double precision > %(least)s ORDER BY area DESC LIMIT 20",
    "aggregate by group": "SELECT members ->> 'maker' AS maker, count(*), "
    "avg((members ->> 'value')::double precision) FROM {0}.twin WHERE "
    + _MODELS.format("Sensor")
    + " GROUP BY maker",
    "count": "SELECT count(*) FROM {0}.twin WHERE " + _MODELS.format("Sensor"),
    "substring scan": "SELECT dt_id FROM {0}.twin WHERE "
    + _MODELS.format("Room")
    + " AND strpos(members ->> 'name', %(part)s) > 0",
    "shortest path": "WITH RECURSIVE w(node, depth) AS (SELECT id, 0 FROM {0}.twin "
    "WHERE dt_id = %(from)s UNION SELECT x.* FROM (WITH w AS (SELECT * FROM w) "
    + _NEXT
    + " UNION ALL "
    + _NEXT.replace("r.target,", "r.source,").replace("ON r.source", "ON r.target")
    + ") x) SELECT min(depth) FROM w WHERE node = (SELECT id FROM {0}.twin WHERE dt_id = %(to)s)",
    "page of 1,000 documents": "SELECT document FROM {0}.twin ORDER BY id LIMIT 1000",
}
"""By the names of shapes of «queries», with the schema to be put in."""
