"""Entity tags and the two precondition headers. They read no documents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from twinframe.errors import InvalidArgument, PreconditionFailed
from twinframe.model.guids import build_guid

# RFC 9110 §8.8.3, with the weakness flag apart from the opaque part.
_TAG: Final = r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")'
_TAGS: Final = re.compile(rf"[ \t]*{_TAG}[ \t]*(?:,[ \t]*{_TAG}[ \t]*)*")
_ONE_TAG: Final = re.compile(_TAG)


def build_etag() -> str:
    """A new etag, `W/"<guid>"`, never given before."""
    return render_etag(build_guid())


def render_etag(guid: str) -> str:
    """The etag of a new id."""
    return f'W/"{guid}"'


@dataclass(frozen=True, slots=True)
class IfMatch:
    """A parsed `If-Match`: `tags` without their weakness flags, None for `*`."""

    tags: frozenset[str] | None

    def check(self, etag: str) -> None:
        """`PreconditionFailed` unless the stored document's etag is one of those named."""
        if self.tags is not None and etag.removeprefix("W/") not in self.tags:
            provided = ", ".join(sorted(f"W/{tag}" for tag in self.tags))
            raise PreconditionFailed(
                f"The provided etag {provided} doesn't match the current etag {etag}."
            )


def parse_if_match(header: str | None) -> IfMatch:
    """An absent header asks for nothing; `InvalidArgument` when it holds no etags.

    SPEC: the vendor's etags are weak and compared by their text; a list names several.
    """
    if header is None or header.strip() == "*":
        return IfMatch(None)
    if not _TAGS.fullmatch(header):
        raise InvalidArgument(
            f"Invalid If-Match header value {header[:100]!a}: it must be * or an etag such as "
            'W/"7e67a355-f19c-4c19-8a10-2d69b2d2253f".'
        )
    return IfMatch(frozenset(_ONE_TAG.findall(header)))


def parse_if_none_match(header: str | None) -> bool:
    """Whether the document must not exist yet. Only `*` is allowed; `InvalidArgument` otherwise."""
    if header is None:
        return False
    if header.strip() != "*":
        raise InvalidArgument(f"Invalid If-None-Match header value {header[:100]!a}: it must be *.")
    return True
