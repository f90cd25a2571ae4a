"""What the vendor's command line sends for each of its commands on a graph, against a real service.

NOTE: its extension (`az dt`) is in no package registry, so its requests are sent anew here, in the
form that its SDK gives them: a body's type on GET and DELETE too, a language and an id of the
client, `If-Match: *` where no etag is named, lists by repeated parameters, links as they come.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import pytest

from tests.e2e.server import Server
from tests.e2e.wire import Wire
from tests.e2e.wire_world import check_no_content, check_refusal, interface, link, must, prop

Json = Any
VERSION: Final = "api-version=2023-10-31"
PATCH: Final = "application/json-patch+json; charset=utf-8"
FINAL: Final = ("succeeded", "failed", "cancelled")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service of its own: the commands delete all there is."""
    folder = tmp_path_factory.mktemp("cli")
    environment = {
        "Events__Endpoints__lines__Type": "log",
        "Jobs__Directories": f'["{folder}"]',
        "Jobs__LookSeconds": "0.05",
    }
    with Server(folder, environment=environment) as running:
        yield running
    log = running.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]


@dataclass
class CommandLine:
    """Sends requests as the extension's SDK does."""

    wire: Wire
    origin: str

    def send(self, method: str, path: str, body: Json = None, **headers: str) -> Any:
        sent = {
            "Accept": "application/json",
            "Accept_Language": "en-US",
            "Connection": "keep-alive",
            "Content_Type": PATCH if method == "PATCH" else "application/json; charset=utf-8",
            "User_Agent": "python/3.12 msrest/0.7.1 azuredigitaltwinsapi/2023-10-31",
            "x_ms_client_request_id": str(uuid.uuid1()),
            **headers,
        }
        return self.wire.call(method, path, body, **sent)

    def get(self, path: str, query: str = "", **headers: str) -> Json:
        return must(self.send("GET", f"{path}?{query}{VERSION}", **headers))

    def change(self, method: str, path: str, body: Json = None, **headers: str) -> Any:
        return self.send(method, f"{path}?{VERSION}", body, **headers)

    def list(self, path: str, query: str = "", **headers: str) -> list[Json]:
        """All items: links are followed as they are, with the same headers."""
        found: list[Json] = []
        target = f"{path}?{query}{VERSION}"
        while True:
            page = must(self.send("GET", target, **headers))
            found += page["value"]
            if not page["nextLink"]:
                return found
            assert page["nextLink"].startswith(self.origin)
            target = page["nextLink"].removeprefix(self.origin)

    def query(self, text: str, **headers: str) -> tuple[list[Json], float]:
        """All rows and the cost: the query goes along with the token; an empty page ends it."""
        rows: list[Json] = []
        cost, token = 0.0, None
        while True:
            body = {"query": text, "continuationToken": token}
            answer = self.send("POST", f"/query?{VERSION}", body, **headers)
            page = must(answer)
            cost += float(answer[1]["query-charge"])
            rows += page["value"]
            token = page["continuationToken"]
            if not page["value"] or not token:
                return rows, cost

    def wait_for(self, path: str) -> Json:
        end = time.monotonic() + 120
        while (job := self.get(path))["status"] not in FINAL:
            assert time.monotonic() < end, job
            time.sleep(0.02)
        return job


@pytest.fixture
def cli(served: Server) -> Iterator[CommandLine]:
    wire = Wire(served.port)
    yield CommandLine(wire, served.url)
    wire.close()


@dataclass
class World:
    """Models and twins of one test, under names of its own."""

    stem: str

    def model(self, name: str) -> str:
        return f"dtmi:com:cli:{self.stem}:{name};1"

    def models(self) -> list[Json]:
        return [
            interface(
                self.model("Room"),
                prop("temperature", "double"),
                {"@type": "Component", "name": "climate", "schema": self.model("Climate")},
                link("has", None, prop("since", "string")),
                extends=self.model("Space"),
            ),
            interface(self.model("Climate"), prop("mode", "string")),
            interface(self.model("Space"), prop("area", "double")),
        ]

    def model_path(self, name: str) -> str:
        return f"/models/{quote(self.model(name), safe='')}"

    def twin(self, name: str) -> str:
        return f"{self.stem} {name}/ü"

    def twin_path(self, name: str, *rest: str) -> str:
        below = "".join(f"/{quote(part, safe='')}" for part in rest)
        return f"/digitaltwins/{quote(self.twin(name), safe='')}{below}"

    def body(self, name: str, **more: Json) -> Json:
        metadata = {"$model": self.model("Room")}
        return {
            "$dtId": self.twin(name), "$metadata": metadata, "climate": {"$metadata": {}}, **more
        }  # fmt: skip


