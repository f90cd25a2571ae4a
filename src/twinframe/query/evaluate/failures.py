"""Builds the errors that depend on the values of a run, named as in the openCypher TCK."""

from __future__ import annotations

from twinframe.errors import QueryInvalid
from twinframe.model.comparison import name_type
from twinframe.model.values import Value
from twinframe.query.spans import Span


def note_span(error: QueryInvalid, span: Span | None) -> QueryInvalid:
    """Add the position in the text to the error, unless it has one from further inside."""
    if error.offset is None and span is not None:
        error.offset = span.start
    return error


def build_type_error(message: str, *, detail: str = "InvalidArgumentType") -> QueryInvalid:
    """Build the error for a value of the wrong type in an operator."""
    return QueryInvalid(message, kind="TypeError", detail=detail, phase="runtime")


def build_argument_type_error(
    function: str, value: Value, expected: str, *, kind: str = "TypeError"
) -> QueryInvalid:
    """Build the error for a value of a type that a function does not take."""
    return QueryInvalid(
        f"{function}() takes {expected}, not {name_type(value)}.",
        kind=kind,
        detail="InvalidArgumentValue" if kind == "TypeError" else "InvalidArgumentType",
        phase="runtime",
    )


def build_range_error(message: str) -> QueryInvalid:
    """Build the error for an argument outside of a function's range."""
    return QueryInvalid(message, kind="ArgumentError", detail="NumberOutOfRange", phase="runtime")


def build_arithmetic_error(message: str, *, detail: str = "NumberOutOfRange") -> QueryInvalid:
    """Build the error for an arithmetic operation without a result in the 64-bit integers."""
    return QueryInvalid(message, kind="ArithmeticError", detail=detail, phase="runtime")
