"""`twinframe check`: what it finds in a whole installation, how it says it, how it ends."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from twinframe.cli import main


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("Storage__Sqlite__Directory", str(tmp_path / "data"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        monkeypatch.setenv("Server__Bind", f"127.0.0.1:{probe.getsockname()[1]}")


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


def test_an_address_in_use_is_a_warning_since_it_may_be_our_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setenv("Server__Bind", f"127.0.0.1:{taken.getsockname()[1]}")
        code, document = check()
        assert code == 0
        assert len(find(document, "address", "warning")) == 1
        assert check("--strict")[0] == 1


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
    assert lines[2].startswith("warning: Storage__Sqlite__Durability=relaxed")
    assert "fine: SQLite" in result.stdout
    assert "Everything is in order" not in result.stdout
