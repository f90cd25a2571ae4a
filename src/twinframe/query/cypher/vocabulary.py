"""The words of both query languages with their documentation, for editors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from twinframe.query.cypher.functions import FUNCTIONS, Function
from twinframe.query.cypher.static_types import Kind, StaticType
from twinframe.query.cypher.tokens import PREFIXES, WRITING_CLAUSES


@dataclass(frozen=True, slots=True)
class Word:
    """A function as an editor offers it: `substring(text, start, length?) → string`."""

    name: str
    signature: str
    documentation: str
    group: str
    aliases: tuple[str, ...] = ()
    aggregate: bool = False


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of a language: `keywords` are phrases, `writing` begin clauses that write."""

    keywords: tuple[str, ...]
    writing: tuple[str, ...]
    functions: tuple[Word, ...]


def build_cypher_vocabulary() -> Vocabulary:
    """The words of Cypher, its functions by group."""
    functions = tuple(_build_word(function) for function in FUNCTIONS)
    return Vocabulary(_CYPHER_KEYWORDS, tuple(sorted(WRITING_CLAUSES)), (*functions, *_PATHS))


def build_vendor_vocabulary() -> Vocabulary:
    """The words of the SQL-like language."""
    return Vocabulary(_VENDOR_KEYWORDS, (), _VENDOR_FUNCTIONS)


def render_signature(function: Function) -> str:
    """Render name, parameters (`?` is optional, `...` is repeatable) and result."""
    names = _PARAMETERS.get(function.name) or _PARAMETERS.get(function.name.rpartition(".")[2])
    if names is None:
        names = (_name_first(function),) if function.maximum else ()
    shown = [
        name if at < function.minimum else f"{name}?" for at, name in enumerate(names)
    ]  # fmt: skip
    if function.maximum is None:
        shown.append("...")
    return f"{function.name}({', '.join(shown)}) → {_render_type(function.result)}"


def _build_word(function: Function) -> Word:
    return Word(
        function.name,
        render_signature(function),
        function.summary,
        function.group,
        function.aliases,
        function.aggregate is not None,
    )


def _name_first(function: Function) -> str:
    """Return the name of the only parameter: its kind, if it must be of one."""
    kinds = function.first or frozenset()
    if len(kinds) == 1:
        return _NOUNS[next(iter(kinds))]
    return "value"


def _render_type(type_: StaticType) -> str:
    if type_.element is not None and type_.element.kind is not Kind.ANY:
        return f"list of {_NOUNS[type_.element.kind]}s"
    return _NOUNS[type_.kind]


_NOUNS: Final[Mapping[Kind, str]] = {
    Kind.ANY: "any",
    Kind.NULL: "null",
    Kind.BOOLEAN: "boolean",
    Kind.INTEGER: "integer",
    Kind.FLOAT: "float",
    Kind.STRING: "string",
    Kind.LIST: "list",
    Kind.MAP: "map",
    Kind.NODE: "node",
    Kind.RELATIONSHIP: "relationship",
    Kind.PATH: "path",
    Kind.TEMPORAL: "temporal",
}

_BETWEEN: Final = ("from", "to")
_PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = {
    "array_contains": ("array", "element"),
    "atan2": ("y", "x"),
    "changes": ("entity", "from", "to"),
    "coalesce": ("value",),
    "datetime.fromEpoch": ("seconds", "nanoseconds"),
    "digitaltwins.is_of_model": ("twin", "model", "exact"),
    "duration.between": _BETWEEN,
    "duration.inDays": _BETWEEN,
    "duration.inMonths": _BETWEEN,
    "duration.inSeconds": _BETWEEN,
    "left": ("text", "n"),
    "nullIf": ("value", "other"),
    "percentileCont": ("value", "fraction"),
    "percentileDisc": ("value", "fraction"),
    "range": ("from", "to", "step"),
    "realtime": ("zone",),
    "replace": ("text", "search", "replacement"),
    "right": ("text", "n"),
    "round": ("number", "decimals"),
    "series": ("property", "from", "to", "every", "aggregate"),
    "split": ("text", "separator"),
    "statement": ("zone",),
    "substring": ("text", "start", "length"),
    "transaction": ("zone",),
    "truncate": ("unit", "value", "components"),
    "valueAt": ("property", "moment"),
}
"""Parameters of the functions that have several, by name or by its part after the last dot."""

