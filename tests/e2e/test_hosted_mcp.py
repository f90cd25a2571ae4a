"""The MCP servers of hosted graphs: each has the twins, permissions and log of its graph."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from mcp.shared.exceptions import MCPDeprecationWarning

from tests.e2e.assistants import Kind, connect, read_counter, read_document
from tests.e2e.hosted import DOMAIN, Provisioner, build_environment, build_hosted
from tests.e2e.permission_service import PermissionService
from tests.e2e.server import Server
from tests.e2e.test_hosted_graphs import Caller
from tests.e2e.wire import COUNTER_MODEL, counter
from tests.unit.access.authentication.token_factory import TokenFactory

FACTORY = TokenFactory()
GRAPHS = {"red": 1, "blue": 2, "grey": 3}
"""The graphs, and the value that the counter `c0` has in each."""
DATA = ["digitaltwins/*", "models/*", "query/*", "auditlog/read"]
WELL_KNOWN = "/.well-known/oauth-protected-resource"

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{MCPDeprecationWarning.__module__}.{MCPDeprecationWarning.__name__}"
)


@dataclass(frozen=True)
class Service:
    server: Server
    permissions: PermissionService

    def call(self, graph: str) -> Caller:
        """Requests to the API of a graph."""
        return Caller(self.server.port, f"/graphs/{graph}")

    def url(self, graph: str, kind: Kind, base: str = "") -> str:
        return f"{self.server.url}{base}/graphs/{graph}/{'sse' if kind == 'sse' else 'mcp'}"


def bearer(subject: str) -> dict[str, str]:
    token = FACTORY.token(sub=subject, permissions=[], scope="mcp:tools mcp:resources")
    return {"Authorization": f"Bearer {token.decode()}"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Two workers; `ann` may do all in red and blue, `bob` all but use assistants in red."""
    folder = tmp_path_factory.mktemp("hosted-mcp")
    keys = folder / "keys.json"
    keys.write_text(json.dumps(FACTORY.jwks()), encoding="utf-8")
    with PermissionService() as permissions:
        for graph in ("red", "blue"):
            permissions.granted[graph, "ann"] = ["mcp/*", *DATA]
            permissions.granted[graph, "root"] = DATA
        permissions.granted["grey", "root"] = DATA
        permissions.granted["red", "bob"] = DATA
        environment = build_environment(
            folder,
            MCP__Enabled="true",
            Authentication__Enabled="true",
            Authentication__Audience=FACTORY.audience,
            Authentication__Issuer=FACTORY.issuer,
            Authentication__KeysFile=str(keys),
            Authorization__Provider="Api",
            Authorization__ApiProvider__BaseUrl=f"http://127.0.0.1:{permissions.server_port}",
            Authorization__ApiProvider__CacheExpirationMinutes="0",
            Authorization__ApiProvider__ResourceName="own",
        )
        provisioner = Provisioner(environment)
        for graph in GRAPHS:
            provisioner.bring_up(build_hosted(graph, audit_logging=True, analytics=True))
        with Server(folder, workers=2, environment=environment) as server:
            for graph, value in GRAPHS.items():
                call = Caller(server.port, f"/graphs/{graph}")
                assert call("POST", "/models", [COUNTER_MODEL], **bearer("root")).status == 201
                stored = call("PUT", "/digitaltwins/c0", counter(value), **bearer("root"))
                assert stored.status == 200
            yield Service(server, permissions)
        log = server.log.read_text(encoding="utf-8")
        assert "Traceback" not in log, log[-4000:]


@pytest.mark.parametrize("base", ["", "/api"])
@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("kind", ["sse", "streamable"])
def test_an_assistant_uses_the_graph_whose_address_it_has(
    service: Service, kind: Kind, mode: str, base: str
) -> None:
    async def read(graph: str) -> int:
        url = service.url(graph, kind, base)
        async with connect(kind, url, mode, bearer("ann")) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert "query_digital_twins" in names
            found = [await read_counter(client, 0) for _ in range(4)]
            assert len(set(found)) == 1
            return found[0]

    async def run() -> list[int]:
        # At the same time, over both workers: no message may reach the graph of another.
        return await asyncio.gather(*(read(graph) for graph in ("red", "blue") * 4))

    assert asyncio.run(run()) == [GRAPHS["red"], GRAPHS["blue"]] * 4


