from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from tests.unit.access.authentication.issuer_double import (
    Answer,
    IssuerDouble,
    bytes_answer,
    json_answer,
)
from tests.unit.access.authentication.token_factory import TokenFactory, public_jwk
from twinframe.access.authentication.issuer import IssuerAddress, IssuerKeys
from twinframe.access.authentication.key_cache import KeysUnavailable
from twinframe.access.authentication.keys import MAX_SET_BYTES

ISSUER = "https://issuer.test/"
METADATA = f"{ISSUER}.well-known/openid-configuration"
KEYS = f"{ISSUER}jwks.json"
FACTORY = TokenFactory(ISSUER)
GOOD = {METADATA: {"issuer": ISSUER, "jwks_uri": KEYS}, KEYS: FACTORY.jwks()}


class World:
    """A reader of keys and the issuer it asks, which answers by URL."""

    def __init__(self, answers: dict[str, Any] | None = None, **address: str) -> None:
        self.answers: dict[str, Any] = dict(GOOD if answers is None else answers)
        self.issuer = IssuerDouble(FACTORY, self._answer)
        self.reader = IssuerKeys(
            IssuerAddress(**({"issuer": ISSUER, "authority": ISSUER} | address)),
            0.2,
            httpx2.MockTransport(self.issuer.handle),
        )

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        found = self.answers.get(str(request.url))
        if callable(found):
            made: httpx2.Response = found(request)
            return made
        return httpx2.Response(404) if found is None else json_answer(found)

    @property
    def asked(self) -> list[str]:
        return self.issuer.asked

    def read(self) -> int:
        """How many keys there are."""
        return len(asyncio.run(self.reader.read()).keys)

    def fail(self) -> str:
        """Why the keys cannot be had."""
        with pytest.raises(KeysUnavailable) as caught:
            self.read()
        return str(caught.value)


def test_keys_are_found_by_openid_metadata_below_the_authority() -> None:
    world = World()
    assert world.read() == 9
    assert world.asked == [METADATA, KEYS]


def test_an_authority_without_a_slash_means_the_same() -> None:
    assert World(authority=ISSUER[:-1]).read() == 9


@pytest.mark.parametrize(
    "authority", ["https://issuer.test/realms/a", "https://issuer.test/realms/a/"]
)
def test_metadata_of_oauth_servers_is_found_where_rfc_8414_has_it(authority: str) -> None:
    inserted = "https://issuer.test/.well-known/oauth-authorization-server/realms/a"
    below = "https://issuer.test/realms/a/.well-known/openid-configuration"
    world = World({inserted: GOOD[METADATA], KEYS: GOOD[KEYS]}, authority=authority)
    assert world.read() == 9
    assert world.asked == [below, inserted, KEYS]


def test_metadata_address_is_asked_alone() -> None:
    url = "https://issuer.test/here"
    world = World({url: GOOD[METADATA], KEYS: GOOD[KEYS]}, metadata=url)
    assert world.read() == 9
    assert world.asked == [url, KEYS]
    world = World(metadata=url)
    assert "404" in world.fail()
    assert world.asked == [url]


def test_with_the_address_of_keys_no_metadata_is_asked_for() -> None:
    world = World(keys=KEYS)
    assert world.read() == 9
    assert world.asked == [KEYS]


def test_keys_that_moved_are_read_where_they_are_now_though_the_old_address_still_answers() -> None:
    world = World()
    world.read()
    moved = f"{ISSUER}moved.json"
    world.answers[METADATA] = {"issuer": ISSUER, "jwks_uri": moved}
    world.answers[moved] = {"keys": [public_jwk("rsa2", kid="new")]}
    assert world.read() == 1
    assert world.asked == [METADATA, KEYS, METADATA, moved]


@pytest.mark.parametrize(
    "issuer",
    [
        "https://issuer.test",
        "https://ISSUER.test/",
        "https://attacker.test/",
        "",
        None,
        7,
        [ISSUER],
    ],
)
def test_metadata_of_another_issuer_is_refused_before_its_keys_are_asked_for(issuer: Any) -> None:
    world = World({METADATA: {"issuer": issuer, "jwks_uri": KEYS}, KEYS: GOOD[KEYS]})
    assert "is of issuer" in world.fail()
    assert world.asked == [METADATA]


@pytest.mark.parametrize(
    "address",
    [
        None,
        "",
        7,
        [KEYS],
        "http://issuer.test/jwks.json",
        "http://127.0.0.1:8200/v1/secret",
        "http://localhost/jwks.json",
        "http://[::1]/",
        "file:///etc/passwd",
        "ftp://issuer.test/jwks.json",
        "/jwks.json",
        "//attacker.test/jwks.json",
        "https://",
        "https://user:password@issuer.test/jwks.json",
        "https://issuer.test/jwks.json#part",
        "https://issuer.test/ jwks.json",
        "https://issuer.test:port/",
        "https://[issuer.test/",
        "javascript:alert(1)",
    ],
    ids=str,
)
def test_an_unsafe_address_of_keys_is_not_asked(address: Any) -> None:
    world = World({METADATA: {"issuer": ISSUER, "jwks_uri": address}})
    assert "names no usable jwks_uri" in world.fail()
    assert world.asked == [METADATA]


