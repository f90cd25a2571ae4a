"""The port for the source of an issuer's keys, as token verification uses it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from twinframe.access.authentication.keys import VerificationKey


class KeySource(ABC):
    """Returns the key to verify a token with.

    `generation` grows whenever a key was withdrawn or replaced: tokens verified before must then be
    verified again.
    """

    generation: int = 0

    async def start(self) -> None:  # noqa: B027  (a source may have nothing to start)
        """Prepare in the process that serves; never waits for an issuer, never fails."""

    async def stop(self) -> None:  # noqa: B027
        """Cancel what is under way."""

    @abstractmethod
    def touch(self) -> bool:
        """Refresh the keys when it is time, without waiting for it.

        Returns True when the known keys are still valid, and with them the tokens they verified.
        Called for each request: it costs nothing while there is nothing to do.
        """

    @abstractmethod
    async def find(self, kid: str | None, algorithm: str) -> VerificationKey:
        """Return the key for a token's header; may request it from the issuer.

        Raises `Unauthenticated` when there is none, or the issuer's keys are unavailable; never
        anything else.
        """
