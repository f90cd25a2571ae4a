"""Predicates on strings: prefix, suffix, containment, regular expressions. It builds no strings.

SEC: regular expressions run on RE2, whose time is linear in the text, so no pattern can run away.
"""

from __future__ import annotations

import functools

import re2  # type: ignore[import-untyped]  # the wheel carries no types

from twinframe.errors import QueryInvalid
from twinframe.model.values import Value

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False  # errors are raised; the library would also print them


def starts_with(left: Value, right: Value) -> bool | None:
    """`left STARTS WITH right`; null unless both are strings."""
    if isinstance(left, str) and isinstance(right, str):
        return left.startswith(right)
    return None


def ends_with(left: Value, right: Value) -> bool | None:
    """`left ENDS WITH right`; null unless both are strings."""
    if isinstance(left, str) and isinstance(right, str):
        return left.endswith(right)
    return None


def contains(left: Value, right: Value) -> bool | None:
    """`left CONTAINS right`; null unless both are strings."""
    if isinstance(left, str) and isinstance(right, str):
        return right in left
    return None


def matches(left: Value, right: Value) -> bool | None:
    """`left =~ right`: the whole string matches; null unless both are strings."""
    if isinstance(left, str) and isinstance(right, str):
        return compile_regex(right).fullmatch(left) is not None
    return None


@functools.lru_cache(maxsize=256)
def compile_regex(pattern: str) -> re2._Regexp:
    """The compiled pattern; `QueryInvalid` says what RE2 does not take."""
    try:
        return re2.compile(pattern, options=_OPTIONS)
    except re2.error as error:
        reason = error.args[0] if error.args else "it is malformed"
        if isinstance(reason, bytes):
            reason = reason.decode("utf-8", "replace")
        raise QueryInvalid(
            f"The regular expression {pattern!r} cannot be used: {reason}. Patterns follow RE2, "
            "which has no lookaround, no back-references and no possessive quantifiers.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
            phase="runtime",
        ) from error
