"""The commands that only read: what they print, and how they end."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.house.pages.commands import render_commands_page
from twinframe.cli import main
from twinframe.cli.demo import build_url
from twinframe.errors import ConfigurationError
from twinframe.settings import ServerSettings, TlsSettings


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("Storage__Sqlite__Directory", str(tmp_path / "data"))


def run(*args: str) -> Result:
    return CliRunner().invoke(main, list(args))


def test_check_says_that_everything_is_in_order() -> None:
    result = run("check")
    assert result.exit_code == 0
    assert result.stdout.startswith("Everything is in order")


def test_check_tells_every_wrong_setting_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("Storage__Sqlite__Durabilty", "full")
    monkeypatch.setenv("Server__Workers", "many")
    result = run("check")
    assert result.exit_code == 1
    assert result.stdout == ""
    first, second = result.stderr.splitlines()
    assert first.endswith("Did you mean Storage__Sqlite__Durability?")
    assert second.startswith("twinframe: Server__Workers = 'many'")


def test_check_warns_of_an_open_door_and_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("Server__Bind", "0.0.0.0:80")
    assert "Authentication__AllowAnonymous=true" in run("check").stderr
    monkeypatch.setenv("Authentication__AllowAnonymous", "true")
    result = run("check")
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: Server__Bind=0.0.0.0:80")


def test_check_tells_a_store_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("", encoding="utf-8")
    result = run("check")
    assert result.exit_code == 1
    assert str(tmp_path / "data") in result.stderr


def test_plugins_lists_what_is_installed_and_what_is_in_use() -> None:
    result = run("plugins", "--json")
    listed = {(p["group"], p["name"]): p for p in json.loads(result.stdout)}
    assert listed["twinframe.storage", "sqlite"]["active"] is True
    assert listed["twinframe.storage", "rdf"]["active"] is False
    assert listed["twinframe.permission_provider", "Claims"] == {
        "group": "twinframe.permission_provider",
        "name": "Claims",
        "distribution": "twinframe-auth-claims",
        "version": "0.1.0",
        "active": False,
    }
    assert "twinframe-storage-sqlite" in run("plugins").stdout


def test_plugins_lists_though_the_settings_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("Storage__Provider", "lake")
    result = run("plugins", "--json")
    assert result.exit_code == 0
    assert {plugin["active"] for plugin in json.loads(result.stdout)} == {None}
    assert "'lake'" in result.stderr


def test_settings_prints_values_with_sources_and_masks_secrets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("Secrets__TokenKey", "hush-hush")
    file = tmp_path / "twinframe.json"
    file.write_text('{"graph": {"pagesize": 7}}', encoding="utf-8")
    result = run("settings", "--config", str(file), "--json")
    found = json.loads(result.stdout)
    assert found["Graph__PageSize"] == {"value": 7, "source": f"{file}#/graph/pagesize"}
    assert found["Secrets__TokenKey"]["value"] == "***"
    assert found["Storage__Sqlite__Directory"]["value"] == str(tmp_path / "data")
    assert "hush" not in result.output + run("settings", "--config", str(file)).output


def test_a_table_is_never_cut_off_when_it_is_no_terminal() -> None:
    lines = run("settings").stdout.splitlines()
    (line,) = [line for line in lines if "Storage__Sqlite__Directory" in line]
    assert line.split()[-2:] == ["environment", "Storage__Sqlite__Directory"]


def test_query_prints_rows_as_a_table_or_as_json_lines() -> None:
    text = "UNWIND [2, 3] AS n RETURN n, n * $by AS m, 'x' AS t"
    table = run("query", text, "--param", "by=10")
    assert [line.split() for line in table.stdout.splitlines()[-3:-1]] == [
        ["2", "20", "x"],
        ["3", "30", "x"],
    ]
    assert "2 rows" in table.stderr
    lines = run("query", text, "--param", "by=10", "--json").stdout.splitlines()
    assert [json.loads(line) for line in lines] == [
        {"n": 2, "m": 20, "t": "x"},
        {"n": 3, "m": 30, "t": "x"},
    ]


def test_query_reads_all_pages_up_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("Query__PageSize", "3")
    monkeypatch.setenv("Query__MaxPageSize", "4")
    text = "UNWIND range(1, 20) AS n RETURN n"
    everything = run("query", text, "--json").stdout.splitlines()
    assert [json.loads(line)["n"] for line in everything] == list(range(1, 21))
    some = run("query", text, "--json", "--limit", "10").stdout.splitlines()
    assert some == everything[:10]


def test_a_query_warns_of_unknown_names_beside_its_rows() -> None:
    result = run("query", "MATCH (n:Nothing) RETURN n", "--json")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("warning: line 1, column 10: No stored model knows the label")


def test_a_wrong_query_is_told_with_its_place() -> None:
    result = run("query", "MATCH (n RETURN n")
    assert result.exit_code == 1
    assert result.stderr.startswith("twinframe: ")
    assert result.stderr.splitlines()[-1].strip() == "^"


def test_a_parameter_is_read_as_the_service_reads_it() -> None:
    parameter = f"by=[1{'0' * 19}, {2**63 - 1}]"
    result = run("query", "UNWIND $by AS x RETURN x", "--param", parameter, "--json")
    assert [json.loads(line)["x"] for line in result.stdout.splitlines()] == [1e19, 2**63 - 1]


@pytest.mark.parametrize("param", ["by", "=1", "by=text", "by=[1", "by=", 'by={"a":1,"a":2}'])
def test_a_parameter_that_is_not_name_and_json_is_refused(param: str) -> None:
    result = run("query", "RETURN $by AS x", "--param", param)
    assert result.exit_code == 2
    assert "--param" in result.stderr


def test_a_parameter_given_twice_is_refused() -> None:
    result = run("query", "RETURN $a AS x", "--param", "a=1", "--param", "a=2")
    assert result.exit_code == 2
    assert "a is given twice" in result.stderr


def test_explain_prints_the_plan_and_what_the_store_runs() -> None:
    result = run("explain", "MATCH (t:Twin) RETURN count(t) AS n")
    assert "Aggregate" in result.stdout
    assert "sqlite runs:" in result.stdout
    assert "SELECT" in result.stdout
    text = "MATCH (t:Twin {`$dtId`: 'x'}) RETURN t.name AS name"
    assert "indexes: sqlite_autoindex_twin_1" in run("explain", text).stdout
    document = json.loads(run("explain", text, "--json").stdout)
    assert set(document) == {"plan", "pushed", "operators"}
    assert document["pushed"][0]["indexes"] == ["sqlite_autoindex_twin_1"]


def test_profile_prints_the_plan_with_what_its_operators_did() -> None:
    text = "MATCH (t:Twin) WITH t.name AS n WHERE n > '' RETURN count(n) AS n"
    printed = run("profile", text).stdout
    assert re.search(r"Match  \[\d+ rows?, [\d.]+ ms\]", printed)
    assert "sqlite runs:" in printed
    assert "\nCounted by a statement of its own.\n" in printed
    document = json.loads(run("profile", text, "--json").stdout)
    assert set(document) == {"plan", "pushed", "operators", "engine", "rows", "milliseconds"}
    assert (document["engine"], document["rows"]) == ("sqlite", 1)


def test_verify_says_that_the_graph_is_sound() -> None:
    result = run("verify")
    assert result.exit_code == 0
    assert "is sound" in result.stdout


def test_verify_compares_a_backup_with_its_digest(tmp_path: Path) -> None:
    backup = tmp_path / "own.backup"
    assert run("backup", "--to", str(backup)).exit_code == 0
    assert "is what it was when it was made" in run("verify", "--backup", str(backup)).output
    content = bytearray(backup.read_bytes())
    content[len(content) // 2] ^= 1
    backup.write_bytes(content)
    result = run("verify", "--backup", str(backup))
    assert result.exit_code != 0
    assert "its content is not what it was" in result.output
    backup.write_bytes(content[: len(content) // 512 * 512])
    result = run("verify", "--backup", str(backup))
    assert result.exit_code == 1
    assert "has no digest" in result.output


def test_verify_fails_for_a_damaged_file(tmp_path: Path) -> None:
    assert run("verify").exit_code == 0
    (file,) = [path for path in (tmp_path / "data").iterdir() if path.suffix == ".db"]
    body = bytearray(file.read_bytes())
    body[4096:] = b"\xff" * (len(body) - 4096)
    file.write_bytes(bytes(body))
    result = run("verify")
    assert result.exit_code == 1
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.stderr.startswith("twinframe: ")


def test_every_command_has_its_place_on_the_committed_page() -> None:
    page = Path(__file__).parents[3] / "docs/reference/commands.md"
    text = page.read_text(encoding="utf-8")
    assert text == render_commands_page(), "run: make docs"
    assert all(re.search(rf"^## {name}( \w+)?$", text, re.MULTILINE) for name in main.commands)


def test_check_points_at_environment_keys_that_almost_name_a_section(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("Sever__Bind", "0.0.0.0:80")
    result = run("check")
    assert result.exit_code == 0
    assert "warning: Sever__Bind is passed over. Did you mean Server__Bind?" in result.stderr


@pytest.mark.parametrize(
    ("bind", "url"),
    [
        ("127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("0.0.0.0:81", "http://127.0.0.1:81"),
        ("[::]:81", "http://[::1]:81"),
    ],
)
def test_the_demo_knows_where_its_service_is(bind: str, url: str) -> None:
    assert build_url(ServerSettings(bind=bind)) == url


def test_the_demo_refuses_what_its_client_cannot_reach() -> None:
    tls = TlsSettings(certificate="chain.pem", key="key.pem")
    for server in (ServerSettings(tls=tls), ServerSettings(bind="unix:/run/x")):
        with pytest.raises(ConfigurationError, match="plain HTTP to a port"):
            build_url(server)


def test_the_demo_wants_a_port_of_its_own_choice() -> None:
    with pytest.raises(ConfigurationError, match=r"such as 127\.0\.0\.1:8080"):
        build_url(ServerSettings(bind="127.0.0.1:0"))


@pytest.mark.parametrize("text", ["MATCH (n", "SELECT T FROM"])
def test_the_place_in_a_wrong_query_is_shown_once(text: str) -> None:
    result = run("query", text)
    assert result.exit_code == 1
    assert result.stderr.splitlines().count(text) == 1
