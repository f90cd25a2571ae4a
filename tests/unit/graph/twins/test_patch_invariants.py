"""Whatever patch comes, a stored twin stays whole: its form, its entries, its model."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.graph.inline_runner import InlineRunner
from twinframe.errors import JsonPatchInvalid, ValidationFailed
from twinframe.graph import Graph
from twinframe.model.etags import parse_condition
from twinframe.settings import Settings
from twinframe.storage.memory import MemoryStore
from twinframe.testing.factories import (
    FLOOR,
    ROOM,
    SPACE,
    build_building_interfaces,
    build_twin_document,
)

PATHS = st.sampled_from(
    [
        "/name",
        "/temperature",
        "/area",
        "/tags",
        "/tags/k",
        "/readings",
        "/readings/0",
        "/readings/-",
        "/level",
        "/motion",
        "/unknown",
        "/thermostat",
        "/thermostat/mode",
        "/thermostat/setPoint",
        "/thermostat/$metadata",
        "/thermostat/$metadata/mode/sourceTime",
        "/$metadata",
        "/$metadata/$model",
        "/$metadata/name/sourceTime",
        "/$metadata/name",
        "/$dtId",
        "/$etag",
    ]
)
VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [1.5, 2, "x", None, [], [1.0], {}, {"k": "v"}, {"mode": "x"}, {"mode": 1}, {"setPoint": 3},
     ROOM, FLOOR, SPACE, "2024-01-31T12:00:00Z", {"$metadata": {"mode": {"sourceTime": "x"}}}]
)  # fmt: skip
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "add", "replace", "remove"]), "path": PATHS, "value": VALUES}
)
PARTS = {ROOM: {"thermostat"}}


def check_whole(twin: dict[str, Any]) -> None:
    """The invariants of a stored twin."""
    metadata = twin["$metadata"]
    parts = PARTS.get(metadata["$model"], set())
    names = list(twin)
    assert names[:2] == ["$dtId", "$etag"]
    assert names[-1] == "$metadata"
    properties = set(names[2:-1]) - parts
    assert set(names[2:-1]) >= parts
    assert set(metadata) == {"$model", "$lastUpdateTime"} | properties
    for part in parts:
        entries = dict(twin[part]["$metadata"])
        entries.pop("$lastUpdateTime")
        assert set(entries) == set(twin[part]) - {"$metadata"}
        assert list(twin[part])[-1] == "$metadata"


@given(st.lists(st.lists(OPERATIONS, max_size=4), max_size=6))
def test_a_patched_twin_is_whole_and_can_be_put_again(patches: list[list[Any]]) -> None:
    async def run() -> None:
        graph = Graph(InlineRunner(MemoryStore()), Settings())
        documents: Any = build_building_interfaces()
        await graph.models.create_models(documents)
        first = build_twin_document(ROOM, name="x", tags={"k": "v"}, readings=[1.0])
        etag = (await graph.twins.put_twin("t", first)).etag
        for patch in patches:
            before = (await graph.twins.read_twin("t")).body
            sent: Any = copy.deepcopy(patch)
            try:
                new_etag = await graph.twins.patch_twin("t", sent, parse_condition(etag))
            except (JsonPatchInvalid, ValidationFailed):
                assert (await graph.twins.read_twin("t")).body == before
            else:
                assert new_etag != etag
                etag = new_etag
            assert sent == patch
            twin = orjson.loads((await graph.twins.read_twin("t")).body)
            assert twin["$etag"] == etag
            check_whole(twin)
        stored: Any = orjson.loads((await graph.twins.read_twin("t")).body)
        await graph.twins.put_twin("copy", stored)

    asyncio.run(run())
