"""`POST /oauth/token`: what is granted, what is refused, and what every answer carries."""

from __future__ import annotations

import logging
import time
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.tokenserver.conftest import FORM, ISSUER, TokenServer


def basic(client_id: str, secret: str) -> tuple[str, str]:
    encoded = b64encode(f"{quote_plus(client_id)}:{quote_plus(secret)}".encode()).decode()
    return "authorization", f"Basic {encoded}"


def test_a_token_states_what_the_client_may_do(server: TokenServer) -> None:
    answer = server.ask(server.order(scope="mcp:tools"))
    assert (answer.json["token_type"], answer.json["expires_in"]) == ("Bearer", 3600)
    assert answer.json["scope"] == "mcp:tools"
    decoded = server.decode(answer)
    claims = decoded["claims"]
    assert decoded["header"]["typ"] == "at+jwt"
    assert set(decoded["header"]) == {"alg", "typ", "kid"}
    assert claims["sub"] == f"{server.client.id}@clients"
    assert claims["client_id"] == server.client.id
    assert (claims["iss"], claims["aud"]) == (ISSUER, "twinframe")
    assert claims["scope"] == "mcp:tools"
    assert claims["permissions"] == ["digitaltwins/*", "models/read"]
    assert claims["exp"] - claims["iat"] == 3600
    assert abs(claims["iat"] - time.time()) < 60
    assert len(claims["jti"]) == 32


def test_no_two_tokens_have_one_id(server: TokenServer) -> None:
    found = {server.decode(server.ask(server.order()))["claims"]["jti"] for _ in range(5)}
    assert len(found) == 5


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_each_algorithm_signs_what_its_published_key_verifies(
    tmp_path: Path, algorithm: str
) -> None:
    server = TokenServer(tmp_path, algorithm=algorithm, token_lifetime=60)
    answer = server.ask(server.order())
    assert server.decode(answer)["header"]["alg"] == algorithm
    assert answer.json["expires_in"] == 60


def test_the_three_ways_to_show_a_secret(server: TokenServer) -> None:
    order = server.order()
    bare = server.order(client_id=None, client_secret=None)
    header = basic(server.client.id, server.secret)
    answers = [
        server.ask(order),
        server.ask(urlencode(order).encode(), kind=FORM),
        server.ask(urlencode(order).encode(), kind=f"{FORM}; charset=UTF-8"),
        server.ask(urlencode(bare).encode(), header, kind=FORM),
        server.ask(bare, header),
        server.ask({**bare, "client_id": server.client.id}, header),
        server.ask(bare, ("authorization", header[1].replace("Basic", "bASIC"))),
    ]
    assert [answer.status for answer in answers] == [200] * 7


def test_scopes_are_the_clients_part_of_those_asked_for(server: TokenServer) -> None:
    asked = {
        "mcp:tools": "mcp:tools",
        "mcp:resources mcp:tools": "mcp:tools mcp:resources",
        "mcp:tools openid everything": "mcp:tools",
        "mcp:tools mcp:tools": "mcp:tools",
        None: "mcp:tools mcp:resources",
        "": "mcp:tools mcp:resources",
    }
    for scope, granted in asked.items():
        answer = server.ask(server.order(scope=scope))
        assert answer.json["scope"] == granted
        assert server.decode(answer)["claims"]["scope"] == granted


@pytest.mark.parametrize(
    "scope",
    [
        "mcp:tool",
        "MCP:TOOLS",
        "mcp:*",
        "*",
        "mcp:tools,mcp:resources",
        "mcp:tools\nx",
        "mcp:tools\t",
    ],
)
def test_a_scope_of_which_nothing_is_the_clients_is_refused(
    server: TokenServer, scope: str
) -> None:
    answer = server.ask(server.order(scope=scope))
    assert (answer.status, answer.error) == (400, "invalid_scope")


def test_a_client_without_scopes_gets_a_token_without_the_claim(server: TokenServer) -> None:
    client, secret = server.add("plain")
    answer = server.ask(server.order(client_id=client.id, client_secret=secret))
    assert "scope" not in answer.json
    assert "scope" not in server.decode(answer)["claims"]


