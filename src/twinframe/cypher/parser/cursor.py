"""A place in a list of tokens, with the steps every parser takes. It knows no grammar."""

from __future__ import annotations

from math import isinf
from typing import TYPE_CHECKING, NoReturn

from twinframe.cypher.algebra import Span
from twinframe.cypher.tokens import NAMES, RESERVED, Token, TokenKind

if TYPE_CHECKING:
    from twinframe.cypher.errors import Source
    from twinframe.cypher.options import FrontEndOptions
    from twinframe.errors import QueryInvalid

_MOST = (1 << 63) - 1
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")
_PARTING = frozenset({"WHERE", "|"})


class Cursor:
    """Walks the tokens of one text; `self.token` is the one to be read next.

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
        self._with_items: frozenset[int] | None = None

    def advance(self) -> Token:
        """Takes the current token. The END token stays."""
        token = self.token
        if token.kind is not TokenKind.END:
            self._at += 1
            self.token = self._tokens[self._at]
        return token

    def peek(self, ahead: int = 1) -> Token:
        """A token after the current one; END beyond the last."""
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else self._tokens[-1]

    def holds_items(self) -> bool:
        """Whether the bracket at hand has a comma of its own before any WHERE or `|`."""
        # PERF: found for all brackets in one pass, as lists may nest.
        if self._with_items is None:
            self._with_items = _find_brackets_with_items(self._tokens)
        return self._at in self._with_items

    def at(self, *keys: str) -> bool:
        """Whether the next tokens are these words or symbols, in this order."""
        if self.token.key != keys[0]:
            return False
        return all(self.peek(ahead).key == key for ahead, key in enumerate(keys[1:], 1))

    def accept(self, *keys: str) -> bool:
        """Takes these words or symbols if they come next."""
        if not self.at(*keys):
            return False
        for _ in keys:
            self.advance()
        return True

    def expect(self, key: str, purpose: str = "") -> Token:
        """Takes this word or symbol; anything else is an error. `purpose` says what it is for."""
        if self.token.key != key:
            raise self.unexpected(f"'{key}'{' ' if purpose else ''}{purpose}")
        return self.advance()

    def expect_name(self, what: str) -> Token:
        """Takes a name that may be a variable's; `what` says whose."""
        token = self.token
        if token.kind is TokenKind.QUOTED or (
            token.kind is TokenKind.NAME and token.key not in RESERVED
        ):
            return self.advance()
        if token.kind is TokenKind.NAME:
            raise self.unexpected(f"{what} (put a reserved word in backticks: `{token.value}`)")
        raise self.unexpected(what)

    def expect_word(self, what: str) -> Token:
        """Takes any name, keywords included."""
        if self.token.kind in NAMES:
            return self.advance()
        raise self.unexpected(what)

    def take_json_number(self, sign: int) -> int | float:
        """Takes a number as JSON reads it: an integer that 64 bits cannot hold is a double.

        The languages of the vendor have JSON's numbers; Cypher tells integers from floats.
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
        """From a character offset to the end of the token taken last."""
        return Span(start, self._tokens[self._at - 1].end if self._at else start)

    def unexpected(self, expected: str) -> QueryInvalid:
        """The error that the current token stands where `expected` should."""
        return self.error("UnexpectedSyntax", f"{self.describe_token()}, expected {expected}")

    def describe_token(self) -> str:
        """The current token as error messages call it."""
        token = self.token
        if token.kind is TokenKind.END:
            return "the query ends here"
        text = self.source.text[token.start : token.end]
        return f"unexpected {text if len(text) <= 40 else text[:37] + '...'}"

    def error(self, detail: str, message: str, span: Span | None = None) -> QueryInvalid:
        """An error at `span`, or at the current token."""
        return self.source.error(span or self.token.span, detail, message)

    def enter(self) -> None:
        """Counts one level of nesting and refuses more than the limit."""
        self._depth += 1
        if self._depth > self.options.max_depth:
            self.refuse_depth()

    def leave(self) -> None:
        """Ends a level of nesting. After an error nothing is read, so none need be ended."""
        self._depth -= 1

    def climb(self) -> None:
        """Counts one operator waiting for its right operand: bounds the stack within a level."""
        self._climbed += 1
        if self._climbed > self.options.max_height:
            self.refuse_height()

    def unclimb(self) -> None:
        """Ends what `climb` began."""
        self._climbed -= 1

    def refuse_depth(self) -> NoReturn:
        """Raises the error of the nesting limit."""
        raise self.error(
            "NestedTooDeeply",
            f"nested too deeply: at most {self.options.max_depth} levels are allowed "
            "(Query__MaxDepth)",
        )

    def refuse_height(self) -> NoReturn:
        """Raises the error of the height limit."""
        raise self.error(
            "NestedTooDeeply",
            f"nested too deeply: at most {self.options.max_height} operations may follow "
            "from one another in an expression or in a row of clauses",
        )

    def refuse_elements(self) -> QueryInvalid:
        """The error that a pattern is too large."""
        return self.error(
            "TooComplex",
            f"too large: a pattern has at most {self.options.max_elements} nodes and relationships",
        )

    def raise_height(self, height: int) -> None:
        """Notes the height of the tree just built and refuses more than the limit."""
        if height > self.options.max_height:
            self.refuse_height()
        self.height = height


def _find_brackets_with_items(tokens: list[Token]) -> frozenset[int]:
    found: set[int] = set()
    open_brackets: list[int] = []
    for at, token in enumerate(tokens):
        key = token.key
        if key in _OPENING:
            open_brackets.append(at)
        elif not open_brackets:
            continue
        elif key in _CLOSING:
            open_brackets.pop()
        elif key == ",":
            found.add(open_brackets[-1])
        elif key in _PARTING:
            # NOTE: commas behind these are not this bracket's: a number that no token has.
            open_brackets[-1] = -1
    return frozenset(found)
