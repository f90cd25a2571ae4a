"""The composition root: what starts, what refuses to, and when the store is opened."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Coroutine, Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.waiting import run_program
from twinframe.errors import PluginError, SettingsError
from twinframe.hooks.installation import build_installation, load_installation
from twinframe.service.application import create_app
from twinframe.service.assistants import build_mcp_installation, list_resources
from twinframe.service.opening import open_graph
from twinframe.service.preflight import check_bind, check_tls, find_problems, list_warnings
from twinframe.settings import (
    AuthenticationSettings,
    AuthorizationSettings,
    LoggingSettings,
    McpSettings,
    Section,
    ServerSettings,
    Settings,
    StorageSettings,
    TlsSettings,
)
from twinframe.settings.shape import KeyPath
from twinframe.storage.memory import MemoryStore
from twinframe_storage_sqlite.settings import SqliteSettings

Message = MutableMapping[str, Any]
ASGI = {"version": "3.0", "spec_version": "2.0"}
QUIET = LoggingSettings(access=False)
MEMORY = Settings(
    logging=QUIET, storage=StorageSettings(provider="memory"), server=ServerSettings(workers=1)
)


def sections_of(folder: Path) -> dict[KeyPath, Section]:
    return {("Storage", "Sqlite"): SqliteSettings(directory=str(folder))}


async def get(
    app: Callable[..., Coroutine[Any, Any, None]],
    path: str,
    host: str = "test",
    method: str = "GET",
) -> tuple[int, bytes]:
    """Status and body of an answer, between the lifespan's start-up and shutdown."""
    events: asyncio.Queue[Message] = asyncio.Queue()
    answers: asyncio.Queue[Message] = asyncio.Queue()
    lifespan = asyncio.create_task(app({"type": "lifespan", "asgi": ASGI}, events.get, answers.put))
    await events.put({"type": "lifespan.startup"})
    assert (await answers.get())["type"] == "lifespan.startup.complete"
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": ASGI,
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", host.encode())],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    await app(scope, receive, send)
    await events.put({"type": "lifespan.shutdown"})
    assert (await answers.get())["type"] == "lifespan.shutdown.complete"
    await lifespan
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def test_an_app_of_settings_made_in_python_answers() -> None:
    assert asyncio.run(get(create_app(MEMORY), "/models")) == (
        200,
        b'{"value":[],"nextLink":null}',
    )


def test_the_store_is_opened_at_the_start_up_and_not_before(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    app = create_app(Settings(logging=QUIET), sections_of(folder))
    assert not folder.exists()
    assert asyncio.run(get(app, "/health/ready"))[0] == 200
    assert list(folder.iterdir())


def test_use_cases_run_without_a_service(tmp_path: Path) -> None:
    async def run() -> tuple[bytes, ...]:
        installation = build_installation(Settings(), sections_of(tmp_path))
        async with open_graph(installation) as graph:
            page = await graph.queries.run("MATCH (t) RETURN count(t) AS n")
        return page.rows

    assert asyncio.run(run()) == (b'{"n":0}',)


@pytest.mark.parametrize("enabled", [True, False])
def test_mcp_is_served_beside_the_api_when_it_is_on(enabled: bool, tmp_path: Path) -> None:
    settings = Settings(mcp=McpSettings(enabled=enabled), logging=QUIET)
    app = create_app(settings, sections_of(tmp_path))
    status, body = asyncio.run(get(app, "/sse", host="127.0.0.1:8080", method="HEAD"))
    assert (status, b"MethodNotAllowed" in body) == ((405, True) if enabled else (404, False))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="it asks a fresh process")
