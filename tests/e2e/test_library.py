"""The library beside the service: the same answers, and one graph that both write."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import twinframe
from tests.e2e.server import Server
from tests.e2e.test_event_streams import Numbers, following
from tests.e2e.wire import COUNTER_MODEL, Wire, counter
from tests.unit.library.worlds import LAMP, MODELS, ROOM
from tests.waiting import Threads
from twinframe.errors import TransactionFailed, TwinframeError
from twinframe.http.errors import build_answer

WRITES: Final = 30


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service with two workers."""
    running = Server(tmp_path_factory.mktemp("library"), workers=2)
    with running:
        wire = Wire(running.port)
        assert wire.call("POST", "/models", [*MODELS, COUNTER_MODEL])[0] == 201
        wire.close()
        yield running
    log = running.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]


def open_beside(server: Server) -> twinframe.LocalGraph:
    """The graph of the service, opened in this process."""
    return twinframe.open(server.folder / "data" / "default.db")


# --- the same answers -----------------------------------------------------------------------------


class Pair(NamedTuple):
    """Two graphs of the same models: one over HTTP, one in this process."""

    wire: Wire
    graph: twinframe.LocalGraph
    prefixes: Iterator[str]


@pytest.fixture(scope="module")
def pair(server: Server) -> Iterator[Pair]:
    """The service, and a graph in memory that has the same models."""
    wire = Wire(server.port)
    with twinframe.open() as graph:
        graph.create_models(MODELS)
        yield Pair(wire, graph, (f"x{number}-" for number in itertools.count()))
    wire.close()


class Operation(NamedTuple):
    """One operation in both forms; `ids` stand for those of this example."""

    method: str
    path: str
    body: Any
    call: Callable[[Any, str], Any]


IDS = st.sampled_from(["a", "b", "c", "no id"])
SMALL = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
)
VALUES = st.recursive(SMALL, lambda inner: st.lists(inner, max_size=2), max_leaves=3)
MEMBERS = st.dictionaries(
    st.sampled_from(["name", "area", "seats", "built", "level", "driver", "$dtId", "other"]),
    VALUES,
    max_size=2,
)
BODIES = st.one_of(
    MEMBERS.map(lambda found: {"$metadata": {"$model": ROOM}, **found}),
    MEMBERS.map(
        lambda found: {"$metadata": {"$model": LAMP}, "driver": {"firmware": "1"}, **found}
    ),
    st.just({"$metadata": {"$model": ROOM}, "name": "n", "seats": 1}),
    st.just({"$metadata": {"$model": "dtmi:com:example:none;1"}}),
    VALUES,
)
PATCHES = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "replace", "remove", "move"]),
            "path": st.sampled_from(["/name", "/seats", "/driver/firmware", "/nothing", "name"]),
        },
        optional={"value": VALUES},
    ),
    max_size=2,
)
TAGS = st.sampled_from([None, "*", 'W/"00000000-0000-4000-8000-000000000000"', "no tag"])
QUERIES = st.sampled_from(
    [
        (
            "MATCH (r:Room) WHERE r.`$dtId` STARTS WITH $p "
            "RETURN r.name AS name, r.seats AS seats, r.`$dtId` AS id ORDER BY id"
        ),
        "MATCH (t) WHERE t.`$dtId` STARTS WITH $p RETURN t ORDER BY t.`$dtId`",
        (
            "MATCH (a)-[r]->(b) WHERE a.`$dtId` STARTS WITH $p "
            "RETURN a.`$dtId` AS a, type(r) AS r, b.`$dtId` AS b ORDER BY a, r, b"
        ),
        "RETURN 1.0 / 0 AS i, 0.0 / 0 AS n, datetime('2026-03-01T00:00Z') AS d, $p + 'x' AS x",
        "SELECT COUNT() FROM DIGITALTWINS T WHERE STARTSWITH(T.$dtId, 'nobody')",
        "SELECT T.name FROM DIGITALTWINS T WHERE T.name = 'nobody'",
        "MATCH (r:Room RETURN r",
        "SELECT * FROM NOWHERE",
        "RETURN 1 / 0 AS x",
        "RETURN $missing AS x",
    ]
)


def build_put(twin_id: str, body: Any, tag: str | None) -> Operation:
    """Create or replace a twin."""
    return Operation(
        "PUT",
        f"/digitaltwins/{{}}{quote(twin_id, safe='')}",
        (body, {"If_Match": tag}),
        lambda graph, p: graph.put_twin(p + twin_id, body, if_match=tag),
    )