@pytest.fixture
def world(cli: CommandLine) -> World:
    made = World(f"w{uuid.uuid4().hex[:10]}")
    must(cli.change("POST", "/models", made.models()), 201)
    for name in ("a", "b", "c"):
        must(cli.change("PUT", made.twin_path(name), made.body(name)))
    return made


def replace(path: str, value: Json) -> Json:
    return [{"op": "add", "path": path, "value": value}]


def test_commands_of_models(cli: CommandLine, world: World) -> None:
    answer = cli.change("POST", "/models", world.models())
    check_refusal(answer, 409, "ModelIdAlreadyExists")
    listed = cli.list("/models", "includeModelDefinition=false&", max_items_per_page="1")
    assert {world.model(name) for name in ("Room", "Climate", "Space")} <= {x["id"] for x in listed}
    names = [quote(world.model(name), safe="") for name in ("Climate", "Space")]
    roots = "&".join(f"dependenciesFor={name}" for name in names)
    found = cli.list("/models", f"{roots}&includeModelDefinition=true&", max_items_per_page="1")
    assert [each["model"] for each in found] == world.models()[1:]
    path = world.model_path("Room")
    assert "model" not in cli.get(path, "includeModelDefinition=false&")
    assert cli.get(path, "includeModelDefinition=true&")["model"] == world.models()[0]
    decommission = [{"op": "replace", "path": "/decommissioned", "value": True}]
    check_no_content(cli.change("PATCH", path, decommission), etag=False)
    assert cli.get(path)["decommissioned"] is True
    answer = cli.change("DELETE", world.model_path("Climate"))
    check_refusal(answer, 409, "ModelReferencesNotDeleted")
    # All are deleted as they are listed, what depends on a model before it.
    for name in ("Room", "Climate", "Space"):
        check_no_content(cli.change("DELETE", world.model_path(name)), etag=False)


def test_commands_of_twins(cli: CommandLine, world: World) -> None:
    path = world.twin_path("a")
    answer = cli.change("PUT", path, world.body("a"), If_None_Match="*")
    check_refusal(answer, 412, "PreconditionFailed")
    change = replace("/temperature", 20.5)
    check_no_content(cli.change("PATCH", path, change, If_Match="*"), etag=True)
    twin = cli.get(path)
    assert (twin["$dtId"], twin["temperature"]) == (world.twin("a"), 20.5)
    check_no_content(cli.change("PATCH", path, change, If_Match=twin["$etag"]), etag=True)
    for method, body in (("PATCH", change), ("DELETE", None)):
        answer = cli.change(method, path, body, If_Match=twin["$etag"])
        check_refusal(answer, 412, "PreconditionFailed")
    part = world.twin_path("a", "components", "climate")
    change = replace("/mode", "on")
    check_no_content(cli.change("PATCH", part, change, If_Match="*"), etag=True)
    assert cli.get(part)["mode"] == "on"
    for below in (("components", "climate", "telemetry"), ("telemetry",)):
        headers = {"Message_Id": str(uuid.uuid4())}
        answer = cli.change("POST", world.twin_path("a", *below), {"reading": 1}, **headers)
        check_no_content(answer, etag=False)
    check_no_content(cli.change("DELETE", path, If_Match="*"), etag=False)