def test_an_issuer_on_this_machine_may_be_asked_without_tls() -> None:
    base = "http://127.0.0.1:8081"
    answers = {
        f"{base}/.well-known/openid-configuration": {"issuer": base, "jwks_uri": f"{base}/keys"},
        f"{base}/keys": GOOD[KEYS],
    }
    assert World(answers, issuer=base, authority=base).read() == 9


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("at", [METADATA, KEYS])
def test_no_redirect_is_followed(at: str, status: int) -> None:
    away = httpx2.Response(status, headers={"Location": "https://attacker.test/x"})
    world = World({**GOOD, at: lambda _request: away})
    assert str(status) in world.fail() or at == METADATA
    assert not any("attacker" in url for url in world.asked)


def with_headers(body: bytes, **headers: str) -> Answer:
    """An answer with these headers, an underscore for each hyphen."""

    def answer(_request: httpx2.Request) -> httpx2.Response:
        made = bytes_answer(body, headers.pop("content_type", "application/json"))
        for name, value in headers.items():
            made.headers[name.replace("_", "-")] = value
        return made

    return answer


@pytest.mark.parametrize(
    "kind",
    ["text/html", "text/plain", "", "application/octet-stream", "image/json", "applicationx/json"],
)
def test_an_answer_that_does_not_call_itself_json_is_not_read(kind: str) -> None:
    world = World({**GOOD, KEYS: with_headers(json.dumps(GOOD[KEYS]).encode(), content_type=kind)})
    assert "content type" in world.fail()


@pytest.mark.parametrize("kind", ["application/jwk-set+json", "Application/JSON; charset=utf-8"])
def test_json_by_its_other_names_is_read(kind: str) -> None:
    world = World({**GOOD, KEYS: with_headers(json.dumps(GOOD[KEYS]).encode(), content_type=kind)})
    assert world.read() == 9


def test_a_compressed_answer_is_not_opened() -> None:
    world = World({**GOOD, KEYS: with_headers(b"\x1f\x8b", content_encoding="gzip")})
    assert "compressed" in world.fail()


def test_a_long_answer_is_read_no_further_than_its_bound() -> None:
    sent = 0

    async def long() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(500):
            sent += 65_536
            yield b" " * 65_536

    def answer(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"Content-Type": "application/json"}, content=long())

    assert f"more than {MAX_SET_BYTES}" in World({**GOOD, KEYS: answer}).fail()
    assert sent <= MAX_SET_BYTES + 2 * 65_536


def test_an_answer_that_drips_is_given_up_in_time() -> None:
    async def drip() -> AsyncIterator[bytes]:
        for _ in range(10_000):
            yield b" "
            await asyncio.sleep(0.02)

    def answer(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"Content-Type": "application/json"}, content=drip())

    assert "no whole answer in 0.2 s" in World({**GOOD, KEYS: answer}).fail()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"garbage",
        b"[]",
        b"null",
        b'{"keys": [',
        b'{"keys": [], "keys": []}',
        b"\xff\xfe",
        b'{"keys": null}',
        b'{"keys": {}}',
        b'{"Keys": []}',
        b"{}",
        b"[" * 200_000,
        b'{"keys":' + b"[" * 100_000,
        b'{"keys": NaN}',
    ],
    ids=lambda body: repr(body[:24]),
)
def test_an_answer_that_is_no_key_set_gives_no_keys(body: bytes) -> None:
    assert KEYS in World({**GOOD, KEYS: lambda _request: bytes_answer(body)}).fail()


@pytest.mark.parametrize(
    ("entries", "left_out"),
    [([], 0), ([None, 7, {}, {"kty": "oct", "k": "c2VjcmV0"}], 4), ([public_jwk("small")], 1)],
    ids=["empty", "of no use", "too short"],
)
def test_a_set_without_a_usable_key_is_an_answer(entries: list[Any], left_out: int) -> None:
    keys = asyncio.run(World({**GOOD, KEYS: {"keys": entries}}).reader.read())
    assert (keys.keys, keys.left_out) == ((), left_out)


def test_a_set_may_be_as_long_as_its_bound_and_every_key_of_it_is_found() -> None:
    entries = [public_jwk("rsa", kid=f"k{index}") for index in range(2_500)]
    keys = asyncio.run(World({**GOOD, KEYS: {"keys": entries}}).reader.read())
    for kid in ("k0", "k31", "k32", "k2499"):
        found = keys.find(kid, "RS256")
        assert found is not None
        assert found.kid == kid


@pytest.mark.parametrize(
    "error",
    [
        httpx2.ConnectError("refused"),
        httpx2.ConnectTimeout("slow"),
        httpx2.ReadError("reset"),
        httpx2.RemoteProtocolError("rubbish"),
        OSError("no route"),
    ],
    ids=repr,
)
def test_a_connection_that_fails_says_so_and_asks_nothing_else(error: Exception) -> None:
    def answer(_request: httpx2.Request) -> httpx2.Response:
        raise error

    world = World({METADATA: answer})
    assert str(error) in world.fail()
    assert world.asked == [METADATA]


def test_a_plain_json_answer_is_asked_for_without_credentials() -> None:
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return json_answer(GOOD[str(request.url)])

    assert World(dict.fromkeys(GOOD, answer)).read() == 9
    for request in asked:
        assert "authorization" not in request.headers
        assert "cookie" not in request.headers
        assert request.headers["accept-encoding"] == "identity"
