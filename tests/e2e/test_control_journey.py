"""From nothing to a graph that somebody may only read, and back: three services, real tokens."""

from __future__ import annotations

import http.client
import json
import re
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import HttpResponseError
from azure.digitaltwins.core import DigitalTwinsClient

from tests.e2e.control_plane import SCOPE, ControlClient, ControlProcess
from tests.e2e.server import Certificates, Server, free_port
from tests.e2e.token_server import AUDIENCE, Registered, TokenProcess

GRAPH = "/projects/campus/resources/tower"
MODEL = {
    "@context": "dtmi:dtdl:context;3",
    "@id": "dtmi:com:example:Lamp;1",
    "@type": "Interface",
    "contents": [{"@type": "Property", "name": "level", "schema": "integer"}],
}


class Credential:
    """A `TokenCredential` that gets its tokens by client credentials."""

    def __init__(self, tokens: TokenProcess, client: Registered) -> None:
        self._tokens = tokens
        self._client = client

    def get_token(self, *_scopes: str, **_options: Any) -> AccessToken:
        return AccessToken(self._tokens.get_token(self._client), int(time.time()) + 3600)


@dataclass(frozen=True)
class Installation:
    """A token server, a control plane and a graph service, and who may call them."""

    folder: Path
    tokens: TokenProcess
    control: ControlProcess
    graphs: Server
    certificates: Certificates
    owner: Registered
    reader: Registered

    @contextmanager
    def connect(self, url: str, client: Registered) -> Iterator[DigitalTwinsClient]:
        """The vendor's SDK for a graph."""
        authority = str(self.certificates.authority)
        credential = Credential(self.tokens, client)
        graph = DigitalTwinsClient(url, credential, connection_verify=authority)
        try:
            yield graph
        finally:
            graph._client.close()  # the SDK has no method for it

    def list_files(self, name: str) -> list[str]:
        """All files on disk that have the name in theirs, or in a folder's."""
        return sorted(
            str(path.relative_to(self.folder))
            for path in self.folder.rglob("*")
            if path.is_file() and name in str(path.relative_to(self.folder))
        )


def name_user(client: Registered) -> str:
    """The subject of a client's tokens."""
    return f"{client.client_id}@clients"


@pytest.fixture(scope="module")
def installation(
    tmp_path_factory: pytest.TempPathFactory, certificates: Certificates
) -> Iterator[Installation]:
    tmp_path = tmp_path_factory.mktemp("journey")
    tokens = TokenProcess(tmp_path, certificates)
    with tokens:
        owner, reader, checker = (
            tokens.add_client(name, scope=SCOPE) for name in ("owner", "reader", "graph-service")
        )
        port = free_port()
        shared = {
            "Authentication__CaFile": str(certificates.authority),
            "Hosting__PublicUrl": f"https://127.0.0.1:{port}",
        }
        control = ControlProcess(tmp_path, tokens, shared)
        done = control.run(
            *("control", "init", "--owner", name_user(owner), "--organization", "acme")
        )
        assert done.exit_code == 0, done.output
        environment = {
            **control.settings,
            "Hosting__Enabled": "true",
            "Authorization__Provider": "Api",
            "Authorization__ApiProvider__BaseUrl": control.url,
            "Authorization__ApiProvider__TokenEndpoint": f"{tokens.issuer}/oauth/token",
            "Authorization__ApiProvider__ClientId": checker.client_id,
            "Authorization__ApiProvider__ClientSecret": checker.client_secret,
            "Authorization__ApiProvider__Audience": AUDIENCE,
            "Authorization__ApiProvider__CaFile": str(certificates.authority),
        }
        graphs = Server(tmp_path, certificates, environment=environment, port=port)
        with control, graphs:
            world = Installation(tmp_path, tokens, control, graphs, certificates, owner, reader)
            boss = control.sign_in(owner)
            boss.do(
                "POST",
                "/platform/role-assignments",
                {"role_id": "permission-checker", "user_id": name_user(checker)},
                201,
            )
            yield world
        for log in (control.log, graphs.log):
            text = log.read_text(encoding="utf-8")
            assert "Traceback" not in text, text[-4000:]


def read_code(graph: DigitalTwinsClient) -> str:
    """The code of what the service answers to a read of a twin that nobody has made."""
    with pytest.raises(HttpResponseError) as raised:
        graph.get_digital_twin("nobody")
    assert raised.value.response is not None
    return str(raised.value.response.headers["x-ms-error-code"])


