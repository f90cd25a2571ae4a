"""The token server over a socket: restarts, rotation, two at once, kills, reloads, `token`."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import jwt
import pytest

from tests.e2e.server import Certificates
from tests.e2e.token_server import AUDIENCE, Registered, TokenProcess


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenProcess]:
    """One token server for the tests that change nothing of it."""
    with TokenProcess(tmp_path_factory.mktemp("tokens")) as running:
        yield running
    assert "Traceback" not in running.log.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def client(server: TokenProcess) -> Registered:
    return server.add_client("reader", "digitaltwins/read")


def test_a_client_that_is_added_gets_tokens_at_once(server: TokenProcess) -> None:
    added = server.add_client("new", "models/*")
    claims = server.verify(server.get_token(added))
    assert claims["permissions"] == ["models/*"]
    assert claims["sub"] == f"{added.client_id}@clients"
    status, _headers, document = server.request("GET", "/.well-known/oauth-authorization-server")
    assert (status, document["issuer"]) == (200, claims["iss"])


def test_the_head_of_a_refusal_is_as_the_standards_say(
    server: TokenProcess, client: Registered
) -> None:
    status, headers, answer = server.ask(Registered(client.client_id, "0" * 64))
    assert (status, answer["error"]) == (401, "invalid_client")
    assert headers["www-authenticate"].startswith("Basic realm=")
    assert headers["cache-control"] == "no-store"


def test_rotated_secrets_overlap_only_when_asked(server: TokenProcess) -> None:
    first = server.add_client("rotated")
    done = server.run("client", "rotate", first.client_id, "--overlap", "1h", "--json")
    second = Registered(**json.loads(done.stdout))
    assert [server.ask(one)[0] for one in (first, second)] == [200, 200]
    done = server.run("client", "rotate", first.client_id, "--json")
    third = Registered(**json.loads(done.stdout))
    assert [server.ask(one)[0] for one in (first, second, third)] == [401, 401, 200]
    assert server.run("client", "remove", first.client_id).exit_code == 0
    assert server.ask(third)[0] == 401


def test_tokens_and_clients_survive_restart_and_kill(tmp_path: Path) -> None:
    server = TokenProcess(tmp_path)
    with server:
        client = server.add_client("kept")
        tokens = [server.get_token(client)]
        assert server.stop() == 0
        server.start()
        tokens.append(server.get_token(client))
        server.kill()
        server.start()
        tokens.append(server.get_token(client))
        for token in tokens:
            server.verify(token)
        kids = {jwt.get_unverified_header(token)["kid"] for token in tokens}
        assert len(kids) == 1
    modes = {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "auth").iterdir()}
    assert modes == {0o600}


def test_a_rotation_by_hand_is_followed_and_old_tokens_stay_valid(tmp_path: Path) -> None:
    with TokenProcess(tmp_path) as server:
        client = server.add_client("one")
        tokens = [server.get_token(client)]
        for _ in range(3):
            assert server.run("auth-server", "--rotate-key").exit_code == 0
            tokens.append(server.get_token(client))
        assert len({jwt.get_unverified_header(token)["kid"] for token in tokens}) == 4
        for token in tokens:
            server.verify(token)


def test_two_servers_on_one_directory_agree(tmp_path: Path) -> None:
    with TokenProcess(tmp_path) as one, TokenProcess(tmp_path) as two:
        client = one.add_client("shared")
        for _ in range(2):
            for issuer, other in ((one, two), (two, one)):
                other.verify(issuer.get_token(client))
            one.run("auth-server", "--rotate-key")
        two.run("client", "remove", client.client_id)
        assert one.ask(client)[0] == two.ask(client)[0] == 401


ROTATE = """
from twinframe.hooks.installation import load_installation
from twinframe.tokenserver.application import build_key_store
store = build_key_store(load_installation().settings)
while True:
    print(store.rotate().active.kid, flush=True)
