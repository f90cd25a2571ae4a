"""The commands of access: API keys, clients, tokens, and what stops the token server's start."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.waiting import join, start
from twinframe.cli.grants import parse_duration, parse_grants
from twinframe.cli.main import main
from twinframe.errors import InvalidArgument
from twinframe.http.access import list_permissions
from twinframe.http.routes import ROUTES

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a command with its files in `tmp_path`."""

    def call(*arguments: str, text: str = "", **environment: str) -> Result:
        settings = {
            "Authentication__ApiKeys__File": str(tmp_path / "keys.sqlite"),
            "TokenServer__Directory": str(tmp_path / "auth"),
            "TokenServer__Audiences": '["twinframe"]',
        }
        return CliRunner().invoke(main, list(arguments), input=text, env=settings | environment)

    return call


def test_a_key_is_shown_once_and_listed_without_its_secret(run: Run) -> None:
    made = run(
        "apikey", "create", "--name", "ci", "--permission", "query/action", "--expires", "90d"
    )
    assert made.stdout.startswith("tfk_")
    assert "only time" in made.stderr
    [listed] = json.loads(run("apikey", "list", "--json").stdout)
    assert listed["permissions"] == ["query/read"]
    assert listed["expires"] - listed["created"] == 90 * 86400
    assert (listed["name"], listed["state"]) == ("ci", "valid")
    secret = made.stdout.strip().rpartition("_")[2]
    for options in ((), ("--json",)):
        shown = run("apikey", "list", *options).stdout
        assert listed["id"] in shown
        assert secret not in shown
    assert run("apikey", "revoke", listed["id"]).exit_code == 0
    assert json.loads(run("apikey", "list", "--json").stdout)[0]["state"] == "revoked"


def test_a_key_as_json_is_shown_with_what_it_may_do(run: Run) -> None:
    made = run("apikey", "create", "--name", "a", "--permission", "models/*", "--json")
    document = json.loads(made.stdout)
    assert document["key"].startswith(f"tfk_{document['id']}_")
    assert (document["permissions"], document["expires"]) == (["models/*"], None)