def build_patch(twin_id: str, patch: Any, tag: str | None) -> Operation:
    """Patch a twin."""
    return Operation(
        "PATCH",
        f"/digitaltwins/{{}}{quote(twin_id, safe='')}",
        (patch, {"If_Match": tag}),
        lambda graph, p: graph.patch_twin(p + twin_id, patch, if_match=tag) and None,
    )


def build_read(twin_id: str) -> Operation:
    """Read a twin."""
    return Operation(
        "GET",
        f"/digitaltwins/{{}}{quote(twin_id, safe='')}",
        (None, {}),
        lambda graph, p: graph.read_twin(p + twin_id),
    )


def build_delete(twin_id: str) -> Operation:
    """Delete a twin."""
    return Operation(
        "DELETE",
        f"/digitaltwins/{{}}{quote(twin_id, safe='')}",
        (None, {}),
        lambda graph, p: graph.delete_twin(p + twin_id),
    )


def build_relate(source: str, target: str, name: str) -> Operation:
    """Create or replace a relationship."""

    def build(prefix: str) -> dict[str, Any]:
        return {"$relationshipName": name, "$targetId": prefix + target}

    return Operation(
        "PUT",
        f"/digitaltwins/{{}}{quote(source, safe='')}/relationships/r",
        (build, {}),
        lambda graph, p: graph.put_relationship(p + source, "r", build(p)),
    )


def build_list(source: str) -> Operation:
    """List relationships."""
    return Operation(
        "GET",
        f"/digitaltwins/{{}}{quote(source, safe='')}/relationships",
        (None, {}),
        lambda graph, p: graph.list_relationships(p + source),
    )


def build_everything(twin_id: str) -> Operation:
    """Ask for a twin with its relationships."""
    return build_query(
        f"MATCH (t {{`$dtId`: $p + '{twin_id}'}}) OPTIONAL MATCH (t)-[r]->() "
        "RETURN t, r ORDER BY r.`$relationshipId`"
    )


def build_query(text: str) -> Operation:
    """Run a query."""
    return Operation(
        "POST",
        "/query",
        (lambda prefix: {"query": text, "parameters": {"p": prefix}}, {}),
        lambda graph, p: list(graph.query(text, {"p": p})),
    )


def build_statement(value: Any) -> Operation:
    """Run a statement that writes."""
    text = "MATCH (r:Room) WHERE r.`$dtId` STARTS WITH $p SET r.seats = $v RETURN r.seats AS s"
    return Operation(
        "POST",
        "/cypher",
        (lambda prefix: {"query": text, "parameters": {"p": prefix, "v": value}}, {}),
        lambda graph, p: list(graph.execute(text, {"p": p, "v": value})),
    )


OPERATIONS = st.one_of(
    st.builds(build_put, IDS, BODIES, TAGS),
    st.builds(build_put, IDS, BODIES, st.none()),
    st.builds(build_patch, IDS, PATCHES, TAGS),
    st.builds(build_read, IDS),
    st.builds(build_delete, IDS),
    st.builds(build_relate, IDS, IDS, st.sampled_from(["has", "next", "none"])),
    st.builds(build_list, IDS),
    st.builds(build_query, QUERIES),
    st.builds(build_statement, SMALL),
)
ROOMS = [build_put(name, {"$metadata": {"$model": ROOM}, "seats": 1}, None) for name in "ab"]


def answer_over_http(wire: Wire, operation: Operation, prefix: str) -> Any:
    """What the service answers: a document without its times and etags, or status and error."""
    body, headers = operation.body
    body = body(prefix) if callable(body) else body
    sent = json.dumps(body).encode() if operation.method in ("PUT", "PATCH", "POST") else None
    path = operation.path.format(prefix)
    given = {name: value for name, value in headers.items() if value is not None}
    status, _, document = wire.call(operation.method, path, sent, **given)
    if status >= 400:
        return status, hide_ids(document)
    if operation.method == "POST" or operation.path.endswith("relationships"):
        return forget_times(document["value"])
    return forget_times(document)


def answer_here(
    graph: twinframe.LocalGraph | twinframe.Transaction, operation: Operation, prefix: str
) -> Any:
    """What the library answers, in the same form."""
    try:
        return forget_times(operation.call(graph, prefix))
    except TwinframeError as error:
        is_patch = operation.method == "PATCH"
        answer = build_answer(error, patches_twin=is_patch)
        return answer.status, hide_ids(json.loads(answer.body))


def forget_times(value: Any) -> Any:
    """Leave out what differs from write to write."""
    if isinstance(value, dict):
        left_out = ("$etag", "$lastUpdateTime", "lastUpdateTime")
        return {name: forget_times(one) for name, one in value.items() if name not in left_out}
    return [forget_times(one) for one in value] if isinstance(value, list) else value


