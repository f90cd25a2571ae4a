"""Predicates on strings: prefix, suffix, containment, regular expressions.

SEC: regular expressions run on RE2, whose time is linear in the text, so no pattern can run away.
Building one holds the interpreter lock, hence the bounds on each pattern and on all patterns of a
run.
"""

from __future__ import annotations

import functools
from typing import Final

import re2  # type: ignore[import-untyped]  # the wheel carries no types

from twinframe.errors import LimitExceeded, QueryInvalid
from twinframe.model.values import Value
from twinframe.query.evaluate.run import Run

LONGEST_PATTERN: Final = 4_000
"""The most characters of a pattern.

PERF: 3 ms to build one of them, of which 32 classes take 20 ms.
"""

MOST_CLASSES: Final = 32
"""The most Unicode classes, such as `\\pL`, of a pattern: each has hundreds of ranges."""

_CLASS_EFFORT: Final = 1_000
_LEAST_EFFORT: Final = 100

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False  # errors are raised; the library would also print them
# SEC: groups are not used; 16,000 of them would take 8 GB for their positions in the text.
_OPTIONS.never_capture = True
# NOTE: the memory of a pattern for its program and for matching; a larger one is refused.
_OPTIONS.max_mem = 512 * 1024
_MOST_KEPT: Final = 64
_LONGEST_SHOWN: Final = 200


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


def matches(left: Value, right: Value, run: Run) -> bool | None:
    """`left =~ right`: the whole string matches; null unless both are strings."""
    if isinstance(left, str) and isinstance(right, str):
        if right not in run.patterns:
            run.budget.add_effort(_measure_effort(right))
            run.patterns[right] = _compile_regex(right)
            if len(run.patterns) > _MOST_KEPT:
                del run.patterns[next(iter(run.patterns))]
        # PERF: over bytes, as the library would count the characters of a match, 8 ms a mebibyte.
        return run.patterns[right].fullmatch(_encode(left)) is not None
    return None


def _measure_effort(pattern: str) -> int:
    """Estimate the effort of building the pattern: its characters, and much more for some of
    them.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise LimitExceeded(
            f"A regular expression may have {LONGEST_PATTERN:,} characters; one of the query has "
            f"{len(pattern):,}. Test for parts of it, joined by OR."
        )
    classes = pattern.count("\\p") + pattern.count("\\P")
    if classes > MOST_CLASSES:
        raise LimitExceeded(
            f"A regular expression may name {MOST_CLASSES} classes of Unicode (\\p, \\P); one of "
            f"the query names {classes}."
        )
    return _LEAST_EFFORT + len(pattern) + _CLASS_EFFORT * classes


@functools.lru_cache(maxsize=_MOST_KEPT)
def _compile_regex(pattern: str) -> re2._Regexp:
    """Return the compiled pattern; raise `QueryInvalid` with RE2's reason for a refusal."""
    try:
        return re2.compile(_encode(pattern), options=_OPTIONS)
    except re2.error as error:
        reason = error.args[0] if error.args else "it is malformed"
        if isinstance(reason, bytes):
            reason = reason.decode("utf-8", "replace")
        raise QueryInvalid(
            f"The regular expression {_abbreviate(pattern)} cannot be used: {reason}. "
            "Patterns follow RE2, which has no lookaround, no back-references and no possessive "
            "quantifiers.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
            phase="runtime",
        ) from error
    finally:
        re2.purge()  # the library would cache 128 of its own


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _abbreviate(pattern: str) -> str:
    return repr(pattern) if len(pattern) <= _LONGEST_SHOWN else f"{pattern[:_LONGEST_SHOWN]!r}..."
