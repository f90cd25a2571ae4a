"""The port of authentication: headers in, a caller out. It verifies nothing itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from twinframe.errors import Unauthenticated
from twinframe.permissions.base import Caller

Headers: TypeAlias = Sequence[tuple[bytes, bytes]]
"""Header fields as ASGI gives them: lower-case names, values as sent."""

MISSING = "no credentials were sent"


class Authenticator(ABC):
    """Finds out who sent a request.

    `start` and `stop` run in the process that serves, around its requests.
    """

    async def start(self) -> None:  # noqa: B027  (most have nothing to start)
        """Get ready. An issuer that cannot be reached now must not stop the start."""

    async def stop(self) -> None:  # noqa: B027
        """Give back connections and files."""

    @abstractmethod
    async def authenticate(self, headers: Headers) -> Caller:
        """The caller of a request with these headers.

        Raises `Unauthenticated` for none, more than one, or bad credentials; never anything else.
        """


class AnyOf(Authenticator):
    """Several kinds of credentials; a request may show one of them.

    Each member is asked in turn; one that finds no credential of its kind says `MISSING`.
    """

    def __init__(self, members: Iterable[Authenticator]) -> None:
        self._members = tuple(members)

    async def start(self) -> None:
        for member in self._members:
            await member.start()

    async def stop(self) -> None:
        for member in self._members:
            await member.stop()

    async def authenticate(self, headers: Headers) -> Caller:
        """The caller, by the one kind of credential that was sent; several are refused."""
        found: list[Caller] = []
        for member in self._members:
            try:
                found.append(await member.authenticate(headers))
            except Unauthenticated as error:
                if error.reason != MISSING:
                    raise
        if len(found) != 1:
            # SEC: with two the request would be done as whoever is looked at first.
            raise Unauthenticated(
                "more than one kind of credentials was sent" if found else MISSING
            )
        return found[0]