@pytest.mark.parametrize(
    ("targets", "audience"),
    [
        ({"audience": "twinframe"}, "twinframe"),
        ({"resource": "https://mcp.example"}, "https://mcp.example"),
        ({"resource": "https://mcp.example/"}, "https://mcp.example"),
    ],
)
def test_audience_and_resource_name_what_a_token_is_for(
    server: TokenServer, targets: dict[str, str], audience: str
) -> None:
    answer = server.ask(server.order(**({"audience": None} | targets)))
    assert server.decode(answer)["claims"]["aud"] == audience


def test_audience_and_resource_must_agree(server: TokenServer) -> None:
    agreeing = server.order(audience="https://mcp.example/", resource="https://mcp.example")
    assert server.ask(agreeing).status == 200
    answer = server.ask(server.order(resource="https://mcp.example"))
    assert (answer.status, answer.error) == (400, "invalid_target")


@pytest.mark.parametrize(
    "target",
    [
        "other",
        "Twinframe",
        "twinframe/",
        "twinframe ",
        "https://mcp.example.evil",
        "https://mcp.example//",
        "https://mcp.example/x",
        "http://mcp.example",
        None,
    ],
)
def test_an_audience_the_server_has_not_is_refused(server: TokenServer, target: str | None) -> None:
    for name in ("audience", "resource"):
        answer = server.ask(server.order(**{"audience": None, name: target}))
        assert (answer.status, answer.error) == (400, "invalid_target")


def test_a_client_gets_tokens_for_its_own_audiences_alone(server: TokenServer) -> None:
    client, secret = server.clients.add("narrow", audiences=["https://mcp.example"])
    own = {"client_id": client.id, "client_secret": secret}
    assert server.ask(server.order(**own)).error == "invalid_target"
    answer = server.ask(server.order(**own, audience=None))
    assert server.decode(answer)["claims"]["aud"] == "https://mcp.example"


def test_an_unknown_client_and_a_wrong_secret_get_one_answer(server: TokenServer) -> None:
    answers = []
    for client_id in (server.client.id, "nobody", server.client.id.upper(), "é", "\x01"):
        for secret in ("wrong", server.secret[:-1], "0" * 64, "ü"):
            changed = server.order(client_id=client_id, client_secret=secret)
            bare = server.order(client_id=None, client_secret=None)
            address = f"{client_id}/{secret}"  # so that nobody is held back
            answers += [
                server.ask(changed, address=address),
                server.ask(urlencode(changed).encode(), kind=FORM, address=address),
                server.ask(bare, basic(client_id, secret), address=address),
            ]
    assert len({(answer.status, answer.body) for answer in answers}) == 1
    assert (answers[0].status, answers[0].error) == (401, "invalid_client")
    for answer in answers:
        assert answer.headers["www-authenticate"] == 'Basic realm="twinframe", charset="UTF-8"'


@pytest.mark.parametrize(
    "value",
    [
        "Basic",
        "Basic ",
        "Basic !!!!",
        "Basic " + b64encode(b"no colon").decode(),
        "Basic " + b64encode(b":secret").decode(),
        "Basic " + b64encode(b"id:").decode(),
        "Basic " + b64encode(b"\xff\xfe:\xff").decode(),
        "Basic " + b64encode(b"%ff:%fe").decode(),
        "Bearer abc",
        "Digest x",
        "",
    ],
)
def test_an_authorization_header_that_shows_no_client_is_refused(
    server: TokenServer, value: str
) -> None:
    bare = server.order(client_id=None, client_secret=None)
    answer = server.ask(bare, ("authorization", value))
    assert (answer.status, answer.error) == (401, "invalid_client")
    assert "www-authenticate" in answer.headers


def test_two_ways_to_authenticate_at_once_are_refused(server: TokenServer) -> None:
    header = basic(server.client.id, server.secret)
    bare = server.order(client_id=None, client_secret=None)
    for answer in (
        server.ask(server.order(), header),
        server.ask(bare, header, header),
        server.ask({**bare, "client_id": "another"}, header),
        server.ask({**bare, "client_secret": server.secret}, header),
    ):
        assert (answer.status, answer.error) == (400, "invalid_request")


@pytest.mark.parametrize("left_out", ["client_id", "client_secret"])
def test_a_client_that_shows_half_is_refused(server: TokenServer, left_out: str) -> None:
    for missing in (None, ""):
        answer = server.ask(server.order(**{left_out: missing}))
        assert (answer.status, answer.error) == (401, "invalid_client")


