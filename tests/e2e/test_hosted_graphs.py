"""Hosted graphs from outside: every address is one graph, and nothing of it is another's."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.digitaltwins.core import DigitalTwinsClient

from tests.e2e.hosted import DOMAIN, Provisioner, build_environment, build_hosted
from tests.e2e.server import Server
from tests.e2e.test_event_streams import Stream
from tests.waiting import PATIENCE, Threads, run_program

MODEL = "dtmi:test:Thing;1"
MODELS = [
    {
        "@id": MODEL,
        "@type": "Interface",
        "@context": "dtmi:dtdl:context;3",
        "contents": [
            {"@type": "Property", "name": "of", "schema": "string"},
            {"@type": "Relationship", "name": "near"},
            {"@type": "Component", "name": "part", "schema": "dtmi:test:Part;1"},
        ],
    },
    {
        "@id": "dtmi:test:Part;1",
        "@type": "Interface",
        "@context": "dtmi:dtdl:context;3",
        "contents": [{"@type": "Property", "name": "of", "schema": "string"}],
    },
]


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])


class Caller:
    """Requests to one port, with or without a base path and a Host of their own."""

    def __init__(self, port: int, base: str = "", host: str = "") -> None:
        self._port, self._base = port, base
        self._headers = {"Host": host} if host else {}

    def __call__(self, method: str, path: str, body: object = None, **headers: str) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        try:
            content = None if body is None else json.dumps(body).encode()
            all_headers = {"Content-Type": "application/json", **self._headers, **headers}
            connection.request(method, self._base + path, content, all_headers)
            answer = connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, named, answer.read())
        finally:
            connection.close()


def fill(call: Caller, mark: str) -> None:
    """The same ids in every graph, with contents of its own."""
    assert call("POST", "/models", MODELS).status == 201
    for twin in ("a", "b", "c"):
        content = {
            "$metadata": {"$model": MODEL},
            "of": mark,
            "part": {"$metadata": {}, "of": mark},
        }
        assert call("PUT", f"/digitaltwins/{twin}", content).status == 200
    for target in ("b", "c"):
        edge = {"$targetId": target, "$relationshipName": "near"}
        assert call("PUT", f"/digitaltwins/a/relationships/to-{target}", edge).status == 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hosted")


@pytest.fixture(scope="module")
def provisioner(folder: Path) -> Provisioner:
    return Provisioner(build_environment(folder))


@pytest.fixture(scope="module")
def server(folder: Path, provisioner: Provisioner) -> Iterator[Server]:
    running = Server(folder, workers=2, environment=provisioner.environment)
    with running:
        yield running
    log = running.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]


@pytest.fixture(scope="module")
def pair(server: Server, provisioner: Provisioner) -> tuple[str, str]:
    """Two graphs with the same ids and contents of their own; the service's own graph is empty."""
    for name in ("left", "right"):
        provisioner.bring_up(build_hosted(name))
        fill(Caller(server.port, f"/graphs/{name}"), name)
    return "left", "right"


def addresses(server: Server, name: str) -> list[Caller]:
    """Every way to a graph."""
    port = server.port
    return [
        Caller(port, f"/graphs/{name}"),
        Caller(port, f"/api/graphs/{name}"),
        Caller(port, f"/API/Graphs/{name}"),
        Caller(port, "", f"{name}.{DOMAIN}"),
        Caller(port, "/api", f"{name.upper()}.{DOMAIN.title()}:8443"),
    ]


def test_every_address_of_a_graph_is_that_graph(server: Server, pair: tuple[str, str]) -> None:
    for name in pair:
        for call in addresses(server, name):
            assert call("GET", "/digitaltwins/a").json["of"] == name
            assert call("GET", "/digitaltwins/a/components/part").json["of"] == name
            rows = call("POST", "/query", {"query": "SELECT T.of FROM DIGITALTWINS T"}).json
            assert [row["of"] for row in rows["value"]] == [name] * 3
            rows = call("POST", "/query", {"query": "MATCH (t:Twin) RETURN t.of AS of"}).json
            assert {row["of"] for row in rows["value"]} == {name}


def test_the_services_own_graph_has_nothing_of_the_hosted_ones(
    server: Server, pair: tuple[str, str]
) -> None:
    own = Caller(server.port)
    assert own("GET", "/digitaltwins/a").code == "DigitalTwinNotFound"
    assert own("GET", "/models").json["value"] == []
    assert own("POST", "/query", {"query": "MATCH (n) RETURN n"}).json["value"] == []


