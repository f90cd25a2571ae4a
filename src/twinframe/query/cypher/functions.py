"""The table of functions that a query may call: names, arity and types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinframe.query.algebra import AggregateKind
from twinframe.query.cypher import static_types as t
from twinframe.query.cypher.static_types import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

_GRAPH = frozenset({Kind.NODE, Kind.RELATIONSHIP})
_KEYED = _GRAPH | {Kind.MAP}
_SIZED = frozenset({Kind.LIST, Kind.STRING})


@dataclass(frozen=True, slots=True)
class Function:
    """One function.

    `minimum` and `maximum` bound the number of arguments (`maximum` None: any number). `first` are
    the kinds its first argument may have (None: not checked before running). `deterministic` is
    false when equal arguments may give different results.
    """

    name: str
    minimum: int
    maximum: int | None
    result: t.StaticType
    summary: str
    group: str
    first: frozenset[Kind] | None = None
    aliases: tuple[str, ...] = ()
    aggregate: AggregateKind | None = None
    deterministic: bool = True


def _graph_functions() -> list[Function]:
    def define(name: str, result: t.StaticType, first: frozenset[Kind], summary: str) -> Function:
        return Function(name, 1, 1, result, summary, "Nodes, relationships, paths", first)

    relationship, path = frozenset({Kind.RELATIONSHIP}), frozenset({Kind.PATH})
    return [
        define("labels", t.STRINGS, frozenset({Kind.NODE}), "The labels of a node."),
        define("type", t.STRING, relationship, "The name of a relationship."),
        define("id", t.ANY, _GRAPH, "The identity of a node or relationship."),
        define("elementId", t.STRING, _GRAPH, "The identity of a node or relationship, as text."),
        define("properties", t.MAP, _KEYED, "All properties as a map."),
        define("keys", t.STRINGS, _KEYED, "The names of all properties."),
        define("startNode", t.NODE, relationship, "The node a relationship leaves."),
        define("endNode", t.NODE, relationship, "The node a relationship reaches."),
        define("nodes", t.NODES, path, "The nodes of a path in order."),
        Function(
            "relationships", 1, 1, t.RELATIONSHIPS, "The relationships of a path in order.",
            "Nodes, relationships, paths", path, ("rels",),
        ),
        define("length", t.INTEGER, path, "The number of relationships of a path."),
    ]  # fmt: skip


def _list_functions() -> list[Function]:
    group, lists = "Lists", frozenset({Kind.LIST})
    return [
        Function("size", 1, 1, t.INTEGER,
                 "Length of a list or string; of a pattern, how many matches it has.", group,
                 _SIZED, ("char_length", "character_length")),
        Function("head", 1, 1, t.ANY, "The first element.", group, lists),
        Function("last", 1, 1, t.ANY, "The last element.", group, lists),
        Function("tail", 1, 1, t.LIST, "All but the first element.", group, lists),
        Function("reverse", 1, 1, t.ANY, "A list or string backwards.", group, _SIZED),
        Function("range", 2, 3, t.INTEGERS, "Integers from, to (inclusive), step.", group),
        Function("isEmpty", 1, 1, t.BOOLEAN, "Whether a list, map or string is empty.", group,
                 _SIZED | {Kind.MAP}),
    ]  # fmt: skip


def _scalar_functions() -> list[Function]:
    group = "Scalars and conversions"
    return [
        Function("coalesce", 1, None, t.ANY, "The first value that is not null.", group),
        Function("nullIf", 2, 2, t.ANY, "Null if both are equal, else the first.", group),
        Function("exists", 1, 1, t.BOOLEAN, "Whether a property or pattern exists.", group),
        Function("toBoolean", 1, 1, t.BOOLEAN, "Text or integer to boolean.", group),
        Function("toInteger", 1, 1, t.INTEGER, "Number, text or boolean to integer.", group,
                 aliases=("toInt",)),
        Function("toFloat", 1, 1, t.FLOAT, "Number or text to float.", group),
        Function("toString", 1, 1, t.STRING, "Any scalar to text.", group),
        Function("timestamp", 0, 0, t.INTEGER, "Milliseconds since 1970.", group,
                 deterministic=False),
        Function("randomUUID", 0, 0, t.STRING, "A random UUID.", group, deterministic=False),
    ]  # fmt: skip


def _number_functions() -> list[Function]:
    group = "Numbers"
    unary = {
        "ceil": "Least whole number not below.", "floor": "Greatest whole number not above.",
        "sqrt": "Square root.", "exp": "e to the power.", "log": "Natural logarithm.",
        "log10": "Decimal logarithm.", "sin": "Sine.", "cos": "Cosine.", "tan": "Tangent.",
        "cot": "Cotangent.", "asin": "Arc sine.", "acos": "Arc cosine.", "atan": "Arc tangent.",
        "degrees": "Radians to degrees.", "radians": "Degrees to radians.",
        "haversin": "Half the versine.",
    }  # fmt: skip
    return [
        *(Function(name, 1, 1, t.FLOAT, text, group) for name, text in unary.items()),
        Function("abs", 1, 1, t.ANY, "Absolute value.", group),
        Function("sign", 1, 1, t.INTEGER, "-1, 0 or 1.", group),
        Function("round", 1, 2, t.FLOAT, "Nearest number with so many decimals.", group),
        Function("atan2", 2, 2, t.FLOAT, "Angle of a vector (y, x).", group),
        Function("e", 0, 0, t.FLOAT, "Euler's number.", group),
        Function("pi", 0, 0, t.FLOAT, "Pi.", group),
        Function("rand", 0, 0, t.FLOAT, "A random number of [0, 1).", group, deterministic=False),
    ]


def _string_functions() -> list[Function]:
    group = "Strings"
    return [
        Function("left", 2, 2, t.STRING, "The first n characters.", group),
        Function("right", 2, 2, t.STRING, "The last n characters.", group),
        Function("lTrim", 1, 1, t.STRING, "Without blanks in front.", group),
        Function("rTrim", 1, 1, t.STRING, "Without blanks behind.", group),
        Function("trim", 1, 1, t.STRING, "Without blanks around.", group),
        Function("replace", 3, 3, t.STRING, "Every occurrence replaced.", group),
        Function("split", 2, 2, t.STRINGS, "The pieces between separators.", group),
        Function("substring", 2, 3, t.STRING, "From an offset, so many characters.", group),
        Function("toLower", 1, 1, t.STRING, "In lower case.", group, aliases=("lower",)),
        Function("toUpper", 1, 1, t.STRING, "In upper case.", group, aliases=("upper",)),
    ]


def _aggregates() -> list[Function]:
    group = "Aggregates"

    def define(kind: AggregateKind, arity: int, result: t.StaticType, summary: str) -> Function:
        return Function(kind.value, arity, arity, result, summary, group, aggregate=kind)

    kinds = AggregateKind
    return [
        define(kinds.COUNT, 1, t.INTEGER, "How many values are not null; `count(*)` counts rows."),
        define(kinds.SUM, 1, t.ANY, "Sum of numbers or durations."),
        define(kinds.AVG, 1, t.ANY, "Mean of numbers or durations."),
        define(kinds.MIN, 1, t.ANY, "Least value."),
        define(kinds.MAX, 1, t.ANY, "Greatest value."),
        define(kinds.COLLECT, 1, t.LIST, "All values as a list."),
        define(kinds.STDEV, 1, t.FLOAT, "Standard deviation of a sample."),
        define(kinds.STDEVP, 1, t.FLOAT, "Standard deviation of a population."),
        define(kinds.PERCENTILE_CONT, 2, t.FLOAT, "Percentile, interpolated."),
        define(kinds.PERCENTILE_DISC, 2, t.ANY, "Percentile, nearest value."),
    ]


def _temporal_functions() -> list[Function]:
    group = "Temporal"
    return [
        *(one for name in _INSTANTS for one in _instant_functions(name, group)),
        Function("datetime.fromEpoch", 2, 2, t.TEMPORAL,
                 "From seconds and nanoseconds since 1970.", group,
                 aliases=("datetime.fromepochseconds",)),
        Function("datetime.fromEpochMillis", 1, 1, t.TEMPORAL, "From milliseconds since 1970.",
                 group),
        Function("duration", 1, 1, t.TEMPORAL, "A duration from text or a map of amounts.", group),
        Function("duration.between", 2, 2, t.TEMPORAL,
                 "Months, then days, then time from one instant to another.", group),
        Function("duration.inMonths", 2, 2, t.TEMPORAL, "The same in whole months.", group),
        Function("duration.inDays", 2, 2, t.TEMPORAL, "The same in whole days.", group),
        Function("duration.inSeconds", 2, 2, t.TEMPORAL, "The same in time alone.", group),
    ]  # fmt: skip


_INSTANTS = ("date", "time", "localtime", "datetime", "localdatetime")
_CLOCKS = {
    "transaction": "Now, one instant for the whole query, in a zone (UTC).",
    "statement": "Now, one instant for the whole query, in a zone (UTC).",
    "realtime": "Now, at this very call, in a zone (UTC).",
}


def _instant_functions(name: str, group: str) -> list[Function]:
    return [
        Function(name, 0, 1, t.TEMPORAL,
                 "From text, a map of components or another value; without any: now.", group,
                 deterministic=False),
        *(
            Function(f"{name}.{clock}", 0, 1, t.TEMPORAL, summary, group, deterministic=False)
            for clock, summary in _CLOCKS.items()
        ),
        Function(f"{name}.truncate", 1, 3, t.TEMPORAL,
                 "The start of the unit that a value (now) lies in, with components replaced.",
                 group, deterministic=False),
    ]  # fmt: skip


def _history_functions() -> list[Function]:
    group = "History"
    return [
        Function("valueAt", 2, 2, t.ANY,
                 "The value of a property, such as `r.temperature`, at a moment.", group),
        Function("changes", 2, 3, t.LIST,
                 "The changes of a node or relationship after a moment, up to another or now.",
                 group, _GRAPH, deterministic=False),
        Function("series", 2, 5, t.LIST,
                 "The values of a property from one moment to another or now; with a step such as "
                 "'5m', an aggregate (avg) of each step.", group, deterministic=False),
    ]  # fmt: skip


OF_PROPERTIES = frozenset({"valueAt", "series"})
"""Functions of a property itself, not of its value: it arrives as a list of owner and path."""


def _twin_functions() -> list[Function]:
    group = "Digital twins"
    tests = {
        "is_defined": "Whether a property is present.",
        "is_null": "Whether a property is present and null.",
        "is_object": "Whether a value is an object.",
        "is_number": "Whether a value is a number.",
        "is_string": "Whether a value is a string.",
        "is_bool": "Whether a value is a boolean.",
        "is_primitive": "Whether a value is a string, boolean, number or null.",
    }
    return [
        Function("digitaltwins.is_of_model", 2, 3, t.BOOLEAN,
                 "Whether a twin is of a model or one that extends it (third argument true or "
                 "'exact': of just this model).", group, frozenset({Kind.NODE}),
                 ("is_of_model",)),
        *(Function(name, 1, 1, t.BOOLEAN, text, group) for name, text in tests.items()),
        Function("array_contains", 2, 2, t.BOOLEAN, "Whether an array has an element.", group),
    ]  # fmt: skip


FUNCTIONS: tuple[Function, ...] = (
    *_aggregates(),
    *_scalar_functions(),
    *_graph_functions(),
    *_list_functions(),
    *_number_functions(),
    *_string_functions(),
    *_temporal_functions(),
    *_twin_functions(),
    *_history_functions(),
)
"""Every function, by group."""


def _index_functions() -> dict[str, Function]:
    found: dict[str, Function] = {}
    for function in FUNCTIONS:
        for name in (function.name, *function.aliases):
            found[name.lower()] = function
    return found


FUNCTIONS_BY_NAME: Mapping[str, Function] = _index_functions()
"""Functions by name and by alias, both in lower case."""