def test_a_graph_comes_up_is_shared_for_reading_taken_back_and_goes(
    installation: Installation,
) -> None:
    owner = installation.control.sign_in(installation.owner)
    project = {"id": "campus", "organization_id": "acme", "name": "Campus"}
    owner.do("POST", "/projects", project, 201)
    made = owner.do(
        "POST",
        "/projects/campus/resources",
        {
            "id": "tower",
            "name": "Tower",
            "type": "Platform.Graph",
            "settings_json": {"database_name": "tower-data", "enable_analytics": True},
        },
        201,
    )
    assert (made["status"], "access_url" in made) == ("creating", False)
    running = owner.wait_for(GRAPH, "running")
    assert running["access_url"] == f"{installation.graphs.url}/graphs/tower"
    assert any(name.endswith(".db") for name in installation.list_files("tower-data"))

    with installation.connect(running["access_url"], installation.owner) as graph:
        graph.create_models([MODEL])
        graph.upsert_digital_twin("lamp", {"$metadata": {"$model": MODEL["@id"]}, "level": 3})
    read_only(installation, owner, running["access_url"])

    owner.do("PUT", GRAPH, {"name": "Tower 2"})
    assert owner.wait_for(GRAPH, "running")["name"] == "Tower 2"
    with installation.connect(running["access_url"], installation.owner) as graph:
        assert graph.get_digital_twin("lamp")["level"] == 3
        assert owner.do("DELETE", GRAPH, status=202)["status"] == "deleting"
        owner.wait_for(GRAPH, "terminated")
        assert read_code(graph) == "GraphNotFound"
    assert installation.list_files("tower") == []
    owner.do("DELETE", "/projects/campus", status=204)


def read_only(installation: Installation, owner: ControlClient, url: str) -> None:
    """Let a user in who may read, see that writing is refused, and take the role back."""
    user = name_user(installation.reader)
    reader = installation.control.sign_in(installation.reader)
    with installation.connect(url, installation.reader) as graph:
        assert read_code(graph) == "GraphNotFound"
        assert reader.send("GET", GRAPH).status == 404
        grant = {"role_id": "graph-data-viewer", "user_id": user}
        given = owner.do("POST", f"{GRAPH}/role-assignments", grant, 201)
        assert graph.get_digital_twin("lamp")["level"] == 3
        with pytest.raises(HttpResponseError) as refused:
            graph.upsert_digital_twin("lamp", {"$metadata": {"$model": MODEL["@id"]}, "level": 4})
        assert refused.value.status_code == 403
        assert reader.send("GET", GRAPH).status == 404, "a data role shows no resource"
        owner.do("DELETE", f"/role-assignments/{given['assignment_id']}", status=204)
        assert read_code(graph) == "GraphNotFound"


def test_what_a_tenant_holds_is_nothing_at_the_graph_of_another(installation: Installation) -> None:
    boss = installation.control.sign_in(installation.owner)
    boss.do("POST", "/organizations", {"id": "other", "name": "Other"}, 201)
    for organization, resource in (("acme", "barn"), ("other", "shed")):
        project = {"id": f"{organization}-p", "organization_id": organization, "name": "P"}
        boss.do("POST", "/projects", project, 201)
        body = {"id": resource, "name": resource, "type": "Platform.Graph"}
        boss.do("POST", f"/projects/{organization}-p/resources", body, 201)
    grant = {"role_id": "owner", "user_id": name_user(installation.reader)}
    boss.do("POST", "/organizations/other/role-assignments", grant, 201)
    mine = boss.wait_for("/projects/other-p/resources/shed", "running")["access_url"]
    foreign = boss.wait_for("/projects/acme-p/resources/barn", "running")["access_url"]
    user = installation.control.sign_in(installation.reader)
    with (
        installation.connect(mine, installation.reader) as own,
        installation.connect(foreign, installation.reader) as other,
        installation.connect(foreign.replace("barn", "nothing"), installation.reader) as none,
    ):
        own.create_models([MODEL])
        assert read_code(own) == "DigitalTwinNotFound"
        assert read_code(other) == read_code(none) == "GraphNotFound"
        for graph in (other, none):
            with pytest.raises(HttpResponseError) as refused:
                list(graph.query_twins("SELECT * FROM digitaltwins"))
            assert refused.value.status_code == 404
    check_every_route(installation, "barn")
    listed = user.do("GET", "/projects")
    assert [each["project_id"] for each in listed["projects"]] == ["other-p"]


def check_every_route(installation: Installation, foreign: str) -> None:
    """Each operation of a graph that is another's answers as that of one that does not exist."""
    trust = ssl.create_default_context(cafile=str(installation.certificates.authority))
    connection = http.client.HTTPSConnection(
        "127.0.0.1", installation.graphs.port, timeout=120, context=trust
    )
    headers = {
        "Authorization": f"Bearer {installation.tokens.get_token(installation.reader)}",
        "Content-Type": "application/json",
    }

    def send(method: str, path: str) -> tuple[int, bytes]:
        connection.request(method, path, b"{}", headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    try:
        document = json.loads(send("GET", "/openapi.json")[1])
        operations = [
            (method.upper(), re.sub(r"{[^}]*}", "nobody", path))
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
            if "x-permission" in operation
        ]
        assert len(operations) > 30
        for method, path in operations:
            other = send(method, f"/graphs/{foreign}{path}")
            assert other == send(method, f"/graphs/nothing{path}"), (method, path)
            assert (other[0], b"GraphNotFound" in other[1]) == (404, True), (method, path)
    finally:
        connection.close()
