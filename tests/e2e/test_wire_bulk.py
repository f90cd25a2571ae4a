"""Bulk writes and transactions, one request each against a running server."""

from __future__ import annotations

from typing import Any

from tests.e2e.server import Server
from tests.e2e.wire import Wire
from tests.e2e.wire_world import JSON_TYPE, must, put_room, room, twin_path
from tests.waiting import Threads

Json = Any


def patch(twin: str, path: str, value: Json, **more: Json) -> Json:
    change = [{"op": "add", "path": path, "value": value}]
    return {"op": "patchTwin", "twinId": twin, "patch": change, **more}


def test_a_thousand_twins_are_put_and_their_etags_are_those_stored(wire: Wire) -> None:
    rooms = [{**room(Seats=at), "$dtId": f"bulk {at}/ü"} for at in range(1000)]
    status, headers, answer = wire.call("POST", "/digitaltwins?api-version=2023-10-31", rooms)
    assert (status, headers["content-type"]) == (200, JSON_TYPE)
    assert (answer["successCount"], answer["failureCount"]) == (1000, 0)
    for at in (0, 199, 200, 999):
        twin = must(wire.call("GET", twin_path(f"bulk {at}/ü")))
        assert (twin["Seats"], twin["$etag"]) == (at, answer["results"][at]["etag"])
    # The world is shared: other tests go through all of its twins.
    deletions = [{"op": "deleteTwin", "twinId": one["$dtId"]} for one in rooms]
    must(wire.call("POST", "/$transaction", {"operations": deletions}))


def test_a_transaction_is_kept_or_not_as_a_whole(wire: Wire) -> None:
    first, second = put_room(wire, "one", Seats=1), put_room(wire, "two", Seats=1)
    stale = [
        patch("one", "/Seats", 2, ifMatch=first["$etag"]),
        patch("two", "/Seats", 2, ifMatch=first["$etag"]),
    ]
    status, headers, answer = wire.call("POST", "/$transaction", {"operations": stale})
    assert (status, headers["x-ms-error-code"]) == (412, "PreconditionFailed")
    assert answer["error"]["index"] == 1
    assert must(wire.call("GET", twin_path("one"))) == first
    stale[1]["ifMatch"] = second["$etag"]
    answer = must(wire.call("POST", "/%24transaction", {"operations": stale}))
    assert must(wire.call("GET", twin_path("two")))["$etag"] == answer["results"][1]["etag"]


def test_a_bulk_put_beside_single_writers_loses_nothing(wire_server: Server) -> None:
    """Racing writers: every acknowledged etag was stored, and the last one is what is read."""

    def put_singly(at: int) -> set[str]:
        own = Wire(wire_server.port)
        made = {put_room(own, f"raced {at}", Seats=turn)["$etag"] for turn in range(10)}
        own.close()
        return made

    def put_many(_: int) -> list[str]:
        own = Wire(wire_server.port)
        rooms = [{**room(), "$dtId": f"raced {at % 4}"} for at in range(400)]
        results = must(own.call("POST", "/digitaltwins", rooms))["results"]
        own.close()
        return [result["etag"] for result in results]

    with Threads(6) as pool:
        single = [pool.submit(put_singly, at) for at in range(4)]
        bulk = [pool.submit(put_many, at) for at in range(2)]
        given: set[str] = set().union(*(one.result() for one in single))
        given = given.union(*(many.result() for many in bulk))
    assert len(given) == 4 * 10 + 2 * 400
    reader = Wire(wire_server.port)
    for at in range(4):
        assert must(reader.call("GET", twin_path(f"raced {at}")))["$etag"] in given
    reader.close()