def test_changes_of_one_graph_are_changes_of_that_graph_alone(
    server: Server, pair: tuple[str, str]
) -> None:
    left, right = (Caller(server.port, f"/graphs/{name}") for name in pair)
    before = export(right)
    patch = [{"op": "replace", "path": "/of", "value": "changed"}]
    kind = {"Content-Type": "application/json-patch+json"}
    assert left("PATCH", "/digitaltwins/b", patch, **kind).status == 204
    assert left("PATCH", "/digitaltwins/b/components/part", patch, **kind).status == 204
    more = {"$metadata": {"$model": MODEL}, "part": {"$metadata": {}}}
    assert left("PUT", "/digitaltwins/only-left", more).status == 200
    assert left("DELETE", "/digitaltwins/a/relationships/to-c").status == 204
    extra = {**MODELS[1], "@id": "dtmi:test:Left;1"}
    assert left("POST", "/models", [extra]).status == 201
    assert export(right) == before
    assert right("GET", "/digitaltwins/only-left").status == 404
    assert right("GET", "/models/dtmi:test:Left;1").status == 404
    assert left("DELETE", "/models/dtmi:test:Left;1").status == 204
    assert left("DELETE", "/digitaltwins/only-left").status == 204
    edge = {"$targetId": "c", "$relationshipName": "near"}
    assert left("PUT", "/digitaltwins/a/relationships/to-c", edge).status == 200
    for path, value in (("/digitaltwins/b", "left"), ("/digitaltwins/b/components/part", "left")):
        back = [{"op": "replace", "path": "/of", "value": value}]
        assert left("PATCH", path, back, **kind).status == 204


def test_links_lead_back_to_the_address_that_was_called(
    server: Server, pair: tuple[str, str]
) -> None:
    name = pair[0]
    for call, origin in zip(
        addresses(server, name),
        [
            f"{server.url}/graphs/{name}",
            f"{server.url}/api/graphs/{name}",
            f"{server.url}/API/Graphs/{name}",
            f"http://{name}.{DOMAIN}",
            f"http://{name.upper()}.{DOMAIN.title()}:8443/api",
        ],
        strict=True,
    ):
        page = {"max-items-per-page": "1"}
        for listing in ("/models", "/digitaltwins/a/relationships"):
            link = call("GET", listing, **page).json["nextLink"]
            assert link.startswith(f"{origin}{listing}?"), link
        incoming = call("GET", "/digitaltwins/b/incomingrelationships").json["value"]
        assert incoming[0]["$relationshipLink"].startswith(f"{origin}/digitaltwins/a/relation")


def test_tokens_of_one_graph_are_refused_by_every_other(
    server: Server, pair: tuple[str, str]
) -> None:
    left, right = (Caller(server.port, f"/graphs/{name}") for name in pair)
    own = Caller(server.port)
    page = {"max-items-per-page": "1"}
    link = left("GET", "/models", **page).json["nextLink"]
    query = link[link.index("?") :]
    assert left("GET", f"/models{query}").status == 200
    for other in (right, own):
        assert other("GET", f"/models{query}").code == "BadRequest"
    for text in ("SELECT * FROM DIGITALTWINS", "MATCH (t:Twin) RETURN t.of AS x ORDER BY x"):
        token = left("POST", "/query", {"query": text}, **page).json["continuationToken"]
        body = {"query": text, "continuationToken": token}
        assert len(left("POST", "/query", body, **page).json["value"]) == 1
        for other in (right, own):
            assert other("POST", "/query", body, **page).code == "BadRequest"


def test_what_names_no_graph_is_404_in_the_vendors_form(server: Server, pair: object) -> None:
    for call in addresses(server, "nothing"):
        for path in ("/digitaltwins/a", "/models", "/nonsense", "/statistics"):
            reply = call("GET", path)
            assert (reply.status, reply.code) == (404, "GraphNotFound")
            assert reply.headers["x-ms-error-code"] == "GraphNotFound"
    own = Caller(server.port)
    for path in ("/graphs", "/graphs/", "/graphs/Left/models", "/graphs/..%2fleft/models"):
        assert own("GET", path).status == 404