_CYPHER_KEYWORDS: Final = (
    *("MATCH", "OPTIONAL MATCH", "WHERE", "WITH", "UNWIND", "RETURN", "CALL"),
    *("ORDER BY", "SKIP", "LIMIT", "UNION", "UNION ALL", "DISTINCT", "AS", "ASC", "DESC"),
    *("AND", "OR", "XOR", "NOT", "IN", "STARTS WITH", "ENDS WITH", "CONTAINS"),
    *("IS NULL", "IS NOT NULL", "TRUE", "FALSE", "NULL"),
    *("CASE", "WHEN", "THEN", "ELSE", "END", "EXISTS", "COUNT", "COLLECT", *PREFIXES),
)

_PATHS: Final = (
    Word("shortestPath", "shortestPath(pattern) → path", "One of the shortest paths.", "Patterns"),
    Word("allShortestPaths", "allShortestPaths(pattern) → path", "All of them.", "Patterns"),
    Word("all", "all(x IN list WHERE condition) → boolean", "It holds for each.", "Patterns"),
    Word("any", "any(x IN list WHERE condition) → boolean", "It holds for one.", "Patterns"),
    Word("none", "none(x IN list WHERE condition) → boolean", "It holds for none.", "Patterns"),
    Word(
        "single",
        "single(x IN list WHERE condition) → boolean",
        "It holds for exactly one.",
        "Patterns",
    ),
    Word(
        "reduce",
        "reduce(total = initial, x IN list | expression) → any",
        "The last total, each made of the one before and an element.",
        "Patterns",
    ),
)
"""Forms that look like a function but have a syntax of their own."""

_VENDOR_KEYWORDS: Final = (
    *("SELECT", "TOP", "DISTINCT", "FROM", "DIGITALTWINS", "RELATIONSHIPS", "JOIN", "RELATED"),
    *("MATCH", "WHERE", "GROUP BY", "ORDER BY", "ASC", "DESC", "AS"),
    *("AND", "OR", "NOT", "IN", "NIN", "TRUE", "FALSE", "NULL", *PREFIXES),
)


def _define(name: str, parameters: str, documentation: str, group: str) -> Word:
    signature = f"{name}({parameters}) → {'number' if group == 'Aggregates' else 'boolean'}"
    return Word(name, signature, documentation, group, (), group == "Aggregates")


_VENDOR_FUNCTIONS: Final = (
    _define("COUNT", "path?", "How many rows, or values of a path.", "Aggregates"),
    _define("SUM", "path", "Sum of numbers.", "Aggregates"),
    _define("AVG", "path", "Mean of numbers.", "Aggregates"),
    _define("MIN", "path", "Least value.", "Aggregates"),
    _define("MAX", "path", "Greatest value.", "Aggregates"),
    _define(
        "IS_OF_MODEL",
        "alias?, 'dtmi', exact?",
        "Whether a twin is of a model or one that extends it; with exact, of just this one.",
        "Digital twins",
    ),
    _define("IS_DEFINED", "path", "Whether a property is present.", "Types"),
    _define("IS_NULL", "path", "Whether a property is present and null.", "Types"),
    _define("IS_BOOL", "path", "Whether a value is a boolean.", "Types"),
    _define("IS_NUMBER", "path", "Whether a value is a number.", "Types"),
    _define("IS_STRING", "path", "Whether a value is a string.", "Types"),
    _define("IS_OBJECT", "path", "Whether a value is an object.", "Types"),
    _define(
        "IS_PRIMITIVE", "path", "Whether a value is a string, boolean, number or null.", "Types"
    ),
    _define("ARRAY_CONTAINS", "path, element", "Whether an array has an element.", "Values"),
    _define("CONTAINS", "text, part", "Whether a text has another in it.", "Values"),
    _define("STARTSWITH", "text, start", "Whether a text begins with another.", "Values"),
    _define("ENDSWITH", "text, end", "Whether a text ends with another.", "Values"),
)
