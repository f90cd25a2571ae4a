"""The site seam: what a plugin's pages are, and what they are told of the service. No transport.

The service answers requests for a site itself: methods, validators, codings and headers of safety
are its matter. A site only says what stands at a path below its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

STRICT_POLICY: Final = "default-src 'none'; frame-ancestors 'none'"
"""The Content-Security-Policy of what names none."""

_DIGEST: Final = 12  # bytes: no two versions of a file meet by chance


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFacts:
    """What a site may know of the service that has it: nothing of it is secret.

    `asks` says whether callers need credentials, `takes_tokens` whether these may be tokens, which
    `authority` signs for `audience` and which have to carry `scopes`. `control` is the path, or the
    URL, of the control plane, empty where there is none; its tokens name `control_audience` and
    carry `control_scopes`. With `hosting`, graphs of it are at `/graphs/{id}` of the API; with
    `events`, changes can be followed at `/events`, which shows every `heartbeat` seconds that it is
    alive.
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
    """What is asked of a site.

    `base` is the base path as the service was called, such as `/api`, or empty: what stands before
    the site's own path in the links of a page. `segments` are those of the path below the site's,
    decoded; none is `.` or `..`. SEC: one may hold any other character, `/` too: look names up,
    never make a file's name of them.
    """

    base: str
    segments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Content:
    """What stands at a path. Make it with `build_content`, and keep it.

    `codings` are the same bytes compressed, by the name of the content coding (`br`, `gzip`).
    `lasting` says that its name changes with it, so that clients may keep it for good; anything
    else they ask for anew each time. `policy` is its Content-Security-Policy.
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
    """The content with its validator, which is made of its bytes.

    Raises `ValueError` for a media type or a policy that cannot stand in a header.
    """
    for text in (media_type, policy):
        # SEC: a line end would begin a header of its own; other bytes would fail at each request.
        if not (text.isascii() and text.isprintable()):
            raise ValueError(f"{text!a} cannot stand in a header: only printable ASCII can")
    etag = blake2b(body, digest_size=_DIGEST).hexdigest()
    return Content(body, media_type, etag, codings or {}, lasting, policy, status)


class Site(ABC):
    """Pages below one path of the service, open to everybody.

    SEC: nobody is asked for credentials here. What a site gives is public; what its pages show they
    get from the API, as whoever looks at them. Drivers give it neither `__len__` nor `__bool__`.
    """

    @property
    @abstractmethod
    def path(self) -> str:
        """Where it is, below `/` and the base path: one segment of a-z, 0-9 and `-`: `/explorer`.

        The path without a slash at its end is redirected to the one with it, so that links of its
        first page may be relative.
        """

    @abstractmethod
    async def read(self, request: SiteRequest) -> Content | None:
        """What is at this path; None for nothing, which is answered with 404.

        It runs on the event loop: what takes longer than some milliseconds belongs elsewhere.
        """