def test_a_grant_type_must_be_given(server: TokenServer) -> None:
    for missing in (None, ""):
        assert server.ask(server.order(grant_type=missing)).error == "invalid_request"


@pytest.mark.parametrize(
    "grant",
    [
        "password",
        "implicit",
        "authorization_code",
        "refresh_token",
        "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "CLIENT_CREDENTIALS",
        'x" \\ é',
    ],
)
def test_no_other_grant_is_there(server: TokenServer, grant: str) -> None:
    order = server.order(grant_type=grant, username="u", password="p")
    answer = server.ask(order)
    assert (answer.status, answer.error) == (400, "unsupported_grant_type")
    assert answer.json["error_description"] == "The grant_type must be client_credentials."


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b""),
        ("application/json", b"{"),
        ("application/json", b"[]"),
        ("application/json", b"null"),
        ("application/json", b'"text"'),
        ("application/json", b'{"grant_type": 1}'),
        ("application/json", b'{"scope": ["mcp:tools"]}'),
        ("application/json", b'{"client_id": null}'),
        ("application/json", b'{"a": "1", "a": "2"}'),
        ("application/json", b'{"client_id": "\\ud800", "client_secret": "x"}'),
        ("application/json", b'{"client_id": "\\u0000", "client_secret": "x"}'),
        ("application/json", b"[" * 10_000),
        ("application/json", b"\xff\xfe"),
        ("application/json", b"{" + b",".join(b'"%d": ""' % n for n in range(99)) + b"}"),
        (FORM, b"a"),
        (FORM, b"a=1&&b=2"),
        (FORM, b"a=%ff"),
        (FORM, b"a=\xc3\xa9"),
        (FORM, b"a=1&a=2"),
        (FORM, b"scope=x&scope=x"),
        (FORM, b"a=&a="),
        (FORM, b"&".join(b"p%d=1" % n for n in range(99))),
        (FORM, b'{"grant_type": "client_credentials"}'),
        ("text/plain", b"grant_type=client_credentials"),
        ("multipart/form-data; boundary=x", b"--x--"),
        ("", b"grant_type=client_credentials"),
        (f"{FORM}x", b"grant_type=client_credentials"),
    ],
)
def test_a_body_that_is_not_exactly_parameters_is_refused(
    server: TokenServer, kind: str, body: bytes
) -> None:
    answer = server.ask(body, basic(server.client.id, server.secret), kind=kind)
    assert (answer.status, answer.error) == (400, "invalid_request")
    assert all(" " <= character <= "~" for character in answer.json["error_description"])


def test_a_doubled_parameter_is_refused_in_both_forms(server: TokenServer) -> None:
    form = urlencode(server.order()).encode()
    assert server.ask(form + b"&audience=twinframe", kind=FORM).error == "invalid_request"
    text = b'{"audience": "twinframe", "audience": "twinframe"}'
    assert server.ask(text).error == "invalid_request"


def test_unknown_parameters_are_passed_over(server: TokenServer) -> None:
    assert server.ask(server.order(foo="bar", organization="x")).status == 200


def test_nothing_in_the_url_is_taken(server: TokenServer) -> None:
    query = urlencode(server.order())
    for body in (b"", urlencode(server.order()).encode()):
        answer = server.send("POST", f"/oauth/token?{query}", body, [("content-type", FORM)])
        assert (answer.status, answer.error) == (400, "invalid_request")


def test_a_body_above_the_limit_is_refused(server: TokenServer) -> None:
    answer = server.ask(server.order(scope="x" * 20_000))
    assert (answer.status, answer.error) == (413, "invalid_request")


def test_no_answer_may_be_stored(server: TokenServer) -> None:
    orders: list[dict[str, Any]] = [
        server.order(),
        server.order(scope="nothing"),
        server.order(client_secret="wrong"),
        server.order(grant_type="password"),
        server.order(audience="other"),
        {},
    ]
    for answer in [server.ask(order) for order in orders]:
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["pragma"] == "no-cache"
        assert answer.headers["content-type"] == "application/json"
        assert "access-control-allow-origin" not in answer.headers


def test_the_other_methods_are_refused(server: TokenServer) -> None:
    for method in ("GET", "PUT", "DELETE", "HEAD"):
        answer = server.send(method, "/oauth/token")
        assert answer.status == 405
        assert "POST" in answer.headers["allow"]


