"""A control plane on several nodes over one PostgreSQL database, beside the graphs it creates."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.control_plane import SCOPE, ControlProcess
from tests.e2e.server import Server
from tests.e2e.token_server import AUDIENCE, TokenProcess
from tests.storages import build_postgres_environment, choose, require

GRAPH = "/projects/campus/resources/tower"


@pytest.mark.skipif("postgres" not in choose("sqlite"), reason="long: run make test-postgres")
def test_a_graph_asked_for_at_one_node_lives_though_that_node_is_killed(tmp_path: Path) -> None:
    require("postgres")
    with TokenProcess(tmp_path) as tokens:
        owner, checker = (tokens.add_client(name, scope=SCOPE) for name in ("owner", "checker"))
        nodes = []
        for name in ("one", "other"):
            folder = tmp_path / name
            folder.mkdir()
            shared = {**build_postgres_environment(tmp_path), "Control__Store": "postgres"}
            shared["Storage__Postgres__Directory"] = str(folder / "data")
            shared["Control__LeaseSeconds"] = "3"
            control = ControlProcess(folder, tokens, shared)
            environment = {
                **control.settings,
                "Control__Enabled": "true",
                "Authorization__Provider": "Api",  # it asks itself
                "Authorization__ApiProvider__BaseUrl": control.url,
                "Authorization__ApiProvider__TokenEndpoint": f"{tokens.issuer}/oauth/token",
                "Authorization__ApiProvider__ClientId": checker.client_id,
                "Authorization__ApiProvider__ClientSecret": checker.client_secret,
                "Authorization__ApiProvider__Audience": AUDIENCE,
                "Authorization__ApiProvider__Scope": SCOPE,
            }
            nodes.append((control, Server(folder, environment=environment, port=control.port)))
        (one, first), (other, second) = nodes
        begun = one.run(
            *("control", "init", "--owner", f"{owner.client_id}@clients", "--organization", "acme")
        )
        assert begun.exit_code == 0, begun.output
        with second:
            first.start()
            try:
                client, there = one.sign_in(owner), other.sign_in(owner)
                project = {"id": "campus", "organization_id": "acme", "name": "Campus"}
                client.do("POST", "/projects", project, 201)
                assert there.do("GET", "/projects/campus")["name"] == "Campus"
                role = {
                    "role_id": "permission-checker",
                    "user_id": f"{checker.client_id}@clients",
                }
                there.do("POST", "/organizations/acme/role-assignments", role, 201)
                graph = {"id": "tower", "name": "Tower", "type": "Platform.Graph"}
                client.do("POST", "/projects/campus/resources", graph, 201)
            finally:
                first.kill()  # wherever it was with the graph
            there.wait_for(GRAPH, "running")
            headers = {"Authorization": f"Bearer {there.token}"}
            found = other.send("GET", "/graphs/tower/digitaltwins/nobody", b"", headers)
            assert (found.status, found.json["error"]["code"]) == (404, "DigitalTwinNotFound")
            there.do("DELETE", GRAPH, status=202)
            there.wait_for(GRAPH, "terminated")
            found = other.send("GET", "/graphs/tower/digitaltwins/nobody", b"", headers)
            assert found.json["error"]["code"] == "GraphNotFound"
        log = second.log.read_text(encoding="utf-8")
        assert "Traceback" not in log, log[-4000:]
