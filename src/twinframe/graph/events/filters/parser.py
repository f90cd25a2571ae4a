"""Parses filters of event routes from text to a typed tree; `compiler` defines its meaning.

SPEC: the vendor publishes examples and a table, no grammar: attributes of the envelope, `$body` and
dotted paths, comparisons, AND, OR, NOT, parentheses, STARTS_WITH, ENDS_WITH, CONTAINS, `true`,
`false`. Keywords, names of functions and names of attributes ignore letter case.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn, TypeAlias

from twinframe.dtdl.dtmi import is_dtmi
from twinframe.errors import EventRouteFilterInvalid, QueryInvalid
from twinframe.errors.nearest import render_suggestion
from twinframe.model.values import JsonValue
from twinframe.query.adt.lexer import read_tokens
from twinframe.query.cypher.parser.cursor import Cursor
from twinframe.query.cypher.size import take_tokens
from twinframe.query.cypher.tokens import NAMES, Token, TokenKind
from twinframe.query.errors import Source
from twinframe.query.options import FrontEndOptions


class Comparator(enum.Enum):
    """How two values are compared."""

    EQUAL = "="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="


class Moment(enum.Enum):
    """Whether a value is that before the event, or that after it."""

    OLD = "OLD"
    NEW = "NEW"


class Crossing(enum.Enum):
    """In which direction a threshold is crossed."""

    ANY = "CROSSED"
    ABOVE = "CROSSED_ABOVE"
    BELOW = "CROSSED_BELOW"


# --- values -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of the envelope, or `$eventType`, the older name of some types."""

    name: str


