"""Parses expressions of Cypher by operator precedence; subclasses parse the patterns inside."""

from __future__ import annotations

from twinframe.query.algebra import BinaryOperator, UnaryOperator
from twinframe.query.cypher import ast
from twinframe.query.cypher.parser.atoms import AtomParser, build_condition
from twinframe.query.cypher.tokens import TokenKind

_LARGEST = (1 << 63) - 1
_FOREIGN = {"!=": "<>", "==": "=", "&&": "AND", "||": "OR (or + to join text)"}

_NOT, _COMPARISON, _PREDICATE, _SIGN = 4, 5, 6, 10
_IS = UnaryOperator.IS_NULL
_INFIX: dict[str, tuple[int, BinaryOperator | UnaryOperator]] = {
    "OR": (1, BinaryOperator.OR),
    "XOR": (2, BinaryOperator.XOR),
    "AND": (3, BinaryOperator.AND),
    "=": (_COMPARISON, BinaryOperator.EQUAL),
    "<>": (_COMPARISON, BinaryOperator.NOT_EQUAL),
    "<": (_COMPARISON, BinaryOperator.LESS),
    "<=": (_COMPARISON, BinaryOperator.LESS_EQUAL),
    ">": (_COMPARISON, BinaryOperator.GREATER),
    ">=": (_COMPARISON, BinaryOperator.GREATER_EQUAL),
    "IN": (_PREDICATE, BinaryOperator.IN),
    "STARTS": (_PREDICATE, BinaryOperator.STARTS_WITH),
    "ENDS": (_PREDICATE, BinaryOperator.ENDS_WITH),
    "CONTAINS": (_PREDICATE, BinaryOperator.CONTAINS),
    "=~": (_PREDICATE, BinaryOperator.MATCHES),
    "IS": (_PREDICATE, _IS),
    "+": (7, BinaryOperator.ADD),
    "-": (7, BinaryOperator.SUBTRACT),
    "*": (8, BinaryOperator.MULTIPLY),
    "/": (8, BinaryOperator.DIVIDE),
    "%": (8, BinaryOperator.MODULO),
    "^": (9, BinaryOperator.POWER),
}


class ExpressionParser(AtomParser):
    """Parses expressions by precedence climbing. Chains are loops; only true nesting recurses.

    SPEC: openCypher 9, oC_Expression and below: OR < XOR < AND < NOT < comparison < predicates (IN,
    STARTS WITH, IS NULL, ...) < + - < * / % < ^ < unary + - < property, subscript, label.
    """

    def parse_expression(self) -> ast.Expression:
        """Parse the longest expression."""
        self.enter()
        found = self._parse_operators(0)
        self.leave()
        if self.token.key in _FOREIGN:
            raise self.error(
                "UnexpectedSyntax",
                f"{self.token.key} is no operator of Cypher; write {_FOREIGN[self.token.key]}",
            )
        return found

    def _parse_operators(self, minimum: int) -> ast.Expression:
        """Parse everything whose operators bind at least as tightly as `minimum`."""
        self.climb()
        start = self.token.start
        ceiling = _SIGN
        if self.token.key == "NOT" and minimum <= _NOT:
            left = self._parse_not()
            ceiling = _NOT
        else:
            left = self._parse_sign()
        while True:
            level, operator = _INFIX.get(self.token.key, (-1, _IS))
            if level < minimum or level > ceiling:
                break
            left = self._parse_infix(left, start, level, operator)
            ceiling = level
        self.unclimb()
        return left

    def _parse_infix(
        self, left: ast.Expression, start: int, level: int, operator: BinaryOperator | UnaryOperator
    ) -> ast.Expression:
        if isinstance(operator, UnaryOperator):
            return self._parse_null_predicate(left, start)
        if level < _NOT:
            return self._parse_logical(left, start, level, operator)
        if level == _COMPARISON:
            return self._parse_comparison(left, start)
        height = self.height
        for word in operator.value.split():
            self.expect(word)
        right = self._parse_operators(level + 1)
        self.raise_height(max(height, self.height) + 1)
        if operator is BinaryOperator.IN:
            build_condition(left)
        return ast.Binary(operator, left, right, self.span_from(start))

    def _parse_logical(
        self, left: ast.Expression, start: int, level: int, operator: BinaryOperator
    ) -> ast.Expression:
        operands, height = [left], self.height
        while self.accept(operator.value):
            operands.append(self._parse_operators(level + 1))
            height = max(height, self.height)
        # NOTE: AND, OR and XOR are associative, so the algebra gets a balanced tree: its height
        # grows with the logarithm of the number of operands.
        self.raise_height(height + (len(operands) - 1).bit_length())
        operands = [build_condition(operand) for operand in operands]
        return ast.Logical(operator, operands, self.span_from(start))

    def _parse_comparison(self, left: ast.Expression, start: int) -> ast.Expression:
        operands, height = [left], self.height
        operators: list[BinaryOperator] = []
        while True:
            level, operator = _INFIX.get(self.token.key, (-1, _IS))
            if level != _COMPARISON or isinstance(operator, UnaryOperator):
                break
            self.advance()
            operators.append(operator)
            operands.append(self._parse_operators(_COMPARISON + 1))
            height = max(height, self.height)
        self.raise_height(height + 1 + (len(operators) - 1).bit_length())
        operands = [build_condition(operand) for operand in operands]
        return ast.Comparison(operands, operators, self.span_from(start))

    def _parse_null_predicate(self, left: ast.Expression, start: int) -> ast.Expression:
        self.expect("IS")
        negated = self.accept("NOT")
        self.expect("NULL", "after IS")
        self.raise_height(self.height + 1)
        operator = UnaryOperator.IS_NOT_NULL if negated else UnaryOperator.IS_NULL
        return ast.Unary(operator, build_condition(left), self.span_from(start))

    def _parse_not(self) -> ast.Expression:
        start = self.advance().start
        operand = build_condition(self._parse_operators(_NOT))
        self.raise_height(self.height + 1)
        return ast.Unary(UnaryOperator.NOT, operand, self.span_from(start))

    def _parse_sign(self) -> ast.Expression:
        token = self.token
        if token.key not in {"+", "-"}:
            return self.parse_postfix()
        self.advance()
        minus = token.key == "-"
        if minus and self.token.kind is TokenKind.INTEGER and self.token.value == _LARGEST + 1:
            # NOTE: the least integer has no positive counterpart.
            self.advance()
            self.height = 1
            return ast.Literal(-_LARGEST - 1, self.span_from(token.start))
        self.climb()
        operand = self._parse_sign()
        self.unclimb()
        span = self.span_from(token.start)
        if minus and isinstance(operand, ast.Literal):
            value = operand.value
            if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
                return ast.Literal(-value, span)
        self.raise_height(self.height + 1)
        return ast.Unary(UnaryOperator.MINUS if minus else UnaryOperator.PLUS, operand, span)
