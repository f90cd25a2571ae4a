"""Errors that only the values of a run bring to light, named as the openCypher TCK names them.

It raises nothing itself: every function builds the error for its caller to raise.
"""

from __future__ import annotations

from twinframe.cypher.algebra import Span
from twinframe.errors import QueryInvalid
from twinframe.model.comparison import name_type
from twinframe.model.values import Value


def note_place(error: QueryInvalid, span: Span | None) -> QueryInvalid:
    """The error, told where in the text it came up unless something further inside has done so."""
    if error.offset is None and span is not None:
        error.offset = span.start
    return error


def build_type_error(message: str, *, detail: str = "InvalidArgumentType") -> QueryInvalid:
    """A value of the wrong type reached an operator."""
    return QueryInvalid(message, kind="TypeError", detail=detail, phase="runtime")


def build_argument_type_error(
    function: str, value: Value, expected: str, *, kind: str = "TypeError"
) -> QueryInvalid:
    """A function was given a value of a type it does not take."""
    return QueryInvalid(
        f"{function}() takes {expected}, not {name_type(value)}.",
        kind=kind,
        detail="InvalidArgumentValue" if kind == "TypeError" else "InvalidArgumentType",
        phase="runtime",
    )


def build_range_error(message: str) -> QueryInvalid:
    """An argument lies outside of the range a function takes."""
    return QueryInvalid(message, kind="ArgumentError", detail="NumberOutOfRange", phase="runtime")


def build_arithmetic_error(message: str, *, detail: str = "NumberOutOfRange") -> QueryInvalid:
    """An arithmetic operation has no result in the 64-bit integers."""
    return QueryInvalid(message, kind="ArithmeticError", detail=detail, phase="runtime")
