"""Compiles filters of event routes from tree to predicate, reading models through `FilterScope`.

A comparison with a missing value is false, including `!=`; `NOT` of it is true. Numbers are
compared with numbers and texts with texts; values of other types are unequal and unordered.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, assert_never

from twinframe.graph.events.envelope import EventType
from twinframe.graph.events.event import ABSENT, Event, find_value
from twinframe.graph.events.filters import parser
from twinframe.graph.events.filters.parser import parse_filter


class FilterScope(Protocol):
    """The information that a filter needs beyond the event."""

    def is_of_model(self, model_id: str, wanted: str) -> bool:
        """Return whether the model is `wanted`, a later version of it, or extends one of these."""
        ...


Read: TypeAlias = Callable[[Event], Any]
Passes: TypeAlias = Callable[[Event, FilterScope], bool]

_CREATED: Final = (EventType.TWIN_CREATE.value, EventType.RELATIONSHIP_CREATE.value)
_DELETED: Final = (EventType.TWIN_DELETE.value, EventType.RELATIONSHIP_DELETE.value)

# SPEC: the names of types before CloudEvents; recorded filters of 2023 still have them.
_OLD_TYPES: Final = {
    EventType.TELEMETRY.value: "DigitalTwinTelemetryMessages",
    EventType.TWIN_CREATE.value: "DigitalTwinLifecycleNotification",
    EventType.TWIN_DELETE.value: "DigitalTwinLifecycleNotification",
    EventType.TWIN_UPDATE.value: "DigitalTwinChangeNotification",
    EventType.RELATIONSHIP_CREATE.value: "RelationshipLifecycleNotification",
    EventType.RELATIONSHIP_DELETE.value: "RelationshipLifecycleNotification",
    EventType.RELATIONSHIP_UPDATE.value: "RelationshipChangeNotification",
}
_COMPARE: Final[dict[parser.Comparator, Callable[[Any, Any], bool]]] = {
    parser.Comparator.LESS: operator.lt,
    parser.Comparator.LESS_EQUAL: operator.le,
    parser.Comparator.GREATER: operator.gt,
    parser.Comparator.GREATER_EQUAL: operator.ge,
}


@dataclass(frozen=True, slots=True)
class Filter:
    """A compiled filter, thread-safe. `text` is its source."""

    text: str
    passes: Passes


def build_filter(text: str) -> Filter:
    """Build the filter of a text. Raises `EventRouteFilterInvalid`."""
    return Filter(text, _compile(parse_filter(text)))


def _compile(condition: parser.Condition) -> Passes:
    match condition:
        case parser.Constant(value=value):
            return lambda _event, _scope: value
        case parser.Comparison():
            return _compile_comparison(condition)
        case parser.Membership():
            return _compile_membership(condition)
        case parser.Test():
            return _compile_test(condition)
        case parser.Changed(path=path):
            return lambda event, _scope: _is_changed(event, path)
        case parser.Crossed():
            return _compile_crossing(condition)
        case parser.OfModel():
            return _compile_model(condition)
        case parser.Negation(operand=operand):
            inner = _compile(operand)
            return lambda event, scope: not inner(event, scope)
        case parser.Junction():
            return _compile_junction(condition)
        case _:
            assert_never(condition)


def _compile_junction(junction: parser.Junction) -> Passes:
    operands = [_compile(operand) for operand in junction.operands]
    if junction.every:
        return lambda event, scope: all(one(event, scope) for one in operands)
    return lambda event, scope: any(one(event, scope) for one in operands)


def _compile_comparison(comparison: parser.Comparison) -> Passes:
    left, right = _compile_operand(comparison.left), _compile_operand(comparison.right)
    compare = _COMPARE.get(comparison.comparator)
    if compare is not None:

        def is_ordered(event: Event, _scope: FilterScope) -> bool:
            one, other = left(event), right(event)
            return _are_comparable(one, other) and compare(one, other)

        return is_ordered
    wanted = comparison.comparator is parser.Comparator.EQUAL

    def is_equal(event: Event, _scope: FilterScope) -> bool:
        one, other = left(event), right(event)
        return one is not ABSENT and other is not ABSENT and _equals(one, other) is wanted

    return is_equal


def _compile_membership(membership: parser.Membership) -> Passes:
    operand, items = _compile_operand(membership.operand), membership.items

    def is_member(event: Event, _scope: FilterScope) -> bool:
        value = operand(event)
        if value is ABSENT:
            return False
        return any(_equals(value, item) for item in items) is not membership.negated

    return is_member


def _compile_test(test: parser.Test) -> Passes:
    function = _FUNCTIONS[test.name]
    operands = [_compile_operand(argument) for argument in test.arguments]
    return lambda event, _scope: function(*(operand(event) for operand in operands))


def _compile_model(condition: parser.OfModel) -> Passes:
    wanted, exact = condition.model_id, condition.exact

    def is_of_model(event: Event, scope: FilterScope) -> bool:
        model_id = event.model_id
        if model_id is None or exact:
            return model_id == wanted
        return scope.is_of_model(model_id, wanted)

    return is_of_model


def _compile_crossing(condition: parser.Crossed) -> Passes:
    path, threshold, crossing = condition.path, condition.threshold, condition.crossing

    def is_crossed(event: Event, _scope: FilterScope) -> bool:
        new = _read_new(event, path)
        if not _is_number(new):
            return False
        old = _read_old(event, path)
        was = _is_number(old)
        rises = new > threshold and not (was and old > threshold)
        falls = new < threshold and not (was and old < threshold)
        match crossing:
            case parser.Crossing.ABOVE:
                return rises
            case parser.Crossing.BELOW:
                return falls
            case _:
                return was and (rises or falls)

    return is_crossed


# --- values -----------------------------------------------------------------------------------


def _compile_operand(operand: parser.Operand) -> Read:
    match operand:
        case parser.Literal(value=value):
            return lambda _event: value
        case parser.Attribute(name="$eventType"):
            return lambda event: _OLD_TYPES.get(event.type, event.type)
        case parser.Attribute(name=name):
            return lambda event: event.document.get(name, ABSENT)
        case parser.Body(path=path):
            return lambda event: find_value(event.data, path)
        case parser.Property(moment=parser.Moment.OLD, path=path):
            return lambda event: _read_old(event, path)
        case parser.Property(path=path):
            return lambda event: _read_new(event, path)
        case _:
            assert_never(operand)


def _read_old(event: Event, path: tuple[str, ...]) -> Any:
    """Return the old value; all operations of a patch have the value before the first of them."""
    if event.type in _DELETED:
        return find_value(event.data, path)
    for change in event.changes:
        if change.path == path[: len(change.path)]:
            return _find_below(change.old, path[len(change.path) :])
    return ABSENT


def _read_new(event: Event, path: tuple[str, ...]) -> Any:
    """Return the new value: that of the last operation at the path or above it.

    When a later one changed something below the path, the whole value is unknown.
    """
    if event.type in _CREATED:
        return find_value(event.data, path)
    for change in reversed(event.changes):
        if change.path == path[: len(change.path)]:
            return _find_below(change.new, path[len(change.path) :])
        if change.path[: len(path)] == path:
            return ABSENT
    return ABSENT


def _find_below(value: Any, path: tuple[str, ...]) -> Any:
    return ABSENT if value is ABSENT else find_value(value, path)


def _is_changed(event: Event, path: tuple[str, ...]) -> bool:
    if event.type in _CREATED or event.type in _DELETED:
        return find_value(event.data, path) is not ABSENT
    for change in event.changes:
        length = len(change.path)
        if change.path[: len(path)] == path:
            if length > len(path) or not _is_same(change.old, change.new):
                return True
        elif change.path == path[:length]:
            below = path[length:]
            if not _is_same(_find_below(change.old, below), _find_below(change.new, below)):
                return True
    return False


def _is_same(old: Any, new: Any) -> bool:
    if old is ABSENT or new is ABSENT:
        return old is new
    return type(old) is type(new) and bool(old == new)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _are_comparable(one: Any, other: Any) -> bool:
    if _is_number(one):
        return _is_number(other)
    return isinstance(one, str) and isinstance(other, str)


def _equals(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def _both_texts(test: Callable[[str, str], bool]) -> Callable[[Any, Any], bool]:
    return lambda one, other: isinstance(one, str) and isinstance(other, str) and test(one, other)


def _is_primitive(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


_FUNCTIONS: Final[dict[str, Callable[..., bool]]] = {
    "STARTS_WITH": _both_texts(str.startswith),
    "ENDS_WITH": _both_texts(str.endswith),
    "CONTAINS": _both_texts(operator.contains),
    "ARRAY_CONTAINS": lambda items, item: (
        isinstance(items, list) and any(_equals(one, item) for one in items)
    ),
    "IS_DEFINED": lambda value: value is not ABSENT,
    "IS_NULL": lambda value: value is None,
    "IS_BOOL": lambda value: isinstance(value, bool),
    "IS_NUMBER": _is_number,
    "IS_STRING": lambda value: isinstance(value, str),
    "IS_OBJECT": lambda value: isinstance(value, dict),
    "IS_PRIMITIVE": _is_primitive,
}