@dataclass(frozen=True, slots=True)
class Body:
    """`$body.a.b`: the value at a path of the event's data."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Property:
    """`OLD(a.b)`, `NEW(a.b)`: a property of the twin or relationship before or after the event."""

    moment: Moment
    path: tuple[str, ...]


Operand: TypeAlias = Literal | Attribute | Body | Property


# --- conditions ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Constant:
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two values compared."""

    comparator: Comparator
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Membership:
    """`value IN [...]`, with `negated` NIN."""

    operand: Operand
    items: tuple[JsonValue, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Test:
    """A function of values that yields a truth value, by its upper-case name."""

    name: str
    arguments: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Changed:
    """`CHANGED(a.b)`: whether the event changed the value at the path, or something below it."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Crossed:
    """`CROSSED(a.b, 30)`: whether a number crossed a threshold."""

    crossing: Crossing
    path: tuple[str, ...]
    threshold: int | float


@dataclass(frozen=True, slots=True)
class OfModel:
    """`IS_OF_MODEL('dtmi:...;1')`: whether the twin is of the model, or unless exact, derived."""

    model_id: str
    exact: bool


@dataclass(frozen=True, slots=True)
class Negation:
    """`NOT condition`."""

    operand: Condition


@dataclass(frozen=True, slots=True)
class Junction:
    """Conditions of which all (`AND`) or at least one (`OR`) must hold."""

    every: bool
    operands: tuple[Condition, ...]


Condition: TypeAlias = (
    Constant | Comparison | Membership | Test | Changed | Crossed | OfModel | Negation | Junction
)


_OPTIONS: Final = FrontEndOptions(max_words=1000, max_constants=1000, max_depth=32, max_height=64)

ATTRIBUTES: Final = {
    "TYPE": "type",
    "SOURCE": "source",
    "SUBJECT": "subject",
    "ID": "id",
    "DATASCHEMA": "dataschema",
    "DATACONTENTTYPE": "datacontenttype",
    "SPECVERSION": "specversion",
    "TIME": "time",
    "$EVENTTYPE": "$eventType",
}
"""The operands besides `$body`, by their upper-case word."""

_COMPARATORS: Final = {comparator.value: comparator for comparator in Comparator}
_CONSTANTS: Final[dict[str, bool | None]] = {"TRUE": True, "FALSE": False, "NULL": None}
_SAME: Final = {"STARTSWITH": "STARTS_WITH", "ENDSWITH": "ENDS_WITH"}
_TESTS: Final = {
    "STARTS_WITH": 2,
    "ENDS_WITH": 2,
    "CONTAINS": 2,
    "ARRAY_CONTAINS": 2,
    "IS_DEFINED": 1,
    "IS_NULL": 1,
    "IS_BOOL": 1,
    "IS_NUMBER": 1,
    "IS_STRING": 1,
    "IS_OBJECT": 1,
    "IS_PRIMITIVE": 1,
}
_CROSSINGS: Final = {crossing.value: crossing for crossing in Crossing}
_MOMENTS: Final = {moment.value: moment for moment in Moment}
_FUNCTIONS: Final = frozenset({*_TESTS, *_SAME, *_CROSSINGS, *_MOMENTS, "CHANGED", "IS_OF_MODEL"})
_NUMBERS: Final = (TokenKind.INTEGER, TokenKind.FLOAT)


class FilterSource(Source):
    """A filter's text. SPEC: lines count from 1, positions from 0, as the vendor's service does."""

    __slots__ = ()

    def _message(
        self, kind: str, detail: str, line: int, column: int, message: str, excerpt: str
    ) -> str:
        return f"Parsing error, Line={line}, Position={column - 1}, Message={message}"


def parse_filter(text: str) -> Condition:
    """Parse a filter. Raises `EventRouteFilterInvalid` with the position of the first error."""
    source = FilterSource(text)
    try:
        tokens = take_tokens(source, read_tokens(source), _OPTIONS)
        return _Parser(source, tokens, _OPTIONS).parse_whole()
    except QueryInvalid as error:
        position = max(error.column - 1, 0)
        raise EventRouteFilterInvalid(error.message, error.line, position) from None


class _Parser(Cursor):
    """Precedence: NOT before comparison before AND before OR."""

    def parse_whole(self) -> Condition:
        if self.token.kind is TokenKind.END:
            raise self.error("UnexpectedSyntax", "The filter is empty; `true` passes all events")
        found = self._parse_condition()
        if self.peek(0).kind is not TokenKind.END:
            self._refuse("AND", "OR", "the end")
        return found

    # --- conditions -----------------------------------------------------------------------------

    def _parse_condition(self) -> Condition:
        self.enter()
        found = self._parse_junction(
            "OR", lambda: self._parse_junction("AND", self._parse_negation, every=True), every=False
        )
        self.leave()
        return found

    def _parse_junction(
        self, word: str, parse: Callable[[], Condition], *, every: bool
    ) -> Condition:
        operands = [parse()]
        while self.accept(word):
            operands.append(parse())
        return operands[0] if len(operands) == 1 else Junction(every, tuple(operands))

    def _parse_negation(self) -> Condition:
        if not self.accept("NOT"):
            return self._parse_atom()
        self.enter()
        operand = self._parse_negation()
        self.leave()
        return Negation(operand)

    def _parse_atom(self) -> Condition:
        if self.accept("("):
            found = self._parse_condition()
            self._take(")")
            return found
        token = self.token
        if token.kind is TokenKind.NAME:
            if token.key in _FUNCTIONS and token.key not in _MOMENTS and self.peek().key == "(":
                return self._parse_test()
            if token.key in ("TRUE", "FALSE") and self.peek().key not in (*_COMPARATORS, "IN"):
                self.advance()
                return Constant(token.key == "TRUE")
        return self._parse_comparison()

    def _parse_comparison(self) -> Condition:
        left = self._parse_operand()
        key = self.token.key
        if key in ("IN", "NIN"):
            self.advance()
            return Membership(left, self._parse_items(), key == "NIN")
        comparator = _COMPARATORS.get(key)
        if comparator is None:
            self._refuse(*_COMPARATORS, "IN", "NIN")
        self.advance()
        return Comparison(comparator, left, self._parse_operand())

    def _parse_test(self) -> Condition:
        word = self.advance().key
        name = _SAME.get(word, word)
        self._take("(")
        found = self._parse_arguments(name)
        self._take(")")
        return found

    def _parse_arguments(self, name: str) -> Condition:
        if name == "CHANGED":
            return Changed(self._parse_path())
        if name in _CROSSINGS:
            path = self._parse_path()
            self._take(",")
            return Crossed(_CROSSINGS[name], path, self._parse_number())
        if name == "IS_OF_MODEL":
            return self._parse_model()
        operands = [self._parse_operand()]
        while len(operands) < _TESTS[name]:
            self._take(",")
            operands.append(self._parse_operand())
        return Test(name, tuple(operands))

    def _parse_model(self) -> Condition:
        token = self.token
        if token.kind is not TokenKind.STRING:
            self._refuse("a model id in quotes, such as 'dtmi:example:Room;1'")
        self.advance()
        exact = False
        if self.accept(","):
            if not self.accept("EXACT"):
                self._refuse("exact")
            exact = True
        if not is_dtmi(token.name):
            message = f"'{token.name[:40]}' is no model id, such as 'dtmi:example:Room;1'"
            raise self.error("UnexpectedSyntax", message, token.span)
        return OfModel(token.name, exact)

    # --- values ---------------------------------------------------------------------------------

    def _parse_operand(self) -> Operand:
        token = self.token
        if token.kind is not TokenKind.NAME:
            return Literal(self._parse_literal())
        if token.key in _CONSTANTS:
            self.advance()
            return Literal(_CONSTANTS[token.key])
        if token.key == "$BODY":
            self.advance()
            path: list[str] = []
            while self.accept("."):
                path.append(self._take_segment())
            return Body(tuple(path))
        if token.key in _MOMENTS and self.peek().key == "(":
            self.advance()
            self._take("(")
            found = Property(_MOMENTS[token.key], self._parse_path())
            self._take(")")
            return found
        name = ATTRIBUTES.get(token.key)
        if name is None:
            self._refuse_name(token)
        self.advance()
        return Attribute(name)

    def _parse_literal(self) -> JsonValue:
        token = self.token
        if token.kind is TokenKind.STRING:
            return self.advance().name
        if token.key == "-" or token.kind in _NUMBERS:
            return self._parse_number()
        return self._refuse("a value", "an attribute", "$body")

    def _parse_number(self) -> int | float:
        sign = -1 if self.accept("-") else 1
        token = self.token
        if token.kind not in _NUMBERS or isinstance(token.value, str):
            self._refuse("a number")
        return self.take_json_number(sign)

    def _parse_items(self) -> tuple[JsonValue, ...]:
        self._take("[")
        items = [self._parse_item()]
        while self.accept(","):
            items.append(self._parse_item())
        self._take("]")
        return tuple(items)

    def _parse_item(self) -> JsonValue:
        if self.token.kind is TokenKind.NAME and self.token.key in _CONSTANTS:
            return _CONSTANTS[self.advance().key]
        return self._parse_literal()

    def _parse_path(self) -> tuple[str, ...]:
        path = [self._take_segment()]
        while self.accept("."):
            path.append(self._take_segment())
        return tuple(path)

    def _take_segment(self) -> str:
        if self.token.kind not in NAMES:
            self._refuse("the name of a property ([[name]] when it is no plain word)")
        return self.advance().name

    # --- errors ---------------------------------------------------------------------------------

    def refuse_depth(self) -> NoReturn:
        """NOTE: this limit is not a setting; the limits of queries do not apply to filters."""
        raise self.error(
            "NestedTooDeeply",
            f"nested too deeply: parentheses and NOT of a filter go at most {_OPTIONS.max_depth} "
            "levels deep",
        )

    def _take(self, key: str) -> None:
        if self.token.key != key:
            self._refuse(f"'{key}'")
        self.advance()

    def _refuse(self, *expected: str) -> NoReturn:
        """SPEC: the vendor says `Unexpected input 'x'`; we append what would be right."""
        token = self.token
        shown = self.source.text[token.start : token.end][:40]
        shown = "the end of the filter" if token.kind is TokenKind.END else f"input '{shown}'"
        wanted = expected[0] if len(expected) == 1 else "one of " + ", ".join(expected)
        raise self.error("UnexpectedSyntax", f"Unexpected {shown}, expected {wanted}")

    def _refuse_name(self, token: Token) -> NoReturn:
        if self.peek().key == "(":
            hint = render_suggestion(token.key, _FUNCTIONS) or f"; known are {_render(_FUNCTIONS)}"
            message = f"Unexpected input '{token.name}', which is no function{hint}"
        else:
            known = {*ATTRIBUTES.values(), "$body"}
            hint = render_suggestion(token.name, known)
            message = (
                f"Unexpected input '{token.name}', which is no attribute of an event; what is in "
                f"its data stands behind $body, as $body.{token.name.lstrip('$')}{hint}"
            )
        raise self.error("UnexpectedSyntax", message)


def _render(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))
