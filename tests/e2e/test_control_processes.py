"""How the control plane may be spread over processes: alone, with a provisioner apart, in serve."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.control_plane import SCOPE, ControlClient, ControlProcess
from tests.e2e.server import Server
from tests.e2e.token_server import AUDIENCE, Registered, TokenProcess

GRAPH = "/projects/campus/resources/tower"


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenProcess]:
    with TokenProcess(tmp_path_factory.mktemp("tokens")) as running:
        yield running


@pytest.fixture(scope="module")
def owner(tokens: TokenProcess) -> Registered:
    return tokens.add_client("owner", scope=SCOPE)


def init(control: ControlProcess, owner: Registered) -> None:
    subject = f"{owner.client_id}@clients"
    done = control.run("control", "init", "--owner", subject, "--organization", "acme")
    assert done.exit_code == 0, done.output


def read_twin_code(control: ControlProcess, client: ControlClient) -> str:
    """What the graph answers to a read of a twin that nobody has made."""
    headers = {"Authorization": f"Bearer {client.token}"}
    answer = control.send("GET", "/graphs/tower/digitaltwins/nobody", b"", headers)
    assert answer.status == 404
    return str(answer.json["error"]["code"])


def build_graph(client: ControlClient) -> None:
    project = {"id": "campus", "organization_id": "acme", "name": "Campus"}
    client.do("POST", "/projects", project, 201)
    graph = {"id": "tower", "name": "Tower", "type": "Platform.Graph"}
    client.do("POST", "/projects/campus/resources", graph, 201)


def test_a_provisioner_apart_does_the_work_of_a_control_plane_without_one(
    tmp_path: Path, tokens: TokenProcess, owner: Registered
) -> None:
    environment = {"Control__Workers": "2"}
    control = ControlProcess(tmp_path, tokens, environment, options=("--no-provision",))
    init(control, owner)
    with control:
        client = control.sign_in(owner)
        build_graph(client)
        with (tmp_path / "provisioner.log").open("wb") as log:
            provisioner = subprocess.Popen(
                [sys.executable, "-m", "twinframe", "control", "--provision-only"],
                env={**os.environ, **control.settings},
                cwd=tmp_path,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            running = client.wait_for(GRAPH, "running")
            assert running["access_url"].endswith("/graphs/tower")
            provisioner.terminate()
            assert provisioner.wait(120) == 0
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(provisioner.pid, signal.SIGKILL)
            provisioner.wait(120)
        # NOTE: nobody is there to do it; that it is asked for is kept.
        client.do("DELETE", GRAPH, status=202)
        assert client.do("GET", GRAPH)["status"] == "deleting"
    assert "Traceback" not in (tmp_path / "provisioner.log").read_text(encoding="utf-8")
    assert "Traceback" not in control.log.read_text(encoding="utf-8")


def test_one_service_on_one_machine_is_graph_api_and_control_plane(
    tmp_path: Path, tokens: TokenProcess, owner: Registered
) -> None:
    own = ControlProcess(tmp_path, tokens)
    init(own, owner)
    checker, guest = (tokens.add_client(name, scope=SCOPE) for name in ("checker", "guest"))
    environment = {
        **own.settings,
        "Control__Enabled": "true",
        "Hosting__Enabled": "true",
        "Authorization__Provider": "Api",  # it asks itself
        "Authorization__ApiProvider__BaseUrl": own.url,
        "Authorization__ApiProvider__TokenEndpoint": f"{tokens.issuer}/oauth/token",
        "Authorization__ApiProvider__ClientId": checker.client_id,
        "Authorization__ApiProvider__ClientSecret": checker.client_secret,
        "Authorization__ApiProvider__Audience": AUDIENCE,
        "Authorization__ApiProvider__Scope": SCOPE,
    }
    server = Server(tmp_path, workers=2, environment=environment, port=own.port)
    with server:
        client = own.sign_in(owner)
        build_graph(client)
        client.wait_for(GRAPH, "running")
        subject = f"{owner.client_id}@clients"
        service = {"role_id": "permission-checker", "user_id": f"{checker.client_id}@clients"}
        client.do("POST", "/organizations/acme/role-assignments", service, 201)
        assert read_twin_code(own, client) == "DigitalTwinNotFound"
        assert read_twin_code(own, own.sign_in(guest)) == "GraphNotFound"
        check = f"/permissions/check?scopeType=resource&scopeId=tower&userId={subject}"
        assert "digitaltwins/*" in client.do("GET", check)["permissions"]
        with urllib.request.urlopen(f"{server.url}/api/v1/openapi.json", timeout=120) as answer:
            assert answer.status == 200
        with urllib.request.urlopen(f"{server.url}/api/health/ready", timeout=120) as answer:
            assert answer.status == 200
        client.do("DELETE", GRAPH, status=202)
        client.wait_for(GRAPH, "terminated")
    assert "Traceback" not in server.log.read_text(encoding="utf-8")


def test_new_settings_are_taken_without_a_stop_and_wrong_ones_are_not(
    tmp_path: Path, tokens: TokenProcess, owner: Registered
) -> None:
    file = tmp_path / "twinframe.json"
    file.write_text('{"Control": {"PageSize": 7}}')
    environment = {"TWINFRAME_CONFIG": str(file)}
    control = ControlProcess(tmp_path, tokens, environment, options=("--no-provision",))
    init(control, owner)
    with control:
        client = control.sign_in(owner)
        assert client.do("GET", "/projects")["limit"] == 7
        for text, limit in (
            ('{"Control": {"PageSize": 8}}', 8),
            ('{"Control": {"PageSize": 9}, "Authentication": {"Mode": "ApiKey"}}', 8),
        ):
            booted = count_workers(control)
            file.write_text(text)
            assert control.process is not None
            control.process.send_signal(signal.SIGHUP)
            while count_workers(control) == booted:
                time.sleep(0.05)
            control.wait_until_ready()
            wait_until(lambda limit=limit: client.do("GET", "/projects")["limit"] == limit)
    assert "The new settings are not taken" in control.log.read_text(encoding="utf-8")


def count_workers(control: ControlProcess) -> int:
    """How many workers have been started."""
    return control.log.read_text(encoding="utf-8").count("Application startup complete")


def wait_until(holds: Callable[[], bool]) -> None:
    """Until it holds: the worker before may still answer."""
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_token_for_another_audience_opens_nothing(
    tmp_path: Path, tokens: TokenProcess, owner: Registered
) -> None:
    assert AUDIENCE != "control"
    control = ControlProcess(tmp_path, tokens, {"Control__Audience": "control"})
    init(control, owner)
    with control:
        client = control.sign_in(owner)
        assert client.send("GET", "/projects").status == 401
