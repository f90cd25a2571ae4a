"""`twinframe check`: what it finds in a whole installation, how it says it, how it ends."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.e2e.lying_issuer import LyingIssuer
from tests.e2e.server import free_port
from tests.unit.access.authentication.token_factory import TokenFactory, public_jwk
from tests.waiting import join, start
from twinframe.access.authentication.keys import MAX_SET_BYTES
from twinframe.cli import main
from twinframe.hooks.installation import load_installation
from twinframe.storage.points import Points
from twinframe.testing.factories import build_model_record


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("Storage__Sqlite__Directory", str(tmp_path / "data"))
    monkeypatch.setenv("Server__Bind", f"127.0.0.1:{free_port()}")


def check(*options: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(main, ["check", "--json", *options])
    return result.exit_code, json.loads(result.stdout)


def find(document: dict[str, Any], check: str, severity: str) -> list[str]:
    return [
        one["message"]
        for one in document["findings"]
        if (one["check"], one["severity"]) == (check, severity)
    ]


def test_all_that_was_looked_at_is_in_the_document() -> None:
    code, document = check()
    assert (code, document["errors"]) == (0, 0)
    looked = {one["check"] for one in document["findings"]}
    assert looked >= {
        "address", "directory", "disk space", "file system", "open files", "start",
        "temporary files", "versions", "workers",
    }  # fmt: skip
    assert any("SQLite" in message for message in find(document, "versions", "fine"))


def test_settings_that_cannot_be_read_are_findings_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("Server__Workers", "many")
    monkeypatch.setenv("Server__Bnid", "x")
    code, document = check()
    assert (code, document["errors"]) == (1, 2)
    assert any("Did you mean Server__Bind?" in text for text in find(document, "settings", "error"))


@contextmanager
def listening(answer: bytes) -> Iterator[str]:
    """An address at which a program of one thread gives the same answer to all."""
    with socket.create_server(("127.0.0.1", 0)) as taken:

        def run() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = taken.accept()
                    with connection:
                        connection.recv(65536)
                        connection.sendall(answer)

        thread = start(run)
        try:
            yield f"127.0.0.1:{taken.getsockname()[1]}"
        finally:
            taken.shutdown(socket.SHUT_RDWR)
            join(thread)


def build_answer(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


@pytest.mark.parametrize(
    ("answer", "code"),
    [(build_answer(b'{"status":"live"}'), 0), (build_answer(b"another"), 1), (b"SSH-2.0\r\n", 1)],
)
def test_an_address_in_use_is_an_error_unless_a_service_of_ours_answers_there(
    monkeypatch: pytest.MonkeyPatch, answer: bytes, code: int
) -> None:
    with listening(answer) as address:
        monkeypatch.setenv("Server__Bind", address)
        found, document = check("--offline")
        assert (found, len(find(document, "address", "error"))) == (code, code)


def test_an_address_of_another_machine_is_said_to_be_none_of_this_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("Server__Bind", "192.0.2.1:8080")
    monkeypatch.setenv("Authentication__AllowAnonymous", "true")
    code, document = check("--offline")
    assert code == 1
    (fix,) = [one["fix"] for one in document["findings"] if one["severity"] == "error"]
    assert "an address of this machine" in fix


def test_metrics_need_an_address_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("Metrics__Enabled", "true")
    bind = load_installation().settings.server.bind
    monkeypatch.setenv("Metrics__Bind", bind)
    code, document = check("--offline")
    assert code == 1
    assert "are one address" in find(document, "address", "error")[0]
    with listening(b"") as address:
        monkeypatch.setenv("Metrics__Bind", address)
        code, document = check("--offline")
        assert code == 1
        assert find(document, "address", "error")[0].startswith(f"Metrics__Bind={address}: ")
    monkeypatch.setenv("Metrics__Bind", address)
    assert check("--offline")[0] == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "No such file"),
        ("nonsense", "keys.json"),
        ('{"keys":[]}', "no"),
        ('{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}', "no"),
    ],
)
def test_a_file_of_keys_without_keys_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str | None, reason: str
) -> None:
    file = tmp_path / "keys.json"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    monkeypatch.setenv("Authentication__Enabled", "true")
    monkeypatch.setenv("Authentication__Audience", "https://twins.example")
    monkeypatch.setenv("Authentication__Issuer", "https://login.example")
    monkeypatch.setenv("Authentication__KeysFile", str(file))
    code, document = check("--offline")
    assert code == 1
    (message,) = find(document, "issuer", "error")
    assert reason in message
    assert str(file) in message
    file.write_text(json.dumps(TokenFactory().jwks()), encoding="utf-8")
    code, document = check("--offline")
    assert (code, len(find(document, "issuer", "fine"))) == (0, 1)


def test_a_database_whose_pages_are_damaged_is_an_error(tmp_path: Path) -> None:
    assert check("--offline")[0] == 0
    database = tmp_path / "data" / "default.db"
    content = bytearray(database.read_bytes())
    content[5 * 4096 : 11 * 4096] = bytes(6 * 4096)
    database.write_bytes(content)
    code, document = check("--offline")
    assert code == 1
    (finding,) = [one for one in document["findings"] if one["severity"] == "error"]
    assert str(database) in finding["message"]
    assert "twinframe verify" in finding["fix"]


def test_an_issuer_that_does_not_answer_is_an_error_unless_offline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("Authentication__Enabled", "true")
    monkeypatch.setenv("Authentication__Audience", "https://twins.example")
    monkeypatch.setenv("Authentication__Authority", "http://127.0.0.1:9")
    code, document = check()
    assert code == 1
    (message,) = find(document, "issuer", "error")
    assert "http://127.0.0.1:9" in message
    assert check("--offline")[0] == 0


@pytest.mark.parametrize(
    ("answer", "severity", "said"),
    [
        ({"keys": []}, "error", "gives 0 keys: every token is refused"),
        ({"keys": [{"kty": "oct"}]}, "error", "gives 0 keys (and 1 that are of no use)"),
        ({"keys": [public_jwk("ed"), None]}, "fine", "gives 1 key (and 1 that are of no use)."),
        ({"keys": [], "x": "y" * MAX_SET_BYTES}, "error", f"more than {MAX_SET_BYTES} bytes"),
    ],
    ids=["none", "none of use", "some of use", "too long"],
)
def test_what_keys_the_issuer_gives_is_said(
    monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any], severity: str, said: str
) -> None:
    with LyingIssuer() as issuer:
        issuer.publish(answer)
        monkeypatch.setenv("Authentication__Enabled", "true")
        monkeypatch.setenv("Authentication__Audience", "https://twins.example")
        monkeypatch.setenv("Authentication__Authority", issuer.url)
        code, document = check()
    assert code == (severity == "error")
    (message,) = find(document, "issuer", severity)
    assert said in message


def test_a_permission_service_that_does_not_answer_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("Authentication__Enabled", "true")
    monkeypatch.setenv("Authentication__Audience", "https://twins.example")
    monkeypatch.setenv("Authentication__Authority", "http://127.0.0.1:9")
    monkeypatch.setenv("Authorization__Provider", "Api")
    monkeypatch.setenv("Authorization__ApiProvider__BaseUrl", "http://127.0.0.1:9")
    monkeypatch.setenv("Authorization__ApiProvider__BearerToken", "changeme")
    code, document = check()
    assert code == 1
    assert len(find(document, "reachability", "error")) == 1
    assert any("BearerToken" in text for text in find(document, "secrets", "error"))
    assert "changeme" not in json.dumps(document)


def test_a_file_with_secrets_that_others_may_read_is_a_warning(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"Secrets":{"TokenKey":"hJ0cF1vYb7dXq2sLw5oPz8tRk3"}}', encoding="utf-8")
    config.chmod(0o644)
    code, document = check("--config", str(config))
    assert code == 0
    assert len(find(document, "secrets", "warning")) == 1
    config.chmod(0o600)
    assert find(check("--config", str(config))[1], "secrets", "warning") == []


def test_traces_to_nowhere_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("Traces__Enabled", "true")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    code, document = check()
    assert code == 0
    assert len(find(document, "traces", "warning")) == 1
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "jaeger")
    code, document = check()
    assert code == 1
    assert "jaeger" in find(document, "traces", "error")[0]


def test_people_read_the_worst_first_with_what_mends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("Secrets__TokenKey", "secret")
    monkeypatch.setenv("Storage__Sqlite__Durability", "relaxed")
    result = CliRunner().invoke(main, ["check", "--verbose"])
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert lines[0] == "twinframe: Secrets__TokenKey is easily guessed."
    assert lines[1] == "    Take a random one: openssl rand -base64 32"
    assert any(
        line.startswith("warning: Storage__Sqlite__Durability=relaxed") for line in lines[2:]
    )
    assert "fine: SQLite" in result.stdout
    assert "Everything is in order" not in result.stdout


def test_endpoints_of_events_that_cannot_be_opened_are_warned_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, key, value in (
        ("lines", "Type", "log"),
        ("alarms", "Type", "webhook"),
        ("alarms", "Url", "https://127.0.0.1:1/in?code=s3cret"),
        ("broker", "Type", "mqtt"),
        ("broker", "Host", "127.0.0.1"),
        ("broker", "CertificateAuthority", "/none/ca.pem"),
        ("tables", "Type", "parquet"),
        ("tables", "Location", "/dev/null/tables"),
    ):
        monkeypatch.setenv(f"Events__Endpoints__{name}__{key}", value)
    code, document = check()
    assert code == 0
    assert find(document, "events", "fine") == ["The endpoint lines can be opened."]
    alarms, broker, tables = sorted(find(document, "events", "warning"))
    assert "alarms cannot be opened: https://127.0.0.1:1 cannot be reached" in alarms
    assert "CertificateAuthority /none/ca.pem cannot be used: No such file" in broker
    assert "Location /dev/null/tables cannot be written to: Not a directory" in tables
    assert "events wait for it, up to Events__UndeliveredBytes" in str(document)
    assert "s3cret" not in str(document)
    _, document = check("--offline")
    assert find(document, "events", "warning") == []


@pytest.mark.parametrize(
    ("variables", "warned"),
    [
        ({}, True),
        ({"Server__PublicUrl": "https://twins.example"}, False),
        ({"MCP__ResourceServerUrl": "https://twins.example/mcp"}, False),
        ({"MCP__AllowedHosts__0": "twins.example"}, False),
    ],
)
def test_a_service_that_others_reach_without_a_name_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], warned: bool
) -> None:
    monkeypatch.setenv("Server__Bind", "0.0.0.0:0")
    monkeypatch.setenv("Authentication__AllowAnonymous", "true")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = find(check("--offline")[1], "address", "warning")
    assert any("No name of the service" in message for message in found) == warned


@pytest.mark.parametrize(
    ("environment", "part"),
    [
        ({"Control__Enabled": "true"}, "Platform.Graph"),
        ({"Control__Bind": "127.0.0.1:8083"}, "Platform.Graph"),
        ({"Control__Enabled": "true", "Control__Provision": "false"}, ""),
        (
            {"Control__Enabled": "true", "Hosting__Enabled": "true"},
            "Authorization__Provider=Claims",
        ),
        ({"Hosting__Enabled": "true"}, "Authorization__Provider=Claims"),
        ({"Hosting__Enabled": "true", "Authentication__Mode": "ApiKey"}, "API key permits"),
        ({"Hosting__Enabled": "true", "Authorization__Provider": "Api"}, ""),
        ({}, ""),
    ],
)
def test_hosting_that_is_off_or_shares_its_permissions_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, environment: dict[str, str], part: str
) -> None:
    whole = {
        "Authentication__Enabled": "true",
        "Authentication__Authority": "http://127.0.0.1:9",
        "Authentication__Audience": "twinframe",
        "Authorization__ApiProvider__BaseUrl": "http://127.0.0.1:9",
        "Hosting__Directory": str(tmp_path / "hosting"),
        **environment,
    }
    if whole.get("Authorization__Provider") != "Api":
        del whole["Authorization__ApiProvider__BaseUrl"]
    for name, value in whole.items():
        monkeypatch.setenv(name, value)
    _code, document = check("--offline")
    told = [text for text in find(document, "settings", "warning") if "Hosting__Enabled" in text]
    assert len(told) == bool(part), told
    assert all(part in text for text in told)


def test_how_many_points_there_are_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert find(check()[1], "points", "fine") == []
    installation = load_installation()
    store = installation.find_point_store(installation.build_store())
    assert store is not None
    points = Points()
    points.add("a", "t", 1, 2.5)
    store.write(points)
    store.close()
    (text,) = find(check()[1], "points", "fine")
    assert "in 0 blocks; 1 are to become blocks" in text
    monkeypatch.setattr("twinframe.service.examination._MANY_FRESH", 1)
    assert len(find(check()[1], "points", "warning")) == 1
    path = next(tmp_path.rglob("points.db"))
    path.write_bytes(b"x" * 40_000)
    assert "are damaged" in find(check()[1], "plugins", "error")[0]


def test_models_of_kept_telemetry_that_are_not_stored_are_warned_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("History__Telemetry", "dtmi:nope:X;1 dtmi:nope:X dtmi:test:Room;1")
    store = load_installation().build_store()
    store.open()
    store.write([lambda transaction: transaction.put_models([build_model_record("Room")])])
    store.close()
    code, document = check("--offline")
    assert code == 0
    assert find(document, "history", "warning") == [
        "History__Telemetry names dtmi:nope:X;1, a model that is not stored.",
        "History__Telemetry names dtmi:nope:X, a model that is not stored.",
    ]
    monkeypatch.setenv("History__Telemetry", "all")
    assert find(check("--offline")[1], "history", "warning") == []


def test_a_damaged_store_is_no_second_error_where_models_of_kept_telemetry_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert check("--offline")[0] == 0
    next(tmp_path.rglob("default.db")).write_bytes(b"x" * 40_000)
    _, without = check("--offline")
    assert without["errors"]
    monkeypatch.setenv("History__Telemetry", "dtmi:nope:X;1")
    assert check("--offline")[1]["errors"] == without["errors"]
