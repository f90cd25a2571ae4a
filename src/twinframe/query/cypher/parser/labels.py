"""Parses label expressions: `:A`, `:A:B`, `:A|B`, `:!A`, `:(A|B)&C`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.query.algebra import (
    LabelAnd,
    LabelExpression,
    LabelName,
    LabelNot,
    LabelOr,
)
from twinframe.query.cypher.parser.cursor import Cursor
from twinframe.query.cypher.tokens import NAMES

if TYPE_CHECKING:
    from collections.abc import Callable


class LabelParser(Cursor):
    """Parses the label expression after the colon of a node, a relationship or a label test."""

    def parse_labels(self, *, bar: bool = True) -> LabelExpression:
        """Parse a label expression with its first colon.

        Without `bar` a `|` ends it, since in `[x IN list WHERE x:A | x.b]` it separates.
        """
        self.expect(":")
        operands = [self._parse_alternatives(bar=bar)]
        while self.accept(":"):
            operands.append(self._parse_alternatives(bar=bar))
        return _balance(LabelAnd, operands)

    def _parse_alternatives(self, *, bar: bool) -> LabelExpression:
        operands = [self._parse_conjunction()]
        while bar and self.token.key == "|":
            self.advance()
            self.accept(":")  # SPEC: openCypher 9 also writes `[:A|:B]`
            operands.append(self._parse_conjunction())
        return _balance(LabelOr, operands)

    def _parse_conjunction(self) -> LabelExpression:
        operands = [self._parse_negation()]
        while self.accept("&"):
            operands.append(self._parse_negation())
        return _balance(LabelAnd, operands)

    def _parse_negation(self) -> LabelExpression:
        if self.token.key == "!":
            self.enter()
            self.advance()
            found: LabelExpression = LabelNot(self._parse_negation())
            self.leave()
            return found
        if self.token.key == "(":
            self.enter()
            self.advance()
            found = self._parse_alternatives(bar=True)
            self.expect(")")
            self.leave()
            return found
        return LabelName(self.expect_word("a label").name)


def _balance(
    join: Callable[[LabelExpression, LabelExpression], LabelExpression],
    operands: list[LabelExpression],
) -> LabelExpression:
    if len(operands) == 1:
        return operands[0]
    middle = (len(operands) + 1) // 2
    return join(_balance(join, operands[:middle]), _balance(join, operands[middle:]))


def is_label_start(cursor: Cursor) -> bool:
    """Whether a label test follows an operand (and not the colon of something else)."""
    following = cursor.peek()
    return cursor.token.key == ":" and (following.kind in NAMES or following.key in {"!", "("})
