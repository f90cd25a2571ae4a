"""Member access with a typing: by whose model, for which names, and by every way to a member."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.unit.query.evaluate.graphs import MemoryReader, build_relationship, build_twin
from twinframe.model.temporal.instants import Date
from twinframe.model.temporal.parsing import parse_date
from twinframe.model.values import JsonValue, Value
from twinframe.query.evaluate.engine import compile_query
from twinframe.query.evaluate.limits import Limits
from twinframe.query.evaluate.member_typing import Convert, MemberTyping
from twinframe.query.language import parse_query
from twinframe.query.reader import GraphReader

PUMP, OTHER = "dtmi:t:Pump;1", "dtmi:t:Other;1"


def read_date(value: JsonValue) -> Value:
    return parse_date(str(value))


class Dates(MemberTyping):
    """`made` of pumps and `since` of their `feeds` are dates; it keeps what it was asked."""

    names = frozenset({"made", "since"})

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    def find_twin_members(self, reader: GraphReader, model_id: str) -> Mapping[str, Convert]:
        self.asked.append((model_id,))
        return {"made": read_date} if model_id == PUMP else {}

    def find_relationship_members(
        self, reader: GraphReader, model_id: str, name: str
    ) -> Mapping[str, Convert]:
        self.asked.append((model_id, name))
        return {"since": read_date} if (model_id, name) == (PUMP, "feeds") else {}


def build_graph() -> MemoryReader:
    pump = build_twin("p", PUMP, made="1970-01-02", name="1970-01-02", tags=["1970-01-02"])
    other = build_twin("o", OTHER, made="1970-01-02")
    crossed = [
        build_relationship("p", "r", "feeds", "o", since="1970-01-03"),
        build_relationship("o", "r", "feeds", "p", since="1970-01-03"),
    ]
    return MemoryReader([pump, other], crossed)


def ask(text: str, typing: MemberTyping | None, **parameters: Value) -> list[Value]:
    query = parse_query(text, parameters=parameters.keys()).query
    plan = compile_query(query, typing=typing)
    return [value for (value,) in plan.run(build_graph(), parameters, Limits())]


@pytest.mark.parametrize(
    "expression",
    [
        "n.made",
        "n['made']",
        "n[$key]",
        "properties(n).made",
        "[m IN [n] | m.made][0]",
        "nodes(p)[0].made",
        "startNode(r).made",
        "{a: n}.a.made",
        "coalesce(n.missing, n.made)",
    ],
)
def test_every_way_to_a_member_gives_its_type(expression: str) -> None:
    text = f"MATCH p = (n:Pump)-[r]->() RETURN {expression} AS x"
    assert ask(text, Dates(), key="made") == [Date(1)]
    assert ask(text, None, key="made") == ["1970-01-02"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("MATCH (n:Other) RETURN n.made", "1970-01-02"),
        ("MATCH (n:Pump) RETURN n.name", "1970-01-02"),
        ("MATCH (n:Pump) RETURN n.tags[0]", "1970-01-02"),
        ("MATCH (n:Pump) RETURN n.since", None),
        ("RETURN {made: '1970-01-02'}.made", "1970-01-02"),
        ("RETURN {made: '1970-01-02'}[$key]", "1970-01-02"),
        ("MATCH (:Other)-[r]->() RETURN r.since", "1970-01-03"),
        ("MATCH (:Pump)-[r]->() RETURN r.since", Date(2)),
    ],
)
def test_what_its_model_does_not_declare_stays_as_it_is(text: str, found: Value) -> None:
    assert ask(text, Dates(), key="made") == [found]


def test_relationships_of_a_walk_are_filtered_by_their_value() -> None:
    text = "MATCH (n)-[*1..1 {since: $day}]->() RETURN n.$dtId"
    assert ask(text, Dates(), day=Date(2)) == ["p"]
    assert ask(text, Dates(), day="1970-01-03") == ["o"]


def test_names_that_no_model_declares_ask_no_model() -> None:
    typing = Dates()
    ask("MATCH (n)-[r]->(m) WHERE n.name = 'x' OR m['name'] = 'x' RETURN r.other", typing)
    assert typing.asked == []


def test_a_member_that_is_there_is_present_whatever_its_type() -> None:
    text = "MATCH (n:Pump) RETURN n.made IS NOT NULL AND is_defined(n.made)"
    assert ask(text, Dates()) == [True]