@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/authorize", "/health/ready"])
def test_every_method_that_is_named_as_allowed_is(server: TokenServer, path: str) -> None:
    named = server.send("PATCH", path).headers["allow"].split(", ")
    assert "OPTIONS" in named
    answer = server.send("OPTIONS", path)
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["allow"].split(", ") == named
    assert "access-control-allow-origin" not in answer.headers


def test_who_keeps_failing_waits_and_nobody_else_does(server: TokenServer) -> None:
    wrong = server.order(client_secret="wrong")
    answers = [server.ask(wrong) for _ in range(7)]
    statuses = [answer.status for answer in answers]
    assert statuses == [401] * 5 + [429] * 2
    assert answers[-1].error == "temporarily_unavailable"
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert server.ask(wrong, address="192.0.2.2").status == 401
    unknown = [server.ask(server.order(client_id="nobody")).status for _ in range(7)]
    assert unknown == statuses  # an unknown client looks like a known one here, too


def test_nobody_can_shut_a_client_out_by_failing_in_its_name(server: TokenServer) -> None:
    for _ in range(7):
        server.ask(server.order(client_secret="wrong"))
    assert server.ask(server.order()).status == 200  # from the same address: behind one proxy


def test_ids_that_are_made_up_take_little_memory(server: TokenServer) -> None:
    long = [server.ask(server.order(client_id="x" * 64 + str(number))) for number in range(6)]
    assert [answer.status for answer in long] == [401] * 5 + [429]  # remembered as one


def test_success_ends_the_count_of_failures(server: TokenServer) -> None:
    for _ in range(5):
        for _ in range(4):
            assert server.ask(server.order(client_secret="wrong")).status == 401
        assert server.ask(server.order()).status == 200


def test_a_removed_client_and_a_rotated_secret_are_refused_at_once(server: TokenServer) -> None:
    assert server.ask(server.order()).status == 200
    new = server.clients.rotate(server.client.id)
    assert server.ask(server.order()).status == 401
    assert server.ask(server.order(client_secret=new)).status == 200
    server.clients.remove(server.client.id)
    assert server.ask(server.order(client_secret=new)).status == 401


def test_no_secret_and_no_token_is_logged_at_any_level(
    server: TokenServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        token = server.ask(server.order()).json["access_token"]
        server.ask(server.order(client_secret="a wrong secret"))
        server.ask(server.order(scope="none"))
    text = "\n".join(str(vars(record)) for record in caplog.records)
    assert "A token was issued." in text
    assert server.client.id in text
    for secret in (token, token.split(".")[2], server.secret, "a wrong secret"):
        assert secret not in text


def test_keys_that_cannot_be_read_are_503_and_told_in_the_log(
    server: TokenServer, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    (tmp_path / "keys.json").write_text("damaged")
    answer = server.ask(server.order())
    assert (answer.status, answer.error) == (503, "server_error")
    assert str(tmp_path) not in answer.body.decode()
    assert "does not hold the keys" in caplog.text
    assert server.send("GET", "/.well-known/jwks.json").status == 503
    assert server.send("GET", "/health/ready").status == 503
    assert server.send("GET", "/health/live").status == 200


PARAMETERS = ("grant_type", "client_id", "client_secret", "audience", "resource", "scope")
TEXTS = st.text(max_size=20)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(
    changes=st.dictionaries(st.sampled_from(PARAMETERS), st.one_of(st.none(), TEXTS), max_size=6),
    header=st.one_of(st.none(), st.text(st.characters(max_codepoint=255), max_size=30)),
    form=st.booleans(),
)
def test_no_request_is_answered_with_more_than_it_may_have(
    server: TokenServer, changes: dict[str, Any], header: str | None, *, form: bool
) -> None:
    order = server.order(**changes)
    headers = [] if header is None else [("authorization", header)]
    try:
        body = urlencode(order).encode()
        answer = server.ask(body, *headers, kind=FORM) if form else server.ask(order, *headers)
    except (UnicodeEncodeError, TypeError):
        return  # a lone surrogate: the client cannot send it
    assert answer.status in (200, 400, 401, 429)
    if answer.status == 200:
        assert order.get("client_secret") == server.secret
        assert order.get("client_id") == server.client.id
        assert header is None
