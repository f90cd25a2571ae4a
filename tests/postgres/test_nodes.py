"""Several service nodes over one PostgreSQL database: each serves what any of them has changed."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.e2e.assistants import connect
from tests.e2e.hosted import Provisioner, build_hosted
from tests.e2e.receiver import Receiver
from tests.e2e.server import Server
from tests.e2e.test_event_streams import following
from tests.e2e.test_hosted_graphs import MODEL, MODELS, Caller
from tests.postgres.balancing import Balancer
from tests.postgres.server import share_server
from tests.storages import build_postgres_environment, choose, require
from tests.waiting import PATIENCE, Threads, wait_until
from twinframe.service.rate_exchange import EXCHANGE_SECONDS

MOST_IN_FLIGHT = 64


class Node(Server):
    """A service with a directory of its own."""

    def call(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        """Send a request to the node."""
        sign = "&" if "?" in path else "?"
        path = f"{path}{sign}api-version=2023-10-31"
        return Caller(self.port)(method, path, body, **headers)


class Nodes:
    """The nodes of a service over one database, and their provisioner."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **build_postgres_environment(folder),
            "Hosting__Enabled": "true",
            "Hosting__DrainSeconds": "2",
        }
        self.provisioner = Provisioner(self._build_environment("provisioner"))
        self.made: list[Node] = []

    def start(self, name: str, **more: str) -> Node:
        """Start a node of this name."""
        environment = {**self._build_environment(name), "MCP__Enabled": "true", **more}
        node = Node(self.folder / name, environment=environment)
        self.made.append(node)
        node.start()
        return node

    def stop(self) -> None:
        """Kill all nodes."""
        for node in self.made:
            if node.process is not None:
                node.kill()
        self.provisioner.host.close()

    def list_schemas(self) -> list[str]:
        """The schemas of this service's graphs."""
        prefix = self.environment["Storage__Postgres__Schema"]
        with psycopg.connect(share_server()) as connection:
            rows = connection.execute(
                "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)", [prefix]
            )
            return sorted(name for (name,) in rows)

    def _build_environment(self, name: str) -> dict[str, str]:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return {
            **self.environment,
            "Hosting__Directory": str(folder / "hosting"),
            "Storage__Postgres__Directory": str(folder / "data"),
        }


@contextmanager
def running(folder: Path) -> Iterator[Nodes]:
    require("postgres")
    nodes = Nodes(folder)
    try:
        yield nodes
    finally:
        nodes.stop()


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with running(tmp_path_factory.mktemp("nodes")) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def pair(nodes: Nodes) -> tuple[Node, Node]:
    """Two nodes."""
    return nodes.start("one"), nodes.start("other")


def build_twin(name: str, of: str = "x") -> dict[str, object]:
    return {
        "$dtId": name,
        "$metadata": {"$model": MODEL},
        "of": of,
        "part": {"$metadata": {}, "of": of},
    }


def query(node: Node, graph: str, text: str) -> list[Any]:
    """All rows of a query."""
    answer = node.call("POST", f"/graphs/{graph}/query", {"query": text})
    assert answer.status == 200, answer.body
    rows: list[Any] = answer.json["value"]
    return rows


def bring_up(nodes: Nodes, graph: str, *serving: Node) -> None:
    """Create a graph with a model, and wait until these nodes serve it."""
    nodes.provisioner.bring_up(build_hosted(graph))
    for node in serving:
        wait_until(lambda node=node: node.call("GET", f"/graphs/{graph}/models").status == 200)
    assert serving[0].call("POST", f"/graphs/{graph}/models", MODELS).status == 201


