"""Takes literals out of query texts, so that texts that differ only in these share one plan.

`split_text` finds the literals of a text without parsing it. `lift_literals` replaces those of a
parsed query that its conditions only compare with by parameters. What else a literal may decide (a
column's name, a count of rows or hops, a function's argument) stays in the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias, TypeVar, cast

from twinframe.model.values import Value
from twinframe.query import algebra as al
from twinframe.query.evaluate.analysis import find_variables
from twinframe.query.spans import Span
from twinframe.query.traversal import Term, map_children, walk, walk_expressions

LONGEST: Final = 4_000
"""The characters of the longest text whose literals are taken out."""

_MARK: Final = "\0"  # NOTE: no JSON that is accepted has this character
_NUMBER: Final = r"(?<![\w.$])(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?(?![\w.])"
# PERF: 0.5 us for a text of 50 characters, where it takes 1.1 without looking at one character
# first. SEC: what is opened and not closed is taken to the end, so that it is read only once.
_SPLIT: Final = re.compile(
    rf"""((?=['"`/0-9])(?:'[^']*'|"[^"]*"|`[^`]*`|//[^\n\r]*|/\*.*?\*/|['"`].*|/\*.*|{_NUMBER}))""",
    re.DOTALL,
)
_COMPARISONS: Final = frozenset(
    {
        al.BinaryOperator.EQUAL,
        al.BinaryOperator.NOT_EQUAL,
        al.BinaryOperator.LESS,
        al.BinaryOperator.LESS_EQUAL,
        al.BinaryOperator.GREATER,
        al.BinaryOperator.GREATER_EQUAL,
        al.BinaryOperator.STARTS_WITH,
        al.BinaryOperator.ENDS_WITH,
        al.BinaryOperator.CONTAINS,
    }
)


class Pieces(NamedTuple):
    """A text in pieces: every second one is a quotation, a comment or a number.

    `skeleton` is the text with a mark for each literal that may be lifted: `values` are theirs,
    `positions` are the indexes of their pieces.
    """

    pieces: Sequence[str]
    skeleton: str
    positions: Sequence[int]
    values: Sequence[_Scalar]


class _Element(NamedTuple):
    """A lifted literal: its number among the values, and whether a minus stands before it."""

    number: int
    is_negative: bool


_Given: TypeAlias = "_Element | tuple[_Element, ...]"
"""What a parameter stands for: one literal, or a list of them."""

_Scalar: TypeAlias = str | int | float
_Part = TypeVar("_Part", al.NodePattern, al.RelationshipPattern)


@dataclass(frozen=True, slots=True)
class Form:
    """Which literals of the texts with one skeleton are lifted, and to which parameters.

    `kept` are the indexes of those that stay in the text.
    """

    given: tuple[tuple[str, _Given], ...]
    kept: frozenset[int]

    def build_template(self, text: Pieces) -> str:
        """Return what is common to the texts that share a plan."""
        if not self.kept:
            return text.skeleton
        pieces = [*text.pieces]
        for index, at in enumerate(text.positions):
            if index not in self.kept:
                pieces[at] = _build_mark(text.values[index])
        return "".join(pieces)

    def build_values(self, text: Pieces, parameters: Mapping[str, Value]) -> dict[str, Value]:
        """Return the parameters of a run: those of the request, and the lifted literals."""
        values = dict(parameters)
        for name, given in self.given:
            if type(given) is _Element:
                values[name] = _read(text.values, given)
            else:
                elements = cast("tuple[_Element, ...]", given)
                values[name] = [_read(text.values, one) for one in elements]
        return values


def split_text(text: str) -> Pieces | None:
    """Split a text of either language; None for one without literals that may be lifted.

    Strings with a backslash are not lifted, nor are numbers with an exponent or more than fifteen
    digits.
    """
    if len(text) > LONGEST or "\\" in text or _MARK in text:
        return None
    pieces = _SPLIT.split(text)
    marked = pieces[:]
    positions: list[int] = []
    values: list[_Scalar] = []
    for at in range(1, len(pieces), 2):
        value = _parse_piece(pieces[at])
        if value is not None:
            positions.append(at)
            values.append(value)
            marked[at] = _build_mark(value)
    return Pieces(pieces, "".join(marked), positions, values) if positions else None


def _parse_piece(piece: str) -> _Scalar | None:
    first = piece[0]
    if first in "'\"":
        return piece[1:-1] if len(piece) > 1 and piece[-1] == first else None
    if first in "`/":
        return None
    return float(piece) if "." in piece else int(piece)


def _build_mark(value: _Scalar) -> str:
    return _MARK + type(value).__name__[0]


def _read(values: Sequence[_Scalar], element: _Element) -> _Scalar:
    value = values[element.number]
    return -value if element.is_negative else value  # type: ignore[operator]  # a number


# --- in the algebra -----------------------------------------------------------------------------


def lift_literals(query: al.Query, text: Pieces) -> tuple[al.Query, Form] | None:
    """Return the query with parameters for its literals, and their form; None if there are none.

    `query` is that of the text, not yet optimized.
    """
    lifter = _Lifter(text)
    root = cast("al.Operator", lifter.enter(query.root))
    lifted = {one.number for given in lifter.names for one in _list_elements(given)}
    # NOTE: a literal may have come to a second place of the algebra.
    remaining = filter(None, map(lifter.find, walk(root)))
    if not lifted or any(one.number in lifted for one in remaining):
        return None
    kept = frozenset(range(len(text.values))) - lifted
    given = tuple((name, given) for given, name in lifter.names.items())
    return replace(query, root=root), Form(given, kept)


def restore_literals(query: al.Query, values: Mapping[str, Value]) -> al.Query:
    """Return the query with literals for the parameters that were made of them."""

    def enter(term: Term) -> Term:
        if isinstance(term, al.Parameter) and term.name.startswith(_MARK):
            value = cast("_Scalar | list[_Scalar]", values[term.name])
            if isinstance(value, list):
                return al.ListExpression(tuple(map(al.Literal, value)))
            return al.Literal(value)
        return map_children(term, enter)

    return replace(query, root=cast("al.Operator", enter(query.root)))


def _list_elements(given: _Given) -> Sequence[_Element]:
    return (given,) if isinstance(given, _Element) else given


class _Lifter:
    """Replaces literals in the conditions and patterns of a plan by parameters, which it names."""

    def __init__(self, text: Pieces) -> None:
        self.names: dict[_Given, str] = {}
        self._text = "".join(text.pieces)
        self._values = text.values
        self._ends: dict[int, tuple[int, int]] = {}
        """The end of a literal in the text -> its start, and its index among the values."""
        at, indexes = 0, {at: index for index, at in enumerate(text.positions)}
        for number, piece in enumerate(text.pieces):
            if number in indexes:
                self._ends[at + len(piece)] = at, indexes[number]
            at += len(piece)

    def enter(self, term: Term) -> Term:
        """Return a term with the literals lifted in all conditions and patterns below it.

        NOTE: what a projection, grouping or order computes may give a column its name.
        """
        match term:
            case al.Match(pattern=pattern):
                nodes = tuple(map(self._lift_map, pattern.nodes))
                relationships = tuple(map(self._lift_map, pattern.relationships))
                pattern = replace(pattern, nodes=nodes, relationships=relationships)
                return map_children(replace(term, pattern=pattern), self.enter)
            case al.Binary():
                return self._lift_operand(map_children(term, self.enter))
            case al.FunctionCall(name="array_contains", arguments=(items, value)):
                subject = cast("al.Expression", self.enter(items))
                return replace(term, arguments=(subject, self._lift(value)))
            case _ if isinstance(term, al.Filter) or not isinstance(term, al.Operator):
                return map_children(term, self.enter)
            case _:
                return map_children(term, self._enter_operator)

    def _enter_operator(self, term: Term) -> Term:
        return self.enter(term) if isinstance(term, al.Operator) else term

    def _lift_map(self, element: _Part) -> _Part:
        properties = tuple((key, self._lift(value)) for key, value in element.properties)
        return replace(element, properties=properties)

    def _lift_operand(self, binary: al.Binary) -> al.Binary:
        """Lift an operand that something of the row is compared with."""
        left, right = binary.left, binary.right
        if binary.operator is al.BinaryOperator.IN:
            if isinstance(right, al.ListExpression) and _reads_row(left):
                return replace(binary, right=self._lift_list(right))
        elif binary.operator in _COMPARISONS:
            if _reads_row(left):
                return replace(binary, right=self._lift(right))
            if _reads_row(right):
                return replace(binary, left=self._lift(left))
        return binary

    def _lift(self, expression: al.Expression) -> al.Expression:
        found = self.find(expression)
        return expression if found is None else self._name(found, expression.span)

    def _lift_list(self, items: al.ListExpression) -> al.Expression:
        found = tuple(filter(None, map(self.find, items.items)))
        if not found or len(found) < len(items.items):
            return items
        return self._name(found, items.span)

    def _name(self, given: _Given, span: Span | None) -> al.Parameter:
        return al.Parameter(self.names.setdefault(given, f"{_MARK}{len(self.names)}"), span)

    def find(self, term: Term) -> _Element | None:
        """Return the literal of the text that a term is."""
        if not isinstance(term, al.Literal) or term.span is None:
            return None
        start, index = self._ends.get(term.span.end, (-1, -1))
        before = self._text[term.span.start : start].rstrip()
        if start < 0 or before not in ("", "-") or (before and type(term.value) is str):
            return None
        element = _Element(index, before == "-")
        return element if al.Literal(_read(self._values, element)) == term else None


def _reads_row(expression: al.Expression) -> bool:
    """Return whether an expression reads a variable, and no pattern.

    NOTE: a rule of the optimizer decides by the number that a count of matches is compared with.
    """
    if any(isinstance(one, al.Subplan) for one in walk_expressions(expression)):
        return False
    return bool(find_variables(expression))
