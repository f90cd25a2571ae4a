"""A cursor over a list of tokens, with the steps that all parsers share."""

from __future__ import annotations

from math import isinf
from typing import TYPE_CHECKING, NoReturn

from twinframe.query.cypher.tokens import NAMES, PREFIXES, RESERVED, Token, TokenKind
from twinframe.query.spans import Span

if TYPE_CHECKING:
    from twinframe.errors import QueryInvalid
    from twinframe.query.errors import Source
    from twinframe.query.options import FrontEndOptions

_MOST = (1 << 63) - 1
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")
_SEPARATORS = frozenset({",", "WHERE", "|"})


class Cursor:
    """Walks the tokens of one text; `self.token` is the next one.

    `height` is the height of the tree parsed last (see `FrontEndOptions.max_height`).
    """

    def __init__(self, source: Source, tokens: list[Token], options: FrontEndOptions) -> None:
        self.source = source
        self.options = options
        self.token = tokens[0]
        self.height = 0
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._climbed = 0
        self._separators: dict[int, str] | None = None

    def advance(self) -> Token:
        """Consume the current token. The END token stays."""
        token = self.token
        if token.kind is not TokenKind.END:
            self._at += 1
            self.token = self._tokens[self._at]
        return token

    def peek(self, ahead: int = 1) -> Token:
        """Return a token after the current one; END beyond the last."""
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else self._tokens[-1]

    def find_separator(self) -> str:
        """Return the first of `,`, WHERE and `|` that the current bracket has as its own, or ""."""
        # PERF: found for all brackets in one pass, as lists may nest.
        if self._separators is None:
            self._separators = _find_separators(self._tokens)
        return self._separators.get(self._at, "")

    def at(self, *keys: str) -> bool:
        """Return whether the next tokens are these words or symbols, in this order."""
        if self.token.key != keys[0]:
            return False
        return all(self.peek(ahead).key == key for ahead, key in enumerate(keys[1:], 1))

    def accept(self, *keys: str) -> bool:
        """Consume these words or symbols if they come next."""
        if not self.at(*keys):
            return False
        for _ in keys:
            self.advance()
        return True

    def accept_prefix(self) -> str:
        """Consume the word that asks for the plan, if it comes next; return it, else nothing."""
        return next((word for word in PREFIXES if self.accept(word)), "")

    def expect(self, key: str, purpose: str = "") -> Token:
        """Consume this word or symbol; raise an error for any other.

        `purpose` says what it is for.
        """
        if self.token.key != key:
            raise self.unexpected(f"'{key}'{' ' if purpose else ''}{purpose}")
        return self.advance()

    def expect_name(self, what: str) -> Token:
        """Consume a name that may be a variable's; `what` says whose."""
        token = self.token
        if token.kind is TokenKind.QUOTED or (
            token.kind is TokenKind.NAME and token.key not in RESERVED
        ):
            return self.advance()
        if token.kind is TokenKind.NAME:
            raise self.unexpected(f"{what} (put a reserved word in backticks: `{token.value}`)")
        raise self.unexpected(what)

    def expect_word(self, what: str) -> Token:
        """Consume any name, including keywords."""
        if self.token.kind in NAMES:
            return self.advance()
        raise self.unexpected(what)

    def take_json_number(self, sign: int) -> int | float:
        """Consume a number as in JSON: an integer that 64 bits cannot hold is a double.

        The vendor's language has JSON's numbers; Cypher distinguishes integers from floats.
        """
        token = self.token
        value = token.value
        assert not isinstance(value, str)  # noqa: S101 -- by its kind
        if isinstance(value, int) and not -_MOST - 1 <= sign * value <= _MOST:
            text = self.source.text[token.start : token.end]
            value = float(text) if text.isdecimal() else float("inf")
        if isinf(value):
            raise self.error("IntegerOverflow", "the number is too large for a double")
        self.advance()
        return sign * value

    def span_from(self, start: int) -> Span:
        """Return the span from a character offset to the end of the token consumed last."""
        return Span(start, self._tokens[self._at - 1].end if self._at else start)

    def unexpected(self, expected: str) -> QueryInvalid:
        """Build the error that the current token is not what was `expected`."""
        return self.error("UnexpectedSyntax", f"{self.describe_token()}, expected {expected}")

    def describe_token(self) -> str:
        """Return the name of the current token in error messages."""
        token = self.token
        if token.kind is TokenKind.END:
            return "the query ends here"
        text = self.source.text[token.start : token.end]
        return f"unexpected {text if len(text) <= 40 else text[:37] + '...'}"

    def error(self, detail: str, message: str, span: Span | None = None) -> QueryInvalid:
        """Build an error at `span`, or at the current token."""
        return self.source.error(span or self.token.span, detail, message)

    def enter(self) -> None:
        """Count one level of nesting and refuse more than the limit."""
        self._depth += 1
        if self._depth > self.options.max_depth:
            self.refuse_depth()

    def leave(self) -> None:
        """End a level of nesting. After an error nothing is parsed, so none need be ended."""
        self._depth -= 1

    def climb(self) -> None:
        """Count one operator waiting for its right operand: bounds the stack within a level."""
        self._climbed += 1
        if self._climbed > self.options.max_height:
            self.refuse_height()

    def unclimb(self) -> None:
        """End what `climb` began."""
        self._climbed -= 1

    def refuse_depth(self) -> NoReturn:
        """Raise the error of the nesting limit."""
        raise self.error(
            "NestedTooDeeply",
            f"nested too deeply: at most {self.options.max_depth} levels are allowed "
            "(Query__MaxDepth)",
        )

    def refuse_height(self) -> NoReturn:
        """Raise the error of the height limit."""
        raise self.error(
            "NestedTooDeeply",
            f"nested too deeply: at most {self.options.max_height} operations may follow "
            "from one another in an expression or in a row of clauses",
        )

    def refuse_elements(self) -> QueryInvalid:
        """Build the error that a pattern is too large."""
        return self.error(
            "TooComplex",
            f"too large: a pattern has at most {self.options.max_elements} nodes and relationships",
        )

    def raise_height(self, height: int) -> None:
        """Record the height of the tree just built and refuse more than the limit."""
        if height > self.options.max_height:
            self.refuse_height()
        self.height = height


def _find_separators(tokens: list[Token]) -> dict[int, str]:
    """Map the position of each bracket to the first separator in it."""
    found: dict[int, str] = {}
    open_brackets: list[int] = []
    for at, token in enumerate(tokens):
        key = token.key
        if key in _OPENING:
            open_brackets.append(at)
        elif not open_brackets:
            continue
        elif key in _CLOSING:
            open_brackets.pop()
        elif key in _SEPARATORS:
            found.setdefault(open_brackets[-1], key)
    return found
