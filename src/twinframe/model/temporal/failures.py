"""The errors of temporal values, as the openCypher TCK names such errors. It raises none itself."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from twinframe.errors import QueryInvalid


def build_argument_error(message: str) -> QueryInvalid:
    """A component, text, zone or unit that no temporal value can be made of."""
    return QueryInvalid(
        message, kind="ArgumentError", detail="InvalidArgumentValue", phase="runtime"
    )


def build_overflow(message: str) -> QueryInvalid:
    """An operation whose result lies outside of the range of its type."""
    return QueryInvalid(message, kind="ArithmeticError", detail="NumberOutOfRange", phase="runtime")


def build_name_error(what: str, name: str, known: Iterable[str]) -> QueryInvalid:
    """`what` says what was looked for; the nearest of the `known` names is offered."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(names[:40])}."
    return build_argument_error(f"{what} {name!r} does not exist. {hint}")


def check_between(name: str, value: int, least: int, most: int) -> int:
    """The value itself when `least <= value <= most`, else the error that says so."""
    if least <= value <= most:
        return value
    raise build_argument_error(f"{name} must be {least} to {most}, not {value}.")
