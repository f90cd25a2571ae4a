"""The port of authentication: request headers in, a caller out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from twinframe.access.permissions import Caller
from twinframe.errors import Unauthenticated

Headers: TypeAlias = Sequence[tuple[bytes, bytes]]
"""Header fields as ASGI gives them: lower-case names, values as sent."""

MISSING = "no credentials were sent"


class Authenticator(ABC):
    """Identifies the caller of a request.

    `start` and `stop` run in the process that serves, around its requests.
    """

    async def start(self) -> None:  # noqa: B027  (most have nothing to start)
        """Prepare. An issuer that cannot be reached now must not stop the start."""

    async def stop(self) -> None:  # noqa: B027
        """Close connections and files."""

    def recall(self, headers: Headers) -> Caller | None:
        """Return the caller of headers that were authenticated before and still count.

        None says nothing: `authenticate` decides. PERF: it awaits and reads nothing.
        """
        return None

    @abstractmethod
    async def authenticate(self, headers: Headers) -> Caller:
        """Return the caller of a request with these headers.

        Raises `Unauthenticated` for none, more than one, or bad credentials; never anything else.
        """


class AnyOf(Authenticator):
    """Accepts several kinds of credentials, of which a request may use one.

    Each member is tried in turn; one that finds no credential of its kind raises with `MISSING`.
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
        """Return the caller, by the one kind of credential that was sent; several are refused."""
        found: list[Caller] = []
        for member in self._members:
            try:
                found.append(await member.authenticate(headers))
            except Unauthenticated as error:
                if error.reason != MISSING:
                    raise
        if len(found) != 1:
            # SEC: with two the caller would depend on the order of checks.
            raise Unauthenticated(
                "more than one kind of credentials was sent" if found else MISSING
            )
        return found[0]
