"""Queries of temporal values asked as text. It tests nothing."""

from __future__ import annotations

from typing import Any

from twinframe.model.rendering import build_json
from twinframe.model.values import Value
from twinframe.query.evaluate.engine import run
from twinframe.query.language import parse_query
from twinframe.query.reader import EmptyReader


def evaluate(expression: str, **parameters: Value) -> Value:
    """The value of an expression."""
    query = parse_query(f"RETURN {expression} AS x", parameters=tuple(parameters)).query
    [(value,)] = run(query, EmptyReader(), parameters)
    return value


def show(expression: str, **parameters: Value) -> Any:
    """The value of an expression as the wire has it."""
    return build_json(evaluate(expression, **parameters))


def ask(text: str) -> list[list[Any]]:
    """The rows of a whole query as the wire has them."""
    found = run(parse_query(text).query, EmptyReader())
    return [[build_json(value) for value in row] for row in found]