def test_a_client_is_added_listed_rotated_and_removed(run: Run) -> None:
    added = json.loads(
        run(
            "client", "add", "demo", "--permission", "mcp/*", "--scope", "mcp:tools", "--json"
        ).stdout
    )
    rotated = json.loads(run("client", "rotate", added["client_id"], "--json").stdout)
    assert rotated["client_id"] == added["client_id"]
    assert rotated["client_secret"] != added["client_secret"]
    for options in ((), ("--json",)):
        shown = run("client", "list", *options).stdout
        assert added["client_id"] in shown
        assert added["client_secret"] not in shown
        assert rotated["client_secret"] not in shown
    [listed] = json.loads(run("client", "list", "--json").stdout)
    assert (listed["permissions"], listed["scopes"]) == (["mcp/*"], ["mcp:tools"])
    assert run("client", "remove", added["client_id"]).exit_code == 0
    assert json.loads(run("client", "list", "--json").stdout) == []
    text = run("client", "add", "plain").stdout.split()
    assert (text[0], text[2], len(text[3])) == ("client_id", "client_secret", 64)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("client", "add", "x", "--permission", "digitaltwin/read"), "Did you mean digitaltwins/"),
        (("client", "add", "x", "--permission", "*/*"), "is no permission"),
        (("client", "add", "x", "--permission", "mcp/tools"), "Did you mean mcp/*?"),
        (("client", "add", "x", "--scope", "two words"), "is no scope"),
        (("client", "add", "x", "--audience", "other"), "There are twinframe"),
        (("client", "add", "\x1b[31m"), "printable"),
        (("client", "add", " "), "printable"),
        (("client", "rotate", "nobody"), "client list"),
        (("client", "rotate", "nobody", "--overlap", "soon"), "is no duration"),
        (("client", "remove", "nobody"), "client list"),
        (("apikey", "create", "--name", "x", "--permission", "models"), "is no permission"),
        (("apikey", "create", "--name", "x", "--permission", "models/*", "--expires", "0d"), "90d"),
        (("apikey", "revoke", "nobody"), "apikey list"),
    ],
)
def test_the_commands_say_what_would_be_right_and_make_nothing(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = run(*arguments)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_every_permission_of_the_route_table_can_be_granted() -> None:
    known = {str(permission) for permission in list_permissions(ROUTES)}
    assert set(parse_grants(sorted(known))) == known
    wildcards = {f"{permission.split('/')[0]}/*" for permission in known} | {"mcp/*"}
    assert set(parse_grants(sorted(wildcards))) == wildcards


@pytest.mark.parametrize(("text", "seconds"), [("1s", 1), ("90m", 5400), ("2w", 1209600)])
def test_durations_have_one_unit(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "1", "d", "-1d", "0d", "1.5h", "1d12h", "1D", "1 d", "\u0661d", "9999999s", "99999w"],
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="such as 90d"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"TokenServer__Bind": "0.0.0.0:1"}, "TokenServer__Issuer"),
        (
            {"TokenServer__Bind": "192.0.2.1:1"},
            "TokenServer__Tls__Certificate",
        ),
        ({"TokenServer__Audiences": "[]"}, "TokenServer__Audiences must name"),
        ({"TokenServer__Issuer": "http://auth.example"}, "https://"),
        ({"TokenServer__Issuer": "https://auth.example?x"}, "no query"),
        (
            {"TokenServer__Tls__Certificate": "/none", "TokenServer__Tls__Key": "/none"},
            "TokenServer__Tls__Certificate=/none: No such file",
        ),
        ({"TokenServer__Directory": "/proc/none"}, "/proc/none"),
        ({"TokenServer__Algorithm": "HS256"}, "ES256"),
    ],
)
def test_settings_the_token_server_cannot_serve_with_stop_it_with_a_line(
    run: Run, environment: dict[str, str], said: str
) -> None:
    done = run("auth-server", **environment)
    assert done.exit_code == 1
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_keys_that_others_can_read_stop_the_token_server(run: Run, tmp_path: Path) -> None:
    assert run("auth-server", "--rotate-key").exit_code == 0
    (tmp_path / "auth" / "keys.json").chmod(0o640)
    done = run("auth-server")
    assert done.exit_code == 1
    assert "is open to others (mode 0640)" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "secret", "said"),
    [
        ((), "", "No client secret"),
        (("--endpoint", "http://auth.example/oauth/token"), "x", "must be an https:// URL"),
        (("--endpoint", "ftp://127.0.0.1/"), "x", "must be an https:// URL"),
        (("--endpoint", "http://127.0.0.1:1/oauth/token"), "x", "does not answer"),
    ],
)
def test_the_command_token_says_in_a_line_why_there_is_none(
    run: Run, arguments: tuple[str, ...], secret: str, said: str
) -> None:
    known = {"TWINFRAME_CLIENT_ID": "id", "TWINFRAME_CLIENT_SECRET": secret}
    done = run("token", *arguments, **known)
    assert (done.exit_code, done.stdout) == (1, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_secret_is_no_option_of_the_command_token() -> None:
    command = main.commands["token"]
    names = [name for parameter in command.params for name in parameter.opts]
    assert "--secret-stdin" in names
    assert not any("secret" in name and name != "--secret-stdin" for name in names)


@contextmanager
def endpoint(status: int, body: bytes, location: str = "") -> Iterator[tuple[str, list[str]]]:
    """A token endpoint that answers as told; the paths it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(f"POST {self.path}")
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            asked.append(f"GET {self.path}")
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            """Quiet."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = start(server.serve_forever)
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/oauth/token", asked
        finally:
            server.shutdown()
            join(thread)


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (401, b'{"error": "invalid_client", "error_description": "No."}', "invalid_client. No."),
        (400, b'{"error": "invalid_target"}', "refuses: invalid_target."),
        (400, b"<html>", "answers 400 and is no token endpoint"),
        (500, b"[]", "answers 500 and is no token endpoint"),
        (200, b"<html>", "answers with no token"),
        (200, b'{"access_token": 5}', "answers with no token"),
        (200, b"", "answers with no token"),
    ],
)
def test_an_endpoint_that_gives_no_token_is_told_in_a_line(
    run: Run, status: int, body: bytes, said: str
) -> None:
    with endpoint(status, body) as (url, _asked):
        done = run(
            "token", "--endpoint", url, "--client-id", "a", "--secret-stdin", text="very secret\n"
        )
    assert (done.exit_code, done.stdout) == (1, "")
    assert said in done.stderr
    assert "very secret" not in done.stderr


def test_a_redirect_is_not_followed_with_a_secret(run: Run) -> None:
    for status in (301, 302, 303, 307, 308):
        with endpoint(status, b"", location="/elsewhere") as (url, asked):
            done = run("token", "--endpoint", url, "--client-id", "a", TWINFRAME_CLIENT_SECRET="x")
        assert done.exit_code == 1
        assert asked == ["POST /oauth/token"]


def test_the_environments_proxy_does_not_see_a_secret_for_this_machine(run: Run) -> None:
    with endpoint(502, b"") as (proxy, seen), endpoint(200, b'{"access_token": "t"}') as (url, _):
        known = {"TWINFRAME_CLIENT_SECRET": "x", "http_proxy": proxy, "no_proxy": ""}
        done = run("token", "--endpoint", url, "--client-id", "a", **known)
    assert (done.stdout, seen) == ("t\n", [])


def test_a_token_that_is_no_jwt_is_printed_but_not_decoded(run: Run) -> None:
    with endpoint(200, b'{"access_token": "opaque"}') as (url, _asked):
        options = ("token", "--endpoint", url, "--client-id", "a", "--secret-stdin")
        assert run(*options, text="x").stdout == "opaque\n"
        done = run(*options, "--decode", text="x")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "is no JWT" in done.stderr
