from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.access.authentication.token_factory import TokenFactory
from twinframe.access.authentication.build import build_key_source, build_token_authenticator
from twinframe.access.authentication.key_cache import KeyCache
from twinframe.access.authentication.keys import KeyFile
from twinframe.errors import Unauthenticated
from twinframe.settings import AuthenticationSettings

FACTORY = TokenFactory()


def settings(tmp_path: Path, **changes: Any) -> AuthenticationSettings:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps(FACTORY.jwks()))
    given: dict[str, Any] = {
        "enabled": True,
        "audience": "a",
        "issuer": FACTORY.issuer,
        "keys_file": str(path),
    }
    return AuthenticationSettings(**(given | changes))


def accepts(built: AuthenticationSettings, token: bytes, *audiences: str) -> bool:
    authenticator = build_token_authenticator(built, audiences or (FACTORY.audience,))

    async def run() -> bool:
        await authenticator.start()
        try:
            await authenticator.authenticate([(b"authorization", b"Bearer " + token)])
        except Unauthenticated:
            return False
        finally:
            await authenticator.stop()
        return True

    return asyncio.run(run())


def test_a_token_is_accepted_with_the_keys_of_a_file(tmp_path: Path) -> None:
    built = settings(tmp_path)
    assert accepts(built, FACTORY.token())
    assert not accepts(built, FACTORY.token("attacker", {"kid": "rsa-1"}))


def test_only_the_audiences_that_are_given_count(tmp_path: Path) -> None:
    built = settings(tmp_path)
    assert accepts(built, FACTORY.token(aud="x"), "x", "y", "")
    assert accepts(built, FACTORY.token(aud="y"), "x", "y", "")
    assert not accepts(built, FACTORY.token(aud=""), "x", "")
    assert not accepts(built, FACTORY.token(aud="a"), "x")


def test_only_the_algorithms_that_are_set_count(tmp_path: Path) -> None:
    built = settings(tmp_path, algorithms=("ES256", "ES384"))
    assert accepts(built, FACTORY.token("ec"))
    assert accepts(built, FACTORY.token("p384"))
    assert not accepts(built, FACTORY.token())


def test_the_bounds_of_the_settings_are_those_of_the_tokens(tmp_path: Path) -> None:
    now = FACTORY.now
    assert not accepts(settings(tmp_path, leeway=0), FACTORY.token(exp=now - 5))
    assert accepts(settings(tmp_path, leeway=20), FACTORY.token(exp=now - 5))
    assert not accepts(settings(tmp_path, max_token_lifetime=60), FACTORY.token(exp=now + 600))
    assert not accepts(settings(tmp_path, max_token_bytes=200), FACTORY.token())


def test_without_an_audience_or_an_issuer_nothing_is_built(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="an issuer and an audience must be set"):
        build_token_authenticator(settings(tmp_path), ("", ""))
    with pytest.raises(ValueError, match="an issuer and an audience must be set"):
        build_token_authenticator(AuthenticationSettings(), ("a",))


def test_the_source_of_keys_is_the_file_when_one_is_set_and_else_the_issuer(tmp_path: Path) -> None:
    assert isinstance(build_key_source(settings(tmp_path)), KeyFile)
    near = settings(tmp_path, keys_file="", authority="https://issuer.test")
    assert isinstance(build_key_source(near), KeyCache)
