"""Mappings of messages: what they give, and what is said of wrong ones."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from twinframe.errors import InvalidArgument
from twinframe.graph.ingestion.mapper import MappedBatch, Mapper
from twinframe.graph.ingestion.mappings import list_filters, parse_mappings
from twinframe.graph.series.lines import LineLimits, Times
from twinframe.hooks.sources.base import SourceMessage, TopicForm
from twinframe.model.json import JsonLimits
from twinframe.model.moments import parse_moment

MQTT = TopicForm("/", "+", "#")
NOW = parse_moment("2026-03-01T14:00:00Z")
ROOM = {"topic": "rooms/{twin}/{what}", "points": {"{topic.what}": "payload"}}
SENT = {"topic": "s/{twin}", "time": "payload.at", "points": {"t": "payload.t"}}


def run(mapping: Any, topic: str, payload: Any, **more: Any) -> MappedBatch:
    body = payload if isinstance(payload, bytes) else orjson.dumps(payload)
    given = mapping if isinstance(mapping, list) else [mapping]
    mapper = Mapper(parse_mappings(given, MQTT), LineLimits(3, 1000, JsonLimits()))
    return mapper.map([SourceMessage(topic, body, **more)], Times(NOW, 0))


def list_points(batch: MappedBatch) -> list[tuple[str, str, Any]]:
    points = batch.parsed.points
    return list(zip(points.twins, points.paths, points.values, strict=True))


@pytest.mark.parametrize(
    ("mapping", "topic", "payload", "points"),
    [
        (ROOM, "rooms/r1/temperature", 20.5, [("r1", "temperature", 20.5)]),
        (ROOM, "rooms/r1/a~b", True, [("r1", "a~0b", True)]),
        ({**ROOM, "payload": "text"}, "rooms/r1/state", b"open", [("r1", "state", "open")]),
        (
            {"topic": "s/{twin}/#", "points": "payload"},
            "s/r1/x/y",
            {"t": 1, "at": {"h": 2, "gone": None}, "none": None},
            [("r1", "t", 1), ("r1", "at/h", 2)],
        ),
        (
            {
                "topic": "+/{b}",
                "twin": "join('-', [topic.b, payload.id])",
                "points": {"t": "/payload/v/1", "on": "payload.s == 'ON'", "k": "`7`"},
            },
            "x/b1",
            {"id": "7", "v": [1, 2], "s": "ON"},
            [("b1-7", "t", 2), ("b1-7", "on", True), ("b1-7", "k", 7)],
        ),
        (
            {
                "topic": "g",
                "each": "payload.all[?ok]",
                "twin": "item.id",
                "points": {"{item.n}": "item.v"},
            },
            "g",
            {"all": [{"ok": True, "id": 5, "n": "t", "v": 1}, {"ok": False}]},
            [("5", "t", 1)],
        ),
        (
            {"topic": "s/{twin}", "points": {"k": "key", "h": "headers.site", "t": "time"}},
            "s/r1",
            {},
            [("r1", "k", "a"), ("r1", "h", "x"), ("r1", "t", "1970-01-01T00:00:01Z")],
        ),
    ],
)
def test_a_message_gives_the_values_that_its_mapping_says(
    mapping: Any, topic: str, payload: Any, points: Any
) -> None:
    batch = run(mapping, topic, payload, key="a", headers={"site": "x"}, time=1_000_000)
    assert batch.refused == {}
    assert list_points(batch) == points


def test_all_mappings_of_a_topic_apply_and_a_property_has_the_time_of_its_source() -> None:
    target = {"topic": "s/{twin}", "time": "payload.at", "properties": {"part/to~1x": "payload.p"}}
    batch = run([SENT, target], "s/r1", {"t": 1, "p": [2], "at": "2026-03-01T15:00:00+01:00"})
    assert list_points(batch) == [("r1", "t", 1)]
    assert batch.parsed.points.times == [NOW]
    (_, write), *others = batch.writes
    assert not others
    assert (write.values, write.time) == (((("part", "to/x"), [2]),), NOW)
    assert write.time_text == "2026-03-01T15:00:00+01:00"
    assert dict(batch.matched) == {"s/{twin}": 2}


@pytest.mark.parametrize(
    ("unit", "value", "moment"),
    [
        ("s", 1_772_373_600.25, NOW + 250_000),
        ("ms", 1_772_373_600_001, NOW + 1000),
        ("us", NOW, NOW),
        ("ns", NOW * 1000 + 999, NOW),
        ("s", None, NOW),
    ],
)
def test_a_time_may_be_a_number_of_a_unit_or_missing(unit: str, value: Any, moment: int) -> None:
    batch = run({**SENT, "timeUnit": unit}, "s/r1", {"t": 1, "at": value})
    assert batch.parsed.points.times == [moment]


@pytest.mark.parametrize(
    ("mapping", "payload", "reason", "text"),
    [
        ({**SENT, "topic": "t/{twin}"}, {"t": 1}, "NoMapping", "for the topic 's/r1'"),
        (SENT, {"T": 1}, "NoValue", "gave no value"),
        (SENT, b"{", "PayloadInvalid", "The payload cannot be read: The text is not valid JSON"),
        (SENT, b"", "PayloadInvalid", "The payload cannot be read: A non-empty payload is requir"),
        ({**SENT, "payload": "text"}, b"\xff", "PayloadInvalid", "UTF-8"),
        (SENT, {"t": "x" * 1000}, "LimitExceeded", "Graph__MaxTwinBytes"),
        (SENT, {"t": [1]}, "InvalidArgument", "an array"),
        ({**SENT, "points": {"t": '`"\\u0000"`'}}, {}, "InvalidArgument", "at '' holds U+0000"),
        (SENT, {"t": 2**60}, "InvalidArgument", "as a text"),
        (SENT, {"t": 1, "at": 5}, "InvalidArgument", "timeUnit"),
        (SENT, {"t": 1, "at": "now"}, "InvalidArgument", "not a date and time"),
        (SENT, {"t": 1, "at": "2027-03-01T14:00:00Z"}, "InvalidArgument", "in the future"),
        ({**SENT, "timeUnit": "s"}, {"t": 1, "at": 1e300}, "InvalidArgument", "1970 to 9999"),
        ({**SENT, "twin": "payload.id"}, {"t": 1}, "InvalidArgument", "must give the id"),
        ({**SENT, "twin": "payload.id"}, {"t": 1, "id": ""}, "InvalidArgument", "id"),
        ({**SENT, "points": {"t": "abs(payload.t)"}}, {"t": "x"}, "InvalidArgument", "failed"),
        ({**SENT, "points": {"t": "to_number('inf')"}}, {}, "InvalidArgument", "not a number"),
        ({**SENT, "points": "payload.t"}, {"t": 1}, "InvalidArgument", "an object of values"),
        ({**SENT, "points": {"{payload.n}": "payload.t"}}, {"t": 1}, "InvalidArgument", "a text"),
        ({**SENT, "points": {"{payload.n}": "payload.t"}}, {"t": 1, "n": ""}, None, "joined by /"),
        ({**SENT, "each": "payload.t"}, {"t": 1}, "InvalidArgument", "must give an array"),
        ({**SENT, "each": "payload.t"}, {"t": [1, 2, 3, 4]}, "LimitExceeded", "Bulk__MaxPoints"),
        ({**SENT, "properties": "payload"}, {"$metadata": 1}, "InvalidArgument", "by the service"),
    ],
)
def test_a_message_that_cannot_be_mapped_is_refused_with_its_reason(
    mapping: Any, payload: Any, reason: str | None, text: str
) -> None:
    refusal = run(mapping, "s/r1", payload).refused[0]
    assert refusal.reason == (reason or "InvalidArgument")
    assert text in refusal.message


def test_a_refused_element_leaves_the_others() -> None:
    mapping = {"topic": "g", "each": "payload", "twin": "item.id", "points": {"t": "item.v"}}
    batch = run(mapping, "g", [{"id": "a", "v": 1}, {"v": 2}, {"id": "c", "v": 3}])
    assert list_points(batch) == [("a", "t", 1), ("c", "t", 3)]
    assert "must give the id" in batch.refused[0].message


@pytest.mark.parametrize(
    ("mappings", "text"),
    [
        ("x", "must be a JSON array of mappings"),
        ([], "must be a JSON array of mappings"),
        ([ROOM, 1], "mapping 1: A mapping is a JSON object"),
        ([{**ROOM, "topc": "x"}], "mapping 0: A mapping has no member 'topc'. Did you mean topic?"),
        ([{"points": {"t": "payload"}}], "needs its topic"),
        ([{"topic": "", "twin": "key", "points": "payload"}], "must be a text"),
        ([{**ROOM, "topic": "a{twin}/{what}"}], "inside of the level 'a{twin}'"),
        ([{**ROOM, "topic": "{twin}/#/{what}"}], "has '#' inside"),
        ([{**ROOM, "topic": "{twin}/{what}/{twin}"}], "two levels named {twin}"),
        ([{"topic": "a/b", "points": {"t": "payload"}}], "needs a twin"),
        ([{"topic": "{twin}"}], "needs points, properties or both"),
        ([{"topic": "{twin}", "points": {}}], "points: must be an object of expressions by path"),
        ([{"topic": "{twin}", "points": {"a//b": "payload"}}], "points: a//b: The path"),
        ([{"topic": "{twin}", "points": {"~2": "payload"}}], "a ~ is not followed by 0 or 1"),
        ([{"topic": "{twin}", "points": {"t": 5}}], "points: t: 5 is not an expression"),
        ([{"topic": "{twin}", "points": {"t": "payload.["}}], "points: t: 'payload.[' is not JMES"),
        ([{"topic": "{twin}", "points": {"t": "/payload/~2"}}], "is not a JSON pointer"),
        ([{"topic": "{twin}", "points": {"t": "paylod.x"}}], "Did you mean payload?"),
        ([{"topic": "{twin}", "points": {"t": "/paylod"}}], "Did you mean payload?"),
        ([{"topic": "{twin}", "points": {"t": "abs(paylod)"}}], "Did you mean payload?"),
        ([{"topic": "{twin}", "points": {"t": "payload[*].[abz(x)]"}}], "Did you mean abs?"),
        ([{"topic": "{twin}", "points": {"t": "abs(payload, key)"}}], "takes 1 arguments, not 2"),
        ([{"topic": "{twin}", "points": {"t": "merge()"}}], "takes at least 1 arguments, not 0"),
        ([{"topic": "{twin}", "points": {"t": "item"}}], "a message has no 'item'"),
        ([{"topic": "{twin}/{room}", "twin": "topic.rom", "points": "payload"}], "mean room?"),
        ([{"topic": "{twin}", "points": {"{topic.x}": "payload"}}], "the topic has no {x}"),
        ([{"topic": "{twin}", "points": "payload", "payload": "xml"}], "none of json, text"),
        ([{"topic": "{twin}", "points": "payload", "timeUnit": "h"}], "none of s, ms, us, ns"),
        ([{"topic": "{twin}", "properties": {"$dtId": "payload"}}], "set by the service"),
    ],
)
def test_a_wrong_mapping_is_refused_and_the_place_is_named(mappings: Any, text: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_mappings(mappings, MQTT)
    assert text in caught.value.message


def test_filters_are_those_of_the_broker_each_once() -> None:
    mappings = [
        ROOM,
        {**ROOM, "topic": "rooms/{what}/{twin}"},
        {**SENT, "topic": "{twin}/+/#"},
        {**SENT, "topic": "a/b", "twin": "key"},
    ]
    assert list_filters(parse_mappings(mappings, MQTT)) == ("rooms/+/+", "+/+/#", "a/b")
