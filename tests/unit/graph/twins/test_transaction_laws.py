"""The law of transactions: equal to the single calls one after the other, or nothing at all."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.graph.conftest import build_sqlite
from tests.unit.graph.inline_runner import InlineRunner
from twinframe.errors import OperationRefused, TwinframeError
from twinframe.graph import Graph
from twinframe.model.etags import parse_condition, parse_put_condition
from twinframe.settings import Settings
from twinframe.storage.base import GraphStore
from twinframe.storage.memory import MemoryStore
from twinframe.testing.factories import (
    FLOOR,
    ROOM,
    SENSOR,
    build_building_interfaces,
    build_twin_document,
)

TWINS = ("a", "b", "c")
IDS = st.sampled_from([*TWINS, "new"])
STALE = 'W/"00000000-0000-0000-0000-000000000000"'
AT_START = "the etag it had when the transaction began"
ETAG = re.compile(r'W/"[0-9a-f-]{36}"')
CONDITION = st.sampled_from([None, None, None, "*", STALE, AT_START, AT_START])
NEW = st.sampled_from([None, None, "*"])
PATCH = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "add", "add", "replace", "remove"]),
            "path": st.sampled_from(
                ["/name", "/temperature", "/thermostat/mode", "/tags", "/$metadata/$model"]
            ),
            "value": st.sampled_from(["x", 1.5, {"k": "v"}, FLOOR]),
        }
    ),
    max_size=2,
)
PART_PATCH = st.lists(
    st.fixed_dictionaries(
        {"op": st.just("add"), "path": st.just("/mode"), "value": st.sampled_from(["x", 1])}
    ),
    max_size=1,
)
EDGE_PATCH = st.lists(
    st.fixed_dictionaries(
        {"op": st.just("add"), "path": st.just("/since"), "value": st.sampled_from(["2024-01-31"])}
    ),
    max_size=1,
)
TWIN = st.builds(
    build_twin_document, st.sampled_from([ROOM, SENSOR]), name=st.sampled_from(["n", "m"])
)
EDGE = st.fixed_dictionaries(
    {
        "$relationshipName": st.sampled_from(["relatedTo", "watchedBy"]),
        "$targetId": IDS,
    }
)
KEY = {"sourceId": IDS, "relationshipId": st.sampled_from(["r", "s"])}


def form(op: str, **members: Any) -> Any:
    return st.fixed_dictionaries({"op": st.just(op), **members})


OPERATIONS = st.one_of(
    form("putTwin", twinId=IDS, document=TWIN, ifNoneMatch=NEW),
    form("patchTwin", twinId=IDS, patch=PATCH, ifMatch=CONDITION),
    form("deleteTwin", twinId=IDS, ifMatch=CONDITION),
    form(
        "patchComponent",
        twinId=IDS,
        component=st.sampled_from(["thermostat", "thermostat", "none"]),
        patch=PART_PATCH,
        ifMatch=CONDITION,
    ),
    form("putRelationship", **KEY, document=EDGE, ifNoneMatch=NEW),
    form("patchRelationship", **KEY, patch=EDGE_PATCH, ifMatch=CONDITION),
    form("deleteRelationship", **KEY, ifMatch=CONDITION),
)


async def seed(graph: Graph) -> None:
    await graph.models.create_models(build_building_interfaces())  # type: ignore[arg-type]
    for twin_id, model in zip(TWINS, (ROOM, ROOM, SENSOR), strict=True):
        await graph.twins.put_twin(twin_id, build_twin_document(model))
    body: Any = {"$relationshipName": "relatedTo", "$targetId": "b"}
    await graph.relationships.put_relationship("a", "r", body)


async def read_all(graph: Graph) -> dict[str, bytes]:
    """Every document of the little graph, etags included."""
    found: dict[str, bytes] = {}
    for twin_id in (*TWINS, "new"):
        try:
            found[twin_id] = (await graph.twins.read_twin(twin_id)).body
        except TwinframeError:
            continue
        page = await graph.relationships.list_relationships(twin_id)
        found |= {f"{twin_id} {at}": body for at, body in enumerate(page.items)}
        for at, item in enumerate((await graph.relationships.list_incoming(twin_id)).items):
            found[f"{twin_id} from {at}"] = repr(item).encode()
    return found


def without_etags(found: dict[str, bytes]) -> dict[str, bytes]:
    return {
        key: re.sub(rb'W/\\"[0-9a-f-]{36}\\"', b"", body) if body.startswith(b"{") else body
        for key, body in found.items()
    }


def bind(operations: list[Any], etags: dict[str, str]) -> list[Any]:
    """The operations with this graph's own etags; members that are None are left out."""
    bound = []
    for operation in operations:
        name = operation.get("twinId") or f"{operation['sourceId']} {operation['relationshipId']}"
        members = {key: value for key, value in operation.items() if value is not None}
        if members.get("ifMatch") == AT_START:
            members["ifMatch"] = etags.get(name, STALE)
        bound.append(members)
    return bound


