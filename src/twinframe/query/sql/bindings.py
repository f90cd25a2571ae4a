"""Placeholders for the values of a statement: constants of the query text, and request parameters.

Every value gets a placeholder; none is rendered into SQL text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import orjson

from twinframe.errors import QueryInvalid
from twinframe.model.values import Value
from twinframe.query.algebra import Expression, Literal, Parameter
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.constants import compile_constant

SqlValue = None | int | float | str | bytes
Transform = Callable[[Value], SqlValue]
Compute = Callable[[Mapping[str, Value]], Value]

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


def build_scalar(value: Value) -> SqlValue:
    """Convert a scalar for SQL. Raises `CannotRun` where SQL has no such value."""
    if type(value) is str:  # PERF: most are
        return value
    match value:
        case bool():
            return int(value)
        case int():
            if not _LOWEST <= value <= _HIGHEST:
                raise CannotRun(f"The integer {value} does not fit into 64 bits.")
            return value
        case float():
            # NOTE: SQLite reads a NaN as NULL; PostgreSQL has it equal to itself.
            if math.isnan(value):
                raise CannotRun("SQL has no NaN.")
            return value
        case None | str():
            return value
        case _:
            raise CannotRun(f"A {type(value).__name__} is no scalar of SQL.")


def build_count(value: Value) -> SqlValue:
    """Convert a number of rows.

    Raises `CannotRun` for any other value; the evaluator then reports it.
    """
    if type(value) is not int or value < 0:
        raise CannotRun("SKIP or LIMIT by something that is no count.")
    return min(value, _HIGHEST)


def build_fraction(value: Value) -> float:
    """Convert a fraction of 0 to 1.

    Raises `CannotRun` for any other value; the evaluator then reports it.
    """
    if type(value) not in (int, float) or not 0 <= value <= 1:  # type: ignore[operator]  # a number
        raise CannotRun("A percentile by something that is no fraction of 0 to 1.")
    return float(value)  # type: ignore[arg-type]  # a number by the test above


def build_json(value: Value) -> str:
    """Convert a list or map to JSON text.

    Raises `CannotRun` where JSON would not represent it exactly.
    """
    _check_json(value)
    try:
        return orjson.dumps(value).decode()
    except (TypeError, orjson.JSONEncodeError) as error:
        raise CannotRun(f"A parameter cannot travel as JSON: {error}.") from error


def _check_json(value: Value) -> None:
    match value:
        case list():
            for item in value:
                _check_json(item)
        case dict():
            for item in value.values():
                _check_json(item)
        case float():
            if not math.isfinite(value):
                raise CannotRun("JSON has no NaN and no infinity.")
        case _:
            build_scalar(value)


def build_flat_json(value: Value) -> str:
    """Convert a list of scalars to JSON text.

    Raises `CannotRun` for one that holds lists or maps.
    """
    if isinstance(value, list) and any(isinstance(item, list | dict) for item in value):
        raise CannotRun("The operator IN over a list of lists or maps.")
    return build_json(value)


@dataclass(frozen=True, slots=True)
class Source:
    """The origin of a bound value: the parameter `name`, or the constant `value` if None.

    A constant is a scalar, or a list of scalars.
    """

    name: str | None
    value: Value = None


class Bindings:
    """Placeholders of one statement, in the order they were requested; `render` writes a name."""

    def __init__(self, render: Callable[[str], str]) -> None:
        self._render = render
        self._constants: dict[str, SqlValue] = {}
        self._parameters: list[tuple[str, str, Transform]] = []
        self._computed: list[tuple[str, Callable[[Mapping[str, Value]], SqlValue]]] = []
        self._known: dict[tuple[object, ...], str] = {}

    def bind(self, source: Source, transform: Transform = build_scalar) -> str:
        """The placeholder of a value; the same value under the same transform shares one."""
        value = source.value
        # NOTE: 1, 1.0 and True are equal in Python: the key distinguishes them by type and text.
        identity = (source.name, type(value), repr(value), transform)
        placeholder = self._known.get(identity)
        if placeholder is None:
            number = len(self._known)
            if source.name is None:
                placeholder = f"c{number}"
                self._constants[placeholder] = transform(value)
            else:
                placeholder = f"p{number}"
                self._parameters.append((placeholder, source.name, transform))
            self._known[identity] = placeholder
        return self._render(placeholder)

    def bind_computed(self, compute: Compute, transform: Transform) -> str:
        """Return the placeholder of a value that `compute` derives from the parameters."""
        placeholder = f"p{len(self._known)}"
        self._known[(placeholder,)] = placeholder
        self._computed.append((placeholder, lambda parameters: transform(compute(parameters))))
        return self._render(placeholder)

    def bind_constant(self, expression: Expression, transform: Transform, what: str) -> str:
        """Return the placeholder of an expression that reads parameters alone.

        Raises `CannotRun`, naming `what` it is for, if it reads anything else.
        """
        match expression:
            case Literal(value=value):
                return self.bind(Source(None, value), transform)
            case Parameter(name=name):
                return self.bind(Source(name), transform)
            case _:
                pass
        try:
            compute = compile_constant(expression)
        except LookupError as error:
            raise CannotRun(f"{what} by a number that the graph decides.") from error
        return self.bind_computed(compute, transform)

    def build(self, parameters: Mapping[str, Value]) -> dict[str, SqlValue]:
        """Return the values to bind for these request parameters."""
        bound = dict(self._constants)
        for placeholder, name, transform in self._parameters:
            bound[placeholder] = transform(read_parameter(parameters, name))
        for placeholder, compute in self._computed:
            try:
                bound[placeholder] = compute(parameters)
            except QueryInvalid as error:
                raise CannotRun("A computed value that is an error.") from error
        return bound


def read_parameter(parameters: Mapping[str, Value], name: str) -> Value:
    """Return the value of a request parameter. Raises `QueryInvalid` when it was not sent."""
    try:
        return parameters[name]
    except KeyError:
        raise QueryInvalid(
            f"The query uses the parameter ${name}, which was not sent.",
            kind="ParameterMissing",
            detail="MissingParameter",
        ) from None