def test_a_graph_is_one_on_all_nodes_and_its_removal_reaches_all(
    nodes: Nodes, pair: tuple[Node, Node]
) -> None:
    one, other = pair
    twins = "/graphs/g/digitaltwins"
    assert [node.call("GET", f"{twins}/a").status for node in (one, other)] == [404, 404]
    bring_up(nodes, "g", one, other)
    assert other.call("PUT", f"{twins}/a", build_twin("a")).status == 200
    assert one.call("GET", f"{twins}/a").json["of"] == "x"
    etag = one.call("GET", f"{twins}/a").headers["etag"]
    patch = [{"op": "replace", "path": "/of", "value": "y"}]
    change = {"If-Match": etag, "Content-Type": "application/json-patch+json"}
    assert one.call("PATCH", f"{twins}/a", patch, **change).status == 204
    assert other.call("PATCH", f"{twins}/a", patch, **change).status == 412
    assert [row["of"] for row in query(other, "g", "SELECT * FROM DIGITALTWINS")] == ["y"]

    nodes.provisioner.bring_up(build_hosted("g", fence=2, analytics=True))
    for node in (one, other):
        wait_until(lambda node=node: node.call("GET", "/graphs/g/statistics").status == 200)
    nodes.provisioner.take_down(build_hosted("g", fence=3))
    assert [node.call("GET", f"{twins}/a").status for node in (one, other)] == [404, 404]
    assert [name for name in nodes.list_schemas() if "_g_" in name] == []
    nodes.provisioner.bring_up(build_hosted("g", incarnation="2"))
    for node in (one, other):
        wait_until(lambda node=node: node.call("GET", "/graphs/g/models").status == 200)
        assert node.call("GET", f"{twins}/a").status == 404


def test_streams_assistants_and_pages_of_one_node_see_what_another_writes(
    nodes: Nodes, pair: tuple[Node, Node]
) -> None:
    one, other = pair
    bring_up(nodes, "s", one, other)
    with following(one, "/graphs/s/events") as stream:
        for number in range(5):
            assert (
                other.call("PUT", f"/graphs/s/digitaltwins/t{number}", build_twin("x")).status
                == 200
            )
        lines: list[bytes] = []
        stream.read_until(lambda: any(b"t4" in line for line in lines), lines.append)
        places = [line for line in lines if line.startswith(b"id: ")]
    assert sum(b"Twin.Create" in line for line in lines) == 5
    # The stream goes on at the other node, after an event of the first one.
    after = places[1].removeprefix(b"id: ").decode().strip()
    with following(other, "/graphs/s/events", f"Last-Event-ID: {after}\r\n") as stream:
        rest: list[bytes] = []
        stream.read_until(lambda: any(b"t4" in line for line in rest), rest.append)
    assert [line for line in rest if line.startswith(b"id: ")] == places[2:]

    async def read_by_assistant(port: int) -> str:
        url, each_alone = f"http://127.0.0.1:{port}/graphs/s/mcp", {"Connection": "close"}
        async with connect("streamable", url, headers=each_alone) as client:
            await client.list_tools()
            written = build_twin("x", "later")
            assert other.call("PUT", "/graphs/s/digitaltwins/later", written).status == 200
            found = await client.call_tool("get_digital_twin", {"twin_id": "later"})
            return json.dumps([part.model_dump() for part in found.content])

    with Balancer() as balancer:  # its connections go to both nodes in turn
        balancer.ports = [one.port, other.port]
        wait_until(lambda: all(balancer.has(port) for port in balancer.ports))
        assert "later" in asyncio.run(read_by_assistant(balancer.port))

    few = {"max-items-per-page": "2"}
    for text, is_plain in (
        ("SELECT * FROM DIGITALTWINS", True),
        ("MATCH (t:Twin) RETURN t.of AS of ORDER BY t.`$dtId`", False),
    ):
        page = one.call("POST", "/graphs/s/query", {"query": text}, **few).json
        token = {"continuationToken": page["continuationToken"]}
        answer = other.call("POST", "/graphs/s/query", token, **few)
        if is_plain:
            assert len(answer.json["value"]) == 2
        else:
            assert answer.status == 400
            assert "Run the query again" in answer.json["error"]["message"]
        same = one.call("POST", "/graphs/s/query", token, **few)
        assert len(same.json["value"]) == 2


def test_a_job_of_one_node_is_read_and_ended_at_another(
    nodes: Nodes, pair: tuple[Node, Node]
) -> None:
    one, other = pair
    bring_up(nodes, "j", one, other)
    assert one.call("PUT", "/graphs/j/digitaltwins/a", build_twin("a")).status == 200
    begun = one.call("POST", "/graphs/j/jobs/deletions", **{"Operation-Id": "all"})
    assert begun.status == 202, begun.body
    job = "/graphs/j/jobs/deletions/all"
    wait_until(lambda: other.call("GET", job).json["status"] == "succeeded")
    assert [node.call("GET", "/graphs/j/digitaltwins/a").status for node in pair] == [404, 404]