async def call_singly(graph: Graph, operation: Any) -> None:
    """The single call that an operation stands for."""
    match, new = operation.get("ifMatch"), operation.get("ifNoneMatch")
    key = operation.get("sourceId", ""), operation.get("relationshipId", "")
    twin_id = operation.get("twinId", "")
    match operation["op"]:
        case "putTwin":
            await graph.twins.put_twin(
                twin_id, operation["document"], parse_put_condition(None, new)
            )
        case "patchTwin":
            await graph.twins.patch_twin(twin_id, operation["patch"], parse_condition(match))
        case "deleteTwin":
            await graph.twins.delete_twin(twin_id, parse_condition(match))
        case "patchComponent":
            part, patch = operation["component"], operation["patch"]
            await graph.components.patch_component(twin_id, part, patch, parse_condition(match))
        case "putRelationship":
            await graph.relationships.put_relationship(
                *key, operation["document"], parse_put_condition(None, new)
            )
        case "patchRelationship":
            await graph.relationships.patch_relationship(
                *key, operation["patch"], parse_condition(match)
            )
        case "deleteRelationship":
            await graph.relationships.delete_relationship(*key, parse_condition(match))
        case other:
            raise AssertionError(other)


async def read_etags(graph: Graph) -> dict[str, str]:
    etags = {twin_id: (await graph.twins.read_twin(twin_id)).etag for twin_id in TWINS}
    etags["a r"] = (await graph.relationships.read_relationship("a", "r")).etag
    return etags


async def transact(graph: Graph, operations: list[Any]) -> OperationRefused | list[str | None]:
    """Run a transaction: the etags it made, or its refusal."""
    try:
        parsed = await graph.transactions.parse({"operations": operations})
        return await graph.transactions.run(parsed)
    except OperationRefused as error:
        return error


async def is_malformed(graph: Graph, operations: list[Any]) -> bool:
    """Whether an operation is refused for its form alone, whatever is stored."""
    try:
        await graph.transactions.parse({"operations": operations})
    except OperationRefused:
        return True
    return False


def list_etags(found: dict[str, bytes]) -> set[str | None]:
    return {orjson.loads(body)["$etag"] for body in found.values() if body.startswith(b"{")}


async def check_law(stores: tuple[GraphStore, GraphStore], operations: list[Any]) -> str:
    """The law for these operations; what the transaction came to: "kept", or the error's code."""
    whole, single = (
        Graph(InlineRunner(store), Settings(), clock=lambda: 10**18) for store in stores
    )
    for graph in (whole, single):
        await seed(graph)
    before = await read_all(whole)
    bound = bind(operations, await read_etags(whole))
    failed: tuple[int, str, str] | None = None
    for at, operation in enumerate(bind(operations, await read_etags(single))):
        try:
            await call_singly(single, operation)
        except TwinframeError as error:
            failed = at, error.code, ETAG.sub("", error.message)
            break
    outcome = await transact(whole, bound)
    if isinstance(outcome, OperationRefused):
        assert await read_all(whole) == before
        assert failed is not None
        told = outcome.index, outcome.code, ETAG.sub("", outcome.reason.message)
        # What is wrong by itself is told first, though one before it would be refused too.
        assert told == failed or (outcome.index > failed[0] and await is_malformed(whole, bound))
        return outcome.code
    assert failed is None
    after = await read_all(whole)
    assert without_etags(after) == without_etags(await read_all(single))
    assert list_etags(after) <= {*outcome, *list_etags(before)}
    return "kept"


@settings(max_examples=80, deadline=None)
@given(st.lists(OPERATIONS, min_size=1, max_size=5))
def test_a_transaction_is_the_single_calls_or_nothing_in_memory(operations: list[Any]) -> None:
    asyncio.run(check_law((MemoryStore(), MemoryStore()), operations))


@settings(max_examples=12, deadline=None)
@given(st.lists(OPERATIONS, min_size=1, max_size=5))
def test_a_transaction_is_the_single_calls_or_nothing_in_sqlite(operations: list[Any]) -> None:
    with TemporaryDirectory() as place:
        stores = tuple(build_sqlite(Path(place, name)) for name in ("whole", "single"))
        for store in stores:
            store.open()
        try:
            asyncio.run(check_law((stores[0], stores[1]), operations))
            assert [list(store.verify()) for store in stores] == [[], []]
        finally:
            for store in stores:
                store.close()


@pytest.mark.parametrize(
    ("operations", "outcome"),
    [
        ([{"op": "deleteTwin", "twinId": "c", "ifMatch": AT_START}], "kept"),
        ([{"op": "deleteTwin", "twinId": "c", "ifMatch": STALE}], "PreconditionFailed"),
        (
            [
                {"op": "patchTwin", "twinId": "a", "patch": [], "ifMatch": AT_START},
                {"op": "deleteTwin", "twinId": "a", "ifMatch": AT_START},
            ],
            "PreconditionFailed",
        ),
    ],
)
def test_the_law_knows_both_outcomes(operations: list[Any], outcome: str) -> None:
    assert asyncio.run(check_law((MemoryStore(), MemoryStore()), operations)) == outcome
