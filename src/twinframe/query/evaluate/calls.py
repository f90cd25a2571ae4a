"""Compiles function calls: those of the registry, and the few that need more than their arguments'
values.

Arguments arrive compiled, as closures over their value and over their presence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from twinframe.errors import QueryInvalid
from twinframe.errors.nearest import find_nearest
from twinframe.model.comparison import name_type, read_text
from twinframe.model.values import Node, Relationship, Value
from twinframe.query import algebra
from twinframe.query.evaluate.failures import build_type_error
from twinframe.query.evaluate.functions import FUNCTIONS
from twinframe.query.evaluate.run import Evaluate, Row, Run
from twinframe.query.evaluate.sizes import WORD

_LARGE: Final = 1024
_MANY: Final = 32

SPECIAL = frozenset({"coalesce", "is_defined", "is_null", "is_primitive"})
"""Functions that are compiled here, because they need more than their arguments' values."""


def compile_call(
    name: str, arguments: Sequence[Evaluate], presences: Sequence[Evaluate]
) -> Evaluate:
    """Compile the call of a function by its canonical name.

    `presences` return for each argument whether it names an existing member, null or not: the
    vendor's language distinguishes a missing property from a null one, and values cannot.
    """
    match name:
        case "coalesce":
            return _compile_coalesce(arguments)
        case "is_defined":
            return presences[0]
        case "is_null":
            return _compile_is_null(arguments[0], presences[0])
        case "is_primitive":
            return _compile_is_primitive(arguments[0], presences[0])
        case algebra.MAP_PROJECTION:
            return _compile_map_projection(*arguments)
        case _:
            return _compile_plain(name, arguments)


def _compile_plain(name: str, arguments: Sequence[Evaluate]) -> Evaluate:
    function = FUNCTIONS.get(name)
    if function is None:
        raise _refuse_name(name)
    match arguments:
        case [only]:
            return lambda row, run: _check(function(run, only(row, run)), run)
        case [first, second]:
            return lambda row, run: _check(function(run, first(row, run), second(row, run)), run)
        case _:
            return lambda row, run: _check(
                function(run, *[one(row, run) for one in arguments]), run
            )


def _check(value: Value, run: Run) -> Value:
    """Return the value, after the run has measured it if it is large."""
    if type(value) is str:
        if len(value) > _LARGE:
            run.budget.check_built(len(value))
    elif type(value) is list and len(value) > _MANY:
        run.budget.check_built(len(value) * WORD)
    return value


def _refuse_name(name: str) -> QueryInvalid:
    near = find_nearest(name, FUNCTIONS)
    hint = f" Did you mean {near}()?" if near else ""
    return QueryInvalid(f"There is no function {name}().{hint}", detail="UnknownFunction")


def _compile_coalesce(arguments: Sequence[Evaluate]) -> Evaluate:
    def evaluate(row: Row, run: Run) -> Value:
        for argument in arguments:
            value = argument(row, run)
            if value is not None:
                return value
        return None

    return evaluate


def _compile_is_null(argument: Evaluate, presence: Evaluate) -> Evaluate:
    """SPEC: the vendor's IS_NULL: present, and null."""
    return lambda row, run: presence(row, run) is True and argument(row, run) is None


def _compile_is_primitive(argument: Evaluate, presence: Evaluate) -> Evaluate:
    """SPEC: the vendor's IS_PRIMITIVE: a string, boolean, number or (present) null."""

    def evaluate(row: Row, run: Run) -> Value:
        value = argument(row, run)
        if value is None:
            return presence(row, run)
        return isinstance(value, bool | int | float) or read_text(value) is not None

    return evaluate


def _compile_map_projection(
    subject: Evaluate, entries: Evaluate, own: Evaluate | None = None
) -> Evaluate:
    def evaluate(row: Row, run: Run) -> Value:
        value = subject(row, run)
        if value is None:
            return None
        if not isinstance(value, Node | Relationship | dict):
            raise build_type_error(
                f"A map projection takes a Node, Relationship or Map, not {name_type(value)}."
            )
        if own is None:
            return entries(row, run)
        properties, named = own(row, run), entries(row, run)
        assert isinstance(properties, dict)  # noqa: S101 -- `properties()` of such a value
        assert isinstance(named, dict)  # noqa: S101 -- a map expression
        return properties | named

    return evaluate