# --- nodes that are killed ------------------------------------------------------------------------


class Register:
    """A number in a twin that clients raise by conditional writes, over any node."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.ending = threading.Event()
        self.acknowledged = self.unanswered = 0
        self.refused: list[int] = []
        self._turn = threading.Lock()

    def raise_it(self, seed: int) -> None:
        """Raise it until the end."""
        chosen = random.Random(seed)
        while not self.ending.is_set():
            is_sent = False
            try:
                node = chosen.choice(self.nodes)
                found = node.call("GET", "/graphs/r/digitaltwins/n")
                if found.status == 200:
                    value = str(int(found.json["of"]) + 1)
                    patch = [{"op": "replace", "path": "/of", "value": value}]
                    fields = {
                        "If-Match": found.headers["etag"],
                        "Content-Type": "application/json-patch+json",
                    }
                    is_sent = True
                    status = node.call("PATCH", "/graphs/r/digitaltwins/n", patch, **fields).status
                else:
                    status = found.status
            except (OSError, http.client.HTTPException):
                status = 0
            with self._turn:
                self.acknowledged += status == 204
                # NOTE: a connection that was refused has sent nothing.
                self.unanswered += is_sent and status == 0
                if status not in (0, 204, 412, 503):
                    self.refused.append(status)


@pytest.mark.skipif("postgres" not in choose("sqlite"), reason="long: run make test-postgres")
def test_nothing_acknowledged_is_lost_while_nodes_are_killed_and_added(tmp_path: Path) -> None:
    receiver = Receiver()
    receiver.start()
    delivery = {
        "Events__Endpoints__out__Type": "webhook",
        "Events__Endpoints__out__Url": receiver.url,
        "Events__Endpoints__out__Hosted": "true",
        "Jobs__LeaseSeconds": "3",
    }
    with running(tmp_path) as nodes:
        staying, dying = (nodes.start(name, **delivery) for name in ("staying", "dying"))
        bring_up(nodes, "r", staying, dying)
        route = {"endpointName": "out", "filter": "true"}
        assert staying.call("PUT", "/graphs/r/eventroutes/all", route).status == 204
        first = build_twin("n", "0")
        assert dying.call("PUT", "/graphs/r/digitaltwins/n", first).status == 200
        register = Register([staying, dying])
        with Threads(6) as threads:
            running_clients = [threads.submit(register.raise_it, seed) for seed in range(6)]
            for _ in range(int(os.environ.get("TWINFRAME_KILLS", "3"))):
                before = register.acknowledged
                wait_until(lambda before=before: register.acknowledged >= before + 50)
                dying.kill()
                before = register.acknowledged
                wait_until(lambda before=before: register.acknowledged >= before + 50)
                dying.start()
            third = nodes.start("third", **delivery)
            register.nodes.append(third)
            before = register.acknowledged
            wait_until(lambda: register.acknowledged >= before + 100)
            register.ending.set()
        for client in running_clients:
            client.result()
        value = int(third.call("GET", "/graphs/r/digitaltwins/n").json["of"])
        assert register.refused == []
        assert register.acknowledged <= value <= register.acknowledged + register.unanswered
        wait_until(lambda: str(value) in list_values(receiver))
        assert set(list_values(receiver)) >= {str(number) for number in range(1, value + 1)}
        # An event comes twice only where a node was killed between its delivery and its mark.
        kills = int(os.environ.get("TWINFRAME_KILLS", "3"))
        doubled = len(list_values(receiver)) - len(set(list_values(receiver)))
        assert doubled <= kills * MOST_IN_FLIGHT
        receiver.stop()


@pytest.mark.skipif("postgres" not in choose("sqlite"), reason="long: run make test-postgres")
def test_the_rate_of_a_caller_holds_over_nodes(tmp_path: Path) -> None:
    burst = 30
    limits = {
        "RateLimits__Enabled": "true",
        "RateLimits__PerSecond__Read": "0.01",
        "RateLimits__BurstSeconds": str(burst * 100),
    }
    with running(tmp_path) as nodes:
        one, other = (nodes.start(name, **limits) for name in ("one", "other"))
        for _ in range(burst):
            assert one.call("GET", "/models").status == 200
        assert one.call("GET", "/models").status == 429
        looks = 0
        while other.call("GET", "/models").status == 200:
            looks += 1
            assert looks < burst - 1  # far fewer than it would allow by itself
            time.sleep(EXCHANGE_SECONDS)


class Client:
    """Raises a twin's number by conditional writes, over one connection or one for each request."""

    def __init__(self, port: int, twin: str, *, keeps: bool) -> None:
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._path = f"/graphs/b/digitaltwins/{twin}?api-version=2023-10-31"
        self._keeps = keeps
        self.ending = threading.Event()
        self.raised = 0
        self.failed: list[object] = []

    def run(self) -> None:
        """Raise it until the end; a request fails where its answer is missing or another."""
        while not self.ending.is_set():
            try:
                status, etag = self._send("GET", 200)
                patch = [{"op": "replace", "path": "/of", "value": str(self.raised + 1)}]
                if status == 200 and self._send("PATCH", 204, patch, etag)[0] == 204:
                    self.raised += 1
            except (OSError, http.client.HTTPException) as error:
                self.failed.append(error)
                self._line.close()
        self._line.close()

    def _send(
        self, method: str, expected: int, body: object = None, etag: str = ""
    ) -> tuple[int, str]:
        headers = {"If-Match": etag, "Content-Type": "application/json-patch+json"} if etag else {}
        self._line.request(method, self._path, json.dumps(body) if etag else None, headers)
        answer = self._line.getresponse()
        text = answer.read()
        if answer.status != expected:
            self.failed.append((answer.status, text))
        if not self._keeps:
            self._line.close()
        return answer.status, answer.headers.get("ETag", "")


