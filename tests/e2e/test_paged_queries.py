"""Pages and warnings of queries over the wire: two workers, the vendor's SDK, tokens gone wrong."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.conftest import Client
from tests.e2e.server import Server
from tests.e2e.wire import COUNTER_MODEL, Wire, counter
from tests.e2e.world import World
from tests.storages import SERVED

ORDERED = "MATCH (c:Counter) RETURN c.value AS value ORDER BY value DESC"
SCAN = "MATCH (c:Counter) RETURN c.value AS value"
TWINS = 30


@pytest.fixture(scope="module")
def two_workers(storage: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Two workers, thirty counters."""
    folder = tmp_path_factory.mktemp("paged")
    with Server(folder, workers=2, environment=SERVED[storage](folder)) as server:
        wire = Wire(server.port)
        assert wire.call("POST", "/models", [COUNTER_MODEL])[0] == 201
        for number in range(TWINS):
            assert wire.call("PUT", f"/digitaltwins/c{number}", counter(number))[0] == 200
        wire.close()
        yield server
    assert "Traceback" not in server.log.read_text(encoding="utf-8")


def ask(server: Server, size: int, **body: Any) -> tuple[int, Any]:
    """Each page on a connection of its own: any of the workers may answer."""
    wire = Wire(server.port)
    status, _, answer = wire.call("POST", "/query", body, max_items_per_page=str(size))
    wire.close()
    return status, answer


def test_any_worker_gives_the_pages_of_the_first_pages_state(two_workers: Server) -> None:
    _, page = ask(two_workers, 4, query=ORDERED)
    wire = Wire(two_workers.port)
    for number in range(TWINS):
        wire.call("PUT", f"/digitaltwins/c{number}", counter(1000 - number))
    found = [row["value"] for row in page["value"]]
    while page["continuationToken"]:
        status, page = ask(two_workers, 4, continuationToken=page["continuationToken"])
        assert status == 200
        found += [row["value"] for row in page["value"]]
    assert found == list(range(TWINS - 1, -1, -1))
    for number in range(TWINS):
        wire.call("PUT", f"/digitaltwins/c{number}", counter(number))
    wire.close()


@pytest.mark.parametrize("text", [SCAN, ORDERED])
def test_a_token_that_is_not_ours_is_400(two_workers: Server, text: str) -> None:
    token = ask(two_workers, 4, query=text)[1]["continuationToken"]
    raw = bytearray(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    wrong = [token[:-2], token + "A", "..", "x" * 5000]
    for place in range(0, len(raw), 7):
        raw[place] ^= 1
        wrong.append(base64.urlsafe_b64encode(raw).rstrip(b"=").decode())
        raw[place] ^= 1
    for each in wrong:
        status, answer = ask(two_workers, 4, continuationToken=each)
        assert (status, answer["error"]["code"]) == (400, "BadRequest"), each
    for each in (5, ["x"], {"x": 1}, True):
        status, answer = ask(two_workers, 4, continuationToken=each)
        assert (status, answer["error"]["code"]) == (400, "BadRequest"), each


@pytest.mark.parametrize("text", [SCAN, ORDERED])
def test_another_query_beside_a_token_is_passed_over(two_workers: Server, text: str) -> None:
    first = ask(two_workers, 4, query=text)[1]
    token = first["continuationToken"]
    following = ask(two_workers, 4, continuationToken=token)[1]["value"]
    assert following not in ([], first["value"])
    others: list[Any] = [
        {"query": text},
        {"query": f"{text} "},
        {"query": "SELECT COUNT() FROM DIGITALTWINS"},
        {"query": "no query"},
        {"query": ""},
        {"query": None},
        {"query": text, "parameters": {"x": 1}},
    ]
    for other in others:
        status, page = ask(two_workers, 4, continuationToken=token, **other)
        assert (status, page["value"]) == (200, following), other


@pytest.mark.parametrize("text", [SCAN, ORDERED])
def test_a_token_of_another_graph_or_of_long_ago_is_400(
    two_workers: Server, tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    environment = {"Graph__TokenLifetime": "1", "Query__ResultLifetime": "1"}
    foreign = ask(two_workers, 4, query=text)[1]["continuationToken"]
    with Server(tmp_path_factory.mktemp("other"), environment=environment) as other:
        wire = Wire(other.port)
        assert wire.call("POST", "/models", [COUNTER_MODEL])[0] == 201
        for number in range(10):
            wire.call("PUT", f"/digitaltwins/c{number}", counter(number))
        wire.close()
        assert ask(other, 4, continuationToken=foreign)[0] == 400
        own = ask(other, 4, query=text)[1]["continuationToken"]
        while (answer := ask(other, 4, continuationToken=own))[0] == 200:
            continue
        assert answer[0] == 400
        assert answer[1]["error"]["code"] == "BadRequest"


def test_the_sdk_pages_and_leaves_warnings_alone(client: Client) -> None:
    world = World.named(lambda stem: stem + uuid.uuid4().hex[:12])
    client.create_models(world.models())
    stem = uuid.uuid4().hex[:12]
    for number in range(5):
        client.upsert_digital_twin(
            f"{stem}{number}",
            {"$metadata": {"$model": world.building}, "AverageTemperature": number},
        )
    vendor = (
        "SELECT T.$dtId AS id, T.AverageTemperatur FROM DIGITALTWINS T "
        f"WHERE IS_OF_MODEL('{world.building}') ORDER BY T.AverageTemperature DESC"
    )
    cypher = (
        f"MATCH (t:`{world.building}`) RETURN t.$dtId AS id, t.AverageTemperatur "
        "ORDER BY t.AverageTemperature DESC"
    )
    for text in (vendor, cypher):
        rows = client.query_twins(text, headers={"max-items-per-page": "2"})
        assert [row["id"] for row in rows] == [f"{stem}{number}" for number in (4, 3, 2, 1, 0)]


def test_a_warning_stands_beside_the_rows(two_workers: Server) -> None:
    status, page = ask(two_workers, 1, query="MATCH (c:Countr)\nRETURN c.valeu")
    assert (status, page["value"]) == (200, [])
    assert [(each["code"], each["line"], each["column"]) for each in page["warnings"]] == [
        ("UnknownLabel", 1, 10),
        ("UnknownProperty", 2, 10),
    ]
    assert [each["suggestion"] for each in page["warnings"]] == ["Counter", "value"]
    assert "warnings" not in ask(two_workers, 1, query=SCAN)[1]


def test_an_unknown_name_is_400_where_the_service_is_strict(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with Server(tmp_path_factory.mktemp("strict"), environment={"Query__Strict": "true"}) as server:
        wire = Wire(server.port)
        assert wire.call("POST", "/models", [COUNTER_MODEL])[0] == 201
        wire.close()
        status, answer = ask(server, 1, query="MATCH (c:Countr) RETURN c")
        assert (status, answer["error"]["code"]) == (400, "SqlQueryError")
        assert "did you mean 'Counter'?" in answer["error"]["message"]
        assert ask(server, 1, query=SCAN)[0] == 200
