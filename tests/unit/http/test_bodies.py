"""Bodies have the limit of their operation; large ones are charged and parsed beside the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from twinframe.errors import MemoryExhausted, MemoryLimitExceeded
from twinframe.http.bodies import Bodies
from twinframe.runtime.memory import MemoryAccount, Part
from twinframe.settings import Settings

MIB = 1024 * 1024
PATCH = "application/json-patch+json"


@pytest.mark.parametrize(
    ("method", "target", "content_type", "setting"),
    [
        ("PUT", "/digitaltwins/a", "application/json", "Graph__MaxBodyBytes"),
        ("PATCH", "/digitaltwins/a", PATCH, "Graph__MaxBodyBytes"),
        ("PATCH", "/digitaltwins/a/components/c", PATCH, "Graph__MaxBodyBytes"),
        ("PUT", "/digitaltwins/a/relationships/r", "application/json", "Graph__MaxBodyBytes"),
        ("POST", "/digitaltwins/a/telemetry", "application/json", "Graph__MaxBodyBytes"),
        ("POST", "/query", "application/json", "Query__MaxBodyBytes"),
        ("PUT", "/eventroutes/r", "application/json", "Query__MaxBodyBytes"),
        ("PUT", "/jobs/imports/j", "application/json", "Query__MaxBodyBytes"),
        ("PATCH", "/models/dtmi:a;1", PATCH, "Query__MaxBodyBytes"),
        ("POST", "/models", "application/json", "Server__MaxBodyBytes"),
        ("POST", "/digitaltwins", "application/json", "Bulk__MaxBodyBytes"),
    ],
)
def test_a_body_larger_than_its_operation_takes_names_the_setting(
    client: Any, method: str, target: str, content_type: str, setting: str
) -> None:
    answer = client.send(method, target, b" " * (17 * MIB), content_type=content_type)
    assert (answer.status, answer.code) == (413, "RequestBodyTooLarge")
    assert setting in answer.json["error"]["message"]


def test_a_large_body_is_taken_as_a_small_one(client: Any, graph: Any) -> None:
    document = {"text": "x" * 200_000, "list": [{"n": number} for number in range(5000)]}
    assert client.send("PUT", "/digitaltwins/a", orjson.dumps(document)).status == 200
    assert graph.documents.calls[0][2] == document


def test_what_a_large_body_holds_is_given_back_with_its_answer(
    client: Any, connect: Callable[..., Any]
) -> None:
    memory = client.app.memory
    client.send("PUT", "/digitaltwins/a", orjson.dumps({"text": "x" * 200_000}))
    client.send("PUT", "/digitaltwins/a", b"[" * 200_000)
    assert memory.read_held(Part.REQUESTS) == 0


def test_a_large_body_finds_no_memory() -> None:
    memory = MemoryAccount(MIB, {Part.REQUESTS: MIB})
    bodies = Bodies(Settings(), memory)
    body = orjson.dumps(["x" * 10] * 20_000)

    async def parse() -> object:
        value, hold = await bodies.parse_large(body)
        assert memory.read_held(Part.REQUESTS) == hold.size > len(body)
        hold.release()
        return value

    with pytest.raises(MemoryLimitExceeded, match="Memory__Requests"):
        asyncio.run(parse())
    assert memory.used == 0
    memory = MemoryAccount(16 * MIB)
    bodies = Bodies(Settings(), memory)
    assert asyncio.run(parse()) == ["x" * 10] * 20_000
    memory.take(Part.REQUESTS, 15 * MIB)
    with pytest.raises(MemoryExhausted):
        asyncio.run(parse())
    assert memory.used == 15 * MIB