def hide_ids(document: Any) -> Any:
    """Leave out the id of a request and etags that a message names."""
    text = json.dumps(document)
    if '"traceId"' in text:
        document = {**document, "extensions": None}
    if "current etag" in text:
        document["error"]["message"] = document["error"]["message"].partition("current etag")[0]
    return document


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(operations=st.lists(OPERATIONS, min_size=1, max_size=12))
def test_the_library_answers_as_the_service_does(pair: Pair, operations: list[Operation]) -> None:
    prefix = next(pair.prefixes)
    for operation in [*ROOMS, *operations]:
        over_http = answer_over_http(pair.wire, operation, prefix)
        here = answer_here(pair.graph, operation, prefix)
        assert here == over_http, operation


def is_fatal(operation: Operation, answer: Any) -> bool:
    """Whether a transaction can only be rolled back after this."""
    return operation.path == "/cypher" and isinstance(answer, tuple)


def read_state(graph: twinframe.LocalGraph | twinframe.Transaction, prefix: str) -> Any:
    """All twins and relationships of an example."""
    text = "MATCH (t) WHERE t.`$dtId` STARTS WITH $p RETURN t ORDER BY t.`$dtId`"
    twins = graph.query(text, {"p": prefix}).read_column("t")
    return forget_times([(twin, graph.list_relationships(twin["$dtId"])) for twin in twins])


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(operations=st.lists(OPERATIONS, min_size=1, max_size=10), fails=st.booleans())
def test_a_transaction_does_what_single_requests_do_or_nothing(
    pair: Pair, operations: list[Operation], fails: bool
) -> None:
    prefix = next(pair.prefixes)
    for operation in ROOMS:
        answer_over_http(pair.wire, operation, prefix)
        answer_here(pair.graph, operation, prefix)
    before = read_state(pair.graph, prefix)
    with suppress(TransactionFailed, ZeroDivisionError), pair.graph.transaction(seconds=60) as tx:
        for operation in operations:
            over_http = answer_over_http(pair.wire, operation, prefix)
            here = answer_here(tx, operation, prefix)
            assert here == over_http, operation
            fails = fails or is_fatal(operation, here)
            if is_fatal(operation, here):
                break
        else:
            read_state(tx, prefix)
        if fails:
            raise ZeroDivisionError
    if fails:
        assert read_state(pair.graph, prefix) == before
        return
    for operation in map(build_everything, "abc"):
        over_http = answer_over_http(pair.wire, operation, prefix)
        assert answer_here(pair.graph, operation, prefix) == over_http, operations


# --- one graph ------------------------------------------------------------------------------------


def test_the_service_sees_writes_of_the_library_and_sends_their_events(server: Server) -> None:
    numbers = Numbers(WRITES)
    target = "/events?filter=subject%20%3D%20%27beside%27"
    with following(server, target) as stream, open_beside(server) as graph:
        for number in range(WRITES):
            graph.put_twin("beside", counter(number))
        stream.read_until(numbers.is_whole, numbers.take)
    assert numbers.found == list(range(WRITES))
    wire = Wire(server.port)
    assert wire.call("GET", "/digitaltwins/beside")[2]["value"] == WRITES - 1
    changes = wire.call("GET", "/digitaltwins/beside/history")[2]["value"]
    wire.close()
    assert [change["action"] for change in changes] == ["created"] + ["updated"] * (WRITES - 1)


def test_no_update_is_lost_between_the_library_and_the_service(server: Server) -> None:
    with open_beside(server) as graph:
        graph.put_twin("both", counter(0))

        def count_over_http(_: int) -> int:
            wire, done = Wire(server.port), 0
            while done < WRITES:
                twin = wire.call("GET", "/digitaltwins/both")[2]
                change = [{"op": "replace", "path": "/value", "value": twin["value"] + 1}]
                tag = {"If_Match": twin["$etag"]}
                status = wire.call("PATCH", "/digitaltwins/both", change, **tag)[0]
                assert status in (204, 412)
                done += status == 204
            wire.close()
            return done

        def count_here(_: int) -> int:
            for _ in range(WRITES):
                graph.execute("MATCH (c:Counter {`$dtId`: 'both'}) SET c.value = c.value + 1")
            return WRITES

        with Threads(4) as threads:
            done = [*threads.map(count_over_http, range(2)), *threads.map(count_here, range(2))]
        assert graph.read_twin("both")["value"] == sum(done)
