"""Every token of the matrices against the whole authenticator, with an issuer that keeps watch."""

from __future__ import annotations

import asyncio
import json
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.unit.access.authentication.issuer_double import (
    FakeClock,
    IssuerDouble,
    build_authenticator,
)
from tests.unit.access.authentication.token_cases import CASES, Case
from tests.unit.access.authentication.token_cases_own import OWN_CASES
from tests.unit.access.authentication.token_factory import TokenFactory
from twinframe.access.authentication.tokens import BearerAuthenticator
from twinframe.access.permissions import Caller
from twinframe.errors import Unauthenticated

PUBLIC_MESSAGE = Unauthenticated("").message

ALL = [*CASES, *OWN_CASES]
GOOD = [case for case in ALL if case.expected == {"200"}]


class World:
    """One authenticator for all cases: what one leaves behind must not help another."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.factory = TokenFactory(clock=self.clock)
        self.issuer = IssuerDouble(self.factory)
        self.authenticator: BearerAuthenticator = build_authenticator(self.issuer, self.clock)

    def show(self, token: bytes) -> Caller:
        """The caller of a request with this token."""
        headers = [(b"host", b"twinframe.test"), (b"authorization", b"Bearer " + token)]
        return asyncio.run(self.authenticator.authenticate(headers))

    def outcome(self, token: bytes) -> str:
        """`401`, or what the caller's scopes allow: `403s` or `200`."""
        try:
            caller = self.show(token)
        except Unauthenticated as refusal:
            _check_refusal(refusal)
            return "401"
        assert caller.subject
        assert caller.kind == "token"
        return "200" if "mcp:tools" in caller.scopes else "403s"


def _check_refusal(refusal: Unauthenticated) -> None:
    assert refusal.message == PUBLIC_MESSAGE
    assert refusal.reason
    assert refusal.reason.isprintable()


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    made = World()
    yield made
    assert {urlsplit(url).hostname for url in made.issuer.asked} == {"issuer.test"}


def _id(case: Case) -> str:
    return f"{case.number} {case.name}"


@pytest.mark.parametrize("case", ALL, ids=_id)
def test_a_token_is_taken_or_refused_as_the_matrix_says(world: World, case: Case) -> None:
    # NOTE: whether permissions suffice is not this layer's: `403p` has the scope.
    allowed = {"200" if outcome == "403p" else outcome for outcome in case.expected}
    assert world.outcome(case.build(world.factory)) in allowed


@pytest.mark.parametrize("case", [case for case in ALL if "403p" in case.expected], ids=_id)
def test_what_a_token_says_of_permissions_reaches_the_provider_unchanged(
    world: World, case: Case
) -> None:
    token = case.build(world.factory)
    caller = world.show(token)
    segment = token.split(b".")[1]
    stated = json.loads(urlsafe_b64decode(segment + b"=" * (-len(segment) % 4)))
    assert caller.claims == stated
    assert stated.get("permissions") != ["mcp/*"]
    assert caller.permissions is None  # the provider is asked
    assert caller.expires == stated["exp"]


def test_each_case_has_a_number_and_a_name_of_its_own() -> None:
    assert len({case.number for case in ALL}) == len({case.name for case in ALL}) == len(ALL)
    assert [case.number for case in CASES] == list(range(1, 155))
    assert len(OWN_CASES) >= 60


@pytest.mark.parametrize("case", GOOD, ids=_id)
def test_a_good_token_is_refused_as_soon_as_any_character_of_it_is_changed(
    world: World, case: Case
) -> None:
    token = case.build(world.factory)
    for at in range(0, len(token), max(1, len(token) // 40)):
        changed = bytearray(token)
        changed[at] = ord("A") if changed[at] != ord("A") else ord("B")
        assert world.outcome(bytes(changed)) == "401"


@pytest.mark.parametrize("case", GOOD, ids=_id)
def test_a_good_token_is_refused_when_any_of_its_end_is_missing(world: World, case: Case) -> None:
    token = case.build(world.factory)
    for length in range(0, len(token), max(1, len(token) // 40)):
        assert world.outcome(token[:length]) == "401"


def test_no_reason_repeats_the_token(world: World) -> None:
    for case in ALL:
        if case.expected != {"401"}:
            continue
        token = case.build(world.factory)
        with pytest.raises(Unauthenticated) as caught:
            world.show(token)
        segments = [part for part in token.split(b".") if len(part) > 12]
        assert not any(part in caught.value.reason.encode() for part in segments), case.name
        assert len(caught.value.reason) < 400