def test_without_mcp_its_sdk_is_not_imported(tmp_path: Path) -> None:
    code = (
        "import sys; from twinframe.service.application import create_app; "
        "from twinframe.settings import Settings; "
        "import twinframe.cli; create_app(Settings()); "
        "sys.exit(any(name.split('.')[0] == 'mcp' for name in sys.modules))"
    )
    done = run_program([sys.executable, "-c", code], cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_address_of_mcp_is_checked_like_that_of_the_api(tmp_path: Path) -> None:
    settings = Settings(mcp=McpSettings(bind="0.0.0.0:8082"))
    installation = build_mcp_installation(build_installation(settings, sections_of(tmp_path)))
    problems = list(find_problems(installation, section="MCP"))
    assert [problem.partition(" is reachable")[0] for problem in problems] == [
        "MCP__Bind=0.0.0.0:8082"
    ]


def discovered(mcp: McpSettings, *, alone: bool) -> dict[str, str]:
    return {each.path: each.url for each in list_resources(Settings(mcp=mcp), alone=alone)}


def test_discovery_has_a_document_for_each_url_a_client_may_be_given() -> None:
    assert discovered(McpSettings(), alone=False) == {"/mcp": "", "/sse": ""}
    assert discovered(McpSettings(), alone=True) == {"": "", "/mcp": "", "/sse": ""}
    origin = McpSettings(resource_server_url="https://h.example/")
    assert discovered(origin, alone=False) == {
        "": "https://h.example/",
        "/mcp": "https://h.example/mcp",
        "/sse": "https://h.example/sse",
    }
    below = McpSettings(resource_server_url="https://h.example/twins/mcp")
    assert discovered(below, alone=True) == {
        "": "https://h.example/twins/mcp",
        "/twins/mcp": "https://h.example/twins/mcp",
        "/twins/sse": "https://h.example/twins/sse",
    }


def build_access_settings(**more: Any) -> AuthenticationSettings:
    return AuthenticationSettings(
        enabled=True, audience="https://twins", authority="https://issuer.example", **more
    )


def test_permissions_are_checked_as_soon_as_callers_are_asked() -> None:
    assert not Settings().checks_permissions
    assert Settings(authentication=build_access_settings()).checks_permissions
    assert not Settings(authentication=build_access_settings(mode="None")).checks_permissions
    off = AuthorizationSettings(enabled=False)
    settings = Settings(authentication=build_access_settings(), authorization=off)
    assert not settings.checks_permissions
    assert "whoever has valid credentials may do everything" in list_warnings(settings)[0]


def test_permissions_of_nobody_cannot_be_checked() -> None:
    settings = Settings(authorization=AuthorizationSettings(enabled=True))
    with pytest.raises(SettingsError, match="Authorization__Enabled=true needs Authentication"):
        create_app(settings)


@pytest.mark.parametrize("missing", ["audience", "authority"])
def test_asking_for_tokens_needs_to_know_whose(missing: str) -> None:
    complete = {"enabled": True, "audience": "https://twins", "authority": "https://issuer.example"}
    del complete[missing]
    with pytest.raises(ValidationError, match=f"{missing.capitalize()} (or Issuer )?must be set"):
        AuthenticationSettings.model_validate(complete)


@pytest.mark.parametrize("mode", ["None,Jwt", "jwt;apikey", "Jwt,Jwt", "", "Basic"])
def test_a_kind_of_credentials_that_is_none_is_refused(mode: str) -> None:
    with pytest.raises(ValidationError, match=r"(?i)mode"):
        AuthenticationSettings(mode=mode)


def test_kinds_of_credentials_go_together() -> None:
    both = AuthenticationSettings(mode="apikey, JWT")
    assert (both.mode, both.takes_tokens, both.takes_api_keys) == ("Jwt,ApiKey", True, True)


@pytest.mark.parametrize("enabled", [False, True])
def test_an_open_door_to_others_needs_to_be_wanted(enabled: bool, tmp_path: Path) -> None:
    server = ServerSettings(bind="0.0.0.0:80")
    mode = {"enabled": enabled, "mode": "None"}
    closed = Settings(server=server, authentication=AuthenticationSettings(**mode))
    (problem,) = find_problems(build_installation(closed, sections_of(tmp_path)))
    assert "Authentication__AllowAnonymous=true" in problem
    wanted = AuthenticationSettings(**mode, allow_anonymous=True)
    opened = Settings(server=server, authentication=wanted)
    assert list(find_problems(build_installation(opened, sections_of(tmp_path)))) == []
    assert "nobody is asked" in list_warnings(opened)[0]


def test_a_missing_storage_plugin_refuses_to_start() -> None:
    with pytest.raises(PluginError, match="no storage plugin 'lake' installed"):
        create_app(Settings(storage=StorageSettings(provider="lake")))


def test_the_environment_of_the_process_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("Storage__Sqlite__Directory", str(tmp_path / "there"))
    installation = load_installation()
    assert installation.configuration.section(("Storage", "Sqlite"), SqliteSettings).directory == (
        str(tmp_path / "there")
    )


def test_a_sound_installation_has_no_problems(tmp_path: Path) -> None:
    installation = build_installation(Settings(), sections_of(tmp_path))
    assert list(find_problems(installation, everything=True)) == []


def test_all_problems_are_found_at_once(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    settings = Settings(
        server=ServerSettings(
            base_path="/models",
            tls=TlsSettings(certificate="/no/chain.pem", key="/no/key.pem"),
        ),
    )
    problems = list(find_problems(build_installation(settings, sections_of(blocked / "below"))))
    assert len(problems) == 3
    assert problems[0].startswith("Server__BasePath=/models")
    assert problems[1] == "Server__Tls__Certificate=/no/chain.pem: No such file or directory."
    assert str(blocked) in problems[2]


def test_a_store_of_one_process_is_not_served_by_two() -> None:
    settings = Settings(storage=StorageSettings(provider="memory"))
    (problem,) = find_problems(build_installation(settings))
    assert "Set Server__Workers=1" in problem


def test_a_certificate_that_is_none_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "x.pem"
    place.write_text("nothing", encoding="utf-8")
    with pytest.raises(SettingsError, match="are not a certificate and its unencrypted key"):
        check_tls(TlsSettings(certificate=str(place), key=str(place)))


@pytest.mark.parametrize("bind", ["203.0.113.7:8080", "no-such-host.invalid:80"])
def test_an_address_that_is_not_ours_is_refused(bind: str) -> None:
    with pytest.raises(SettingsError, match=f"Server__Bind={bind}: "):
        check_bind(ServerSettings(bind=bind))


@pytest.mark.parametrize(
    ("bind", "warned"),
    [
        ("0.0.0.0:80", True),
        ("[::]:80", True),
        ("127.0.0.1:80", False),
        ("[::1]:80", False),
        ("localhost:80", False),
        ("localhost.example:80", True),
        ("unix:/run/x", False),
    ],
)
def test_an_open_door_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, bind: str, warned: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    warnings = list_warnings(Settings(server=ServerSettings(bind=bind)))
    assert bool(warnings) == warned


def test_a_service_that_runs_as_root_is_warned_of_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (warning,) = list_warnings(Settings())
    assert "runs as root" in warning
    assert "User=twinframe" in warning
    assert "\n" not in warning


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder whose path leaves room for the name of a socket."""
    with tempfile.TemporaryDirectory(prefix="tf") as folder:
        yield Path(folder)


def refuse_socket(path: Path) -> str:
    with pytest.raises(SettingsError) as caught:
        check_bind(ServerSettings(bind=f"unix:{path}"))
    assert caught.value.message.startswith(f"Server__Bind=unix:{path}: ")
    return caught.value.message


def test_a_socket_file_that_cannot_be_made_is_refused(short_path: Path) -> None:
    plain = short_path / "plain"
    plain.write_text("", encoding="utf-8")
    assert "there is no directory" in refuse_socket(short_path / "no" / "s")
    assert "is no socket" in refuse_socket(plain)
    assert "is no socket" in refuse_socket(short_path)
    assert "longer than 107 bytes" in refuse_socket(short_path / ("s" * 120))


def test_a_socket_file_in_use_is_refused_and_one_left_behind_is_not(short_path: Path) -> None:
    path = short_path / "s"
    bind = ServerSettings(bind=f"unix:{path}")
    check_bind(bind)
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(str(path))
        taken.listen()
        assert "another program listens there" in refuse_socket(path)
    check_bind(bind)
    assert path.is_socket()


def test_whatever_a_plugins_store_raises_names_the_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(_store: MemoryStore) -> None:
        raise ValueError("boom")

    monkeypatch.setattr(MemoryStore, "open", explode)
    (problem,) = find_problems(build_installation(MEMORY))
    assert problem.startswith("twinframe 0.")
    assert problem.endswith("(twinframe.storage: memory) cannot open its store: ValueError('boom')")


@pytest.mark.parametrize("base", ["/digitaltwins", "/Models/v1", "/health", "/swagger"])
def test_a_base_path_that_would_hide_operations_is_refused(base: str) -> None:
    settings = MEMORY.model_copy(update={"server": ServerSettings(workers=1, base_path=base)})
    (problem,) = find_problems(build_installation(settings))
    assert problem.startswith(f"Server__BasePath={base} would hide the operations at ")


@pytest.mark.parametrize("base", ["", "/api", "/twins/models"])
def test_a_base_path_of_its_own_is_taken(base: str) -> None:
    settings = MEMORY.model_copy(update={"server": ServerSettings(workers=1, base_path=base)})
    assert list(find_problems(build_installation(settings))) == []
