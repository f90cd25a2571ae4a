"""Finds the known name that a misspelt one was probably meant to be, for «did you mean»."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_LONGEST: Final = 128


def list_nearest(
    name: str, known: Iterable[str], *, most: int = 3, cutoff: float = 0.6
) -> list[str]:
    """Return the known names nearest to `name`, by their letters, else ignoring letter case.

    `cutoff` says how near they are at least: 0 is unlike, 1 equal.
    """
    # SEC: the comparison takes time quadratic in the length, and callers choose the name.
    text = name[:_LONGEST]
    names = list(known)
    if near := get_close_matches(text, names, most, cutoff):
        return near
    by_letters = {each.casefold(): each for each in names}
    near = get_close_matches(text.casefold(), by_letters, most, cutoff)
    return [by_letters[each] for each in near]


def find_nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the first of `list_nearest`, or None."""
    return next(iter(list_nearest(name, known, most=1, cutoff=cutoff)), None)


def render_hint(
    name: str, known: Iterable[str], otherwise: str = "Known are:", *, cutoff: float = 0.6
) -> str:
    """Return `Did you mean X?`, or all known names behind the words `otherwise`."""
    names = list(known)
    if (near := find_nearest(name, names, cutoff=cutoff)) is not None:
        return f"Did you mean {near}?"
    return f"{otherwise} {', '.join(names) or 'none'}."


def render_suggestion(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the end of a sentence, or nothing if no name is near."""
    nearest = find_nearest(name, known)
    return "" if nearest is None else f"; did you mean '{nearest}'?"
