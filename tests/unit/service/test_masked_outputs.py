"""Every way out for people: settings, findings, problems, the three logs. None shows a secret."""

from __future__ import annotations

import json
import logging
import sys

import pytest
from click.testing import CliRunner

from twinframe.access.gate import AuditEntry, RequestInfo
from twinframe.cli import main
from twinframe.cli.console import write_problems
from twinframe.http.line_log import AccessEntry, render_entry, render_json, render_line
from twinframe.runtime.diagnosis.findings import build_error, build_fine, build_warning
from twinframe.service.logs import JsonFormatter, TextFormatter

TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"
URL = "http://me:hunter2@sparql.internal:8890/sparql?key=hunter3"
SECRETS = ("hunter2", "hunter3", "c2lnbmF0dXJl")


def check_hidden(text: str) -> None:
    assert text
    for secret in SECRETS:
        assert secret not in text


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["table", "JSON"])
def test_settings_show_no_secret_of_a_url(
    monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.setenv("Storage__Rdf__QueryUrl", URL)  # checked only for the engine that has one
    monkeypatch.setenv("Events__Endpoints__hook__Type", "webhook")
    monkeypatch.setenv("Events__Endpoints__hook__Url", "https://host/in?code=hunter3")
    monkeypatch.setenv("Jobs__Buckets__0", "s3://id:hunter2@bucket/folder")
    result = CliRunner().invoke(main, ["settings", *options])
    assert result.exit_code == 0, result.output
    check_hidden(result.output)
    assert "http://***@sparql.internal:8890/sparql?key=***" in result.output
    assert "s3://***@bucket/folder" in result.output


def test_findings_show_no_secret_of_a_url() -> None:
    for build in (build_error, build_warning):
        finding = build("reachability", f"QueryUrl={URL} does not answer.", f"Look at {URL}.")
        check_hidden(finding.message + finding.fix)
    check_hidden(build_fine("reachability", f"{URL} answers.").message)


def test_problems_of_commands_show_no_secret_of_a_url(capsys: pytest.CaptureFixture[str]) -> None:
    write_problems([f"{URL} cannot be reached."])
    check_hidden(capsys.readouterr().err)


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()], ids=["JSON", "text"])
def test_the_log_shows_no_secret_of_a_url_and_no_token(formatter: logging.Formatter) -> None:
    error = None
    try:
        int(f"{URL} with {TOKEN}")
    except ValueError:
        error = sys.exc_info()
    record = logging.LogRecord("x", 30, __file__, 1, "%s shows %s", (URL, TOKEN), error)
    record.url = URL
    text = formatter.format(record)
    check_hidden(text)
    assert text.count("sparql.internal") == 3
    assert "Traceback" in text


def test_the_logs_of_requests_show_no_token_of_a_path() -> None:
    path = f"/digitaltwins/{TOKEN}"
    entry = AccessEntry(0.0, 0.1, "GET", path.encode(), 404, 1, b"id", "192.0.2.1")
    for render in (render_json, render_line):
        check_hidden(render(entry).decode())
    assert json.loads(render_json(entry))["path"] == "/digitaltwins/***"
    request_info = RequestInfo(f"GET {path}", "id", "192.0.2.1")
    line = render_entry(AuditEntry(0.0, False, "", "", request_info, "", "no")).decode()
    check_hidden(line)
    assert json.loads(line)["action"] == "GET /digitaltwins/***"
