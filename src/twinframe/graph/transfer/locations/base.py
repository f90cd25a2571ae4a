"""The interface of the kinds of location that jobs read from and write to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from twinframe.errors import InvalidArgument
from twinframe.errors.masking import mask_secrets
from twinframe.graph.transfer.lines import ByteSource

LONGEST_URL = 4096


@dataclass(frozen=True, slots=True)
class OpenSource:
    """A source being read.

    `identity` differs when its content may have changed; empty if unknown. `size` is in bytes; 0 if
    unknown.
    """

    stream: ByteSource
    identity: str
    size: int = 0


class JobLocation(ABC):
    """A kind of location, with the operator's permissions there. All calls may block.

    Errors of all calls: `InvalidArgument` for a malformed URL, `UrlNotAllowed` for a forbidden one,
    `LocationFailed` when the location does not work.
    """

    @abstractmethod
    def takes(self, url: SplitResult) -> bool:
        """Return whether URLs of this form belong to this kind, allowed or not."""

    @abstractmethod
    def check(self, url: str) -> None:
        """Refuse a forbidden URL, as far as its text shows that."""

    @abstractmethod
    def open_source(self, url: str) -> AbstractContextManager[OpenSource]:
        """Open the content for reading."""

    @abstractmethod
    def write(self, url: str, pieces: Iterable[bytes]) -> None:
        """Write the content completely: replaced, or unchanged on an error."""


def show_url(url: str) -> str:
    """SEC: without the query, which may be a signature that gives access to anybody."""
    return mask_secrets(url.partition("?")[0].partition("#")[0])


def parse_url(url: str) -> SplitResult:
    """Parse an absolute URL. `InvalidArgument`.

    SEC: control characters, blanks and backslashes are refused: other parsers read them
    differently.
    """
    if len(url) > LONGEST_URL or any(x <= " " or x in '\\\x7f"<>^`{|}' for x in url):
        raise InvalidArgument(f"The URI {show_url(url)[:100]!a} failed validation: it is no URI.")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        text = f"The URI {show_url(url)[:100]!a} failed validation: {error}."
        raise InvalidArgument(text) from error
    if not parts.scheme or parts.fragment:
        raise InvalidArgument(
            f"The URI {show_url(url)[:100]!a} failed validation: it must be absolute and without a "
            "fragment."
        )
    if parts.username is not None or parts.password is not None:
        raise InvalidArgument("The URI failed validation: it must not hold a user or password.")
    return parts
