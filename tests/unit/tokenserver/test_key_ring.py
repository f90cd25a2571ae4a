"""The life of signing keys: published before they sign, and until their last token is over."""

from __future__ import annotations

from typing import cast, get_args

import jwt
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.errors import ConfigurationError
from twinframe.tokenserver.application import render_jwks
from twinframe.tokenserver.key_ring import (
    MARGIN_SECONDS,
    KeyRing,
    build_ring,
    maintain,
    parse_ring,
    render_ring,
    rotate,
)
from twinframe.tokenserver.signing_keys import Algorithm, build_signing_key, build_thumbprint

ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)
DAY = 86400.0


def kids(ring: KeyRing) -> list[str]:
    return [key.kid for key in ring.list_published()]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_token_of_a_key_is_verified_by_its_published_half(algorithm: Algorithm) -> None:
    key = build_signing_key(algorithm)
    token = jwt.encode({"a": 1}, key.private_key, algorithm=algorithm, headers={"kid": key.kid})
    public = jwt.PyJWK(key.public_jwk)
    assert jwt.decode(token, public.key, algorithms=[algorithm]) == {"a": 1}
    assert key.public_jwk["alg"] == algorithm
    assert key.public_jwk["use"] == "sig"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_nothing_private_is_published(algorithm: Algorithm) -> None:
    document = orjson.loads(render_jwks(build_ring(algorithm, 60, 0)))
    for jwk in document["keys"]:
        assert not {"d", "p", "q", "dp", "dq", "qi", "oth", "k"} & set(jwk)


def test_the_thumbprint_is_that_of_the_standard() -> None:
    # SPEC: RFC 7638 section 3.1.
    modulus = (
        "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJEC"
        "PebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2Qvz"
        "qY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZ"
        "u0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"
    )
    jwk = {"kty": "RSA", "n": modulus, "e": "AQAB", "alg": "RS256", "kid": "2011-04-29"}
    assert build_thumbprint(jwk) == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"


def test_the_key_that_will_sign_is_published_a_whole_life_before() -> None:
    ring = build_ring("ES256", 3600, 0)
    later = maintain(ring, "ES256", 3600, 90 * DAY, 90 * DAY)
    assert later.active == ring.next
    assert later.active.kid in kids(ring)
    assert later.next.kid not in kids(ring)


def test_nothing_changes_before_it_is_time() -> None:
    ring = build_ring("ES256", 3600, 0)
    assert maintain(ring, "ES256", 3600, 90 * DAY, 90 * DAY - 1) is ring


def test_a_retired_key_is_published_until_its_last_token_is_over_and_no_longer() -> None:
    ring = build_ring("ES256", 3600, 0)
    rotated = rotate(ring, "ES256", 100)
    end = 100 + 3600 + MARGIN_SECONDS
    assert ring.active.kid in kids(maintain(rotated, "ES256", 3600, 90 * DAY, end - 1))
    assert ring.active.kid not in kids(maintain(rotated, "ES256", 3600, 90 * DAY, end))


def test_tokens_that_live_longer_now_are_counted_and_shorter_ones_do_not_shorten() -> None:
    ring = maintain(build_ring("ES256", 60, 0), "ES256", 7200, 90 * DAY, 1)
    assert ring.longest == 7200
    ring = maintain(ring, "ES256", 60, 90 * DAY, 2)
    assert rotate(ring, "ES256", 10).retired[0].until == 10 + 7200 + MARGIN_SECONDS


def test_another_algorithm_in_the_settings_rotates_at_once() -> None:
    ring = build_ring("ES256", 60, 0)
    changed = maintain(ring, "EdDSA", 60, 90 * DAY, 1)
    assert (changed.active.algorithm, changed.next.algorithm) == ("EdDSA", "EdDSA")
    assert changed.retired[0].key == ring.active


@given(
    st.lists(
        st.tuples(st.floats(0, 400), st.booleans(), st.sampled_from(["ES256", "EdDSA"])),
        max_size=12,
    )
)
def test_whatever_happens_a_valid_token_finds_its_key_published(
    steps: list[tuple[float, bool, str]],
) -> None:
    now, life, key_life = 0.0, 100.0, 300.0
    ring = build_ring("ES256", life, now)
    issued: list[tuple[str, float]] = []
    for wait, forced, algorithm in steps:
        issued.append((ring.active.kid, now + life))
        now += wait
        chosen = cast("Algorithm", algorithm)
        ring = maintain(ring, chosen, life, key_life, now)
        if forced:
            ring = rotate(ring, chosen, now)
        published = kids(ring)
        assert len(set(published)) == len(published)
        assert all(kid in published for kid, end in issued if now < end)
        assert parse_ring(render_ring(ring), "here") == ring


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'{"version": 2}',
        b'{"version": 1, "active": {"algorithm": "none", "pem": "", "kid": ""}}',
        b'{"version": 1, "active": {"algorithm": "ES256", "pem": "x", "kid": ""}}',
        b'{"version": 1, "active": 5}',
    ],
)
def test_text_that_holds_no_keys_is_refused_with_the_name_of_the_file(text: bytes) -> None:
    with pytest.raises(ConfigurationError, match=r"^keys\.json does not hold the keys"):
        parse_ring(text, "keys.json")


def test_a_key_under_the_name_of_another_is_refused() -> None:
    document = orjson.loads(render_ring(build_ring("ES256", 60, 0)))
    document["active"]["pem"] = document["next"]["pem"]
    with pytest.raises(ConfigurationError, match="is damaged"):
        parse_ring(orjson.dumps(document), "keys.json")
    document = orjson.loads(render_ring(build_ring("ES256", 60, 0)))
    document["active"]["algorithm"] = "EdDSA"
    with pytest.raises(ConfigurationError, match="a key of EdDSA is expected"):
        parse_ring(orjson.dumps(document), "keys.json")
