"""Whatever is written through the use cases, columns answer what the store answers without them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.column_graphs import open_with_columns, wait_for_columns
from twinframe.errors import QueryInvalid, TwinframeError
from twinframe.graph.graph import Graph

SCHEMAS = {"D": "double", "L": "long", "S": "string", "B": "boolean"}
VALUES = {
    "D": st.one_of(
        st.integers(-3, 3),
        st.floats(width=32, allow_nan=False, allow_infinity=False),
        st.sampled_from((0.1, 0.2, 0.3, -0.0, 1e308, 5e-324)),
    ),
    "L": st.one_of(st.integers(-3, 3), st.sampled_from((2**53, 2**53 - 1, 2**63 - 1, -(2**63)))),
    "S": st.sampled_from(("", "a", "ab", "b", "é", "\x01", "😀", "\uffff", "1")),
    "B": st.booleans(),
}
TOP = "dtmi:com:example:Top;1"
PART = "dtmi:com:example:Part;1"
ids = st.sampled_from(("a", "b", "ab", "é", "zz", "0"))


def build_model(name: str, contents: list[Any], extends: str | None = None) -> dict[str, Any]:
    above = {"extends": extends} if extends else {}
    return {
        "@context": "dtmi:dtdl:context;3",
        "@id": f"dtmi:com:example:{name};1",
        "@type": "Interface",
        "contents": contents,
        **above,
    }


def build_kind(name: str, schema: str) -> dict[str, Any]:
    """A model whose members have the names of the others' and a schema of its own."""
    fields = [{"name": "v", "schema": schema}]
    pairs = {
        "mapKey": {"name": "k", "schema": "string"},
        "mapValue": {"name": "w", "schema": schema},
    }
    properties = {
        "v": schema,
        "o": {"@type": "Object", "fields": fields},
        "m": {"@type": "Map", **pairs},
    }
    contents = [{"@type": "Property", "name": k, "schema": v} for k, v in properties.items()]
    return build_model(name, contents, TOP)


MODELS = [
    build_model("Part", [{"@type": "Property", "name": "size", "schema": "long"}]),
    build_model(
        "Top",
        [
            {"@type": "Component", "name": "part", "schema": PART},
            *(
                {
                    "@type": "Relationship",
                    "name": verb,
                    "properties": [{"@type": "Property", "name": "v", "schema": schema}],
                }
                for verb, schema in (("has", "long"), ("feeds", "string"))
            ),
        ],
    ),
    *(build_kind(name, schema) for name, schema in SCHEMAS.items()),
]


@st.composite
def twins(draw: st.DrawFn) -> tuple[str, str, Any]:
    """A twin of any kind in which anything may be missing."""
    kind = draw(st.sampled_from(sorted(VALUES)))
    value = VALUES[kind]
    members = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "v": value,
                "o": st.fixed_dictionaries({}, optional={"v": value}),
                "m": st.dictionaries(st.sampled_from(("x", "y")), value, max_size=2),
            },
        )
    )
    part = draw(st.fixed_dictionaries({"$metadata": st.just({})}, optional={"size": VALUES["L"]}))
    model = {"$model": f"dtmi:com:example:{kind};1"}
    return "put", draw(ids), {"$metadata": model, "part": part, **members}


@st.composite
def links(draw: st.DrawFn) -> tuple[str, str, str, Any]:
    """A relationship that may replace one of another name with another target."""
    name = draw(st.sampled_from(("has", "feeds")))
    held = draw(st.fixed_dictionaries({}, optional={"v": VALUES["L" if name == "has" else "S"]}))
    document = {"$relationshipName": name, "$targetId": draw(ids), **held}
    return "link", draw(ids), draw(st.sampled_from("12")), document


