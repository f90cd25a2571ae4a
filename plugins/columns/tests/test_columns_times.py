"""Members that models declare as temporal are answered from columns as the evaluator does."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.column_graphs import open_with_columns, wait_for_columns
from twinframe.errors import TwinframeError
from twinframe.graph.graph import Graph
from twinframe.model.comparison import build_order_key, equals
from twinframe.model.temporal.parsing import parse_date, parse_date_time, parse_time
from twinframe_columns.merging import build_vector
from twinframe_columns.strings import build_strings
from twinframe_columns.times import find_layout, rank_constant, read_times, read_values
from twinframe_columns.vectors import Constant, Texts

PART: Mapping[str, Any] = {
    "@context": "dtmi:dtdl:context;3",
    "@id": "dtmi:com:example:Part;1",
    "@type": "Interface",
    "contents": [
        {"@type": "Property", "name": "made", "schema": "date"},
        {"@type": "Property", "name": "size", "schema": "integer"},
    ],
}
DEVICE: Mapping[str, Any] = {
    "@context": "dtmi:dtdl:context;3",
    "@id": "dtmi:com:example:Device;1",
    "@type": "Interface",
    "contents": [
        *(
            {"@type": "Property", "name": name, "schema": schema}
            for name, schema in (
                *(("at", "dateTime"), ("since", "dateTime"), ("day", "date"), ("clock", "time")),
                *(("span", "duration"), ("group", "string")),
            )
        ),
        {"@type": "Component", "name": "part", "schema": PART["@id"]},
        {
            "@type": "Relationship",
            "name": "feeds",
            "properties": [{"@type": "Property", "name": "since", "schema": "date"}],
        },
    ],
}
PLAIN: Mapping[str, Any] = {
    "@context": "dtmi:dtdl:context;3",
    "@id": "dtmi:com:example:Plain;1",
    "@type": "Interface",
    "contents": [{"@type": "Property", "name": "day", "schema": "string"}],
}
ANSWERED = (
    "MATCH (d:Device) RETURN min(d.at) AS a, max(d.at) AS b, count(d.at) AS c",
    "MATCH (d:Device) WHERE d.at >= $since AND d.at < $until RETURN count(*) AS n, min(d.at) AS a",
    "MATCH (d:Device) WHERE d.at >= datetime($since) RETURN count(*) AS n, max(d.at) AS a",
    "MATCH (d:Device) WHERE d.at < datetime('2024-03-01T01:00:00+01:00') RETURN count(*) AS n",
    "MATCH (d:Device) WHERE d.at = datetime('2024-03-01T01:00:00+01:00') RETURN count(*) AS n",
    "MATCH (d:Device) WHERE d.at <> datetime('2024-03-01T00:00:00Z') RETURN count(*) AS n",
    "MATCH (d:Device) WHERE d.at > datetime() - duration('P100D') RETURN count(*) AS n",
    "MATCH (d:Device) WHERE d.at > d.since RETURN count(*) AS n, min(d.since) AS s",
    "MATCH (d:Device) WHERE d.at = d.since OR d.at IS NULL RETURN d.`$dtId` AS i, d.at AS a",
    "MATCH (d:Device) RETURN d.`$dtId` AS i, d.at AS a ORDER BY d.at DESC, i LIMIT 5",
    "MATCH (d:Device) RETURN d.`$dtId` AS i ORDER BY d.day, d.clock DESC, i SKIP 2 LIMIT 5",
    "MATCH (d:Device) RETURN d.at.year AS y, count(*) AS n, max(d.at) AS m",
    "MATCH (d:Device) WHERE d.at.month = 2 RETURN d.at.day AS x, d.at.hour AS h, count(*) AS n",
    "MATCH (d:Device) RETURN DISTINCT d.day AS day",
    "MATCH (d:Device) RETURN count(DISTINCT d.day) AS n, min(d.clock) AS c, max(d.day) AS m",
    "MATCH (d:Device) RETURN d.group AS g, min(d.at) AS a, max(d.day) AS b",
    "MATCH (d:Device) WHERE d.day > date('2024-02-01') RETURN d.group AS g, count(*) AS n",
    "MATCH (d:Device) WHERE d.day = date('2024-02-29') RETURN count(*) AS n",
    "MATCH (d:Device) WHERE d.clock < time('12:00:00Z') RETURN count(*) AS n",
    "MATCH (d:Device) WHERE d.at > date('2024-02-01') RETURN count(*) AS n",
    "MATCH (d:Device) WHERE d.at > 5 OR d.at <> 5 RETURN count(*) AS n",
    "MATCH (d:Device) RETURN avg(d.part.size) AS n, max(d.part.made) AS m",
    "MATCH (d:Device) WHERE d.part.made >= date('2024-02-01') RETURN count(*) AS n",
    "MATCH (a:Device)-[:feeds]->(b) RETURN b.`$dtId` AS i, max(a.at) AS m",
    "MATCH (a:Device)-[f:feeds]->(b) WHERE f.since < date('2024-03-01') RETURN max(f.since) AS m",
    "MATCH (a)-[:feeds]->(b:Device) WHERE a.at < b.at RETURN count(*) AS n",
    "MATCH (d:Device) OPTIONAL MATCH (d)-[:feeds]->(e) RETURN d.`$dtId` AS i, max(e.at) AS m",
    "MATCH (d:Device) WITH d.at AS t WHERE t < datetime($until) RETURN max(t) AS m",
    "MATCH (d:Device) RETURN max(CASE WHEN d.group = 'a' THEN d.at END) AS m",
)
OTHERS = (
    "MATCH (d) RETURN min(d.day) AS a, max(d.day) AS b",
    "MATCH (d:Device) RETURN d.span AS s, count(*) AS n",
    "MATCH (d:Device) RETURN DISTINCT d.at AS a, d.since AS s",
    "MATCH (d:Device) RETURN d.at.week AS w, count(*) AS n",
    "MATCH (d:Device) RETURN max(coalesce(d.at, d.since)) AS m",
    "MATCH (d:Device) WHERE d.at + duration('P1D') > d.since RETURN count(*) AS n",
    "MATCH (d:Device) WHERE d.at IN [datetime($since), datetime($until)] RETURN count(*) AS n",
    "MATCH (d:Device) WHERE toString(d.at) STARTS WITH '2024-02' RETURN max(d.at) AS m",
    "MATCH (d:Device) WHERE duration.between(d.since, d.at).days > 3 RETURN count(*) AS n",
)
PARAMETERS = {"since": "2024-02-03T00:00:00Z", "until": "2024-03-01T00:00:00Z"}
ODD = ("2024-02-30T00:00:00Z", "2024-02-03T00:00:00.5Z", "2024-02-03T02:00:00+02:00", "now")


def draw_contents(dice: random.Random, odd: Sequence[str] = ()) -> dict[str, Any]:
    """Members of a device, some of them missing."""
    day = f"2024-0{dice.randint(1, 3)}-{dice.choice((1, 2, 3, 28, 29)):02}"
    contents: dict[str, Any] = {
        "at": dice.choice((f"{day}T0{dice.randint(0, 3)}:00:00Z", *odd)),
        "since": f"2024-0{dice.randint(1, 3)}-01T00:00:00Z",
        "day": day,
        "clock": f"{dice.randint(10, 14)}:30:00Z",
        "span": dice.choice(("P1D", "PT24H", "P2D")),
        "group": dice.choice("abc"),
    }
    return {name: one for name, one in contents.items() if dice.random() < 0.8}


async def fill(graph: Graph, count: int, odd: Sequence[str] = ()) -> None:
    dice = random.Random(1)
    await graph.models.create_models([dict(PART), dict(DEVICE), dict(PLAIN)])
    for at in range(count):
        document = {
            "$metadata": {"$model": DEVICE["@id"]},
            "part": {"$metadata": {}, "made": f"2024-0{dice.randint(1, 3)}-01", "size": at},
            **draw_contents(dice),
        }
        await graph.twins.put_twin(f"d{at}", document)
    for at in range(count):
        edge = {
            "$relationshipName": "feeds",
            "$targetId": f"d{(at * 7 + 3) % count}",
            "since": f"2024-0{dice.randint(1, 3)}-01",
        }
        await graph.relationships.put_relationship(f"d{at}", "f", edge)
    for at, text in enumerate(odd):
        # NOTE: no model checks what was stored under another one.
        await graph.twins.put_twin(f"odd{at}", {"$metadata": {"$model": PLAIN["@id"]}, "day": text})


def with_both(folder: Path, work: Callable[[Graph, Graph], Awaitable[None]]) -> None:
    """Run with a graph that columns answer, and with the same without."""

    async def run() -> None:
        async with AsyncExitStack() as stack:
            fast = await stack.enter_async_context(open_with_columns(folder))
            off = {"Query__Columns__Enabled": "false"}
            plain = await stack.enter_async_context(open_with_columns(folder, **off))
            await work(fast, plain)

    asyncio.run(run())


async def ask(graph: Graph, text: str) -> Any:
    try:
        page = await graph.queries.run(text, PARAMETERS)
    except TwinframeError as error:
        return type(error)
    rows = [orjson.loads(row) for row in page.rows]
    return rows if "ORDER" in text else sorted(map(repr, rows))


async def is_by_columns(graph: Graph, text: str) -> bool:
    (row,) = (await graph.queries.run(f"EXPLAIN {text}", PARAMETERS)).rows
    found = orjson.loads(row)
    part = found["operators"][0]["part"]
    return part is not None and "columns" in found["pushed"][part]["indexes"]


def test_columns_answer_times_of_one_layout_as_the_evaluator(tmp_path: Path) -> None:
    async def work(fast: Graph, plain: Graph) -> None:
        await fill(plain, 60)
        await wait_for_columns(fast, "MATCH (d:Device) RETURN count(d.group) AS n")
        for text in (*ANSWERED, *OTHERS):
            assert await ask(fast, text) == await ask(plain, text), text
        for text in ANSWERED:
            assert await is_by_columns(fast, text), text
        twin = {"$metadata": {"$model": DEVICE["@id"]}, "part": {"$metadata": {}}}
        await plain.twins.put_twin("new", {**twin, "at": "2023-01-01T00:00:00Z"})
        for text in ANSWERED:
            assert await ask(fast, text) == await ask(plain, text), text
            assert await is_by_columns(fast, text), text

    with_both(tmp_path, work)


def test_a_profile_of_times_says_who_answered_and_how_many_rows_there_were(tmp_path: Path) -> None:
    async def profile(graph: Graph, text: str) -> dict[str, Any]:
        (row,) = (await graph.queries.run(f"PROFILE {text}", PARAMETERS)).rows
        found: dict[str, Any] = orjson.loads(row)
        return found

    async def work(fast: Graph, plain: Graph) -> None:
        await fill(plain, 20)
        await wait_for_columns(fast, "MATCH (d:Device) RETURN count(d.group) AS n")
        for text in ANSWERED:
            found, other = await profile(fast, text), await profile(plain, text)
            assert found["engine"] == "columns", text
            assert "columns" not in other["engine"]
            assert found["rows"] == other["rows"] == len(await ask(plain, text)), text
        twin = {"$metadata": {"$model": DEVICE["@id"]}, "part": {"$metadata": {}}}
        await plain.twins.put_twin("odd", {**twin, "at": ODD[1]})
        found, other = await profile(fast, ANSWERED[0]), await profile(plain, ANSWERED[0])
        assert (found["engine"], other["engine"]) == ("columns+evaluator", "sqlite+evaluator")
        assert found["rows"] == other["rows"]

    with_both(tmp_path, work)


def test_times_of_several_layouts_are_left_to_the_evaluator(tmp_path: Path) -> None:
    async def work(fast: Graph, plain: Graph) -> None:
        await fill(plain, 30, ODD)
        await wait_for_columns(fast, "MATCH (d:Device) RETURN count(d.group) AS n")
        twin = {"$metadata": {"$model": DEVICE["@id"]}, "part": {"$metadata": {}}}
        for at, text in enumerate((*ODD[1:3], "2024-02-03T00:00:00Z")):
            await plain.twins.put_twin(f"x{at}", {**twin, "at": text})
            for question in (*ANSWERED, *OTHERS):
                assert await ask(fast, question) == await ask(plain, question), question
            assert not await is_by_columns(fast, ANSWERED[0])

    with_both(tmp_path, work)


@pytest.mark.parametrize(
    ("schema", "texts"),
    [
        ("date", ("2024-02-29", "2023-12-31")),
        ("dateTime", ("2024-02-29T23:59:59Z", "0001-01-01T00:00:00Z")),
        ("dateTime", ("2024-02-29T23:59:59.123+05:30", "2024-02-29T23:59:59.000+05:30")),
        ("time", ("23:59:59", "00:00:00")),
        ("time", ("23:59:59.1-01:00", "00:00:00.9-01:00")),
    ],
)
def test_texts_of_one_layout_have_it(schema: str, texts: Sequence[str]) -> None:
    for some in (texts, texts[:1], texts[1:]):
        strings = build_strings(sorted(one.encode() for one in some))
        assert find_layout(strings, schema) is not None
        strings.find_or_add(texts[0])
        assert find_layout(strings, schema) is not None


@pytest.mark.parametrize(
    ("schema", "texts"),
    [
        *(("date", (text,)) for text in ("2023-02-29", "1900-02-29", "2024-13-01", "2024-00-01")),
        *(("date", (text,)) for text in ("0000-01-01", "2024-04-31", "2024-01-00", "20240101")),
        ("date", ("2024-01-01", "2024-02-30")),
        ("date", ("2024-01-01", "+2024-02-03")),
        ("dateTime", ("2024-02-29T24:00:00Z",)),
        ("dateTime", ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00.0Z")),
        ("dateTime", ("2024-02-29T00:00:00+01:00", "2024-02-29T00:00:00+02:00")),
        ("dateTime", ("2024-02-29T00:60:00Z",)),
        ("dateTime", ("2024-02-29T00:00:60Z",)),
        ("time", ("12:00:00Z", "12:00:00é")),
        ("duration", ("P1D",)),
        ("date", ()),
    ],
)
def test_other_texts_have_no_layout(schema: str, texts: Sequence[str]) -> None:
    strings = build_strings(sorted(one.encode() for one in texts))
    assert find_layout(strings, schema) is None
    late = build_strings([])
    for one in texts:
        late.find_or_add(one)
    assert find_layout(late, schema) is None


clocks = st.sampled_from(("00:00:00", "23:59:59", "12:30:15"))
fractions = st.sampled_from(("", ".5", ".000000001"))
days = st.sampled_from(("2024-02-29", "2023-12-31", "1969-01-01", "9998-12-31"))
offsets = st.sampled_from(("Z", "+00:00", "+01:00", "-11:30"))


@given(
    drawn=st.lists(st.tuples(days, clocks), min_size=1),
    offset=offsets,
    day=days,
    clock=st.builds(str.__add__, clocks, fractions),
    other=offsets,
    late=st.booleans(),
)
def test_a_constant_stands_among_times_as_in_the_order_of_values(
    drawn: list[tuple[str, str]], offset: str, day: str, clock: str, other: str, late: bool
) -> None:
    parsers = {"dateTime": parse_date_time, "date": parse_date, "time": parse_time}
    for schema, parse in parsers.items():
        own = {
            "dateTime": [f"{a}T{b}{offset}" for a, b in drawn],
            "date": [a for a, _ in drawn],
            "time": [f"{b}{other}" for _, b in drawn],
        }[schema]
        constant = {"dateTime": f"{day}T{clock}{other}", "date": day, "time": f"{clock}{other}"}
        vector = build_vector(own)
        assert isinstance(vector, Texts)
        if late:
            strings = build_strings([own[0].encode()])
            codes = np.array([strings.find_or_add(one) for one in own], np.int32)
            vector = Texts(codes, strings)
        times = read_times(vector, schema)
        value: Any = parse(constant[schema])
        rank = rank_constant(times, Constant(value))
        assert rank is not None
        for mine, one in zip(
            times.strings.rank(times.codes).tolist(), read_values(times), strict=True
        ):
            assert (mine == rank) is equals(one, value)
            assert (mine < rank) is (build_order_key(one) < build_order_key(value))
