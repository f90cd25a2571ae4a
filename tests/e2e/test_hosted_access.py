"""Access to hosted graphs: a permission at one is none at another, and nobody learns of others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import neo4j
import pytest
from neo4j.exceptions import ClientError

from tests.e2e.hosted import DOMAIN, Provisioner, build_environment, build_hosted
from tests.e2e.permission_service import PermissionService
from tests.e2e.server import Certificates, Server, free_port
from tests.e2e.test_hosted_graphs import Caller, Reply
from tests.e2e.token_server import AUDIENCE, Registered, TokenProcess
from tests.unit.graph.statements.test_statement_permissions import ALL as STATEMENT_PERMISSIONS
from tests.unit.graph.statements.test_statement_permissions import START, STATEMENTS, World
from twinframe.control.hosting.routes import HOSTED_ROUTES

ALL = ["digitaltwins/*", "models/*", "query/*", "jobs/*", "eventroutes/*", "auditlog/read"]


@pytest.fixture(scope="module")
def permissions() -> Iterator[PermissionService]:
    with PermissionService() as running:
        yield running


@pytest.fixture(scope="module")
def tokens(
    tmp_path_factory: pytest.TempPathFactory, certificates: Certificates
) -> Iterator[TokenProcess]:
    with TokenProcess(tmp_path_factory.mktemp("tokens"), certificates) as running:
        yield running


@pytest.fixture(scope="module")
def bolt_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory,
    tokens: TokenProcess,
    certificates: Certificates,
    permissions: PermissionService,
    bolt_port: int,
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("hosted-access")
    environment = build_environment(
        folder,
        Authentication__Enabled="true",
        Authentication__Authority=tokens.issuer,
        Authentication__Audience=AUDIENCE,
        Authentication__CaFile=str(certificates.authority),
        Authorization__Provider="Api",
        Authorization__ApiProvider__BaseUrl=f"http://127.0.0.1:{permissions.server_port}",
        Authorization__ApiProvider__ResourceName="own",
        Authorization__ApiProvider__CacheExpirationMinutes="0",
        Bolt__Enabled="true",
        Bolt__Bind=f"127.0.0.1:{bolt_port}",
        Graph__Open="true",
    )
    provisioner = Provisioner(environment)
    for name in ("mine", "theirs", "guarded"):
        provisioner.bring_up(build_hosted(name, audit_logging=True, analytics=True))
    running = Server(folder, workers=2, environment=environment)
    with running:
        yield running
    log = running.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]


@pytest.fixture(scope="module")
def owner(tokens: TokenProcess, permissions: PermissionService) -> Registered:
    """Who may do everything at `mine` and nothing anywhere else, whatever its token claims."""
    client = tokens.add_client("owner", *ALL)
    permissions.granted["mine", f"{client.client_id}@clients"] = ALL
    return client


def bearer(tokens: TokenProcess, client: Registered) -> dict[str, str]:
    return {"Authorization": f"Bearer {tokens.get_token(client)}"}


def calls_of(server: Server, name: str) -> list[Caller]:
    return [
        Caller(server.port, f"/graphs/{name}"),
        Caller(server.port, f"/api/graphs/{name}"),
        Caller(server.port, "", f"{name}.{DOMAIN}"),
    ]


def fill_path(path: str) -> str:
    return "/".join("x" if part.startswith("{") else part for part in path.split("/"))


ASKING = [route for route in HOSTED_ROUTES if route.permission is not None]


def body_of(reply: Reply) -> object:
    """What an answer tells, without what is of the request alone."""
    told = {"date", "x-request-id", "content-length"}
    return reply.status, {k: v for k, v in reply.headers.items() if k not in told}, reply.body


def test_without_credentials_a_graph_that_is_there_looks_like_one_that_is_not(
    server: Server,
) -> None:
    for route in [*ASKING, None]:
        method = "GET" if route is None else route.method
        path = "/nonsense" if route is None else fill_path(route.path)
        for there, missing in zip(calls_of(server, "mine"), calls_of(server, "miss"), strict=True):
            first, second = there(method, path), missing(method, path)
            assert first.status == 401
            told = repr(body_of(second)).replace("miss", "mine")
            assert repr(body_of(first)) == told


def test_with_credentials_another_ones_graph_looks_like_one_that_is_not(
    server: Server, tokens: TokenProcess, owner: Registered
) -> None:
    headers = bearer(tokens, owner)
    for route in [*ASKING, None]:
        path = "/nonsense" if route is None else fill_path(route.path)
        for method in {"GET", "PUT", "GET" if route is None else route.method}:
            replies = []
            for name in ("theirs", "nothing"):
                replies += [call(method, path, **headers) for call in calls_of(server, name)]
            assert {reply.status for reply in replies} == {404}, (method, path)
            assert len({repr(body_of(reply)) for reply in replies}) == 1, (method, path)


def test_ones_own_graph_is_open_and_its_permissions_are_asked_by_its_id(
    server: Server, tokens: TokenProcess, owner: Registered, permissions: PermissionService
) -> None:
    permissions.asked.clear()
    for call in calls_of(server, "mine"):
        assert call("GET", "/models", **bearer(tokens, owner)).status == 200
    user = f"{owner.client_id}@clients"
    assert permissions.asked == [("mine", user)] * 3  # once a request


def test_the_services_own_graph_is_another_one(
    server: Server, tokens: TokenProcess, owner: Registered, permissions: PermissionService
) -> None:
    permissions.asked.clear()
    assert Caller(server.port)("GET", "/models", **bearer(tokens, owner)).status == 403
    assert permissions.asked == [("own", f"{owner.client_id}@clients")]
    own = Caller(server.port)("GET", "/permissions", **bearer(tokens, owner))
    assert (own.status, own.json["permissions"]) == (200, [])


def test_who_may_do_something_is_told_what_it_may_not(
    server: Server, tokens: TokenProcess, permissions: PermissionService
) -> None:
    reader = tokens.add_client("reader", *ALL)
    permissions.granted["mine", f"{reader.client_id}@clients"] = ["models/read", "query/read"]
    headers = bearer(tokens, reader)
    call = Caller(server.port, "/graphs/mine")
    assert call("GET", "/models", **headers).status == 200
    assert call("GET", "/statistics", **headers).status == 200
    assert call("GET", "/auditlog", **headers).status == 403
    assert call("POST", "/models", [], **headers).status == 403
    assert call("GET", "/nonsense", **headers).json["error"]["code"] == "NotFound"
    assert call("GET", "/permissions", **headers).json == {
        "subject": f"{reader.client_id}@clients",
        "permissions": ["models/read", "query/read"],
    }
    permissions.granted["mine", f"{reader.client_id}@clients"] = []
    assert call("GET", "/models", **headers).json["error"]["code"] == "GraphNotFound"


def test_each_operation_of_a_transaction_needs_its_own_permission(
    server: Server, tokens: TokenProcess, permissions: PermissionService
) -> None:
    writer = tokens.add_client("writer", *ALL)
    user = "mine", f"{writer.client_id}@clients"
    body = {"operations": [{"op": "deleteTwin", "twinId": "none"}]}
    for granted, status in (
        (["digitaltwins/delete"], 403),
        (["digitaltwins/write"], 403),
        (["digitaltwins/write", "digitaltwins/delete"], 404),
    ):
        permissions.granted[user] = granted
        permissions.asked.clear()
        for call in calls_of(server, "mine"):
            assert call("POST", "/$transaction", body, **bearer(tokens, writer)).status == status
        assert permissions.asked == [user] * 3  # once a request


@pytest.mark.parametrize("missing", sorted(STATEMENT_PERMISSIONS))
def test_a_statement_needs_at_a_hosted_graph_what_it_needs_at_an_own_one(
    server: Server,
    tokens: TokenProcess,
    permissions: PermissionService,
    bolt_port: int,
    missing: str,
) -> None:
    prepare = World().graph.statements.prepare
    texts = [text for text in STATEMENTS if missing in prepare(text, {}).needs]
    writer = tokens.add_client(f"without {missing}", *ALL)
    user = f"{writer.client_id}@clients"
    permissions.granted["theirs", user] = sorted(STATEMENT_PERMISSIONS)
    permissions.granted["guarded", user] = sorted(STATEMENT_PERMISSIONS)
    headers = bearer(tokens, writer)
    call = Caller(server.port, "/graphs/guarded")
    assert call("POST", "/cypher", {"query": START}, **headers).status == 200
    seen = {"query": "MATCH (n) OPTIONAL MATCH (n)-[e]->(m) RETURN n, e, m"}
    before = call("POST", "/query", seen, **headers).json
    assert before["value"]
    permissions.granted["guarded", user] = sorted(STATEMENT_PERMISSIONS - {missing})
    auth = neo4j.bearer_auth(tokens.get_token(writer))
    with (
        neo4j.GraphDatabase.driver(f"bolt://127.0.0.1:{bolt_port}", auth=auth) as driver,
        driver.session(database="guarded") as session,
    ):
        for text in texts:
            for one in calls_of(server, "guarded"):
                assert one("POST", "/cypher", {"query": text}, **headers).status == 403, text
            with pytest.raises(ClientError) as caught:
                session.run(text).consume()
            assert caught.value.code == "Neo.ClientError.Security.Forbidden", text
    permissions.granted["guarded", user] = sorted(STATEMENT_PERMISSIONS)
    assert call("POST", "/query", seen, **headers).json == before


def test_the_audit_log_names_who_changed_the_graph(
    server: Server, tokens: TokenProcess, owner: Registered
) -> None:
    headers = bearer(tokens, owner)
    call = Caller(server.port, "/graphs/mine")
    assert call("DELETE", "/digitaltwins/none", **headers).status == 404
    lines = call("GET", "/auditlog", **headers).json["value"]
    assert lines[-1]["subject"] == f"{owner.client_id}@clients"
    assert (lines[-1]["operation"], lines[-1]["status"]) == ("DigitalTwins_Delete", 404)


def test_discovery_is_for_each_address_and_for_graphs_that_are_not_there(
    server: Server, tokens: TokenProcess
) -> None:
    path = "/.well-known/oauth-protected-resource"
    for name in ("mine", "missing"):
        for base in ("/graphs", "/api/graphs"):
            own = f"{base}/{name}"
            challenge = Caller(server.port, own)("GET", "/models").headers["www-authenticate"]
            assert f'resource_metadata="{server.url}{path}{own}"' in challenge
            found = Caller(server.port)("GET", path + own)
            assert found.json["resource"] == server.url + own
            assert found.json["authorization_servers"] == [tokens.issuer]
        host = f"{name}.{DOMAIN}"
        by_host = Caller(server.port, "", host)
        challenge = by_host("GET", "/models").headers["www-authenticate"]
        assert f'resource_metadata="http://{host}{path}"' in challenge
        assert by_host("GET", path).json["resource"] == f"http://{host}"
    assert Caller(server.port)("GET", f"{path}/nonsense/mine").status == 404


@pytest.mark.parametrize("odd", ['mi"ne', "mine%22", "mine%0d%0a", "..", "%2e%2e", "MINE", "a_b"])
def test_odd_ids_reach_no_graph_and_no_header(
    server: Server, tokens: TokenProcess, owner: Registered, odd: str
) -> None:
    reply = Caller(server.port)("GET", f"/graphs/{odd}/models")
    assert reply.status in (400, 401)
    assert "graphs" not in reply.headers.get("www-authenticate", "")
    known: Any = Caller(server.port)("GET", f"/graphs/{odd}/models", **bearer(tokens, owner))
    assert known.status in (400, 404)


@pytest.mark.parametrize("odd", ["mi_ne", "www.mine", "-mine", "mine-", "a" * 64, ""])
def test_no_host_below_the_domain_is_the_services_own_graph(
    server: Server, tokens: TokenProcess, owner: Registered, odd: str
) -> None:
    call = Caller(server.port, "", f"{odd}.{DOMAIN}")
    assert call("GET", "/models").status == 401
    reply = call("GET", "/models", **bearer(tokens, owner))
    assert (reply.status, reply.json["error"]["code"]) == (404, "GraphNotFound")


def test_nothing_of_it_is_in_the_log_as_an_error(server: Server) -> None:
    assert '"level":"error"' not in Path(server.log).read_text(encoding="utf-8")
