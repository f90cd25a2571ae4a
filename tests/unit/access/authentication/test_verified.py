from __future__ import annotations

from tests.unit.access.authentication.issuer_double import FakeClock
from twinframe.access.authentication.tokens import MAX_REMEMBERED, VerifiedTokens
from twinframe.access.permissions import Caller


class World:
    """Remembered tokens and their two clocks."""

    def __init__(self, size: int = 10) -> None:
        self.wall, self.steady = FakeClock(), FakeClock(0.0)
        self.tokens = VerifiedTokens(size, 30.0, self.wall, self.steady)

    def put(self, token: bytes, lives: float = 3600, generation: int = 0) -> Caller:
        caller = Caller(token.decode(), expires=self.wall.time + lives)
        self.tokens.put(token, generation, caller)
        return caller

    def advance(self, seconds: float) -> None:
        self.wall.advance(seconds)
        self.steady.advance(seconds)


def test_the_very_caller_is_given_for_the_very_token() -> None:
    world = World()
    caller = world.put(b"token")
    assert world.tokens.get(b"token", 0) is caller
    assert world.tokens.get(b"Token", 0) is None
    assert world.tokens.get(b"", 0) is None


def test_a_token_is_forgotten_at_its_end_and_the_leeway() -> None:
    world = World()
    world.put(b"token", lives=10)
    world.advance(39.9)
    assert world.tokens.get(b"token", 0)
    world.advance(0.1)
    assert world.tokens.get(b"token", 0) is None


def test_a_token_is_verified_anew_after_a_minute() -> None:
    world = World()
    world.put(b"token")
    world.advance(MAX_REMEMBERED - 0.1)
    assert world.tokens.get(b"token", 0)
    world.advance(0.1)
    assert world.tokens.get(b"token", 0) is None


def test_a_wall_clock_that_is_set_back_prolongs_nothing_beyond_the_minute() -> None:
    world = World()
    world.put(b"token", lives=10)
    world.wall.advance(-86_400)
    world.steady.advance(60)
    assert world.tokens.get(b"token", 0) is None


def test_all_are_forgotten_when_a_key_was_withdrawn() -> None:
    world = World()
    world.put(b"token")
    assert world.tokens.get(b"token", 1) is None
    assert world.tokens.get(b"token", 0) is None


def test_what_was_verified_with_new_keys_displaces_what_was_with_old_ones() -> None:
    world = World()
    world.put(b"old", generation=0)
    fresh = world.put(b"new", generation=1)
    assert world.tokens.get(b"new", 1) is fresh
    assert world.tokens.get(b"old", 1) is None


def test_no_more_than_the_bound_are_remembered_and_the_least_used_go_first() -> None:
    world = World(size=3)
    for token in (b"a", b"b", b"c"):
        world.put(token)
    assert world.tokens.get(b"a", 0)
    world.put(b"d")
    assert [bool(world.tokens.get(token, 0)) for token in (b"a", b"b", b"c", b"d")] == [
        True,
        False,
        True,
        True,
    ]


def test_no_token_is_kept_in_memory() -> None:
    world = World()
    world.put(b"secret-token")
    assert b"secret-token" not in list(world.tokens._callers)
    assert all(len(key) == 32 for key in world.tokens._callers)
