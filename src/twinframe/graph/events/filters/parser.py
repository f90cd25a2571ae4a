"""Parses filters of event routes from text to tree.

SPEC: the vendor publishes examples and a table, no grammar: attributes of the envelope, `$body` and
dotted paths, comparisons, AND, OR, NOT, parentheses, STARTS_WITH, ENDS_WITH, CONTAINS, `true`,
`false`. Keywords, names of functions and names of attributes ignore letter case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NoReturn

from twinframe.dtdl.dtmi import is_dtmi
from twinframe.errors import EventRouteFilterInvalid, QueryInvalid
from twinframe.errors.nearest import render_suggestion
from twinframe.graph.events.filters import ast
from twinframe.model.values import JsonValue
from twinframe.query.adt.lexer import read_tokens
from twinframe.query.cypher.parser.cursor import Cursor
from twinframe.query.cypher.size import take_tokens
from twinframe.query.cypher.tokens import NAMES, Token, TokenKind
from twinframe.query.errors import Source
from twinframe.query.options import FrontEndOptions

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

_COMPARATORS: Final = {comparator.value: comparator for comparator in ast.Comparator}
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
_CROSSINGS: Final = {crossing.value: crossing for crossing in ast.Crossing}
_MOMENTS: Final = {moment.value: moment for moment in ast.Moment}
_FUNCTIONS: Final = frozenset({*_TESTS, *_SAME, *_CROSSINGS, *_MOMENTS, "CHANGED", "IS_OF_MODEL"})
_NUMBERS: Final = (TokenKind.INTEGER, TokenKind.FLOAT)


class FilterSource(Source):
    """A filter's text. SPEC: lines count from 1, positions from 0, as the vendor's service does."""

    __slots__ = ()

    def _message(
        self, kind: str, detail: str, line: int, column: int, message: str, excerpt: str
    ) -> str:
        return f"Parsing error, Line={line}, Position={column - 1}, Message={message}"


def parse_filter(text: str) -> ast.Condition:
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

    def parse_whole(self) -> ast.Condition:
        if self.token.kind is TokenKind.END:
            raise self.error("UnexpectedSyntax", "The filter is empty; `true` passes all events")
        found = self._parse_condition()
        if self.peek(0).kind is not TokenKind.END:
            self._refuse("AND", "OR", "the end")
        return found

    # --- conditions -----------------------------------------------------------------------------

    def _parse_condition(self) -> ast.Condition:
        self.enter()
        found = self._parse_junction(
            "OR", lambda: self._parse_junction("AND", self._parse_negation, every=True), every=False
        )
        self.leave()
        return found

    def _parse_junction(
        self, word: str, parse: Callable[[], ast.Condition], *, every: bool
    ) -> ast.Condition:
        operands = [parse()]
        while self.accept(word):
            operands.append(parse())
        return operands[0] if len(operands) == 1 else ast.Junction(every, tuple(operands))

    def _parse_negation(self) -> ast.Condition:
        if not self.accept("NOT"):
            return self._parse_atom()
        self.enter()
        operand = self._parse_negation()
        self.leave()
        return ast.Negation(operand)

    def _parse_atom(self) -> ast.Condition:
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
                return ast.Constant(token.key == "TRUE")
        return self._parse_comparison()

    def _parse_comparison(self) -> ast.Condition:
        left = self._parse_operand()
        key = self.token.key
        if key in ("IN", "NIN"):
            self.advance()
            return ast.Membership(left, self._parse_items(), key == "NIN")
        comparator = _COMPARATORS.get(key)
        if comparator is None:
            self._refuse(*_COMPARATORS, "IN", "NIN")
        self.advance()
        return ast.Comparison(comparator, left, self._parse_operand())

    def _parse_test(self) -> ast.Condition:
        word = self.advance().key
        name = _SAME.get(word, word)
        self._take("(")
        found = self._parse_arguments(name)
        self._take(")")
        return found

    def _parse_arguments(self, name: str) -> ast.Condition:
        if name == "CHANGED":
            return ast.Changed(self._parse_path())
        if name in _CROSSINGS:
            path = self._parse_path()
            self._take(",")
            return ast.Crossed(_CROSSINGS[name], path, self._parse_number())
        if name == "IS_OF_MODEL":
            return self._parse_model()
        operands = [self._parse_operand()]
        while len(operands) < _TESTS[name]:
            self._take(",")
            operands.append(self._parse_operand())
        return ast.Test(name, tuple(operands))

    def _parse_model(self) -> ast.Condition:
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
        return ast.OfModel(token.name, exact)

    # --- values ---------------------------------------------------------------------------------

    def _parse_operand(self) -> ast.Operand:
        token = self.token
        if token.kind is not TokenKind.NAME:
            return ast.Literal(self._parse_literal())
        if token.key in _CONSTANTS:
            self.advance()
            return ast.Literal(_CONSTANTS[token.key])
        if token.key == "$BODY":
            self.advance()
            path: list[str] = []
            while self.accept("."):
                path.append(self._take_segment())
            return ast.Body(tuple(path))
        if token.key in _MOMENTS and self.peek().key == "(":
            self.advance()
            self._take("(")
            found = ast.Property(_MOMENTS[token.key], self._parse_path())
            self._take(")")
            return found
        name = ATTRIBUTES.get(token.key)
        if name is None:
            self._refuse_name(token)
        self.advance()
        return ast.Attribute(name)

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
