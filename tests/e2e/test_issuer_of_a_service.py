"""A running service whose issuer is down, then back, then rotates its keys, then lies."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.lying_issuer import MISDEEDS, LyingIssuer
from tests.e2e.server import Server
from tests.unit.access.authentication.token_factory import TokenFactory, public_jwk

AUDIENCE = "https://twinframe.test/graph"
METADATA = "/.well-known/openid-configuration"
KEYS = "/keys"


class World:
    """A service that takes the tokens of an issuer."""

    def __init__(self, folder: Path) -> None:
        self.issuer = LyingIssuer()
        self.publish("rsa")
        self.tokens = TokenFactory(
            self.issuer.url, AUDIENCE, base={"permissions": ["digitaltwins/*"]}
        )
        self.server = Server(
            folder,
            environment={
                "Authentication__Enabled": "true",
                "Authentication__Authority": self.issuer.url,
                "Authentication__Audience": AUDIENCE,
                "Authentication__KeysLifetime": "1",
                "Authentication__KeysTimeout": "1",
            },
        )

    def publish(self, *names: str) -> None:
        self.issuer.publish({"keys": [public_jwk(name, kid=f"{name}-1") for name in names]})

    def status(self, key: str = "rsa") -> int:
        """What a read with a token signed by this key gets: 404 when the token is accepted."""
        token = self.tokens.token(key, {"kid": f"{key}-1"}).decode()
        request = urllib.request.Request(
            f"{self.server.url}/digitaltwins/nobody", headers={"Authorization": f"Bearer {token}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as refused:
            with refused:
                body = json.loads(refused.read())
            assert self.issuer.url not in json.dumps(body)
            return refused.code

    def until(self, expected: int, key: str = "rsa") -> None:
        """Ask until this is the status; not for ever."""
        end = time.monotonic() + 120
        while (status := self.status(key)) != expected:
            assert time.monotonic() < end, status
            assert status in (401, 404)
            time.sleep(0.05)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.issuer.stop()
    try:
        with made.server:
            yield made
    finally:
        made.issuer.stop()
    log = made.server.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]
    assert "eyJ" not in log


def test_a_service_starts_without_its_issuer_and_serves_through_all_it_does(world: World) -> None:
    assert world.status() == 401
    world.issuer.start()
    world.until(404)
    assert world.status("attacker") == 401

    world.publish("rsa", "rsa2")
    world.until(404, "rsa2")
    assert world.status("rsa") == 404

    world.publish("rsa2")
    world.until(401, "rsa")
    assert world.status("rsa2") == 404

    with LyingIssuer() as elsewhere:
        elsewhere.publish({"keys": [public_jwk("attacker", kid="attacker-1")]})
        for misdeed in ("sends 10 MB", "sends an HTML page", "says nothing and closes", "hangs"):
            world.issuer.misdeeds = {METADATA: MISDEEDS[misdeed], KEYS: MISDEEDS[misdeed]}
            asked = len(world.issuer.asked)
            while len(world.issuer.asked) < asked + 2:
                assert world.status("rsa2") == 404
                time.sleep(0.05)
        world.issuer.redirect(METADATA, f"{elsewhere.url}{METADATA}")
        world.issuer.redirect(KEYS, f"{elsewhere.url}{KEYS}")
        asked = len(world.issuer.asked)
        while len(world.issuer.asked) < asked + 2:
            assert world.status("rsa2") == 404
            assert world.status("attacker") == 401
        assert elsewhere.asked == []

    world.issuer.misdeeds.clear()
    world.publish("ed")
    world.until(404, "ed")
    world.until(401, "rsa2")
