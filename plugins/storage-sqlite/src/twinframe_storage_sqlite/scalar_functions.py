"""The scalar functions of Cypher that SQLite lacks, on each connection that runs queries.

NOTE: they are those of the evaluator, so that both give the same to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias, cast

import apsw
import orjson

from twinframe.errors import QueryInvalid
from twinframe.model.values import Value
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.arithmetic import power
from twinframe.query.evaluate.functions import FUNCTIONS

Scalar: TypeAlias = float | str | bytes | None

_PREFIX: Final = "twinframe_"
_FLAGS: Final = apsw.SQLITE_DETERMINISTIC | apsw.SQLITE_DIRECTONLY
_LOWEST, _BEYOND = -(2**63), 2**64
_MOST_PARTS: Final = 10_000
"""SEC: the evaluator counts the elements of longer lists."""

_TEXTS: Final[Mapping[str, Callable[[str], str]]] = {
    "toUpper": str.upper,
    "toLower": str.lower,
    "trim": str.strip,
    "lTrim": str.lstrip,
    "rTrim": str.rstrip,
}
MATHEMATICAL: Final = (
    *("exp", "log", "log10", "sin", "cos", "tan", "cot", "asin", "acos", "atan"),
    *("degrees", "radians", "haversin"),
)


def render_call(name: str, *arguments: str) -> str:
    """Render the call of a function by its name in Cypher; no argument may be NULL."""
    return f"{_PREFIX}{name}({', '.join(arguments)})"


def add_scalar_functions(connection: apsw.Connection) -> None:
    """Add the functions to a connection. PERF: a call takes 0.1 to 0.4 us."""

    def add(name: str, function: Callable[..., Scalar], count: int) -> None:
        connection.create_scalar_function(_PREFIX + name, function, count, flags=_FLAGS)

    for name, change in _TEXTS.items():
        add(name, change, 1)
    for name in MATHEMATICAL:
        add(name, _build_number(partial(FUNCTIONS[name], None)), 1)
    add("power", _build_number(power), 2)
    add("round", _build_number(partial(FUNCTIONS["round"], None)), 2)
    for name in ("toString", "toInteger", "toFloat"):
        add(name, _build_scalar(partial(FUNCTIONS[name], None)), 1)
    add("split", _split, 2)
    add("key", _build_key, 1)


def _build_number(function: Callable[..., Value]) -> Callable[..., Scalar]:
    compute = _build_scalar(function)

    def call(*numbers: float) -> Scalar:
        found = compute(*numbers)
        if isinstance(found, float) and math.isnan(found):
            raise CannotRun("A function of a number out of its domain.")  # SQLite has no NaN
        return found

    return call


def _build_scalar(function: Callable[..., Value]) -> Callable[..., Scalar]:
    def call(*values: Scalar) -> Scalar:
        try:
            return cast("Scalar", function(*values))
        except QueryInvalid as error:
            # NOTE: the evaluator reports it with its position in the text.
            raise CannotRun(error.message) from error

    return call


def _split(text: str, delimiter: str) -> str:
    parts = text.split(delimiter) if delimiter else [*text]
    if len(parts) > _MOST_PARTS:
        raise CannotRun("split() to so many parts.")
    return orjson.dumps(parts).decode()


def _build_key(text: str) -> bytes:
    """Build a key that is equal for equivalent lists and maps, of their JSON text."""
    return orjson.dumps(_merge_numbers(orjson.loads(text)), option=orjson.OPT_SORT_KEYS)


def _merge_numbers(value: Any) -> Any:
    """Return the value with whole floats as integers, as 1 and 1.0 are equivalent."""
    match value:
        case float() if value.is_integer() and _LOWEST <= value < _BEYOND:
            return int(value)
        case list():
            return [_merge_numbers(item) for item in value]
        case dict():
            return {key: _merge_numbers(item) for key, item in value.items()}
        case _:
            return value
