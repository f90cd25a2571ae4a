"""What every kind of place offers to jobs. It opens nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from twinframe.errors import InvalidArgument
from twinframe.errors.masking import mask_secrets
from twinframe.graph.portable.lines import ByteSource

LONGEST_URL = 4096


@dataclass(frozen=True, slots=True)
class OpenSource:
    """A source that is being read. `identity` differs when its content may have changed; empty
    when the place does not tell.
    """

    stream: ByteSource
    identity: str


class Place(ABC):
    """A kind of place, with what the operator allows there. All calls may block.

    Errors of all calls: `InvalidArgument` for a URL of a wrong form, `UrlNotAllowed` for one that
    is not allowed, `PlaceFailed` when the place does not do its part.
    """

    @abstractmethod
    def takes(self, url: SplitResult) -> bool:
        """Whether URLs of this form are this place's, allowed or not."""

    @abstractmethod
    def check(self, url: str) -> None:
        """Refuse what is not allowed, as far as the text tells."""

    @abstractmethod
    def open_source(self, url: str) -> AbstractContextManager[OpenSource]:
        """The content, while it is being read."""

    @abstractmethod
    def write(self, url: str, pieces: Iterable[bytes]) -> None:
        """Put the content there, as a whole: replaced, or left as it is on an error."""


def show_url(url: str) -> str:
    """SEC: without the query, which may be a signature that opens the place to everybody."""
    return mask_secrets(url.partition("?")[0].partition("#")[0])


def parse_url(url: str) -> SplitResult:
    """The parts of a URL of an absolute form. `InvalidArgument`.

    SEC: control characters, blanks and backslashes are refused: others read them otherwise.
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