def test_commands_of_relationships(cli: CommandLine, world: World) -> None:
    for source, name, target in (("a", "ab", "b"), ("a", "ac", "c"), ("b", "bc", "c")):
        body = {"$targetId": world.twin(target), "$relationshipName": "has"}
        path = world.twin_path(source, "relationships", name)
        made = must(cli.change("PUT", path, body))
        assert made["$sourceId"] == world.twin(source)
        answer = cli.change("PUT", path, body, If_None_Match="*")
        check_refusal(answer, 412, "PreconditionFailed")
    path = world.twin_path("a", "relationships", "ab")
    change = replace("/since", "today")
    check_no_content(cli.change("PATCH", path, change, If_Match="*"), etag=True)
    assert cli.get(path)["since"] == "today"
    outgoing = cli.list(world.twin_path("a", "relationships"))
    assert {each["$relationshipId"] for each in outgoing} == {"ab", "ac"}
    assert cli.list(world.twin_path("a", "relationships"), "relationshipName=none&") == []
    incoming = cli.list(world.twin_path("c", "incomingrelationships"))
    assert {each["$sourceId"] for each in incoming} == {world.twin("a"), world.twin("b")}
    # All of a twin are deleted as both lists name them, then the twin.
    for name in ("a", "b", "c"):
        found = [
            *cli.list(world.twin_path(name, "incomingrelationships")),
            *cli.list(world.twin_path(name, "relationships")),
        ]
        for each in found:
            source, key = quote(each["$sourceId"], safe=""), each["$relationshipId"]
            target = f"/digitaltwins/{source}/relationships/{key}"
            check_no_content(cli.change("DELETE", target, If_Match="*"), etag=False)
        check_no_content(cli.change("DELETE", world.twin_path(name), If_Match="*"), etag=False)


def test_the_command_of_queries(cli: CommandLine, world: World) -> None:
    rows, cost = cli.query("select * from digitaltwins", max_items_per_page="1")
    assert {world.twin(name) for name in ("a", "b", "c")} <= {row["$dtId"] for row in rows}
    assert cost >= len(rows)
    answer = cli.change("POST", "/query", {"query": "select", "continuationToken": None})
    check_refusal(answer, 400, "SqlQueryError")


def test_commands_of_routes(cli: CommandLine) -> None:
    body = {"endpointName": "lines", "filter": "true"}
    for name in ("cli-1", "cli-2"):
        check_no_content(cli.change("PUT", f"/eventroutes/{name}", body), etag=False)
    assert cli.get("/eventroutes/cli-1") == {"id": "cli-1", **body}
    listed = cli.list("/eventroutes", max_items_per_page="1")
    assert [each["id"] for each in listed] == ["cli-1", "cli-2"]
    for name in ("cli-1", "cli-2"):
        check_no_content(cli.change("DELETE", f"/eventroutes/{name}"), etag=False)
    check_refusal(cli.change("GET", "/eventroutes/cli-1"), 404, "EventRouteNotFound")


def test_commands_of_import_jobs(cli: CommandLine, served: Server, world: World) -> None:
    source = served.folder / f"{world.stem}.ndjson"
    source.write_text('{"Section":"Header"}\n{"fileVersion":"1.0.0"}\n', encoding="utf-8")
    job = f"bulk-import-job-{uuid.uuid4().hex}"
    body = {"inputBlobUri": source.as_uri(), "outputBlobUri": f"{source.as_uri()}_output.txt"}
    made = must(cli.change("PUT", f"/jobs/imports/{job}", body), 201)
    assert (made["id"], made["status"]) == (job, "notstarted")
    done = cli.wait_for(f"/jobs/imports/{job}")
    assert (done["status"], done.get("error")) == ("succeeded", None)
    assert job in [each["id"] for each in cli.list("/jobs/imports", max_items_per_page="1")]
    check_no_content(cli.change("DELETE", f"/jobs/imports/{job}"), etag=False)


def test_commands_of_deletion_jobs(cli: CommandLine, world: World) -> None:
    job = f"delete-job-{uuid.uuid4().hex}"
    target = f"/jobs/deletions?{VERSION}&timeoutInMinutes=60"
    answer = cli.send("POST", target, operation_id=job)
    made = must(answer, 202)
    assert (made["id"], made["status"], made.get("error")) == (job, "notstarted", None)
    assert f"/jobs/deletions/{job}?" in answer[1]["operation-location"]
    assert cli.wait_for(f"/jobs/deletions/{job}")["status"] == "succeeded"
    assert job in [each["id"] for each in cli.list("/jobs/deletions")]
    check_refusal(cli.change("GET", world.twin_path("a")), 404, "DigitalTwinNotFound")
    assert cli.list("/models") == []
