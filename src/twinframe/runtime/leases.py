"""Leases: one holder at a time, without comparing wall clocks.

A stored lease has a number (`fence`) that rises with each claim, the claim's own name (`holder`),
and a `beat` that the holder increments. Whoever sees the same sign of life for a whole lease, by
its own monotonic clock, may take over. A holder's transactions check the lease first: a former
holder changes nothing, even if one that was thought dead is alive.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final, Generic, Self, TypeVar

from twinframe.errors import TwinframeError

BEATS: Final = 3
"""The number of beats in the time of a lease."""

S = TypeVar("S")


class LeaseLost(TwinframeError):
    """Another process holds the lease by now, or its goal has changed: stop, and change nothing.

    Handlers let it pass: nothing they would write now counts.
    """

    code = "LeaseLost"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseState:
    """A lease as it is stored; it is free when `holder` is empty."""

    fence: int
    holder: str = ""
    beat: int = 0

    def claim(self, holder: str) -> Self:
        """Return it as a new holder stores it; each claim has a name of its own."""
        return replace(self, fence=self.fence + 1, holder=holder, beat=0)

    def renew(self) -> Self:
        """Return it with another sign of life."""
        return replace(self, beat=self.beat + 1)

    def release(self) -> Self:
        """Return it free. NOTE: the number stays, so that it never falls."""
        return replace(self, holder="")

    def is_held_by(self, fence: int, holder: str) -> bool:
        """Return whether the claim with this number and name still holds it."""
        return (self.fence, self.holder) == (fence, holder)


class LifeWatch(Generic[S]):
    """Detects holders that gave no sign of life for `seconds`, as seen from here."""

    def __init__(self, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._monotonic = monotonic
        self._seen: dict[str, tuple[S, float]] = {}

    def is_silent(self, name: str, sign: S) -> bool:
        """Return whether the lease has shown this sign for a whole lease."""
        now = self._monotonic()
        known = self._seen.get(name)
        if known is None or known[0] != sign:
            self._seen[name] = known = sign, now
        return now - known[1] >= self.seconds

    def list_silent(self, signs: Mapping[str, S]) -> dict[str, S]:
        """Return those of `signs` that are silent; forget all other leases."""
        self.forget_all_but(signs)
        return {name: sign for name, sign in signs.items() if self.is_silent(name, sign)}

    def forget(self, name: str) -> None:
        """Forget what was seen of the lease."""
        self._seen.pop(name, None)

    def forget_all_but(self, names: Collection[str]) -> None:
        """Forget what was seen of other leases: their work is done or deleted."""
        self._seen = {name: seen for name, seen in self._seen.items() if name in names}
