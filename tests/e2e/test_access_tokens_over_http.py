"""Every token of the matrix against a running service: 401, never 5xx, no secret told."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.server import Server
from tests.unit.access.authentication.token_cases import CASES, Case
from tests.unit.access.authentication.token_cases_own import OWN_CASES
from tests.unit.access.authentication.token_factory import TokenFactory

FACTORY = TokenFactory()
ALL = [*CASES, *OWN_CASES]


def build_environment(folder: Path) -> dict[str, str]:
    """The settings of a service that takes the factory's tokens."""
    keys = folder / "keys.json"
    keys.write_text(json.dumps(FACTORY.jwks()), encoding="utf-8")
    return {
        "Authentication__Enabled": "true",
        "Authentication__Audience": FACTORY.audience,
        "Authentication__Issuer": FACTORY.issuer,
        "Authentication__KeysFile": str(keys),
        "MCP__ResourceServerUrl": FACTORY.resource,
    }


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("closed")
    server = Server(folder, environment=build_environment(folder))
    with server:
        yield server
    log = server.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]
    assert "eyJ" not in log, "a token stands in the log"


def ask(
    server: Server, *fields: bytes, target: bytes = b"/digitaltwins/nobody"
) -> tuple[int, bytes]:
    """Status and whole answer of a raw GET with these header fields."""
    lines = [b"GET " + target + b" HTTP/1.1", b"Host: twins.example", b"Connection: close", *fields]
    received = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=120) as connection:
        connection.sendall(b"\r\n".join([*lines, b"", b""]))
        while piece := connection.recv(65536):
            received += piece
    return int(received.split(b" ", 2)[1]), received


def bearer(token: bytes) -> bytes:
    return b"Authorization: Bearer " + token


# A line end within a token makes two header fields of it, on the wire: the first is a good token.
WHOLE = [case for case in ALL if b"\r\n" not in case.build(FACTORY)]


@pytest.mark.parametrize("case", WHOLE, ids=lambda case: f"{case.number} {case.name}")
def test_a_token_of_the_matrix(closed: Server, case: Case) -> None:
    token = case.build(FACTORY)
    # No token of the matrix has the permission of this route: 403 is as far as any gets.
    status, answer = ask(closed, bearer(token), target=b"/eventroutes")
    if case.expected == {"401"}:
        assert status in ((400, 401, 431) if _is_no_header(token) else (401,)), answer
    else:
        assert status in ({403} | ({401} if "401" in case.expected else set())), answer
    if status == 401 and len(token) > 20:
        assert token not in answer


def _is_no_header(token: bytes) -> bool:
    """Whether no HTTP header can carry this: the request is refused before anybody looks at it."""
    return len(token) > 16_000 or any(byte < 32 or byte == 127 for byte in token)


def test_who_has_the_permission_gets_in(closed: Server) -> None:
    for granted in (["digitaltwins/read"], ["digitaltwins/*"], "models/read digitaltwins/read"):
        status, answer = ask(closed, bearer(FACTORY.token(permissions=granted)))
        assert status == 404
        assert b"DigitalTwinNotFound" in answer


GOOD = FACTORY.token(permissions=["digitaltwins/*"])


@pytest.mark.parametrize(
    ("fields", "target"),
    [
        ([], b"/digitaltwins/a?access_token=" + GOOD),
        ([bearer(GOOD), bearer(GOOD)], b"/digitaltwins/a"),
        ([bearer(GOOD), b"Authorization: Basic dTpw"], b"/digitaltwins/a"),
        ([b"Authorization: Basic dTpw"], b"/digitaltwins/a"),
        ([b"Authorization: Bearer"], b"/digitaltwins/a"),
        ([b"Authorization: Bearer  "], b"/digitaltwins/a"),
        ([bearer(GOOD + b" " + GOOD)], b"/digitaltwins/a"),
        ([bearer(GOOD + b"," + GOOD)], b"/digitaltwins/a"),
        ([b"Authorization: Bearer:" + GOOD], b"/digitaltwins/a"),
        ([b"Authorization: " + GOOD], b"/digitaltwins/a"),
        ([b"Cookie: access_token=" + GOOD], b"/digitaltwins/a"),
        ([b"X-Authorization: Bearer " + GOOD], b"/digitaltwins/a"),
        ([b"Proxy-Authorization: Bearer " + GOOD], b"/digitaltwins/a"),
        ([b"X-API-Key: " + GOOD], b"/digitaltwins/a"),
        ([b"Sec-WebSocket-Protocol: " + GOOD], b"/digitaltwins/a"),
    ],
)
def test_a_good_token_in_the_wrong_place_is_no_token(
    closed: Server, fields: list[bytes], target: bytes
) -> None:
    status, answer = ask(closed, *fields, target=target)
    assert status == 401
    assert GOOD not in answer


@pytest.mark.parametrize("scheme", [b"bearer", b"BEARER", b"bEaReR"])
def test_the_scheme_is_taken_in_any_case(closed: Server, scheme: bytes) -> None:
    assert ask(closed, b"Authorization: " + scheme + b" " + GOOD)[0] == 404


def test_a_token_in_a_form_is_no_token(closed: Server) -> None:
    body = b"access_token=" + GOOD
    fields = [b"Content-Type: application/x-www-form-urlencoded", b"Content-Length: %d" % len(body)]
    lines = [
        b"POST /query HTTP/1.1",
        b"Host: twins.example",
        b"Connection: close",
        *fields,
        b"",
        b"",
    ]
    with socket.create_connection(("127.0.0.1", closed.port), timeout=120) as connection:
        connection.sendall(b"\r\n".join(lines) + body)
        assert b" 401 " in connection.recv(65536)


def test_the_audit_trail_names_every_refusal(closed: Server) -> None:
    ask(closed, bearer(FACTORY.token(permissions=["models/read"], sub="audited-user")))
    _, answer = ask(closed, bearer(b"not-a-token"))
    identity = answer.split(b"x-request-id: ")[1].split(b"\r\n")[0].decode()
    for _ in range(2000):
        log = closed.log.read_text(encoding="utf-8")
        if "audited-user" in log and identity in log:
            break
        time.sleep(0.05)
    entries = [json.loads(line) for line in log.splitlines() if '"message":"audit"' in line]
    refused = [entry for entry in entries if entry["subject"] == "audited-user"]
    assert refused[0]["decision"] == "refused"
    assert refused[0]["needed"] == "digitaltwins/read"
    assert refused[0]["action"] == "GET /digitaltwins/nobody"
    unknown = [entry for entry in entries if entry["request_id"] == identity]
    assert unknown[0]["decision"] == "refused"
    assert unknown[0]["reason"]


@pytest.mark.parametrize(
    "target", [b"/export", b"/sparql?query=ASK%7B%7D", b"/export/shapes", b"/export/report"]
)
def test_triples_are_for_those_who_may_query(closed: Server, target: bytes) -> None:
    needed = "models/read" if target.endswith(b"shapes") else "query/read"
    assert ask(closed, target=target)[0] == 401
    status, answer = ask(closed, bearer(GOOD), target=target)
    assert (status, needed.encode() in answer) == (403, True)
    token = FACTORY.token(permissions=[needed])
    assert ask(closed, bearer(token), target=target)[0] == (404 if b"sparql" in target else 200)
