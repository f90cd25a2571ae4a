"""Parses permissions, scopes, durations and names given on the command line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from twinframe.access.permission_grammar import Grant, parse_grant
from twinframe.control.hosting.routes import HOSTED_ROUTES
from twinframe.errors import InvalidArgument
from twinframe.errors.nearest import render_hint
from twinframe.http.access import list_permissions

_MCP = "mcp/*"
_DURATION = re.compile(r"([1-9][0-9]{0,5})([smhdw])")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
# SPEC: RFC 6749 section 3.3.
_SCOPE = re.compile(r"[!#-\[\]-~]+")
_LONGEST_NAME = 100
_LONGEST_SECONDS = 100 * 365 * 86400


def parse_grants(texts: Iterable[str]) -> tuple[str, ...]:
    """Parse grants and resolve aliases. Raises `InvalidArgument` for unknown ones.

    A grant must cover a permission that some operation requires.
    """
    return tuple(dict.fromkeys(str(_parse_known(text)) for text in texts))


def _parse_known(text: str) -> Grant:
    grant = parse_grant(text)
    known = list_permissions(HOSTED_ROUTES)
    if grant is not None and (str(grant) == _MCP or any(map(grant.covers, known))):
        return grant
    texts = [str(permission) for permission in known]
    wildcards = {f"{name.rpartition('/')[0]}/*" for name in texts}
    names = [*texts, *sorted(wildcards), _MCP]
    hint = render_hint(text, names, "There are", cutoff=0.5)
    raise InvalidArgument(f"{text!r} is no permission of twinframe. {hint}")


def parse_scopes(texts: Iterable[str]) -> tuple[str, ...]:
    """Parse scopes. Raises `InvalidArgument`."""
    found = tuple(dict.fromkeys(texts))
    for text in found:
        if not _SCOPE.fullmatch(text):
            raise InvalidArgument(
                f"{text!r} is no scope: write printable ASCII without blanks, such as mcp:tools; "
                "give --scope once for each."
            )
    return found


def parse_duration(text: str) -> int:
    """Parse `90d`, `12h`, `30m`, `45s` or `2w` to seconds, up to 100 years.

    Raises `InvalidArgument`.
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        raise InvalidArgument(
            f"{text!r} is no duration: write a number and one of s, m, h, d, w, such as 90d."
        )
    seconds = int(found[1]) * _UNITS[found[2]]
    if seconds > _LONGEST_SECONDS:
        raise InvalidArgument(f"{text!r} is longer than 100 years; write a time such as 90d.")
    return seconds


def parse_name(text: str) -> str:
    """Parse a display name. Raises `InvalidArgument` if it is empty, long or unprintable."""
    if not text.strip() or len(text) > _LONGEST_NAME or not text.isprintable():
        raise InvalidArgument(f"A name has 1 to {_LONGEST_NAME} printable characters.")
    return text


def render_moment(seconds: float | None) -> str:
    """Render a time as `2026-01-31 12:00` in UTC; empty for none."""
    if seconds is None:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
