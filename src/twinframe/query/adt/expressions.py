"""Parses conditions of the vendor's language to the syntax tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.query.adt import ast
from twinframe.query.algebra import BinaryOperator
from twinframe.query.cypher.parser.cursor import Cursor
from twinframe.query.cypher.tokens import NAMES, TokenKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from twinframe.errors import QueryInvalid

STRUCTURE = frozenset({
    "SELECT", "FROM", "WHERE", "AND", "OR", "NOT", "IN", "NIN", "AS", "TRUE", "FALSE", "NULL",
    "GROUP", "ORDER", "BY",
})  # fmt: skip
"""Words that may begin a path only in double brackets.

NOTE: the vendor reserves more (COUNT, MAX, TOP, ...); none of those is ambiguous in a path.
"""

_OPERATORS = {
    "=": BinaryOperator.EQUAL,
    "!=": BinaryOperator.NOT_EQUAL,
    "<": BinaryOperator.LESS,
    "<=": BinaryOperator.LESS_EQUAL,
    ">": BinaryOperator.GREATER,
    ">=": BinaryOperator.GREATER_EQUAL,
}
_CONSTANTS: dict[str, bool | None] = {"TRUE": True, "FALSE": False, "NULL": None}
_AFTER_PATH = frozenset({*_OPERATORS, ".", "IN", "NIN"})
_ALIASES = {"STARTS_WITH": "STARTSWITH", "ENDS_WITH": "ENDSWITH"}
_PATH_TESTS = frozenset({
    "IS_DEFINED", "IS_NULL", "IS_BOOL", "IS_NUMBER", "IS_STRING", "IS_OBJECT", "IS_PRIMITIVE",
})  # fmt: skip
_PAIR_TESTS = frozenset(["ARRAY_CONTAINS", "CONTAINS", "STARTSWITH", "ENDSWITH"])
TESTS = _PATH_TESTS | _PAIR_TESTS | {"IS_OF_MODEL"}


class ConditionParser(Cursor):
    """Reads WHERE. Precedence: NOT before comparison before AND before OR."""

    def mismatch(self, *expected: str) -> QueryInvalid:
        """Build the error that the current token is not one of those expected, in the vendor's
        words.
        """
        token = self.token
        shown = self.source.text[token.start : token.end]
        shown = "<EOF>" if token.kind is TokenKind.END else shown
        wanted = expected[0] if len(expected) == 1 else "{" + ", ".join(expected) + "}"
        return self.error("UnexpectedSyntax", f"mismatched input '{shown}' expecting {wanted}")

    def take(self, key: str) -> None:
        """Consume this word or symbol; raise an error for any other."""
        if self.token.key != key:
            raise self.mismatch(key if key.isalpha() else f"'{key}'")
        self.advance()

    def take_name(self, what: str) -> str:
        """Consume any name, `[[quoted]]` or not."""
        if self.token.kind not in NAMES:
            raise self.mismatch(what)
        return self.advance().name

    def parse_condition(self) -> ast.Condition:
        """Parse the longest condition."""
        self.enter()
        found = self._parse_junction("OR", lambda: self._parse_junction("AND", self._parse_not))
        self.leave()
        return found

    def _parse_junction(self, word: str, parse: Callable[[], ast.Condition]) -> ast.Condition:
        start = self.token.start
        operands = [parse()]
        height = self.height
        while self.accept(word):
            operands.append(parse())
            height = max(height, self.height)
        if len(operands) == 1:
            return operands[0]
        self.raise_height(height + (len(operands) - 1).bit_length())
        return ast.Junction(BinaryOperator[word], operands, self.span_from(start))

    def _parse_not(self) -> ast.Condition:
        start = self.token.start
        if self.accept("NOT"):
            self.enter()
            operand = self._parse_not()
            self.leave()
            self.raise_height(self.height + 1)
            return ast.Negation(operand, self.span_from(start))
        if self.accept("("):
            found = self.parse_condition()
            self.take(")")
            return found
        self.height = 1
        if self.token.key in TESTS | _ALIASES.keys() and self.peek().key == "(":
            return self._parse_test()
        return self._parse_comparison()

    def _parse_comparison(self) -> ast.Condition:
        start = self.token.start
        left = self._parse_operand()
        key = self.token.key
        if key in {"IN", "NIN"}:
            self.advance()
            items = self._parse_list()
            return ast.Membership(left, items, key == "NIN", self.span_from(start))
        operator = _OPERATORS.get(key)
        if operator is None:
            if key == "<>":
                raise self.error("UnexpectedSyntax", "no viable alternative at '<>'; write !=")
            if self.at("NOT", "IN"):
                raise self.error("UnexpectedSyntax", "no viable alternative at 'NOT IN'; write NIN")
            raise self.mismatch(*(f"'{symbol}'" for symbol in _OPERATORS), "IN", "NIN")
        self.advance()
        right = self._parse_operand()
        return ast.Comparison(operator, left, right, self.span_from(start))

    def _parse_list(self) -> list[ast.Literal]:
        self.take("[")
        items = [self._parse_literal()]
        while self.accept(","):
            items.append(self._parse_literal())
        self.take("]")
        return items

    def _parse_operand(self) -> ast.Operand:
        token = self.token
        if token.kind not in NAMES:
            return self._parse_literal()
        if token.key in _CONSTANTS or (
            token.key in STRUCTURE and self.peek().key not in _AFTER_PATH
        ):
            return self._parse_literal()
        return self.parse_path()

    def parse_path(self) -> ast.Path:
        """Parse `name.name...`; words of the language are names too, except where a clause may
        begin.
        """
        token = self.token
        if token.kind is TokenKind.NAME and token.key in STRUCTURE:
            raise self.error(
                "UnexpectedSyntax",
                f"no viable alternative at '{token.value}'; a name like this is written "
                f"[[{token.value}]]",
            )
        names = [self.take_name("a name")]
        while self.accept("."):
            names.append(self.take_name("a name"))
        if len(names) > self.options.max_height:
            self.refuse_height()
        self.height = len(names)
        return ast.Path(tuple(names), self.span_from(token.start))

    def _parse_literal(self) -> ast.Literal:
        start = self.token.start
        sign = -1 if self.accept("-") else 1
        token = self.token
        match token.kind:
            case TokenKind.INTEGER | TokenKind.FLOAT:
                return ast.Literal(self.take_json_number(sign), self.span_from(start))
            case TokenKind.STRING if sign == 1:
                self.advance()
                return ast.Literal(token.name, token.span)
            case TokenKind.NAME if token.key in _CONSTANTS and sign == 1:
                self.advance()
                return ast.Literal(_CONSTANTS[token.key], token.span)
            case _:
                raise self.mismatch("a string", "a number", "TRUE", "FALSE", "NULL")

    # --- functions

    def _parse_test(self) -> ast.Condition:
        token = self.advance()
        name = _ALIASES.get(token.key, token.key)
        self.take("(")
        exact = False
        if name == "IS_OF_MODEL":
            arguments, exact = self._parse_model_arguments()
        else:
            arguments = [self.parse_path()]
            if name in _PAIR_TESTS:
                self.take(",")
                arguments.append(self._parse_operand())
        self.take(")")
        return ast.Test(name, arguments, exact, self.span_from(token.start))

    def _parse_model_arguments(self) -> tuple[list[ast.Operand], bool]:
        """`[alias,] 'dtmi' [, exact]`."""
        arguments: list[ast.Operand] = []
        if self.token.kind is not TokenKind.STRING:
            arguments.append(self.parse_path())
            self.take(",")
        if self.token.kind is not TokenKind.STRING:
            raise self.mismatch("a model id in quotes")
        arguments.append(self._parse_literal())
        exact = self.accept(",")
        if exact:
            self.take("EXACT")
        return arguments, exact