@pytest.mark.skipif("postgres" not in choose("sqlite"), reason="long: run make test-postgres")
def test_nodes_are_added_and_stopped_under_load_without_a_failed_request(tmp_path: Path) -> None:
    stops = {"Server__DrainDelay": "1"}  # many times what the balancer needs to see it
    with running(tmp_path) as nodes, Balancer() as balancer:
        serving = [nodes.start(name, **stops) for name in ("one", "two")]
        bring_up(nodes, "b", *serving)
        balancer.ports = [node.port for node in serving]
        clients = [Client(balancer.port, f"n{one}", keeps=one % 2 == 0) for one in range(4)]
        for number in range(len(clients)):
            first = build_twin(f"n{number}", "0")
            assert serving[0].call("PUT", f"/graphs/b/digitaltwins/n{number}", first).status == 200

        def wait_for_some() -> None:
            aims = [client.raised + 10 for client in clients]
            wait_until(
                lambda: all(one.raised >= aim for one, aim in zip(clients, aims, strict=True))
            )

        with Threads(len(clients)) as threads:
            ends = [threads.submit(client.run) for client in clients]
            try:
                for _ in range(int(os.environ.get("TWINFRAME_ROUNDS", "1"))):
                    wait_for_some()  # of two nodes
                    serving.append(nodes.start(f"node{len(nodes.made)}", **stops))
                    balancer.ports = [node.port for node in serving]
                    wait_until(lambda: balancer.has(serving[-1].port))
                    wait_for_some()  # of three
                    serving.pop(0).stop()
                    wait_for_some()
            finally:
                for client in clients:
                    client.ending.set()
            for end in ends:
                end.result()
        assert [client.failed for client in clients] == [[]] * len(clients)
        for number, client in enumerate(clients):
            found = serving[-1].call("GET", f"/graphs/b/digitaltwins/n{number}")
            assert found.json["of"] == str(client.raised)
        for node in nodes.made:
            assert "Traceback" not in node.log.read_text(encoding="utf-8")


def list_values(receiver: Receiver) -> list[str]:
    """The values that events of the register's changes brought."""
    return [
        change["value"]
        for event in list(receiver.taken)
        for change in (event.get("data") or {}).get("patch", [])
        if change["path"] == "/of"
    ]
