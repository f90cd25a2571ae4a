"""The grammar of permissions, and which permissions a grant covers.

A permission is two or more segments (`digitaltwins/read`, `digitaltwins/relationships/write`). A
grant is a permission, or one whose last segment is `*`, which covers everything below the segments
before it. There is no super-wildcard: a grant starts with a name, so `*` and `*/*` are invalid.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from twinframe.access.permissions import Decision
from twinframe.errors import InvalidArgument

WILDCARD = "*"
_SEGMENT = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*", re.ASCII)

ALIASES = {"query/action": "query/read"}
"""The vendor's names for some of our permissions."""


@dataclass(frozen=True, slots=True)
class Permission:
    """The permission that an operation requires; `segments` are two or more names."""

    segments: tuple[str, ...]

    def __str__(self) -> str:
        return "/".join(self.segments)


@dataclass(frozen=True, slots=True)
class Grant:
    """A grant to a caller: one permission, or with `wildcard` all that begin with `segments`."""

    segments: tuple[str, ...]
    wildcard: bool

    def covers(self, permission: Permission) -> bool:
        """Return whether this grant covers the permission."""
        if not self.wildcard:
            return self.segments == permission.segments
        depth = len(self.segments)
        return len(permission.segments) > depth and permission.segments[:depth] == self.segments

    def __str__(self) -> str:
        return "/".join((*self.segments, WILDCARD) if self.wildcard else self.segments)


@lru_cache(maxsize=256)
def parse_permission(text: str) -> Permission:
    """Parse a permission and resolve aliases. Raises `InvalidArgument`."""
    grant = parse_grant(text)
    if grant is None or grant.wildcard:
        raise InvalidArgument(
            f"{text!r} is not a permission: write two or more names separated by /, "
            "such as digitaltwins/read."
        )
    return Permission(grant.segments)


def parse_grant(text: str) -> Grant | None:
    """Parse a grant and resolve aliases; None for an invalid one, which grants nothing.

    SEC: tokens contain permissions of other products too. An unknown text is ignored, and never
    interpreted generously: no trimming, no change of case.
    """
    parts = tuple(ALIASES.get(text, text).split("/"))
    wildcard = parts[-1] == WILDCARD
    segments = parts[:-1] if wildcard else parts
    if len(parts) < 2 or not all(_SEGMENT.fullmatch(segment) for segment in segments):
        return None
    return Grant(segments, wildcard)


def decide(granted: Iterable[str], needed: Permission) -> Decision:
    """Decide whether any of the granted permissions covers the needed one. Deny by default."""
    for text in granted:
        grant = parse_grant(text)
        if grant is not None and grant.covers(needed):
            return Decision(True, f"{needed} is covered by {grant}")
    return Decision(False, f"the permission {needed} is missing")