def test_public_documents_are_the_same_whether_a_graph_is_there(
    server: Server, pair: tuple[str, str]
) -> None:
    for path in ("/health/live", "/health/ready", "/swagger", "/openapi.json"):
        there = Caller(server.port, f"/graphs/{pair[0]}")("GET", path)
        missing = Caller(server.port, "/graphs/miss")("GET", path)
        assert there.status == missing.status == 200
        assert there.body == missing.body.replace(b"/graphs/miss", b"/graphs/left")
    described = Caller(server.port, "/graphs/left")("GET", "/openapi.json").json
    assert described["servers"] == [{"url": "/graphs/left"}]
    assert "/statistics" in described["paths"]


class NoToken:
    """A credential for a service that asks for none."""

    def get_token(self, *_scopes: str, **_options: Any) -> AccessToken:
        return AccessToken("none", int(time.time()) + 3600)


@pytest.mark.parametrize("by_host", [False, True])
def test_the_vendors_sdk_works_at_both_kinds_of_address(
    server: Server, pair: tuple[str, str], by_host: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = pair[1]
    url = f"{server.url}/graphs/{name}"
    if by_host:
        url = f"http://{name}.{DOMAIN}:{server.port}"
        resolve = socket.getaddrinfo

        def find(host: str, *args: Any, **options: Any) -> Any:
            return resolve("127.0.0.1" if str(host).endswith(DOMAIN) else host, *args, **options)

        monkeypatch.setattr(socket, "getaddrinfo", find)
    client = DigitalTwinsClient(url, NoToken())
    options: dict[str, Any] = {"enforce_https": False}
    assert client.get_digital_twin("a", **options)["of"] == name
    links = client.list_relationships("a", **options)
    assert {one["$targetId"] for one in links} == {"b", "c"}
    incoming = list(client.list_incoming_relationships("b", **options))
    assert incoming[0].relationship_link.startswith(f"{url}/digitaltwins/a/")
    rows = client.query_twins("SELECT * FROM DIGITALTWINS", **options)
    assert {row["$dtId"] for row in rows} == {"a", "b", "c"}
    assert len(list(client.list_models(**options))) == 2
    with pytest.raises(ResourceNotFoundError):
        client.get_digital_twin("nobody", **options)


def test_a_graph_is_there_and_gone_with_the_next_request_of_every_worker(
    server: Server, provisioner: Provisioner
) -> None:
    for round_ in range(5):
        graph = build_hosted("fleeting", str(round_), fence=round_)
        provisioner.bring_up(graph)
        call = Caller(server.port, "/graphs/fleeting")
        assert {call("GET", "/models").status for _ in range(12)} == {200}
        fill(call, str(round_))
        assert call("GET", "/digitaltwins/a").json["of"] == str(round_)
        provisioner.take_down(graph)
        assert {call("GET", "/digitaltwins/a").status for _ in range(12)} == {404}
    data = Path(provisioner.environment["Storage__Sqlite__Directory"])
    assert list(data.glob("*fleeting*")) == []
    hosting = Path(provisioner.environment["Hosting__Directory"])
    assert list(hosting.rglob("*fleeting*")) == []


def test_taking_a_graph_away_under_load_breaks_no_request_and_leaves_nothing(
    server: Server, provisioner: Provisioner
) -> None:
    seen: list[int] = []
    stop = threading.Event()

    def apply(number: int) -> None:
        call = Caller(server.port, "/graphs/busy")
        content = {"$metadata": {"$model": MODEL}, "part": {"$metadata": {}}}
        while not stop.is_set():
            seen.append(call("PUT", f"/digitaltwins/t{number}", content).status)
            seen.append(call("GET", "/digitaltwins/a").status)
            seen.append(call("POST", "/query", {"query": "MATCH (n) RETURN n"}).status)

    with Threads(6) as pool:
        futures = []
        for round_ in range(4):
            graph = build_hosted("busy", str(round_), fence=1)
            provisioner.bring_up(graph)
            fill(Caller(server.port, "/graphs/busy"), "busy")
            if not futures:
                futures = [pool.submit(apply, number) for number in range(6)]
            served = seen.count(200)
            while seen.count(200) < served + 20:
                assert not any(future.done() for future in futures)
                time.sleep(0.01)
            provisioner.take_down(graph)
        stop.set()
        for future in futures:
            future.result()  # a connection that broke is an error here
    assert set(seen) <= {200, 400, 404, 503}, set(seen)
    assert seen.count(200) > 50
    data = Path(provisioner.environment["Storage__Sqlite__Directory"])
    assert list(data.glob("*busy*")) == []


def test_more_requests_at_once_than_allowed_are_429_over_all_workers(
    server: Server, provisioner: Provisioner
) -> None:
    provisioner.bring_up(build_hosted("narrow", max_concurrent_connections=3))
    call = Caller(server.port, "/graphs/narrow")
    slow = {"query": "UNWIND range(1, 1500) AS a UNWIND range(1, 1500) AS b RETURN max(a * b) AS m"}
    statuses, replies = list[int](), list[Reply]()
    end = time.monotonic() + PATIENCE
    while statuses.count(429) < 12 - 2 * 3:  # on a busy machine they may come one after another
        assert time.monotonic() < end, statuses
        with Threads(12) as pool:
            replies = list(pool.map(lambda _: call("POST", "/query", slow), range(12)))
        statuses = sorted(reply.status for reply in replies)
        assert statuses.count(200) >= 1, statuses
        assert set(statuses) <= {200, 429}, statuses
    refused = next(reply for reply in replies if reply.status == 429)
    assert refused.code == "TooManyRequests"
    assert refused.headers["retry-after"] == "1"
    wide = build_hosted("narrow", fence=2, max_concurrent_connections=50)
    provisioner.bring_up(wide)  # a change of settings holds from the next request on
    with Threads(12) as pool:
        replies = list(pool.map(lambda _: call("GET", "/models"), range(48)))
    assert {reply.status for reply in replies} == {200}


def test_the_audit_log_has_each_change_and_nothing_else(
    server: Server, provisioner: Provisioner
) -> None:
    provisioner.bring_up(build_hosted("logged", audit_logging=True, analytics=True))
    call = Caller(server.port, "/graphs/logged")
    fill(call, "logged")
    assert call("GET", "/digitaltwins/a").status == 200
    assert call("POST", "/query", {"query": "MATCH (n) RETURN n"}).status == 200
    assert call("DELETE", "/digitaltwins/a").status == 400  # it has relationships
    assert call("DELETE", "/digitaltwins/none").status == 404
    first = call("GET", "/auditlog", **{"max-items-per-page": "4"}).json
    lines, link = first["value"], first["nextLink"]
    while link:
        page = Caller(server.port)(
            "GET", link.removeprefix(server.url), **{"max-items-per-page": "4"}
        )
        lines += page.json["value"]
        link = page.json["nextLink"]
    done = [
        (line["method"], line["path"].removeprefix("/graphs/logged"), line["status"])
        for line in lines
    ]
    assert done == [
        ("POST", "/models", 201),
        ("PUT", "/digitaltwins/a", 200),
        ("PUT", "/digitaltwins/b", 200),
        ("PUT", "/digitaltwins/c", 200),
        ("PUT", "/digitaltwins/a/relationships/to-b", 200),
        ("PUT", "/digitaltwins/a/relationships/to-c", 200),
        ("DELETE", "/digitaltwins/a", 400),
        ("DELETE", "/digitaltwins/none", 404),
    ]
    assert call("GET", "/auditlog?day=2020-01-01").json == {"value": [], "nextLink": None}
    assert call("GET", "/auditlog?day=../../x").status == 400
    end = time.monotonic() + 120
    while True:  # the other worker tells its share every few seconds
        (day,) = call("GET", "/statistics").json["days"].values()
        known = day["operations"]
        if sum(known[name]["count"] for name in known if name.startswith("Digital")) >= 9:
            break
        assert time.monotonic() < end, day
        time.sleep(0.2)
    assert day["operations"]["DigitalTwins_Add"]["count"] == 3
    assert day["operations"]["DigitalTwins_Delete"] | {"seconds": 0} == {
        "count": 2,
        "refused": 2,
        "failed": 0,
        "seconds": 0,
    }
    assert day["query_charge"] > 0


def test_who_wants_neither_statistics_nor_an_audit_log_has_none(
    server: Server, pair: tuple[str, str]
) -> None:
    call = Caller(server.port, f"/graphs/{pair[0]}")
    assert call("GET", "/statistics").status == 404
    assert call("GET", "/auditlog").status == 404
    assert Caller(server.port)("GET", "/statistics").status == 404


def run_command(provisioner: Provisioner, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_program(
        [sys.executable, "-m", "twinframe", *arguments],
        env=dict(provisioner.environment),
        capture_output=True,
        text=True,
    )


def export(call: Caller) -> list[Any]:
    """Everything of a graph, as the wire has it."""
    twins = call("POST", "/query", {"query": "SELECT * FROM DIGITALTWINS"}).json["value"]
    edges = call("POST", "/query", {"query": "SELECT * FROM RELATIONSHIPS"}).json["value"]
    models = call("GET", "/models?includeModelDefinition=true").json["value"]
    return [
        sorted(twins, key=lambda one: str(one["$dtId"])),
        sorted(edges, key=lambda one: str(one["$relationshipId"])),
        models,
    ]


def test_a_restored_graph_is_its_backup_document_for_document(
    server: Server, provisioner: Provisioner
) -> None:
    provisioner.bring_up(build_hosted("kept", backup_retention_days=3))
    call = Caller(server.port, "/graphs/kept")
    fill(call, "before")
    before = export(call)
    made = run_command(provisioner, "backup", "kept")
    assert made.returncode == 0, made.stderr
    backup = Path(made.stdout.split()[-1].rstrip(".")).name.removesuffix(".backup")
    assert call("DELETE", "/digitaltwins/a/relationships/to-b").status == 204
    assert (
        call(
            "PUT", "/digitaltwins/z", {"$metadata": {"$model": MODEL}, "part": {"$metadata": {}}}
        ).status
        == 200
    )
    changed = export(call)
    assert changed != before
    assert backup in run_command(provisioner, "backup", "kept", "--list").stdout
    wrong = run_command(provisioner, "restore", "kept", backup[:-3])
    assert wrong.returncode == 1
    assert f"Did you mean {backup}?" in wrong.stderr
    done = run_command(provisioner, "restore", "kept", backup)
    assert done.returncode == 0, done.stderr
    for _ in range(8):  # whichever worker it is
        assert export(call) == before
    latest = Path(done.stdout.split()[-1].rstrip(".")).name.removesuffix(".backup")
    undone = run_command(provisioner, "restore", "kept", latest)
    assert undone.returncode == 0, undone.stderr
    assert export(call) == changed


def read_first_lines(server: Server, target: str, seen: str, ending: bytes) -> list[bytes]:
    """What a stream tells of events first, up to a line with that beginning."""
    stream, lines = Stream(server, target, f"Last-Event-ID: {seen}\r\n"), list[bytes]()
    with contextlib.closing(stream):
        stream.read_until(lambda: any(line.startswith(ending) for line in lines), lines.append)
    return [line for line in lines if line.startswith((b"event", b"id", b"data"))]


def test_who_follows_events_hears_of_a_restore_though_positions_are_given_again(
    server: Server, provisioner: Provisioner
) -> None:
    provisioner.bring_up(build_hosted("taken-back", backup_retention_days=3))
    call = Caller(server.port, "/graphs/taken-back")
    fill(call, "before")
    target = "/graphs/taken-back/events"
    first = read_first_lines(server, target, "0", b"id: ")[0].removeprefix(b"id: ").decode().strip()
    assert read_first_lines(server, target, first, b"data: ")[0].startswith(b"id: ")
    made = run_command(provisioner, "backup", "taken-back")
    assert made.returncode == 0, made.stderr
    done = run_command(provisioner, "restore", "taken-back", made.stdout.split()[-1].rstrip("."))
    assert done.returncode == 0, done.stderr
    call("GET", "/models")  # answered when it is served again
    told = read_first_lines(server, target, first, b"id: ")
    assert [line.strip() for line in told[:2]] == [b"event: gap", b'data: {"missed":null}']
    assert told[-1].split(b"-")[0] != f"id: {first}".encode().split(b"-")[0]


def test_other_files_are_not_restored_and_change_nothing(
    server: Server, provisioner: Provisioner, tmp_path: Path
) -> None:
    provisioner.bring_up(build_hosted("safe"))
    call = Caller(server.port, "/graphs/safe")
    fill(call, "safe")
    before = export(call)
    odd = tmp_path / "odd"
    odd.write_bytes(b"nothing of ours" * 1000)
    done = run_command(provisioner, "restore", "safe", str(odd))
    assert done.returncode == 1
    assert "damaged" in done.stderr
    assert export(call) == before


def test_sdk_errors_of_missing_graphs_are_those_of_the_vendor(server: Server, pair: object) -> None:
    client = DigitalTwinsClient(f"{server.url}/graphs/nothing", NoToken())
    with pytest.raises(HttpResponseError) as raised:
        client.get_digital_twin("a", enforce_https=False)
    assert raised.value.status_code == 404
    assert raised.value.error is not None
    assert raised.value.error.code == "GraphNotFound"
