"""The port behind token verification: where the issuer's keys come from. It holds none."""

from __future__ import annotations

from abc import ABC, abstractmethod

from twinframe.authentication.keys import VerificationKey


class KeySource(ABC):
    """Gives the key a token is to be verified with.

    `generation` grows whenever a key was withdrawn or replaced: what was verified before is then
    to be verified anew.
    """

    generation: int = 0

    async def start(self) -> None:  # noqa: B027  (a source may have nothing to start)
        """Get ready in the process that serves; never waits for an issuer, never fails."""

    async def stop(self) -> None:  # noqa: B027
        """Give up what is under way."""

    @abstractmethod
    def touch(self) -> bool:
        """Have keys looked after when it is time, without waiting for it.

        True when known keys still stand, so that what was verified with them does too. Called for
        each request: costs nothing while there is nothing to do.
        """

    @abstractmethod
    async def find(self, kid: str | None, algorithm: str) -> VerificationKey:
        """The key for a token's header; may ask the issuer for it.

        Raises `Unauthenticated` when there is none, or the issuer's keys cannot be had; never
        anything else.
        """
