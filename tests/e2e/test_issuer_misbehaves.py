"""The authenticator against an issuer on a real socket: down, slow, lying, rotating, back again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.lying_issuer import MISDEEDS, LyingIssuer
from tests.e2e.server import Certificates
from tests.unit.access.authentication.token_factory import TokenFactory, public_jwk
from twinframe.access.authentication.build import build_token_authenticator
from twinframe.access.authentication.port import Authenticator
from twinframe.errors import Unauthenticated
from twinframe.settings import AuthenticationSettings

METADATA = "/.well-known/openid-configuration"
KEYS = "/keys"
AUDIENCE = "https://twinframe.test/graph"


def key_set(*names: str) -> dict[str, Any]:
    return {"keys": [public_jwk(name, kid=f"{name}-1", use="sig") for name in names]}


@pytest.fixture
def issuer() -> Iterator[LyingIssuer]:
    with LyingIssuer() as made:
        made.publish(key_set("rsa", "ed"))
        yield made


@pytest.fixture
def elsewhere() -> Iterator[LyingIssuer]:
    """Another host, which has keys of its own and must never be asked."""
    with LyingIssuer() as made:
        made.publish(key_set("attacker"))
        yield made


class Service:
    """An authenticator with short times, and tokens of the issuer for it."""

    def __init__(self, issuer: LyingIssuer, **changes: Any) -> None:
        given: dict[str, Any] = {
            "enabled": True,
            "authority": issuer.url,
            "audience": AUDIENCE,
            "keys_lifetime": 0.05,
            "keys_timeout": 60.0,
        }
        self.tokens = TokenFactory(issuer.url, AUDIENCE)
        self.authenticator: Authenticator = build_token_authenticator(
            AuthenticationSettings(**(given | changes)), (AUDIENCE,)
        )

    async def why_not(self, key: str = "rsa") -> str:
        """Why a token signed with this key is refused; empty when it is accepted."""
        token = self.tokens.token(key, {"kid": f"{key}-1"})
        try:
            await self.authenticator.authenticate([(b"authorization", b"Bearer " + token)])
        except Unauthenticated as refusal:
            return refusal.reason
        return ""

    async def until(self, expected: bool, key: str = "rsa") -> None:
        """Try until a token is accepted, or is refused; not for ever."""
        end = time.monotonic() + 120
        while bool(await self.why_not(key)) == expected:
            assert time.monotonic() < end, await self.why_not(key)
            await asyncio.sleep(0.02)


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scenario())


@pytest.mark.parametrize("path", [METADATA, KEYS])
@pytest.mark.parametrize("misdeed", MISDEEDS)
def test_a_misdeed_refuses_tokens_while_no_keys_are_known_and_none_when_they_are(
    issuer: LyingIssuer, misdeed: str, path: str
) -> None:
    async def scenario() -> None:
        # The same for all: what hangs, and what drips, is waited for.
        service = Service(issuer, keys_timeout=0.6)
        issuer.misdeeds[path] = MISDEEDS[misdeed]
        for _ in range(3):
            assert "the issuer's keys are not known" in await service.why_not()
        issuer.misdeeds.clear()
        await service.until(True)
        issuer.misdeeds[path] = issuer.misdeeds[KEYS] = MISDEEDS[misdeed]
        asked = len(issuer.asked)
        while len(issuer.asked) < asked + 2:  # two failures
            assert await service.why_not() == ""
            await asyncio.sleep(0.02)
        assert "has no key" in await service.why_not("attacker")
        issuer.misdeeds.clear()
        issuer.publish(key_set("ed"))
        await service.until(True, "ed")
        await service.until(False, "rsa")
        assert await service.why_not() == "the issuer has no key 'rsa-1'"
        await service.authenticator.stop()

    run(scenario)


@pytest.mark.parametrize(
    "entries",
    [[], [{"kty": "oct", "k": "c2VjcmV0"}], [None, "x", {"kty": "RSA"}], [public_jwk("small")]],
    ids=["no entry", "a symmetric key", "malformed entries", "a key too short"],
)
def test_a_set_without_a_usable_key_withdraws_all_keys(
    issuer: LyingIssuer, entries: list[Any]
) -> None:
    async def scenario() -> None:
        service = Service(issuer)
        await service.until(True)
        issuer.publish({"keys": entries})
        await service.until(False)
        assert await service.why_not() == "the issuer has no key 'rsa-1'"
        issuer.publish({"keys": [*entries, *key_set("ed")["keys"]]})
        await service.authenticator.stop()
        again = Service(issuer)
        await again.until(True, "ed")
        assert await again.why_not() == "the issuer has no key 'rsa-1'"

    run(scenario)


def test_the_last_of_many_keys_verifies_its_tokens(issuer: LyingIssuer) -> None:
    many = [public_jwk("rsa2", kid=f"rsa2-{index}") for index in range(1000)]
    issuer.publish({"keys": [*many, None, *key_set("rsa")["keys"]]})

    async def scenario() -> None:
        assert await Service(issuer, keys_lifetime=300.0).why_not() == ""

    run(scenario)


@pytest.mark.parametrize("path", [METADATA, KEYS])
def test_a_redirect_to_another_host_is_not_followed(
    issuer: LyingIssuer, elsewhere: LyingIssuer, path: str
) -> None:
    async def scenario() -> None:
        issuer.redirect(path, f"{elsewhere.url}{path}")
        service = Service(issuer)
        assert "the issuer's keys are not known" in await service.why_not()
        assert "the issuer's keys are not known" in await service.why_not("attacker")
        issuer.misdeeds.clear()
        await service.until(True)
        issuer.redirect(path, f"{elsewhere.url}{path}")
        issuer.redirect(KEYS, f"{elsewhere.url}{KEYS}")
        asked = len(issuer.asked)
        while len(issuer.asked) < asked + 2:
            assert await service.why_not() == ""
            assert await service.why_not("attacker") != ""
            await asyncio.sleep(0.02)

    run(scenario)
    assert elsewhere.asked == []


def test_metadata_that_names_another_issuer_gives_no_keys(
    issuer: LyingIssuer, elsewhere: LyingIssuer
) -> None:
    issuer.documents[METADATA] = {"issuer": elsewhere.url, "jwks_uri": f"{elsewhere.url}{KEYS}"}

    async def scenario() -> None:
        assert "is of issuer" in await Service(issuer).why_not()

    run(scenario)
    assert elsewhere.asked == []


def test_nothing_in_a_token_makes_another_host_be_asked(
    issuer: LyingIssuer, elsewhere: LyingIssuer
) -> None:
    async def scenario() -> None:
        service = Service(issuer)
        await service.until(True)
        for header in (
            {"jku": f"{elsewhere.url}{KEYS}"},
            {"x5u": f"{elsewhere.url}/c.pem"},
            {"kid": f"{elsewhere.url}{KEYS}"},
        ):
            stated: list[dict[str, Any]] = [
                {},
                {"iss": elsewhere.url},
                {"jwks_uri": f"{elsewhere.url}{KEYS}"},
            ]
            for claims in stated:
                token = service.tokens.token("attacker", header, **claims)
                with pytest.raises(Unauthenticated):
                    await service.authenticator.authenticate(
                        [(b"authorization", b"Bearer " + token)]
                    )

    run(scenario)
    assert elsewhere.asked == []


def test_an_issuer_that_goes_down_and_comes_back_with_new_keys(issuer: LyingIssuer) -> None:
    async def scenario() -> None:
        service = Service(issuer)
        await service.until(True)
        issuer.stop()
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            assert await service.why_not() == ""
            await asyncio.sleep(0.02)
        issuer.publish(key_set("rsa2"))
        issuer.start()
        await service.until(True, "rsa2")
        await service.until(False, "rsa")

    run(scenario)


def test_an_issuer_that_is_down_at_the_start_is_found_when_it_comes(issuer: LyingIssuer) -> None:
    async def scenario() -> None:
        issuer.stop()
        service = Service(issuer, keys_lifetime=300.0)
        await service.authenticator.start()
        assert "ConnectError" in await service.why_not()
        issuer.start()
        await service.until(True)
        await service.authenticator.stop()

    run(scenario)


def test_keys_do_not_outlive_their_greatest_age_without_their_issuer(issuer: LyingIssuer) -> None:
    async def scenario() -> None:
        service = Service(issuer, keys_max_age=1.0)
        await service.until(True)
        issuer.stop()
        await service.until(False)
        assert "the issuer's keys are not known" in await service.why_not()

    run(scenario)


def test_a_new_key_is_accepted_at_once_and_made_up_ones_do_not_flood_the_issuer(
    issuer: LyingIssuer,
) -> None:
    async def scenario() -> None:
        service = Service(issuer, keys_lifetime=300.0)
        await service.until(True)
        issuer.publish(key_set("rsa", "rsa2"))
        assert await service.why_not("rsa2") == ""
        assert issuer.asked == [METADATA, KEYS] * 2
        for index in range(300):
            token = service.tokens.token(header={"kid": f"made up {index}"})
            with pytest.raises(Unauthenticated):
                await service.authenticator.authenticate([(b"authorization", b"Bearer " + token)])
        assert issuer.asked == [METADATA, KEYS] * 3

    run(scenario)


def test_a_hundred_requests_at_once_wait_for_one_reading(issuer: LyingIssuer) -> None:
    async def scenario() -> None:
        service = Service(issuer, keys_lifetime=300.0)
        assert set(await asyncio.gather(*(service.why_not() for _ in range(100)))) == {""}
        assert issuer.asked == [METADATA, KEYS]

    run(scenario)


def test_no_proxy_and_no_password_of_the_environment_is_used(
    issuer: LyingIssuer,
    elsewhere: LyingIssuer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    passwords = tmp_path / "netrc"
    passwords.write_text("machine 127.0.0.1 login me password secret")
    monkeypatch.setenv("NETRC", str(passwords))
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, elsewhere.url)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)

    async def scenario() -> None:
        await Service(issuer).until(True)

    run(scenario)
    assert elsewhere.asked == []
    assert issuer.asked[:2] == [METADATA, KEYS]
    assert not any(b"authorization" in request.lower() for request in issuer.received)


def test_an_issuer_over_tls_is_believed_only_with_a_certificate_of_a_trusted_authority(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LyingIssuer((certificates.chain, certificates.key)) as issuer:
        issuer.publish(key_set("rsa"))

        async def scenario(trusted: bool) -> None:
            reason = await Service(issuer).why_not()
            assert ("CERTIFICATE_VERIFY_FAILED" in reason) is not trusted
            assert (reason == "") is trusted

        asyncio.run(scenario(trusted=False))
        assert issuer.asked == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificates.authority))
        asyncio.run(scenario(trusted=True))
