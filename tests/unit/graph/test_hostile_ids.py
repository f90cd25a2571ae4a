"""Ids that no edge should let through are refused by every use case, never passed to a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twinframe.errors import InvalidArgument, TwinNotFound
from twinframe.graph import Graph

EDGE: Any = {"$relationshipName": "relatedTo", "$targetId": "t"}
CALLS: tuple[Callable[[Graph, str], Any], ...] = (
    lambda graph, x: graph.twins.read_twin(x),
    lambda graph, x: graph.twins.put_twin(x, {"$metadata": {"$model": "dtmi:a;1"}}),
    lambda graph, x: graph.twins.patch_twin(x, []),
    lambda graph, x: graph.twins.delete_twin(x),
    lambda graph, x: graph.components.read_component(x, "c"),
    lambda graph, x: graph.components.patch_component(x, "c", []),
    lambda graph, x: graph.telemetry.publish(x, None, {}, "m"),
    lambda graph, x: graph.relationships.read_relationship(x, "r"),
    lambda graph, x: graph.relationships.read_relationship("t", x),
    lambda graph, x: graph.relationships.put_relationship(x, "r", EDGE),
    lambda graph, x: graph.relationships.put_relationship("t", x, EDGE),
    lambda graph, x: graph.relationships.patch_relationship(x, "r", []),
    lambda graph, x: graph.relationships.patch_relationship("t", x, []),
    lambda graph, x: graph.relationships.delete_relationship(x, "r"),
    lambda graph, x: graph.relationships.delete_relationship("t", x),
    lambda graph, x: graph.relationships.list_relationships(x),
    lambda graph, x: graph.relationships.list_incoming(x),
)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("hostile", ["", "..", "a\ufffd", "\ud800", "a\x00b", "x" * 1025, "a\r\nb"])
def test_a_hostile_id_is_refused(
    empty: Any, call: Callable[[Graph, str], Any], hostile: str
) -> None:
    with pytest.raises(InvalidArgument):
        empty.do(call(empty.graph, hostile))


@pytest.mark.parametrize("twin_id", ["a/b", "%2F", "...", "' OR 1=1 --", "\u202e", "dtmi:a;1"])
def test_an_odd_id_is_looked_up(empty: Any, twin_id: str) -> None:
    with pytest.raises(TwinNotFound):
        empty.read(twin_id)
