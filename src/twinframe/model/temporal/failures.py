"""Builds the errors of temporal values, named as in the openCypher TCK."""

from __future__ import annotations

from collections.abc import Iterable

from twinframe.errors import QueryInvalid
from twinframe.errors.nearest import find_nearest

_MOST_TEXT = 80
_MOST_NAMES = 40


def build_argument_error(message: str) -> QueryInvalid:
    """Build the error for a component, text, zone or unit that no temporal value can be made of."""
    return QueryInvalid(
        message, kind="ArgumentError", detail="InvalidArgumentValue", phase="runtime"
    )


def build_overflow(message: str) -> QueryInvalid:
    """Build the error for an operation whose result is outside of the range of its type."""
    return QueryInvalid(message, kind="ArithmeticError", detail="NumberOutOfRange", phase="runtime")


def build_name_error(what: str, name: str, known: Iterable[str]) -> QueryInvalid:
    """Build the error for an unknown name of a `what`, with the nearest of the `known` names."""
    names, shown = sorted(known), shorten(name)
    if near := find_nearest(shown, names):
        hint = f"Did you mean {near!r}?"
    elif len(names) <= _MOST_NAMES:
        hint = f"Known: {', '.join(names)}."
    else:
        hint = f"There are {len(names)}, such as {names[0]!r} and {names[-1]!r}."
    return build_argument_error(f"{what} {shown!r} does not exist. {hint}")


def shorten(text: str) -> str:
    """Return the text, or its beginning if it is too long for a message."""
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}..."


def check_between(name: str, value: int, least: int, most: int) -> int:
    """Return the value itself when `least <= value <= most`, else raise an error that says so."""
    if least <= value <= most:
        return value
    raise build_argument_error(f"{name} must be {least} to {most}, not {value}.")