"""


def test_a_server_goes_on_while_rotations_are_killed_beside_it(tmp_path: Path) -> None:
    with TokenProcess(tmp_path) as server:
        client = server.add_client("one")
        tokens = []
        for round_ in range(5):
            process = subprocess.Popen(
                [sys.executable, "-c", ROTATE],
                env={**os.environ, **server.settings},
                stdout=subprocess.PIPE,
            )
            assert process.stdout is not None
            process.stdout.readline()
            tokens += [server.get_token(client) for _ in range(3)]
            time.sleep(0.002 * round_)
            process.send_signal(signal.SIGKILL)
            process.stdout.close()
            process.wait(120)
            tokens.append(server.get_token(client))
            for token in tokens:
                server.verify(token)
        assert len({jwt.get_unverified_header(token)["kid"] for token in tokens}) > 5
        assert server.run("auth-server", "--rotate-key").exit_code == 0
        server.verify(server.get_token(client))


def test_a_reload_takes_new_settings_and_refuses_wrong_ones(tmp_path: Path) -> None:
    config = tmp_path / "config.json"

    def configure(**settings: object) -> None:
        config.write_text(json.dumps({"TokenServer": settings}), encoding="utf-8")

    def wait_for_lifetime(seconds: int) -> None:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            try:
                if server.ask(client)[2]["expires_in"] == seconds:
                    return
            except OSError:
                pass  # the old worker is leaving
            time.sleep(0.05)
        raise AssertionError(server.log.read_text())

    configure(TokenLifetime=100)
    server = TokenProcess(tmp_path, environment={"TWINFRAME_CONFIG": str(config)})
    with server:
        client = server.add_client("one")
        wait_for_lifetime(100)
        assert server.process is not None
        configure(TokenLifetime=200)
        server.process.send_signal(signal.SIGHUP)
        wait_for_lifetime(200)
        configure(TokenLifetime=-1)
        server.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 120
        while "The new settings are not taken" not in server.log.read_text(encoding="utf-8"):
            assert time.monotonic() < end
            time.sleep(0.05)
        wait_for_lifetime(200)


def test_an_address_in_use_is_told_by_the_name_of_its_setting(server: TokenProcess) -> None:
    done = server.run("auth-server")
    assert done.exit_code == 1
    assert f"TokenServer__Bind=127.0.0.1:{server.port}" in done.stderr


def test_the_command_token_prints_a_token_and_what_is_in_it(
    server: TokenProcess, client: Registered
) -> None:
    known = {
        "TWINFRAME_CLIENT_ID": client.client_id,
        "TWINFRAME_CLIENT_SECRET": client.client_secret,
    }
    done = server.run("token", "--audience", AUDIENCE, **known)
    assert server.verify(done.stdout.strip())["client_id"] == client.client_id
    done = server.run("token", "--scope", "mcp:tools", "--decode", **known)
    shown = json.loads(done.stdout)
    assert shown["header"]["typ"] == "at+jwt"
    assert shown["claims"]["scope"] == "mcp:tools"
    done = server.run("token", "--json", **known)
    assert json.loads(done.stdout)["expires_in"] == 3600
    done = server.run(
        "token", "--client-id", client.client_id, "--secret-stdin", text=client.client_secret + "\n"
    )
    server.verify(done.stdout.strip())


def test_over_tls_the_authority_can_be_named(tmp_path: Path, certificates: Certificates) -> None:
    with TokenProcess(tmp_path, certificates) as server:
        client = server.add_client("one")
        known = {
            "TWINFRAME_CLIENT_ID": client.client_id,
            "TWINFRAME_CLIENT_SECRET": client.client_secret,
        }
        refused = server.run("token", **known)
        assert "does not answer" in refused.stderr
        done = server.run("token", "--ca", str(certificates.authority), **known)
        assert server.verify(done.stdout.strip())["iss"] == server.issuer
        assert server.issuer.startswith("https://")
