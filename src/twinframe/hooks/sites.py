"""The interface of sites: a plugin's pages, and the facts they get about the service.

The service handles methods, validators, content codings and security headers of requests for a
site. A site only returns the content at a path below its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

STRICT_POLICY: Final = "default-src 'none'; frame-ancestors 'none'"
"""The Content-Security-Policy of content that has none."""

_DIGEST: Final = 12  # bytes: no two versions of a file collide by chance


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFacts:
    """The facts that a site may know of its service; none of them is secret.

    `asks` says whether callers need credentials, `takes_tokens` whether these may be tokens, which
    `authority` signs for `audience` and which have to carry `scopes`. `control` is the path, or the
    URL, of the control plane, empty if there is none; its tokens name `control_audience` and carry
    `control_scopes`. With `hosting`, graphs of it are at `/graphs/{id}` of the API; with `events`,
    changes can be followed at `/events`, which sends a sign of life every `heartbeat` seconds.
    """

    version: str
    asks: bool
    takes_tokens: bool
    authority: str
    audience: str
    scopes: tuple[str, ...]
    control: str
    control_audience: str
    control_scopes: tuple[str, ...]
    hosting: bool
    events: bool
    heartbeat: float


@dataclass(frozen=True, slots=True)
class SiteRequest:
    """A request to a site.

    `base` is the base path as the service was called, such as `/api`, or empty: the prefix of the
    site's own path in the links of a page. `segments` are those of the path below the site's,
    decoded; none is `.` or `..`. SEC: one may contain any other character, `/` too: look names up,
    never make file names of them.
    """

    base: str
    segments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Content:
    """The content at a path. Make it with `build_content`, and cache it.

    `codings` are the same bytes compressed, by the name of the content coding (`br`, `gzip`).
    `lasting` says that its name changes with it, so that clients may cache it for good; anything
    else they request each time. `policy` is its Content-Security-Policy.
    """

    body: bytes
    media_type: str
    etag: str
    codings: Mapping[str, bytes] = field(default_factory=dict)
    lasting: bool = False
    policy: str = STRICT_POLICY
    status: int = 200


def build_content(
    body: bytes,
    media_type: str,
    *,
    codings: Mapping[str, bytes] | None = None,
    lasting: bool = False,
    policy: str = STRICT_POLICY,
    status: int = 200,
) -> Content:
    """Build the content with its validator, derived from its bytes.

    Raises `ValueError` for a media type or a policy that cannot stand in a header.
    """
    for text in (media_type, policy):
        # SEC: a line end would begin another header; other bytes would fail at each request.
        if not (text.isascii() and text.isprintable()):
            raise ValueError(f"{text!a} cannot stand in a header: only printable ASCII can")
    etag = blake2b(body, digest_size=_DIGEST).hexdigest()
    return Content(body, media_type, etag, codings or {}, lasting, policy, status)


class Site(ABC):
    """Pages below one path of the service, open to everybody.

    SEC: no credentials are required here. The content of a site is public; its pages read data from
    the API with their user's credentials. Drivers give it neither `__len__` nor `__bool__`.
    """

    @property
    @abstractmethod
    def path(self) -> str:
        """The path below `/` and the base path: one segment of a-z, 0-9 and `-`: `/explorer`.

        The path without a trailing slash is redirected to the one with it, so that links of its
        first page may be relative.
        """

    @property
    def is_start(self) -> bool:
        """Whether `/` leads browsers to this site. At most one site of a service says so."""
        return False

    @abstractmethod
    async def read(self, request: SiteRequest) -> Content | None:
        """Return the content at this path; None is answered with 404.

        It runs on the event loop: it must not take longer than some milliseconds.
        """
