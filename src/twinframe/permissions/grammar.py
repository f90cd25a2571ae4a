"""The grammar of permissions and what a grant covers. It knows no endpoint and no provider.

A permission is two or more segments (`digitaltwins/read`, `digitaltwins/relationships/write`). A
grant is a permission, or one whose last segment is `*`, which covers everything below what stands
before it. There is no super-wildcard: a grant starts with a name, so `*` and `*/*` are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from twinframe.errors import InvalidArgument
from twinframe.permissions.base import Decision

WILDCARD = "*"
_SEGMENT = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*", re.ASCII)

ALIASES = {"query/action": "query/read"}
"""Names of the vendor that mean one of ours."""


@dataclass(frozen=True, slots=True)
class Permission:
    """What an operation needs; `segments` are two or more names."""

    segments: tuple[str, ...]

    def __str__(self) -> str:
        return "/".join(self.segments)


@dataclass(frozen=True, slots=True)
class Grant:
    """What a caller holds: one permission, or with `wildcard` all that begin with `segments`."""

    segments: tuple[str, ...]
    wildcard: bool

    def covers(self, permission: Permission) -> bool:
        """Whether this grant gives the permission."""
        if not self.wildcard:
            return self.segments == permission.segments
        depth = len(self.segments)
        return len(permission.segments) > depth and permission.segments[:depth] == self.segments

    def __str__(self) -> str:
        return "/".join((*self.segments, WILDCARD) if self.wildcard else self.segments)


def parse_permission(text: str) -> Permission:
    """The permission that `text` names, aliases resolved. Raises `InvalidArgument`."""
    grant = parse_grant(text)
    if grant is None or grant.wildcard:
        raise InvalidArgument(
            f"{text!r} is not a permission: write two or more names separated by /, "
            "such as digitaltwins/read."
        )
    return Permission(grant.segments)


def parse_grant(text: str) -> Grant | None:
    """The grant that `text` is, aliases resolved; None if it is none, and so grants nothing.

    SEC: tokens carry permissions of other products too. What is not understood is passed over, it
    is never read generously: no trimming, no change of case.
    """
    parts = tuple(ALIASES.get(text, text).split("/"))
    wildcard = parts[-1] == WILDCARD
    segments = parts[:-1] if wildcard else parts
    if len(parts) < 2 or not all(_SEGMENT.fullmatch(segment) for segment in segments):
        return None
    return Grant(segments, wildcard)


def decide(granted: Iterable[str], needed: Permission) -> Decision:
    """Whether any of the granted permissions covers the needed one. Deny by default."""
    for text in granted:
        grant = parse_grant(text)
        if grant is not None and grant.covers(needed):
            return Decision(True, f"{needed} is covered by {grant}")
    return Decision(False, f"the permission {needed} is missing")