writes = st.one_of(
    twins(),
    links(),
    st.tuples(st.just("delete"), ids),
    st.tuples(st.just("unlink"), ids, st.sampled_from("12")),
    st.tuples(
        st.just("patch"), ids, st.sampled_from(("/v", "/o", "/m", "/o/v", "/m/x", "/part/size"))
    ),
    st.tuples(st.just("model")),
)
QUESTIONS = (
    "MATCH (t) RETURN count(*) AS n, count(t.v) AS v, count(t.o.v) AS o, count(t.m.x) AS m",
    "MATCH (t:D) RETURN min(t.v) AS a, max(t.v) AS b, avg(t.v) AS c, sum(t.v) AS d",
    "MATCH (t:L) RETURN min(t.v) AS a, max(t.v) AS b, sum(t.part.size) AS d",
    "MATCH (t) RETURN t.v AS v, count(*) AS n",
    "MATCH (t:Top) RETURN DISTINCT t.o.v AS v, t.m.x AS x",
    "MATCH (t) WHERE t.v > 0 RETURN t.`$dtId` AS i, t.v AS v",
    "MATCH (t) WHERE t.v = 1 OR t.m.y IS NULL RETURN t.`$dtId` AS i",
    "MATCH (t) WHERE t.v STARTS WITH 'a' OR t.`$dtId` STARTS WITH 'a' RETURN t.`$dtId` AS i",
    "MATCH (t) WHERE t.v = true RETURN count(*) AS n",
    "MATCH (a)-[r]->(b) RETURN a.`$dtId` AS a, b.`$dtId` AS b, r.v AS v",
    "MATCH (a:S)-[r:has]->(b) RETURN b.`$dtId` AS b, count(*) AS n, min(r.v) AS v",
    "MATCH (a)-[:has]->()-[:feeds]->(c) RETURN a.`$dtId` AS a, c.v AS v, count(*) AS n",
    "MATCH (a)--(b) RETURN a.`$dtId` AS a, count(b) AS n",
    "MATCH (a) WHERE NOT EXISTS { (a)-[:feeds]->() } RETURN a.`$dtId` AS a",
    "MATCH (a) OPTIONAL MATCH (a)-[r:has]->(b) RETURN a.`$dtId` AS a, b.`$dtId` AS b, r.v AS v",
    "MATCH (t) RETURN t.`$dtId` AS i, t.v AS v ORDER BY v DESC, i LIMIT 3",
    "MATCH (t) RETURN t.`$dtId` AS i, t.part.size AS v ORDER BY v, i",
    "MATCH (a)-->(b) WITH a, b ORDER BY b.`$dtId` RETURN a.`$dtId` AS a, collect(b.v) AS l",
    (
        "MATCH (a) CALL { WITH a MATCH (a)-->(b) RETURN count(b) AS n, max(b.`$dtId`) AS m }"
        " RETURN a.`$dtId` AS a, n, m"
    ),
    "MATCH (a)-[r:has*1..2]->() WHERE none(x IN r WHERE x.v > 1) RETURN a.v AS a, size(r) AS n",
    "MATCH p = (a)-[*1..2]-(b) RETURN length(p) AS n, a.`$dtId` AS a, [x IN nodes(p) | x.v] AS l",
    "MATCH (t) WHERE COUNT { MATCH (t)--(b) RETURN DISTINCT b.v AS v } > 1 RETURN t {.v, n: 1}",
)


@dataclass
class Pair:
    """Two services over one graph; one of them has columns."""

    runner: asyncio.Runner
    fast: Graph
    plain: Graph

    def write(self, verb: str, *rest: Any) -> None:
        """Write as a client does; what is refused changes nothing."""
        with suppress(TwinframeError):
            self.runner.run(self._write(verb, *rest))

    async def _write(self, verb: str, *rest: Any) -> None:
        graph = self.plain
        match verb:
            case "put":
                await graph.twins.put_twin(*rest)
            case "patch":
                await graph.twins.patch_twin(rest[0], [{"op": "remove", "path": rest[1]}])
            case "delete":
                await graph.twins.delete_twin(*rest)
            case "link":
                await graph.relationships.put_relationship(*rest)
            case "unlink":
                await graph.relationships.delete_relationship(*rest)
            case "model":
                await graph.models.create_models([build_model("Late", [], "dtmi:com:example:D;1")])
                document = {
                    "$metadata": {"$model": "dtmi:com:example:Late;1"},
                    "part": {"$metadata": {}},
                }
                await graph.twins.put_twin("late", document)
                await graph.twins.delete_twin("late")
                await graph.models.delete_model("dtmi:com:example:Late;1")

    def clear(self) -> None:
        for one in ("a", "b", "ab", "é", "zz", "0"):
            for edge in "12":
                self.write("unlink", one, edge)
        for one in ("a", "b", "ab", "é", "zz", "0"):
            self.write("delete", one)

    def compare(self) -> None:
        for text in QUESTIONS:
            found = [self.runner.run(self._ask(graph, text)) for graph in (self.fast, self.plain)]
            if "ORDER" not in text.rpartition("RETURN")[2]:
                found = [
                    sorted(rows, key=lambda row: repr(row).replace("-0.0", "0.0")) for rows in found
                ]
            # NOTE: an aggregate of SQLite loses the sign of zero.
            fast, plain = (repr(rows).replace("-0.0", "0.0") for rows in found)
            assert fast == plain, text

    async def _ask(self, graph: Graph, text: str) -> list[Any]:
        # NOTE: a comment with a number of its own, so that none is known to be short.
        try:
            page = await graph.queries.run(f"{text} // {next(_numbers)}")
        except QueryInvalid as error:
            return [error.message.partition("\n")[0]]
        return [orjson.loads(row) for row in page.rows]


_numbers = count()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """NOTE: one pair for all examples: what was written before is part of what is tried."""
    folder: Path = tmp_path_factory.mktemp("pair")
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()

        async def begin() -> Pair:
            fast = await stack.enter_async_context(open_with_columns(folder))
            plain = await stack.enter_async_context(
                open_with_columns(folder, Query__Columns__Enabled="false")
            )
            await plain.models.create_models(MODELS)
            await wait_for_columns(fast, QUESTIONS[0])
            return Pair(runner, fast, plain)

        try:
            yield runner.run(begin())
        finally:
            runner.run(stack.aclose())


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(writes, min_size=1, max_size=8), min_size=1, max_size=3))
def test_columns_answer_what_the_store_answers(pair: Pair, steps: list[list[Any]]) -> None:
    pair.clear()
    for some in steps:
        for write in some:
            pair.write(*write)
        pair.compare()
