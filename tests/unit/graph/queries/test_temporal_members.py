"""Properties that models declare as dates, times or durations, read as such where it is set so."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from twinframe.graph.queries.temporal_members import read_temporal_names
from twinframe.settings import Settings
from twinframe.testing.factories import FLOOR, build_interface

DEVICE, GAUGE, PLAIN = (f"dtmi:com:example:{name};1" for name in ("Device", "Gauge", "Plain"))
SPAN = "dtmi:com:example:Device:Span;1"
STORED = {
    "installed": "2015-07-21T21:40:00.000Z",
    "built": "2014-02-03",
    "opens": "08:30:00+01:00",
    "every": "PT90M",
    "label": "2015-07-21",
    "span": {"from": "2016-01-05", "note": "2016-01-05"},
    "days": ["2017-03-01", "2017-04-02"],
    "byName": {"a": "2018-05-06"},
}


def build_models() -> list[Any]:
    gauge: Any = build_interface(GAUGE)
    gauge["contents"] = [
        {"@type": "Property", "name": "checked", "schema": "date"},
        {"@type": "Property", "name": "unit", "schema": "string"},
    ]
    device: Any = build_interface(DEVICE)
    date = {"@type": "Property", "schema": "date"}
    device["schemas"] = [
        {
            "@id": SPAN,
            "@type": "Object",
            "fields": [{"name": "from", "schema": "date"}, {"name": "note", "schema": "string"}],
        }
    ]
    device["contents"] = [
        {"@type": "Property", "name": "installed", "schema": "dateTime"},
        {**date, "name": "built"},
        {"@type": "Property", "name": "opens", "schema": "time"},
        {"@type": "Property", "name": "every", "schema": "duration"},
        {"@type": "Property", "name": "label", "schema": "string"},
        {"@type": "Property", "name": "span", "schema": SPAN},
        {**date, "name": "days", "schema": {"@type": "Array", "elementSchema": "date"}},
        {
            **date,
            "name": "byName",
            "schema": {
                "@type": "Map",
                "mapKey": {"name": "k", "schema": "string"},
                "mapValue": {"name": "v", "schema": "date"},
            },
        },
        {"@type": "Telemetry", "name": "seen", "schema": "dateTime"},
        {"@type": "Component", "name": "gauge", "schema": GAUGE},
        {"@type": "Relationship", "name": "feeds", "properties": [{**date, "name": "since"}]},
        {"@type": "Relationship", "name": "names", "properties": [
            {"@type": "Property", "name": "since", "schema": "string"}
        ]},
    ]  # fmt: skip
    plain: Any = build_interface(PLAIN)
    plain["contents"] = [{"@type": "Property", "name": "built", "schema": "string"}]
    for model in (gauge, device, plain):
        model["@context"] = "dtmi:dtdl:context;3"
    return [gauge, device, plain]


@pytest.fixture
def devices(world: Any) -> Any:
    """A device with everything set, one without, and a twin whose `built` is a string."""
    world.do(world.graph.models.create_models(build_models()))
    world.put("full", DEVICE, **STORED, gauge={"$metadata": {}, "checked": "2013-01-02"})
    world.put("bare", DEVICE, gauge={"$metadata": {}})
    world.put("plain", PLAIN, built="2014-02-03")
    world.relate("full", "r1", "bare", "feeds", since="2019-06-07")
    world.relate("full", "r2", "bare", "names", since="2019-06-07")
    return world


def ask_text(world: Any, text: str, *, typed: bool = True, **parameters: Any) -> list[Any]:
    settings = Settings.model_validate({"Query": {"TemporalProperties": typed}})
    served = type(world)(world.store, settings)
    page = served.do(served.graph.queries.run(text, parameters))
    rows = [orjson.loads(row) for row in page.rows]
    return [row.get("x", row) for row in rows]


FULL = "MATCH (t:Device {`$dtId`: 'full'}) "
READ = [
    ("t.installed.year", 2015),
    ("t.installed < datetime('2016-01-01T00:00Z')", True),
    ("t.built = date('2014-02-03')", True),
    ("t['built'].month", 2),
    ("t[$name].month", 2),
    ("t.opens.offset", "+01:00"),
    ("t.every.minutes", 90),
    ("toString(t.every * 2)", "PT3H"),
    ("t.span.from.day", 5),
    ("t.span.note", "2016-01-05"),
    ("t.days[1].month", 4),
    ("t.byName.a.month", 5),
    ("t.gauge.checked.year", 2013),
    ("properties(t).built.year", 2014),
    ("t {.built}.built.year", 2014),
    ("t {.*, x: 1}.installed.year", 2015),
    ("[n IN [t] | n.built.year][0]", 2014),
    ("t.label = '2015-07-21'", True),
    ("t.built > '2014'", True),
]
AS_TEXT = [
    ("t.built = '2014-02-03' AND '2014-02-03' = t.built", True),
    ("t.built <> '2014-02-03' OR t.built < '2014' OR '2015' <= t.built", False),
    ("t.built = 2014 OR t.built IN [2014, true]", False),
    ("t.built < 2014", None),
    ("t.installed IN ['x', '2015-07-21T21:40:00.000Z']", True),
    ("t.installed IN $texts AND t.installed > $from", True),
    ("t.installed STARTS WITH '2015' AND t.installed ENDS WITH '000Z'", True),
    ("t.installed CONTAINS '-07-' AND t.installed =~ '2015.*'", True),
    ("substring(t.installed, 0, 10) + '/' + left(t.built, 4)", "2015-07-21/2014"),
    ("size(t.installed)", 24),
    ("toUpper(t.opens)", "08:30:00+01:00"),
    ("toString(t.installed)", "2015-07-21T21:40:00.000Z"),
    ("t.installed + '!'", "2015-07-21T21:40:00.000Z!"),
    ("split(t.built, '-')[1]", "02"),
    ("is_string(t.built) AND is_primitive(t.built) AND NOT is_object(t.built)", True),
    ("t.built IS NULL OR NOT is_defined(t.built)", False),
    ("t.span = {from: '2016-01-05', note: '2016-01-05'}", True),
    ("t.days = ['2017-03-01', '2017-04-02'] AND '2017-03-01' IN t.days", True),
    ("array_contains(t.days, '2017-03-01')", True),
    ("t.span.from = '2016-01-05'", True),
    ("CASE t.built WHEN '2014-02-03' THEN 'then' END", "then"),
    ("nullIf(t.built, '2014-02-03')", None),
    ("duration(t.every) = duration('PT90M')", True),
    ("date(t.built).year + datetime(t.installed).month", 2021),
]


@pytest.mark.parametrize(("expression", "value"), READ)
def test_a_declared_member_is_a_temporal_value(devices: Any, expression: str, value: Any) -> None:
    text = f"{FULL}RETURN {expression} AS x"
    assert ask_text(devices, text, name="built") == [value]


@pytest.mark.parametrize(("expression", "value"), AS_TEXT)
def test_beside_a_string_a_stored_time_is_its_text(
    devices: Any, expression: str, value: Any
) -> None:
    """So that a query that knows nothing of times answers as it does without the setting."""
    given = {"texts": [STORED["installed"]], "from": "2015"}
    for typed in (True, False):
        for text in (
            f"{FULL}RETURN {expression} AS x",
            f"{FULL}WITH t, {expression} AS x RETURN x",
            f"{FULL}WITH t LIMIT 9 RETURN head(collect({expression})) AS x",
        ):
            assert ask_text(devices, text, typed=typed, **given) == [value], (typed, text)
    if isinstance(value, bool):
        text = f"{FULL}WHERE {expression} RETURN t.$dtId AS x"
        assert ask_text(devices, text, **given) == ["full"] * value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"{FULL}RETURN t.installed AS x", STORED["installed"]),
        (f"{FULL}RETURN t['built'] AS x ORDER BY t.label LIMIT 1", "2014-02-03"),
        ("MATCH (t {built: '2014-02-03'}) RETURN count(t.built) AS x", 2),
        ("MATCH (t:Device) WHERE t.installed > '2014' RETURN t.$dtId AS x", "full"),
        ("MATCH (t:Device) WHERE t[$name] > '2014' RETURN t.built AS x", "2014-02-03"),
        (
            f"{FULL}RETURN t {{.built, d: t.days}} AS x",
            {"built": "2014-02-03", "d": STORED["days"]},
        ),
        (f"{FULL}WITH t {{.*, gauge: 1}} AS x RETURN x", {**STORED, "gauge": 1}),
        (f"{FULL}RETURN collect([t.built]) AS x", [["2014-02-03"]]),
        (f"{FULL}RETURN [(t)-[r:feeds]->() | r {{.*}}] AS x", [{"since": "2019-06-07"}]),
    ],
)
def test_what_needs_no_more_than_text_runs_in_the_store(
    devices: Any, text: str, value: Any
) -> None:
    assert ask_text(devices, text, name="built") == [value]
    (typed,) = ask_text(devices, f"EXPLAIN {text}", name="built")
    (plain,) = ask_text(devices, f"EXPLAIN {text}", typed=False, name="built")
    assert typed == plain


@pytest.mark.parametrize("name", STORED)
def test_the_wire_has_the_text_that_is_stored(devices: Any, name: str) -> None:
    text = f"{FULL}RETURN t.{name} AS x"
    assert ask_text(devices, text) == [STORED[name]]
    (document,) = ask_text(devices, f"{FULL}RETURN t AS x")
    assert document == devices.read("full")


def test_only_the_model_of_the_twin_itself_counts(devices: Any) -> None:
    text = "MATCH (t:Plain) RETURN t.built = '2014-02-03' AS x"
    assert ask_text(devices, text) == [True]
    assert ask_text(devices, "MATCH (t:Device) RETURN t.built IS NULL AS x") in (
        [True, False],
        [False, True],
    )


def test_patterns_and_filters_compare_values(devices: Any) -> None:
    for text in (
        "MATCH (t {built: date('2014-02-03')}) RETURN t.$dtId AS x",
        "MATCH (t) WHERE t.built <= date('2014-02-03') RETURN t.$dtId AS x",
        "MATCH (t)-[{since: date('2019-06-07')}]->() RETURN t.$dtId AS x",
        "MATCH (t)-[*1..2 {since: date('2019-06-07')}]->() RETURN t.$dtId AS x",
    ):
        assert ask_text(devices, text) == ["full"], text


def test_a_property_of_a_relationship_is_typed_by_its_source(devices: Any) -> None:
    text = "MATCH ()-[r:{}]->() RETURN r.since = date('2019-06-07') AS x"
    assert ask_text(devices, text.format("feeds")) == [True]
    assert ask_text(devices, text.format("names")) == [False]


def test_without_the_setting_it_is_text(devices: Any) -> None:
    text = f"{FULL}RETURN t.built > '2014' AND t.installed STARTS WITH '2015' AS x"
    assert ask_text(devices, text, typed=False) == [True]


def test_the_vendor_s_language_compares_text(devices: Any) -> None:
    text = "SELECT T.$dtId AS x FROM DIGITALTWINS T WHERE T.built > '2014' AND T.label != ''"
    assert ask_text(devices, text) == ["full"]


def test_a_store_is_given_what_reads_no_such_member(devices: Any) -> None:
    (typed,) = ask_text(devices, f"EXPLAIN {FULL}WITH t RETURN t.built.year AS y")
    (plain,) = ask_text(devices, f"EXPLAIN {FULL}WITH t RETURN t.label AS y")
    assert all("built" not in part["plan"] for part in typed["pushed"])
    (untyped,) = ask_text(devices, f"EXPLAIN {FULL}WITH t RETURN t.label AS y", typed=False)
    assert plain == untyped


def test_a_model_that_came_or_went_is_known_at_once(world: Any) -> None:
    settings = Settings.model_validate({"Query": {"TemporalProperties": True}})
    typed = type(world)(world.store, settings)
    typed.put("f", FLOOR, level=3)
    text = "MATCH (t:Plain|Device) RETURN t.built = date('2014-02-03') AS x"
    run = typed.graph.queries.run
    assert typed.do(run(text)).rows == ()
    typed.do(typed.graph.models.create_models(build_models()))
    typed.put("d", DEVICE, built="2014-02-03", gauge={"$metadata": {}})
    assert typed.do(run(text)).rows == (b'{"x":true}',)


def test_names_are_those_that_hold_something_temporal(devices: Any) -> None:
    session = devices.store.session()
    try:
        with session.snapshot():
            names = read_temporal_names(session).names
    finally:
        session.close()
    assert names == {*STORED, "gauge", "checked", "since"} - {"label"}