def test_what_an_assistant_writes_is_in_its_graph_alone_and_in_the_graphs_audit_log(
    service: Service,
) -> None:
    async def run() -> None:
        async with connect(
            "streamable", service.url("red", "streamable"), "auto", bearer("ann")
        ) as client:
            twin = {"twin_id": "made", "model_id": COUNTER_MODEL["@id"], "properties": {"value": 9}}
            read_document(await client.call_tool("create_or_replace_digital_twin", twin))

    asyncio.run(run())
    assert service.call("red")("GET", "/digitaltwins/made", **bearer("root")).status == 200
    assert service.call("blue")("GET", "/digitaltwins/made", **bearer("root")).status == 404
    changes = service.call("red")("GET", "/auditlog", **bearer("root")).json["value"]
    made = [change for change in changes if "made" in json.dumps(change)]
    assert [(change["subject"], change["operation"], change["status"]) for change in made] == [
        ("ann", "create_or_replace_digital_twin", 200)
    ]


def ask(service: Service, path: str, headers: dict[str, str], host: str = "") -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    return Caller(service.server.port, "", host)("POST", path, message, **accept, **headers)


@pytest.mark.parametrize("path", ["/mcp", "/sse", "/messages/00000000/"])
def test_who_is_not_known_is_sent_to_the_discovery_document_of_the_graph(
    service: Service, path: str
) -> None:
    for graph in ("red", "nothing"):  # whether it is there makes no difference
        reply = ask(service, f"/graphs/{graph}{path}", {})
        assert reply.status == 401
        address = f"{service.server.url}{WELL_KNOWN}/graphs/{graph}"
        assert f'resource_metadata="{address}"' in reply.headers["www-authenticate"]
        for server in ("", "/mcp", "/sse"):
            document = Caller(service.server.port)("GET", f"{WELL_KNOWN}/graphs/{graph}{server}")
            assert document.json["resource"] == f"{service.server.url}/graphs/{graph}{server}"


def test_permissions_are_those_of_the_graph(service: Service) -> None:
    assert ask(service, "/graphs/red/mcp", bearer("ann")).status == 200
    assert ask(service, "/graphs/red/mcp", bearer("bob")).status == 403
    for graph in ("grey", "nothing"):
        reply = ask(service, f"/graphs/{graph}/mcp", bearer("ann"))
        assert (reply.status, reply.code) == (404, "GraphNotFound")
    service.permissions.granted["red", "eve"] = ["mcp/*", "digitaltwins/read"]

    async def write() -> None:
        url = service.url("red", "streamable")
        async with connect("streamable", url, "auto", bearer("eve")) as client:
            assert await read_counter(client, 0) == GRAPHS["red"]
            twin = {"twin_id": "c0", "model_id": COUNTER_MODEL["@id"], "properties": {"value": 0}}
            result: Any = await client.call_tool("create_or_replace_digital_twin", twin)
            assert result.is_error
            assert "digitaltwins/write" in result.content[0].text
            assert await read_counter(client, 0) == GRAPHS["red"]

    asyncio.run(write())


def test_a_graph_has_its_server_at_its_own_host_too(service: Service) -> None:
    host = f"red.{DOMAIN}"
    assert ask(service, "/mcp", bearer("ann"), host).status == 200
    reply = ask(service, "/mcp", {}, host)
    assert f'"http://{host}{WELL_KNOWN}"' in reply.headers["www-authenticate"]
    document = Caller(service.server.port, "", host)("GET", f"{WELL_KNOWN}/mcp")
    assert document.json["resource"] == f"http://{host}/mcp"


def test_a_session_takes_messages_at_the_address_of_its_graph_alone(service: Service) -> None:
    """The other graph's permissions would be asked, and its answer be shown in this session."""
    connection = http.client.HTTPConnection("127.0.0.1", service.server.port, timeout=120)
    fields = {**bearer("ann"), "Accept": "text/event-stream"}
    connection.request("GET", "/graphs/red/sse", headers=fields)
    with connection.getresponse() as stream:
        event = b""
        while b"\r\n\r\n" not in event:
            event += stream.read1(256)
        found = re.search(r"data: (/graphs/red/messages/\S+)", event.decode())
        assert found is not None, event
        call = Caller(service.server.port)
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        for _ in range(6):  # whichever worker takes it
            other = call("POST", found[1].replace("/red/", "/blue/"), ping, **bearer("ann"))
            assert (other.status, other.body) == (404, b"Could not find session")
        assert call("POST", found[1], ping, **bearer("ann")).status == 202
    connection.close()


def test_a_page_of_another_origin_is_refused_before_anybody_is_asked(service: Service) -> None:
    caller = Caller(service.server.port)
    fields = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    assert caller("OPTIONS", "/graphs/red/mcp", **fields).status == 403
    fields["Origin"] = service.server.url
    assert caller("OPTIONS", "/graphs/red/mcp", **fields).status == 204
